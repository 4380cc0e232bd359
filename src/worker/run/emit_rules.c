/* SPDX-License-Identifier: MIT */
#include "worker/run/emit_rules.h"

#include "base/jtext/jtext.h"
#include "core/route/dest.h"
#include "core/route/routing.h"

static enum err_code forbid_command(struct err *err)
{
    return err_set(err, E_FORBIDDEN,
                   "command: jobs of this queue may not emit commands: emit into a queue that has "
                   "the command, or define this one with may_emit: {command: true}");
}

/* Queues must exist now: when a later step finds none, no program is there to be told. */
static enum err_code check_steps(const struct emit_rules *r, struct slice list, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_step *steps;
    size_t n;

    if (route_steps_parse(list, 0, &arena, &steps, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n && !r->may_command; i++)
        if (steps[i].command.size > 0) {
            (void)forbid_command(err);
            return err_wrap(err, "steps[%zu]", i);
        }
    for (size_t i = 0; i < n; i++)
        if (r->knows_queue(r->ctx, steps[i].queue, err) != E_OK)
            return err_wrap(err, "steps[%zu]", i);
    return E_OK;
}

enum err_code emit_rules_check_job(const struct emit_rules *r, struct slice job, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    struct slice steps;
    bool has_steps = jtext_find(job, "steps", &steps);

    if (!r->may_command && jtext_find(job, "command", &value) && jtext_type_of(value) != JTEXT_NULL)
        return forbid_command(err);
    if (jtext_find(job, "queue", &value)) {
        if (has_steps)
            return err_set(err, E_INVALID,
                           "a job with steps goes to the queues that they name, "
                           "it has no 'queue'");
        if (jtext_type_of(value) != JTEXT_STRING)
            return err_set(err, E_INVALID, "'queue' must be the name of a queue");
        return r->knows_queue(r->ctx, jtext_text(value, &arena), err);
    }
    if (has_steps)
        return check_steps(r, steps, err);
    if (!jtext_find(job, "topic", &value) || jtext_type_of(value) != JTEXT_STRING)
        return err_set(err, E_INVALID, "a job needs a 'queue', a 'topic' or 'steps'");
    struct slice topic = jtext_text(value, &arena);

    if (dest_name_check("topic", topic, err) != E_OK)
        return err->code;
    return r->knows_topic(r->ctx, topic, err);
}

enum err_code emit_rules_check_step(const struct emit_rules *r, struct slice step, struct err *err)
{
    if (r->route == EMIT_NO_ROUTE)
        return err_set(err, E_CONFLICT, "this job has no route: it was created without steps");
    if (r->route == EMIT_ROUTE_FINAL)
        return err_set(err, E_CONFLICT, "the final steps of the route have begun");
    return check_steps(r, step, err);
}
