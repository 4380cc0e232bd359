/* SPDX-License-Identifier: MIT */
#include "worker/carriers/launch.h"

#include "base/os/log.h"
#include "worker/internal.h"

enum err_code launch_slot(struct worker *w, const struct run_plan *plan, struct slot_job *job,
                          struct slot **ret_slot, struct err *err)
{
    struct slot *slot = slot_take(w->slots);

    if (slot == NULL)
        return err_set(err, E_UNAVAILABLE,
                       "no free slot: programs of ended jobs are still being killed");
    job->user = plan->user;
    if (slot_prepare(w->slots, slot, job, err) != E_OK) {
        slot_release(w->slots, slot);
        return err->code;
    }
    *ret_slot = slot;
    return E_OK;
}

/* Without a group the program runs all the same: the tree finds what it starts, an rlimit limits
 * its memory. */
static void enter_cgroup(struct worker *w, const struct launch *l, struct cgroup_job *job)
{
    int64_t memory = l->plan->limits.memory;
    struct err err = ERR_INIT;

    if (w->cgroup == NULL)
        return;
    if (!cgroup_limits_memory(w->cgroup))
        memory = 0;
    if (memory == 0 && !cgroup_is_for_all(w->cgroup))
        return;
    if (cgroup_job_open(w->cgroup, l->slot->number, memory, job, &err) != E_OK)
        log_warn("%s; the job runs without its own cgroup", err.msg);
}

enum err_code launch_start(struct worker *w, const struct launch *l, struct cgroup_job *ret_cgroup,
                           struct err *err)
{
    const struct queue_limits *limits = &l->plan->limits;
    struct channel_ends ends = channel_ends(l->channel);
    CLEANUP(mem) char *path = NULL;

    if (spawn_find(slice_of(l->argv[0]), l->search_dir, w->path, &path, err) != E_OK)
        return err->code;
    enter_cgroup(w, l, ret_cgroup);
    struct spawn s = {
        .path = path,
        .argv = l->argv,
        .envp = l->envp,
        .dir = w->work_dir != NULL ? w->work_dir : l->slot->dir,
        .in = l->input,
        .out = ends.out,
        .errors = ends.errors,
        .errors_apart = ends.errors >= 0,
        .words = ends.words,
        .replies = ends.replies,
        .cgroup_fd = ret_cgroup->procs_fd,
        .user = l->plan->user,
        .limits = {.memory = ret_cgroup->limited ? 0 : limits->memory, /* the group limits it */
                   .cpu_us = limits->cpu_us,
                   .files = limits->files,
                   .nice = limits->niced ? limits->nice : 0},
        .mask = w->mask,
        .soft_files = w->soft_files,
    };

    if (l->work_dir != NULL)
        s.dir = l->work_dir;
    return spawn_start(&s, &l->slot->record->process, err);
}
