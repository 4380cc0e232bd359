/* SPDX-License-Identifier: MIT */
#include "core/submit/routing.h"

/* Of all jobs of one request. */
enum { REQUEST_STEPS_MAX = 200000, REQUEST_CONDITIONS_MAX = 200000 };
#define REQUEST_ROUTINGS_MAX ((size_t)32 << 20)

static enum err_code add_up(struct routing_sum *sum, struct routing_sum more, struct err *err)
{
    if (sum == NULL)
        return E_OK;
    sum->steps += more.steps;
    sum->conditions += more.conditions;
    sum->bytes += more.bytes;
    if (sum->steps > REQUEST_STEPS_MAX)
        return err_set(err, E_TOO_LARGE,
                       "the request has more than %d steps in all: send several requests",
                       REQUEST_STEPS_MAX);
    if (sum->conditions > REQUEST_CONDITIONS_MAX)
        return err_set(err, E_TOO_LARGE,
                       "the request has more than %d conditions in all: send several requests",
                       REQUEST_CONDITIONS_MAX);
    if (sum->bytes > REQUEST_ROUTINGS_MAX)
        return err_set(err, E_TOO_LARGE,
                       "steps and destinations of the request have more than %zu MiB in all: send "
                       "several requests",
                       REQUEST_ROUTINGS_MAX >> 20);
    return E_OK;
}

/* ---- the route ---- */

static enum err_code check_commands(const struct route_step *steps, size_t n,
                                    const char *no_commands, struct err *err)
{
    for (size_t i = 0; i < n && no_commands != NULL; i++)
        if (steps[i].command.size > 0)
            return err_set(err, E_FORBIDDEN, "steps[%zu].command: %s", i, no_commands);
    return E_OK;
}

static enum err_code read_progress(struct slice json, struct arena *arena, struct routing *routing,
                                   struct submit_item *item, struct err *err)
{
    struct route_status *entries = NULL;

    if (json.size == 0)
        return E_OK;
    if (route_progress_parse(json, routing, arena, &entries, &item->n_progress, err) != E_OK)
        return err->code;
    item->progress = entries;
    route_skip(routing, entries, item->n_progress, arena); /* run elsewhere: not run again */
    return E_OK;
}

static enum err_code begin_route(struct routing *routing, struct arena *arena,
                                 struct submit_item *item, struct err *err)
{
    const struct route_step *first = route_first(routing);

    if (first == NULL)
        return err_set(err, E_INVALID,
                       "progress: every step has a status already, nothing is left to run");
    item->queue = first->queue;
    item->options = route_options(routing, first, arena);
    item->step = first->number;
    item->step_params = first->params;
    return E_OK;
}

static enum err_code read_route(const struct routing_values *values, const char *no_commands,
                                struct arena *arena, struct routing *routing,
                                struct submit_item *item, struct err *err)
{
    if (values->steps.size == 0)
        return values->progress.size == 0
                   ? E_OK
                   : err_set(err, E_INVALID, "progress: is for a job with 'steps'");
    routing->options = item->options;
    if (route_steps_parse(values->steps, 0, arena, &routing->steps, &routing->n_steps, err) !=
            E_OK ||
        check_commands(routing->steps, routing->n_steps, no_commands, err) != E_OK ||
        read_progress(values->progress, arena, routing, item, err) != E_OK)
        return err->code;
    return begin_route(routing, arena, item, err);
}

/* ---- all of it ---- */

enum err_code parse_routing(const struct routing_values *values, const struct submit_source *source,
                            struct arena *arena, struct submit_item *item, struct err *err)
{
    struct routing *routing = arena_zalloc(arena, sizeof(*routing));
    struct after_cond *conds = NULL;

    routing->parent = values->parent;
    if (read_route(values, source->no_commands, arena, routing, item, err) != E_OK)
        return err->code;
    if (values->on_success.size > 0 && dest_list_canonical(values->on_success, "on_success", arena,
                                                           &routing->on_success, err) != E_OK)
        return err->code;
    if (values->on_failure.size > 0 && dest_list_canonical(values->on_failure, "on_failure", arena,
                                                           &routing->on_failure, err) != E_OK)
        return err->code;
    if (values->after.size > 0 &&
        after_parse(values->after, arena, &conds, &item->n_after, err) != E_OK)
        return err->code;
    item->after = conds;
    size_t bytes = routing_size(routing);

    item->routing = bytes == 0 ? NULL : routing;
    return add_up(source->sum,
                  (struct routing_sum){.steps = routing->n_steps + item->n_progress,
                                       .conditions = item->n_after,
                                       .bytes = bytes},
                  err);
}

enum err_code parse_added_steps(struct slice steps, const struct submit_source *source,
                                struct arena *arena, struct route_step **ret_steps, size_t *ret_n,
                                struct err *err)
{
    if (route_steps_parse(steps, 0, arena, ret_steps, ret_n, err) != E_OK ||
        check_commands(*ret_steps, *ret_n, source->no_commands, err) != E_OK)
        return err->code;
    return add_up(source->sum, (struct routing_sum){.steps = *ret_n, .bytes = steps.size}, err);
}
