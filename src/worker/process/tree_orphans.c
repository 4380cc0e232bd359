/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "worker/process/tree_internal.h"

enum {
    DESCENDANTS_MAX = 10000, /* maximum noted in one call */
    CHILDREN_TEXT = 4096,
    LOOKS_MIN = 2,   /* before an environment counts as empty */
    LOOKS_MAX = 200, /* at a process that seems to be executing another program */
};

void tree_read_children(struct tree *t)
{
    char text[CHILDREN_TEXT];
    off_t at = 0;
    CLEANUP(buf) struct buf all = BUF_INIT(16 << 20);

    VEC_CLEAR(&t->children.all);
    if (t->children_fd < 0) {
        proc_children(t->self, &t->children);
        return;
    }
    /* Children leave the list only when we reap them, so reading it piece by piece misses none. */
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

/* While it runs its pid cannot be reused; later it may be. */
bool tree_is_spared(struct tree *t, pid_t pid)
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

/* The environment read last belongs to this job. */
static bool is_marked(const struct tree *t, const struct tree_job *job)
{
    return job->lease != NULL && slice_is(proc_env(&t->environment, "WAYBILL_LEASE"), job->lease) &&
           (job->id == NULL || slice_is(proc_env(&t->environment, "WAYBILL_ID"), job->id));
}

/* The serial of its job by environment, group or directory; 0: unknown, perhaps only yet. */
static uint64_t owner_of(struct tree *t, const struct proc *p, struct orphan *o)
{
    enum proc_env_state read = proc_environ(p->pid, &t->environment);

    o->looks++;
    o->settled = read == PROC_ENV_READ || p->state == 'Z' ||
                 o->looks >= (read == PROC_ENV_EMPTY ? LOOKS_MIN : LOOKS_MAX);
    for (size_t i = 0; i < t->jobs.count; i++) {
        const struct tree_job *job = t->jobs.items[i];

        if (p->start_ticks < job->start_ticks)
            continue;
        if (p->group == job->pid || is_marked(t, job))
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

void tree_note_descendants(struct tree *t, pid_t root, uint64_t serial)
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

void tree_look_at_children(struct tree *t)
{
    size_t kept = 0;

    tree_read_children(t);
    for (size_t i = 0; i < t->orphans.count; i++)
        t->orphans.items[i].seen = false;
    for (size_t i = 0; i < t->children.all.count; i++) {
        pid_t pid = t->children.all.items[i];
        struct proc p;

        if (map_find(&t->by_pid, pid) != NULL || tree_is_spared(t, pid) || !proc_find(pid, &p))
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

bool tree_is_doomed(const struct tree *t, const struct orphan *o)
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
