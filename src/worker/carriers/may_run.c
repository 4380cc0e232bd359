/* SPDX-License-Identifier: MIT */
#include "worker/carriers/may_run.h"

#include "base/jtext/jtext.h"
#include "worker/run/task.h"
#include "worker/talk/served_queues.h"

/* ---- queues ---- */

static const struct worker_own_queue *own_of(const struct served_queues *all, struct slice name)
{
    for (size_t i = 0; i < all->n_own; i++)
        if (slice_equal(all->own[i].name, name))
            return &all->own[i];
    return NULL;
}

/* A subscriber's queue belongs to another worker, unless it was asked for by name. */
static bool is_wanted(const struct served_queues *all, struct slice name, struct slice server)
{
    struct slice subscriber;

    if (served_queues_subscription(all, name) != NULL)
        return true;
    for (size_t i = 0; i < all->n_only; i++)
        if (slice_is(name, all->only[i]))
            return true;
    return all->n_only == 0 && all->n_subscriptions == 0 &&
           !jtext_find(server, "subscriber", &subscriber);
}

enum err_code may_run_queue(const struct served_queues *all, struct slice name, struct slice server,
                            struct queue_reading *ret_reading, struct err *err)
{
    const struct subscription *subscription = served_queues_subscription(all, name);
    const struct worker_own_queue *own = own_of(all, name);
    struct queue_reading r = {.arena = ARENA_INIT};

    if (own == NULL && subscription != NULL)
        own = own_of(all, slice_of(subscription->topic));
    if (!is_wanted(all, name, server) || (own == NULL && all->own_only))
        return err_set(err, E_NOT_FOUND, "not asked for");
    r.json = own != NULL ? own->definition : server;
    enum err_code code = queue_def_parse_stored(r.json, &r.arena, &r.def, err);

    if (code == E_OK && r.def.command.size > 0)
        code = template_command_parse(r.def.command, &r.arena, &r.command, NULL, err);
    else if (code == E_OK && !r.def.own_command)
        code = err_set(err, E_NOT_FOUND, "without a command: only for claims over HTTP");
    if (code != E_OK) {
        arena_deinit(&r.arena);
        return code;
    }
    *ret_reading = r;
    return E_OK;
}

/* ---- jobs ---- */

static enum err_code choose_command(struct task *t, struct err *err)
{
    const struct served_queue *q = t->served;
    struct run_plan *p = &t->plan;

    p->command = &q->command;
    if (p->own_command) {
        struct template_command *own = arena_alloc(&t->arena, sizeof(*own));

        p->command = own;
        return template_command_parse(t->command, &t->arena, own, NULL, err);
    }
    if (q->def.command.size == 0)
        return err_set(err, E_INVALID, "the job brings no command, and queue '%s' has none",
                       q->name);
    return E_OK;
}

/* A command that a job has emitted runs as the user and under the limits of that job, in whatever
 * queue it is: else it could gain rights by its choice of the queue. */
static enum err_code choose_rights(struct task *t, enum carrier_blame *ret_blame, struct err *err)
{
    struct served_queue *q = t->served;
    struct run_plan *p = &t->plan;
    struct queue_limits own = {0};

    if (t->limits.size > 0 && p->carrier != &resident_carrier &&
        queue_limits_parse(t->limits, &t->arena, &own, err) != E_OK) {
        *ret_blame = BLAME_JOB;
        return err_wrap(err, "the limits that came with the command");
    }
    if (own.user.size > 0 && !slice_equal(own.user, q->def.limits.user)) {
        *ret_blame = BLAME_JOB;
        if (spawn_user_find(own.user, &p->own_user, err) != E_OK)
            return err->code;
        *ret_blame = BLAME_QUEUE;
        p->user = p->own_user;
    } else {
        if (q->def.limits.user.size > 0 && q->user == NULL &&
            spawn_user_find(q->def.limits.user, &q->user, err) != E_OK)
            return err->code;
        p->user = q->user;
    }
    p->limits = queue_limits_for(&own, &q->def.limits);
    return E_OK;
}

enum err_code may_run_job(struct task *t, enum carrier_blame *ret_blame, struct err *err)
{
    const struct queue_def *def = &t->served->def;
    struct run_plan *p = &t->plan;

    p->own_command = t->command.size > 0;
    p->carrier = def->resident && !p->own_command ? &resident_carrier : &program_carrier;
    /* A resident proves it with its first answer. */
    p->proves_queue = p->carrier == &program_carrier && (!p->own_command || def->command.size == 0);
    if (choose_rights(t, ret_blame, err) != E_OK)
        return err->code;
    if (choose_command(t, err) != E_OK) {
        *ret_blame = BLAME_JOB;
        return err->code;
    }
    return E_OK;
}

void run_plan_deinit(struct run_plan *p)
{
    spawn_user_free(p->own_user);
    p->own_user = NULL;
}
