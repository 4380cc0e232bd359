/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

#include "worker/process/tree_internal.h"

static enum tree_event_kind kind_of(int code)
{
    switch (code) {
    case CLD_EXITED: return TREE_EXITED;
    case CLD_STOPPED:
    case CLD_TRAPPED: return TREE_STOPPED;
    case CLD_CONTINUED: return TREE_CONTINUED;
    default: return TREE_KILLED;
    }
}

static int flag_of(enum tree_event_kind kind)
{
    switch (kind) {
    case TREE_EXITED:
    case TREE_KILLED: return WEXITED;
    case TREE_STOPPED: return WSTOPPED;
    case TREE_CONTINUED: return WCONTINUED;
    }
    return WEXITED;
}

/* libc's waitid does not return the usage. */
static bool wait_for(idtype_t type, pid_t pid, int flags, siginfo_t *info, struct rusage *usage)
{
    info->si_pid = 0;
    for (;;) {
        if (syscall(SYS_waitid, type, pid, info, flags | WNOHANG, usage) == 0)
            return info->si_pid != 0;
        if (errno != EINTR)
            return false;
    }
}

/* Handles what was seen of a child.  Its group is killed before it is reaped: until then no
 * other process can have that group. */
static void take(struct tree *t, const siginfo_t *seen, tree_event_fn *fn, void *ctx)
{
    pid_t pid = seen->si_pid;
    struct tree_job *job = map_find(&t->by_pid, pid);
    struct tree_event event = {.job = job, .kind = kind_of(seen->si_code)};
    bool over = event.kind == TREE_EXITED || event.kind == TREE_KILLED;
    siginfo_t info;

    if (job != NULL && over)
        kill(-pid, SIGKILL);
    if (!wait_for(P_PID, pid, flag_of(event.kind), &info, over ? &event.usage : NULL) ||
        job == NULL)
        return;
    event.status = info.si_status;
    if (over) {
        job->exited = true;
        map_remove(&t->by_pid, pid);
    }
    fn(ctx, &event);
}

enum { ALL_EVENTS = WEXITED | WSTOPPED | WCONTINUED | WNOWAIT };

/* A spared child would hide others from a wait for any child, so each one is waited for. */
static void reap_each(struct tree *t, tree_event_fn *fn, void *ctx)
{
    CLEANUP(pid_list) struct pid_list pids = {VEC_INIT};
    siginfo_t info;

    tree_read_children(t);
    for (size_t i = 0; i < t->children.all.count; i++)
        VEC_PUSH(&pids.all, t->children.all.items[i]);
    for (size_t i = 0; i < pids.all.count; i++)
        while (!tree_is_spared(t, pids.all.items[i]) &&
               wait_for(P_PID, pids.all.items[i], ALL_EVENTS, &info, NULL))
            take(t, &info, fn, ctx);
}

void tree_reap(struct tree *t, tree_event_fn *fn, void *ctx)
{
    siginfo_t info;

    while (wait_for(P_ALL, 0, ALL_EVENTS, &info, NULL)) {
        if (tree_is_spared(t, info.si_pid)) {
            reap_each(t, fn, ctx);
            return;
        }
        take(t, &info, fn, ctx);
    }
}
