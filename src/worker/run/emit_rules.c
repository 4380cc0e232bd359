/* SPDX-License-Identifier: MIT */
#include "worker/run/emit_rules.h"

#include "core/route/routing.h"
#include "core/submit/routing.h"

#define COMMANDS_REFUSED                                                                    \
    "jobs of this queue may not emit commands: emit into a queue that has the command, or " \
    "define this one with may_emit: {command: true}"

/* Canonical lists, or empty. */
static enum err_code check_dests(const struct emit_rules *r, struct slice json, const char *what,
                                 struct arena *arena, struct err *err)
{
    struct dest_list list = {.count = 0};

    if (json.size > 0 && dest_list_parse(json, what, arena, &list, NULL, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].kind == DEST_QUEUE &&
            r->knows_queue(r->ctx, list.items[i].name, err) != E_OK)
            return err_wrap(err, "%s[%zu]", what, i);
    return E_OK;
}

/* Queues must exist now: when a later step finds none, no program is there to be told. */
static enum err_code check_steps(const struct emit_rules *r, const struct route_step *steps,
                                 size_t n, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (r->knows_queue(r->ctx, steps[i].queue, err) != E_OK ||
            check_dests(r, steps[i].on_success, "on_success", arena, err) != E_OK ||
            check_dests(r, steps[i].on_failure, "on_failure", arena, err) != E_OK)
            return err_wrap(err, "steps[%zu]", i);
    return E_OK;
}

enum err_code emit_rules_check_job(const struct emit_rules *r, struct slice job, struct err *err)
{
    const struct submit_source source = {.no_commands = r->may_command ? NULL : COMMANDS_REFUSED,
                                         .emitted = true};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = {.step = 0};

    if (parse_job(job, &source, &arena, &item, err) != E_OK)
        return err->code;
    if (item.topic.size > 0)
        return r->knows_topic(r->ctx, item.topic, err);
    const struct routing *routing = item.routing;

    if (routing != NULL &&
        (check_steps(r, routing->steps, routing->n_steps, &arena, err) != E_OK ||
         check_dests(r, routing->on_success, "on_success", &arena, err) != E_OK ||
         check_dests(r, routing->on_failure, "on_failure", &arena, err) != E_OK))
        return err->code;
    return item.step > 0 ? E_OK : r->knows_queue(r->ctx, item.queue, err);
}

enum err_code emit_rules_check_step(const struct emit_rules *r, struct slice step, struct err *err)
{
    if (r->route == EMIT_NO_ROUTE)
        return err_set(err, E_CONFLICT, "this job has no route: it was created without steps");
    if (r->route == EMIT_ROUTE_FINAL)
        return err_set(err, E_CONFLICT, "the final steps of the route have begun");
    const struct submit_source source = {.no_commands = r->may_command ? NULL : COMMANDS_REFUSED};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_step *steps = NULL;
    size_t n = 0;

    if (parse_added_steps(step, &source, &arena, &steps, &n, err) != E_OK)
        return err->code;
    return check_steps(r, steps, n, &arena, err);
}
