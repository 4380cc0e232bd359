/* SPDX-License-Identifier: MIT */
#include "worker/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/map.h"
#include "base/vec.h"
#include "worker/proc.h"

enum {
    ROUNDS = 8,              /* of looking at the children in one call */
    DESCENDANTS_MAX = 10000, /* noted in one call */
    ENVIRON_MAX = 8 << 20,
    CHILDREN_TEXT = 4096,
    LOOKS_MIN = 2,   /* before an empty environment is believed */
    LOOKS_MAX = 200, /* at one that seems to be between two programs */
};

/* A process that is no program of a job but was started by one: a child of ours that has lost its parent,
 * or a descendant, noted before its ancestors were killed so that it is known when it comes to us. */
struct orphan {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t serial; /* of its job; 0: not known */
    bool child;      /* of ours */
    bool seen;       /* in the last look at the children */
    bool beyond;     /* not ours to signal */
    bool settled;    /* what it says of itself is all there is */
    unsigned looks;
};

struct spared {
    pid_t pid;
    uint64_t start_ticks;
    int pidfd;
};

struct tree {
    struct map by_pid; /* the programs that are not reaped */
    VEC(struct tree_job *) jobs;
    VEC(struct orphan) orphans;
    VEC(struct spared) spared;
    struct pid_list children;
    struct buf environment;
    int children_fd; /* -1: the kernel keeps no list */
    uint64_t last_serial;
    pid_t self;
};

static void read_children(struct tree *t)
{
    char text[CHILDREN_TEXT];
    off_t at = 0;
    CLEANUP(buf) struct buf all = BUF_INIT(16 << 20);

    VEC_CLEAR(&t->children.all);
    if (t->children_fd < 0) {
        proc_children(t->self, &t->children);
        return;
    }
    /* Only we remove children from the list, by reaping them: what is read piece by piece has no gaps. */
    for (;;) {
        ssize_t n = pread(t->children_fd, text, sizeof(text), at);

        if (n <= 0)
            break;
        if (at == 0 && n < (ssize_t)sizeof(text) / 2) {
            proc_parse_pids(slice_make(text, (size_t)n), &t->children);
            return;
        }
        buf_add(&all, text, (size_t)n);
        at += n;
    }
    proc_parse_pids(buf_slice(&all), &t->children);
}

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
    read_children(t);
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

/* While it runs the pid is its own; later it may be another's. */
static bool is_spared(struct tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->spared.count; i++) {
        struct spared *s = &t->spared.items[i];
        struct pollfd ended = {.fd = s->pidfd, .events = POLLIN};
        struct proc p;

        if (s->pid != pid)
            continue;
        if (poll(&ended, 1, 0) == 0 || (proc_find(pid, &p) && p.start_ticks == s->start_ticks))
            return true;
        close(s->pidfd);
        *s = t->spared.items[--t->spared.count];
        return false;
    }
    return false;
}

static bool is_live(const struct tree_job *job)
{
    return !job->exited && !job->ending;
}

static struct tree_job *job_of_serial(const struct tree *t, uint64_t serial)
{
    for (size_t i = 0; i < t->jobs.count; i++)
        if (t->jobs.items[i]->serial == serial)
            return t->jobs.items[i];
    return NULL;
}

/* Whose it is, by what it says itself: 0 when it says nothing, or nothing yet. */
static uint64_t owner_of(struct tree *t, const struct proc *p, struct orphan *o)
{
    enum proc_env_state read = proc_environ(p->pid, &t->environment);

    o->looks++;
    o->settled = read == PROC_ENV_READ || p->state == 'Z' ||
                 o->looks >= (read == PROC_ENV_EMPTY ? LOOKS_MIN : LOOKS_MAX);
    struct slice lease = proc_env(&t->environment, "WAYBILL_LEASE");

    for (size_t i = 0; i < t->jobs.count; i++) {
        const struct tree_job *job = t->jobs.items[i];

        if (p->start_ticks < job->start_ticks)
            continue;
        if (p->group == job->pid || (job->lease != NULL && slice_is(lease, job->lease)))
            return job->serial;
    }
    for (size_t i = 0; i < t->jobs.count; i++) {
        const struct tree_job *job = t->jobs.items[i];

        if (job->dir != NULL && p->start_ticks >= job->start_ticks && proc_is_in(p->pid, job->dir))
            return job->serial;
    }
    return 0;
}

static struct orphan *orphan_of(struct tree *t, const struct proc *p)
{
    for (size_t i = 0; i < t->orphans.count; i++)
        if (t->orphans.items[i].pid == p->pid) {
            struct orphan *o = &t->orphans.items[i];

            if (o->start_ticks != p->start_ticks)
                *o = (struct orphan){.pid = p->pid, .start_ticks = p->start_ticks};
            return o;
        }
    VEC_PUSH(&t->orphans, ((struct orphan){.pid = p->pid, .start_ticks = p->start_ticks}));
    return &t->orphans.items[t->orphans.count - 1];
}

/* All below a process: they are `serial`'s, wherever they go. */
static void note_descendants(struct tree *t, pid_t root, uint64_t serial)
{
    CLEANUP(pid_list) struct pid_list todo = {VEC_INIT};

    proc_children(root, &todo);
    for (size_t i = 0; i < todo.all.count && i < DESCENDANTS_MAX; i++) {
        struct proc p;

        if (!proc_find(todo.all.items[i], &p))
            continue;
        struct orphan *o = orphan_of(t, &p);

        if (o->serial == 0)
            o->serial = serial;
        proc_children(p.pid, &todo);
    }
}

/* The children that are nobody's program, each with its owner as far as it is known. */
static void look_at_children(struct tree *t)
{
    size_t kept = 0;

    read_children(t);
    for (size_t i = 0; i < t->orphans.count; i++)
        t->orphans.items[i].seen = false;
    for (size_t i = 0; i < t->children.all.count; i++) {
        pid_t pid = t->children.all.items[i];
        struct proc p;

        if (map_find(&t->by_pid, pid) != NULL || is_spared(t, pid) || !proc_find(pid, &p))
            continue;
        struct orphan *o = orphan_of(t, &p);

        o->child = o->seen = true;
        if (o->serial == 0)
            o->serial = owner_of(t, &p, o);
    }
    for (size_t i = 0; i < t->orphans.count; i++)
        if (t->orphans.items[i].seen || !t->orphans.items[i].child)
            t->orphans.items[kept++] = t->orphans.items[i];
    t->orphans.count = kept;
}

/* Its job is over, or all that it may belong to are: those that ran when it began. */
static bool is_doomed(const struct tree *t, const struct orphan *o)
{
    if (o->serial != 0) {
        const struct tree_job *job = job_of_serial(t, o->serial);

        return job == NULL || !is_live(job);
    }
    for (size_t i = 0; i < t->jobs.count; i++)
        if (is_live(t->jobs.items[i]) && t->jobs.items[i]->start_ticks <= o->start_ticks)
            return false;
    return true;
}

/* Nobody knows yet whose it is: it must not be passed over. */
static bool is_open(const struct orphan *o)
{
    return o->child && o->serial == 0 && !o->settled;
}

/* A child of ours: the pid is its own until we reap it. */
static bool kill_child(struct orphan *o)
{
    if (kill(o->pid, SIGKILL) < 0 && errno == EPERM)
        o->beyond = true;
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)o->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == o->pid;
}

/* Kills the doomed; returns how many of them are left that count for `serial` (0: for anybody). */
static unsigned kill_doomed(struct tree *t, uint64_t serial, bool *ret_reaped)
{
    unsigned left = 0;
    size_t count = t->orphans.count;

    *ret_reaped = false;
    for (size_t i = 0; i < count; i++)
        if (t->orphans.items[i].child && is_doomed(t, &t->orphans.items[i]))
            note_descendants(t, t->orphans.items[i].pid, t->orphans.items[i].serial);
    for (size_t i = 0; i < t->orphans.count; i++) {
        struct orphan *o = &t->orphans.items[i];

        if (!is_doomed(t, o)) {
            left += is_open(o) ? 1 : 0;
            continue;
        }
        if (!o->child) {
            (void)proc_signal(o->pid, o->start_ticks, SIGKILL);
            continue;
        }
        if (kill_child(o)) {
            o->seen = false;
            *ret_reaped = true;
        } else if (!o->beyond && (serial == 0 || o->serial == serial || o->serial == 0)) {
            left++;
        }
    }
    return left;
}

/* Those noted below an orphan of nobody in particular: no job's end will forget them. */
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
        look_at_children(t);
        left = kill_doomed(t, serial, &reaped);
    }
    if (left == 0)
        forget_noted(t);
    return left;
}

/* The group, once; the program too when it has gone to another group. */
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
        note_descendants(t, job->pid, job->serial);
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
        note_descendants(t, job->pid, job->serial);
        signal_program(job, SIGKILL);
        left++;
    }
    return end_orphans(t, 0) + left;
}

void tree_signal(struct tree *t, struct tree_job *job, int sig)
{
    bool wake = sig != SIGKILL && sig != SIGCONT && sig != SIGSTOP && sig != SIGTSTP;

    look_at_children(t);
    if (!job->exited) {
        note_descendants(t, job->pid, job->serial);
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

/* libc's waitid does not tell the usage. */
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

/* Takes what was seen of a child.  As long as the leader is not reaped nobody else can have its group. */
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

/* One that is not ours to reap would hide the others from a wait for any: ask each. */
static void reap_each(struct tree *t, tree_event_fn *fn, void *ctx)
{
    CLEANUP(pid_list) struct pid_list pids = {VEC_INIT};
    siginfo_t info;

    read_children(t);
    for (size_t i = 0; i < t->children.all.count; i++)
        VEC_PUSH(&pids.all, t->children.all.items[i]);
    for (size_t i = 0; i < pids.all.count; i++)
        while (!is_spared(t, pids.all.items[i]) &&
               wait_for(P_PID, pids.all.items[i], ALL_EVENTS, &info, NULL))
            take(t, &info, fn, ctx);
}

void tree_reap(struct tree *t, tree_event_fn *fn, void *ctx)
{
    siginfo_t info;

    while (wait_for(P_ALL, 0, ALL_EVENTS, &info, NULL)) {
        if (is_spared(t, info.si_pid)) {
            reap_each(t, fn, ctx);
            return;
        }
        take(t, &info, fn, ctx);
    }
}
