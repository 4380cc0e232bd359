/* SPDX-License-Identifier: MIT */
#include "worker/process/stale_processes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/process/proc.h"

enum {
    ENVIRON_MAX = 8 << 20,
    UNFINISHED_WINDOW_S = 10, /* maximum duration of a start whose end was not recorded */
    LOOK_AGAIN_MS = 20,
    STARTING_MS = 2,      /* between looks at a process that is executing another program */
    STARTING_ROUNDS = 20, /* maximum number of such looks */
    KTHREADD = 2,
};

/* What is searched for, and what was found. */
struct hunt {
    const struct process_record_list *records; /* of processes */
    const struct stale_job *job;               /* NULL: everything of an earlier worker */
    const char *boot;
    char *dir;               /* STATE; for `job` its parent directory */
    struct proc_list procs;  /* all of the machine, in this round */
    struct pid_list spared;  /* the worker and its ancestors */
    struct proc_list killed; /* so far */
    struct proc_list beyond; /* not permitted to signal */
    struct buf environment;
    unsigned empty;    /* empty environments in this round */
    unsigned starting; /* processes that were executing another program */
};

static struct proc *find_in(struct proc_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->all.count; i++)
        if (list->all.items[i].pid == pid)
            return &list->all.items[i];
    return NULL;
}

static bool is_in(const struct proc_list *list, const struct proc *p)
{
    for (size_t i = 0; i < list->all.count; i++)
        if (list->all.items[i].pid == p->pid && list->all.items[i].start_ticks == p->start_ticks)
            return true;
    return false;
}

static void spare_ancestors(struct hunt *h)
{
    struct proc p;

    for (pid_t pid = getpid(); pid > 0 && proc_find(pid, &p); pid = p.parent)
        VEC_PUSH(&h->spared.all, pid);
}

static bool is_spared(const struct hunt *h, pid_t pid)
{
    for (size_t i = 0; i < h->spared.all.count; i++)
        if (h->spared.all.items[i] == pid)
            return true;
    return false;
}

/* Ticks are coarser than microseconds: allows one tick on both sides. */
static bool began_then(const struct proc *p, const struct spawned *s)
{
    int64_t after = s->after_us != 0 ? s->after_us : s->before_us + UNFINISHED_WINDOW_S * US_PER_S;

    return p->start_ticks + 1 >= proc_ticks(s->before_us) &&
           p->start_ticks <= proc_ticks(after) + 1;
}

/* The recorded process, or a member of its group in the same session after that process is gone. */
static bool is_recorded(struct hunt *h, const struct proc *p)
{
    for (size_t i = 0; i < h->records->all.count; i++) {
        const struct process_record *r = &h->records->all.items[i];
        const struct spawned *s = &r->process;

        if (r->boot[0] == '\0' || strcmp(r->boot, h->boot) != 0)
            continue;
        if (p->pid == s->pid && began_then(p, s))
            return true;
        if (p->group != s->pid || p->session != r->session ||
            p->start_ticks + 1 < proc_ticks(s->before_us))
            continue;
        const struct proc *leader = find_in(&h->procs, s->pid);

        if (leader == NULL || began_then(leader, s))
            return true;
    }
    return false;
}

static bool is_in_dir(struct slice path, const char *dir)
{
    size_t size = strlen(dir);

    return path.size > size && memcmp(path.data, dir, size) == 0 && path.data[size] == '/';
}

/* Nothing of this STATE may run before its worker does.  A resident has no job file, but a mark. */
static bool is_of_state(const struct hunt *h, struct slice id, struct slice lease)
{
    if (is_in_dir(proc_env(&h->environment, "WAYBILL_JOB_FILE"), h->dir))
        return true;
    for (size_t i = 0; id.size == 0 && i < h->records->all.count; i++)
        if (h->records->all.items[i].mark[0] != '\0' &&
            slice_is(lease, h->records->all.items[i].mark))
            return true;
    return false;
}

/* Leases grow with each claim of a job, also as text. */
static bool is_earlier(struct slice lease, struct slice present)
{
    if (lease.size != present.size)
        return lease.size < present.size;
    return lease.size > 0 && memcmp(lease.data, present.data, lease.size) < 0;
}

/* Ids are unique per store: the job's URL must be the same, or its file beside our STATE. */
static bool is_of_job(const struct hunt *h, struct slice id, struct slice lease)
{
    struct slice url = proc_env(&h->environment, "WAYBILL_JOB_URL");

    if (!slice_equal(id, h->job->id) || !is_earlier(lease, h->job->lease))
        return false;
    return (url.size > 0 && slice_equal(url, h->job->url)) ||
           is_in_dir(proc_env(&h->environment, "WAYBILL_JOB_FILE"), h->dir);
}

static bool is_marked(struct hunt *h, const struct proc *p)
{
    enum proc_env_state read = proc_environ(p->pid, &h->environment);

    h->empty += read == PROC_ENV_EMPTY;
    h->starting += read == PROC_ENV_STARTING && p->pid != KTHREADD && p->parent != KTHREADD;
    struct slice id = proc_env(&h->environment, "WAYBILL_ID");
    struct slice lease = proc_env(&h->environment, "WAYBILL_LEASE");

    if (lease.size == 0)
        return false;
    return h->job != NULL ? is_of_job(h, id, lease) : is_of_state(h, id, lease);
}

/* One of its ancestors is in the list. */
static bool is_below(struct hunt *h, const struct proc *p, const struct proc_list *found)
{
    for (int depth = 0; p != NULL && depth < 1000; depth++) {
        if (is_in(found, p))
            return true;
        p = p->parent > 1 ? find_in(&h->procs, p->parent) : NULL;
    }
    return false;
}

/* Looks at all processes once; returns how many were found alive. */
static size_t one_round(struct hunt *h)
{
    CLEANUP(proc_list) struct proc_list found = {VEC_INIT};

    VEC_CLEAR(&h->procs.all);
    h->empty = h->starting = 0;
    (void)proc_all(&h->procs);
    for (size_t i = 0; i < h->procs.all.count; i++) {
        const struct proc *p = &h->procs.all.items[i];

        if (p->state == 'Z' || p->state == 'X' || is_spared(h, p->pid) || is_in(&h->beyond, p))
            continue;
        if (is_in(&h->killed, p) || is_recorded(h, p) || is_marked(h, p))
            VEC_PUSH(&found.all, *p);
    }
    size_t marked = found.all.count;

    for (size_t i = 0; marked > 0 && i < h->procs.all.count; i++) {
        const struct proc *p = &h->procs.all.items[i];

        if (p->state != 'Z' && p->state != 'X' && !is_spared(h, p->pid) && !is_in(&h->beyond, p) &&
            !is_in(&found, p) && is_below(h, p, &found))
            VEC_PUSH(&found.all, *p);
    }
    for (size_t i = 0; i < found.all.count; i++) {
        /* By a pidfd that is opened before the process is compared again. */
        int error = proc_signal(found.all.items[i].pid, found.all.items[i].start_ticks, SIGKILL);

        if (error == EPERM)
            VEC_PUSH(&h->beyond.all, found.all.items[i]);
        else if (error == 0 && !is_in(&h->killed, &found.all.items[i]))
            VEC_PUSH(&h->killed.all, found.all.items[i]);
    }
    return found.all.count;
}

static void wait_for_one(const struct hunt *h)
{
    for (size_t i = 0; i < h->killed.all.count; i++) {
        struct pollfd ended = {.events = POLLIN};

        ended.fd = proc_open(h->killed.all.items[i].pid, h->killed.all.items[i].start_ticks);
        if (ended.fd < 0)
            continue;
        bool alive = poll(&ended, 1, 0) == 0;

        if (alive)
            (void)poll(&ended, 1, LOOK_AGAIN_MS);
        close(ended.fd);
        if (alive)
            return;
    }
}

/* Some environments could not be read at that moment: look again. */
static bool look_again(const struct hunt *h, unsigned rounds)
{
    if (h->starting == 0 && (h->empty == 0 || rounds > 0))
        return false;
    if (rounds >= STARTING_ROUNDS)
        return false;
    (void)poll(NULL, 0, STARTING_MS);
    return true;
}

static struct stale_result hunt_down(struct hunt *h, int64_t wait_us)
{
    int64_t until = clock_mono_us() + wait_us;
    size_t left;

    spare_ancestors(h);
    for (unsigned unsure = 0;;) {
        left = one_round(h);
        if (left > 0) {
            if (clock_mono_us() >= until)
                break;
            wait_for_one(h);
        } else if (!look_again(h, unsure++)) {
            break;
        }
    }
    struct stale_result result = {.stay = (unsigned)(left + h->beyond.all.count)};

    for (size_t i = 0; i < h->killed.all.count; i++) {
        struct proc p;

        if (!proc_find(h->killed.all.items[i].pid, &p) || p.state == 'Z' ||
            p.start_ticks != h->killed.all.items[i].start_ticks)
            result.ended++;
    }
    return result;
}

static void hunt_deinit(struct hunt *h)
{
    free(h->dir);
    VEC_DEINIT(&h->procs.all);
    VEC_DEINIT(&h->spared.all);
    VEC_DEINIT(&h->killed.all);
    VEC_DEINIT(&h->beyond.all);
    buf_deinit(&h->environment);
}

struct stale_result stale_processes_kill(struct slots *s, int64_t wait_us)
{
    const struct process_registry *registry = slots_registry(s);
    CLEANUP(process_record_list) struct process_record_list list = {VEC_INIT};
    struct hunt h = {
        .records = &list,
        .boot = slots_boot(s),
        .dir = mem_strdup(slots_state_dir(s)),
        .environment = BUF_INIT(ENVIRON_MAX),
    };

    for (unsigned i = 0; i < registry->count; i++)
        if (process_registry_at(registry, i)->process.pid > 0)
            VEC_PUSH(&list.all, *process_registry_at(registry, i));
    struct stale_result result = hunt_down(&h, wait_us);

    hunt_deinit(&h);
    for (unsigned i = 0; result.stay == 0 && i < registry->count; i++)
        process_record_end(process_registry_at(registry, i));
    return result;
}

/* The records of the job's earlier leases, of all workers with a STATE beside ours. */
static void gather(const char *beside, const struct stale_job *job,
                   struct process_record_list *list)
{
    DIR *dir = opendir(beside);
    size_t kept = 0;

    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[PATH_MAX];

        if (entry->d_name[0] != '.' && snprintf(path, sizeof(path), "%s/%s/" PROCESS_REGISTRY_NAME,
                                                beside, entry->d_name) < (int)sizeof(path))
            process_registry_copy(path, list);
    }
    closedir(dir);
    for (size_t i = 0; i < list->all.count; i++) {
        const struct process_record *r = &list->all.items[i];

        if (slice_is(job->id, r->job) && is_earlier(slice_of(r->lease), job->lease))
            list->all.items[kept++] = *r;
    }
    list->all.count = kept;
}

struct stale_result stale_processes_kill_job(const struct slots *s, const struct stale_job *job,
                                             int64_t wait_us)
{
    CLEANUP(process_record_list) struct process_record_list list = {VEC_INIT};
    struct hunt h = {
        .records = &list,
        .job = job,
        .boot = slots_boot(s),
        .dir = mem_strdup(slots_state_dir(s)),
        .environment = BUF_INIT(ENVIRON_MAX),
    };
    char *slash = strrchr(h.dir, '/');

    ASSERT(slash != NULL);
    *slash = '\0';
    gather(h.dir, job, &list);
    struct stale_result result = hunt_down(&h, wait_us);

    hunt_deinit(&h);
    return result;
}
