/* SPDX-License-Identifier: MIT */
#include "worker/process/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "worker/process/tree_internal.h"

enum {
    ROUNDS = 8, /* maximum looks at the children in one call */
    ENVIRON_MAX = 8 << 20,
};

enum err_code tree_new(struct tree **ret_tree, struct err *err)
{
    char path[64];

    ASSERT(gettid() == getpid());
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_errno(err, E_INTERNAL, "become a subreaper");
    struct tree *t = mem_zalloc(sizeof(*t));

    t->by_pid = MAP_INIT;
    t->environment = BUF_INIT(ENVIRON_MAX);
    t->self = getpid();
    snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)t->self);
    t->children_fd = open(path, O_RDONLY | O_CLOEXEC);
    tree_read_children(t);
    for (size_t i = 0; i < t->children.all.count; i++)
        tree_spare(t, t->children.all.items[i]);
    *ret_tree = t;
    return E_OK;
}

void tree_free(struct tree *t)
{
    if (t == NULL)
        return;
    if (t->children_fd >= 0)
        close(t->children_fd);
    map_deinit(&t->by_pid);
    VEC_DEINIT(&t->jobs);
    VEC_DEINIT(&t->orphans);
    for (size_t i = 0; i < t->spared.count; i++)
        close(t->spared.items[i].pidfd);
    VEC_DEINIT(&t->spared);
    pid_list_cleanup(&t->children);
    buf_deinit(&t->environment);
    free(t);
}

void tree_add(struct tree *t, struct tree_job *job, const struct spawned *started)
{
    ASSERT(started->pid > 0);
    job->pid = started->pid;
    job->start_ticks = proc_ticks(started->before_us);
    job->serial = ++t->last_serial;
    job->exited = job->ending = false;
    map_put(&t->by_pid, job->pid, job);
    VEC_PUSH(&t->jobs, job);
}

static void forget_orphans_of(struct tree *t, uint64_t serial)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->orphans.count; i++)
        if (t->orphans.items[i].child || t->orphans.items[i].serial != serial)
            t->orphans.items[kept++] = t->orphans.items[i];
    t->orphans.count = kept;
}

void tree_remove(struct tree *t, struct tree_job *job)
{
    if (!job->exited)
        map_remove(&t->by_pid, job->pid);
    for (size_t i = 0; i < t->jobs.count; i++)
        if (t->jobs.items[i] == job) {
            t->jobs.items[i] = t->jobs.items[--t->jobs.count];
            break;
        }
    forget_orphans_of(t, job->serial);
}

void tree_spare(struct tree *t, pid_t pid)
{
    struct proc p;
    int pidfd = proc_find(pid, &p) ? proc_open(pid, p.start_ticks) : -1;

    if (pidfd >= 0)
        VEC_PUSH(&t->spared, ((struct spared){pid, p.start_ticks, pidfd}));
}

/* Its job is not known yet: it must be looked at again. */
static bool is_open(const struct orphan *o)
{
    return o->child && o->serial == 0 && !o->settled;
}

/* Kills the orphans without a live job; returns how many are left that count for `serial` (0:
 * for any job). */
static unsigned kill_doomed(struct tree *t, uint64_t serial, bool *ret_reaped)
{
    unsigned left = 0;
    size_t count = t->orphans.count;

    *ret_reaped = false;
    for (size_t i = 0; i < count; i++)
        if (t->orphans.items[i].child && tree_is_doomed(t, &t->orphans.items[i]))
            tree_note_descendants(t, t->orphans.items[i].pid, t->orphans.items[i].serial);
    for (size_t i = 0; i < t->orphans.count; i++) {
        struct orphan *o = &t->orphans.items[i];

        if (!tree_is_doomed(t, o)) {
            left += is_open(o) ? 1 : 0;
            continue;
        }
        if (!o->child) {
            (void)proc_signal(o->pid, o->start_ticks, SIGKILL);
            continue;
        }
        /* A child of ours: its pid cannot be reused before we reap it. */
        if (kill(o->pid, SIGKILL) < 0 && errno == EPERM)
            o->beyond = true;
        siginfo_t info = {.si_pid = 0};

        if (waitid(P_PID, (id_t)o->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == o->pid) {
            o->seen = false;
            *ret_reaped = true;
        } else if (!o->beyond && (serial == 0 || o->serial == serial || o->serial == 0)) {
            left++;
        }
    }
    return left;
}

/* Forgets descendants noted below an orphan of unknown job: the end of no job does that. */
static void forget_noted(struct tree *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->orphans.count; i++)
        if (t->orphans.items[i].child || t->orphans.items[i].serial != 0)
            t->orphans.items[kept++] = t->orphans.items[i];
    t->orphans.count = kept;
}

static unsigned end_orphans(struct tree *t, uint64_t serial)
{
    unsigned left = 0;
    bool reaped = true;

    for (int round = 0; round < ROUNDS && reaped; round++) {
        tree_look_at_children(t);
        left = kill_doomed(t, serial, &reaped);
    }
    if (reaped)
        return left + 1; /* their children may have become ours since */
    if (left == 0)
        forget_noted(t);
    return left;
}

/* Signals the group, and the program itself when it has moved to another group. */
static void signal_program(const struct tree_job *job, int sig)
{
    kill(-job->pid, sig);
    if (getpgid(job->pid) != job->pid)
        kill(job->pid, sig);
}

unsigned tree_end(struct tree *t, struct tree_job *job)
{
    job->ending = true;
    if (!job->exited) {
        tree_note_descendants(t, job->pid, job->serial);
        signal_program(job, SIGKILL);
    }
    return end_orphans(t, job->serial) + (job->exited ? 0 : 1);
}

unsigned tree_end_all(struct tree *t)
{
    unsigned left = 0;

    for (size_t i = 0; i < t->jobs.count; i++) {
        struct tree_job *job = t->jobs.items[i];

        job->ending = true;
        if (job->exited)
            continue;
        tree_note_descendants(t, job->pid, job->serial);
        signal_program(job, SIGKILL);
        left++;
    }
    return end_orphans(t, 0) + left;
}

void tree_signal(struct tree *t, struct tree_job *job, int sig)
{
    bool wake = sig != SIGKILL && sig != SIGCONT && sig != SIGSTOP && sig != SIGTSTP;

    tree_look_at_children(t);
    if (!job->exited) {
        tree_note_descendants(t, job->pid, job->serial);
        signal_program(job, sig);
        if (wake)
            signal_program(job, SIGCONT);
    }
    for (size_t i = 0; i < t->orphans.count; i++) {
        const struct orphan *o = &t->orphans.items[i];
        struct proc p;

        if (o->serial != job->serial || !proc_find(o->pid, &p))
            continue;
        if (!job->exited && p.group == job->pid)
            continue;
        (void)proc_signal(o->pid, o->start_ticks, sig);
        if (wake)
            (void)proc_signal(o->pid, o->start_ticks, SIGCONT);
    }
}
