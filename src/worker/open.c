/*
 * Creating a worker: configuration, name, surroundings, state directory, and the processes that an
 * earlier worker left.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/worker.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/log.h"
#include "worker/carriers/environment.h"
#include "worker/client/url.h"
#include "worker/internal.h"
#include "worker/process/stale_processes.h"

#define STALE_WAIT_US (5 * US_PER_S)
#define FILES_A_SLOT 8
#define FILES_SPARE 40

static const char *keep_text(struct worker *w, const char *text)
{
    return text == NULL ? NULL : arena_strdup(&w->arena, slice_of(text));
}

static const char **keep_texts(struct worker *w, const char *const *texts, size_t n)
{
    const char **kept = arena_array(&w->arena, n + 1, sizeof(char *));

    for (size_t i = 0; i < n; i++)
        kept[i] = keep_text(w, texts[i]);
    return kept;
}

static void keep_config(struct worker *w, const struct worker_config *config)
{
    struct worker_config *c = &w->config;
    const char **only = keep_texts(w, config->queues, config->n_queues);
    struct worker_own_queue *own = arena_array(&w->arena, config->n_own + 1, sizeof(*own));

    *c = *config;
    for (size_t i = 0; i < config->n_own; i++)
        own[i] = (struct worker_own_queue){arena_copy(&w->arena, config->own[i].name),
                                           arena_copy(&w->arena, config->own[i].definition)};
    c->queues = only;
    c->own = own;
    w->served.only = only;
    w->served.n_only = c->n_queues;
    w->served.own = own;
    w->served.n_own = c->n_own;
    w->served.own_only = c->own_only;
    w->work_dir = keep_text(w, config->work_dir);
    if (c->slots <= 0)
        c->slots = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (c->slots > (SLOT_COUNT_MAX - FILTER_SLOTS) / 3)
        c->slots = (SLOT_COUNT_MAX - FILTER_SLOTS) / 3;
    c->lease_us = c->lease_us > 0 ? c->lease_us : WORKER_LEASE_US;
    c->lifetime_us = c->lifetime_us > 0 ? c->lifetime_us : WORKER_LIFETIME_US;
    struct subscription *all = arena_array(&w->arena, config->n_topics + 1, sizeof(*all));

    w->config.topics = keep_texts(w, config->topics, config->n_topics);
    for (size_t i = 0; i < config->n_topics; i++)
        all[i] = (struct subscription){.topic = w->config.topics[i]};
    w->served.subscriptions = all;
    w->served.n_subscriptions = config->n_topics;
}

/* Programs get the environment, mask and limits that the worker was started with. */
static void note_surroundings(struct worker *w)
{
    struct rlimit files;

    w->environment = environment_base(&w->arena);
    w->path = keep_text(w, getenv("PATH")); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    w->mask = umask(0);
    umask(w->mask);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        w->soft_files = (int64_t)files.rlim_cur;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        /* Each program needs pipes, and its slot keeps a directory and files open. */
        rlim_t most = files.rlim_max > FILES_SPARE + FILES_A_SLOT
                          ? (files.rlim_max - FILES_SPARE) / FILES_A_SLOT
                          : 1;

        if ((rlim_t)w->config.slots > most) {
            log_warn("%d slots are wanted, but %llu open files allow for %llu: raise 'ulimit -n'",
                     w->config.slots, (unsigned long long)files.rlim_max, (unsigned long long)most);
            w->config.slots = (int)most;
        }
    }
    signal(SIGPIPE, SIG_IGN);
}

static enum err_code open_state(struct worker *w, struct err *err)
{
    CLEANUP(mem) char *data_dir = NULL;
    CLEANUP(buf) struct buf dir = BUF_INIT(4096);

    if (queue_name_check(slice_of(w->name), err) != E_OK)
        return err_wrap(err, "the worker's name '%s'", w->name);
    if (client_data_dir(w->config.data_dir, &data_dir, err) != E_OK)
        return err->code;
    buf_addf(&dir, "%s/workers/%s", data_dir, w->name);
    if (dir.overflowed)
        return err_set(err, E_INVALID, "the data directory's name is too long");
    /* Running, idle residents, being cleaned up; and programs of filters. */
    unsigned slots = (unsigned)w->config.slots * 3 + FILTER_SLOTS;

    if (slots_open(buf_text(&dir), slots, &w->slots, err) != E_OK)
        return err->code;
    if (instance_open(&w->instance, buf_text(&dir), err) != E_OK)
        return err->code;
    const struct process_registry *registry = slots_registry(w->slots);

    for (unsigned i = 0; i < registry->count; i++) {
        const struct process_record *r = process_registry_at(registry, i);

        if (r->process.pid != 0 && r->job[0] != '\0')
            VEC_PUSH(&w->lost_jobs, ((struct lost_job){mem_strdup(r->job), mem_strdup(r->lease)}));
    }
    struct stale_result left = stale_processes_kill(w->slots, STALE_WAIT_US);

    if (left.ended > 0)
        log_info("ended %u process%s that an earlier worker left", left.ended,
                 left.ended == 1 ? "" : "es");
    if (left.stay > 0)
        log_warn("%u of the processes that an earlier worker left cannot be ended", left.stay);
    return tree_new(&w->tree, err);
}

static void open_cgroup(struct worker *w)
{
    struct err err = ERR_INIT;

    if (cgroup_open(NULL, w->name, &w->cgroup, &err) != E_OK)
        log_debug("%s; memory is limited by rlimits, jobs have no cgroups", err.msg);
    else if (!cgroup_is_for_all(w->cgroup))
        log_debug("no cgroup is delegated: only jobs with a memory limit have cgroups");
}

enum err_code worker_new(uv_loop_t *loop, const struct worker_config *config,
                         struct worker **ret_worker, struct err *err)
{
    struct worker *w = mem_zalloc(sizeof(*w));

    w->loop = loop;
    w->queue_end = &w->queue;
    keep_config(w, config);
    char host[HOST_NAME_MAX + 1] = "localhost";

    gethostname(host, sizeof(host) - 1);
    w->host = keep_text(w, host);
    w->name = keep_text(w, config->name != NULL ? config->name : host);
    note_surroundings(w);
    talk_init(w);
    filter_desk_init(w);
    if (open_state(w, err) != E_OK || channels_open(loop, &w->channels, err) != E_OK ||
        async_client_new(loop, &w->config.client, &w->client, err) != E_OK) {
        channels_close(w->channels);
        worker_deinit(w);
        return err->code;
    }
    open_cgroup(w);
    worker_enter_loop(w);
    *ret_worker = w;
    return E_OK;
}
