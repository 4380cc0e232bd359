/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/route/routing.h"

/* ---- the members of a step ---- */

static enum err_code check_name(struct object_read *r, const struct field *f, struct slice value)
{
    struct quote quote;

    (void)f;
    if (!text_has_control(((struct route_step *)r->to)->name))
        return E_OK;
    return err_set(r->err, E_INVALID, "must not have control characters: %s",
                   quote_json(&quote, value));
}

static enum err_code check_queue(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    return queue_name_check(((struct route_step *)r->to)->queue, r->err);
}

/* Reads a value as in a queue's definition; the row has the name of its key. */
static enum err_code read_queue_value(struct object_read *r, const struct field *f,
                                      struct slice value)
{
    if (r->key == f->other && jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a text, which is run by sh -c", value);
    return queue_def_value(r, f->name, value, (struct slice *)(void *)((char *)r->to + f->offset));
}

static enum err_code read_dests(struct object_read *r, const struct field *f, struct slice value)
{
    return dest_list_read_canonical(r, value, (struct slice *)(void *)((char *)r->to + f->offset));
}

static const char *const on_error[] = {[STEP_STOP] = "stop", [STEP_CONTINUE] = "continue"};

static const struct field step_fields[] = {
    FIELD_INT("number", route_step, number, .null = true, .min = 1, .max = STEP_NUMBER_MAX,
              .help = "Unique in the route (default: the next one)."),
    FIELD_TEXT("name", route_step, name, .null = true, .other = "process name", .min = 1,
               .max = STEP_NAME_MAX, .check = check_name, .help = "Default: the queue's."),
    FIELD_TEXT("queue", route_step, queue, .null = true, .other = "queue name",
               .max = QUEUE_NAME_MAX, .check = check_queue, .help = "Default: the step's name."),
    FIELD_CUSTOM("command", read_queue_value, FIELD_OFFSET(struct slice, route_step, command),
                 .null = true, .other = "command line", .schema = "Command",
                 .help = "Replaces the queue's command; administrators only."),
    FIELD_OBJECT("params", route_step, params, .null = true, .schema = "Params",
                 .help = "Override the params of the job in this step."),
    FIELD_CUSTOM("timeout", read_queue_value, FIELD_OFFSET(struct slice, route_step, timeout),
                 .null = true, .schema = "Length", .help = "Time limit of an attempt."),
    FIELD_CUSTOM("retry", read_queue_value, FIELD_OFFSET(struct slice, route_step, retry),
                 .null = true, .schema = "Retry", .help = "When to retry a failed attempt."),
    FIELD_CUSTOM("needs", read_queue_value, FIELD_OFFSET(struct slice, route_step, needs),
                 .null = true, .schema = "Needs",
                 .help = "What the step takes of resources, besides its queue's."),
    FIELD_WORD("on_error", route_step, on_error, .null = true, .words = on_error, .min = STEP_STOP,
               .max = STEP_CONTINUE,
               .help = "What happens to the route when the step fails (default stop)."),
    FIELD_BOOL("final", route_step, final, .null = true,
               .help = "Runs also when the route has failed."),
    FIELD_CUSTOM("on_success", read_dests, FIELD_OFFSET(struct slice, route_step, on_success),
                 .null = true, .schema = "Destinations",
                 .help = "Where to continue when the step is done."),
    FIELD_CUSTOM("on_failure", read_dests, FIELD_OFFSET(struct slice, route_step, on_failure),
                 .null = true, .schema = "Destinations",
                 .help = "Where to continue when the step has failed."),
    FIELD_ROW("all", FIELD_T_UNBUILT, .null = true,
              .help = "steps that run side by side are not built yet"),
};

/* The name defaults to the queue, and the queue to the name. */
static enum err_code check_step(struct object_read *r, struct slice value)
{
    struct route_step *step = r->to;

    (void)value;
    if (step->name.size == 0 && step->queue.size == 0)
        return err_set(r->err, E_INVALID, "a step needs a 'name', or a 'queue'");
    if (step->name.size == 0)
        step->name = step->queue;
    if (step->queue.size > 0)
        return E_OK;
    step->queue = step->name;
    r->key = "name";
    return queue_name_check(step->queue, r->err);
}

const struct object step_object = {
    .what = "a step", .schema = "Step", OBJECT_FIELDS(step_fields), .check = check_step};

/* ---- numbers ---- */

static bool is_used(const struct route_step *steps, size_t n, int number)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i].number == number)
            return true;
    return false;
}

/* Numbers grow. Only those of the final steps at the end may be lower: others were added before
 * them. */
static enum err_code number_step(struct route_step *steps, size_t i, int highest, bool at_end,
                                 struct err *err)
{
    struct route_step *step = &steps[i];

    if (step->number == 0 && highest == STEP_NUMBER_MAX)
        return err_set(err, E_INVALID, "would be above %d", STEP_NUMBER_MAX);
    if (step->number == 0)
        step->number = highest + 1;
    if (step->number > highest)
        return E_OK;
    if (!at_end)
        return err_set(err, E_INVALID, "must be above %d, the number before it, not %d", highest,
                       step->number);
    if (is_used(steps, i, step->number))
        return err_set(err, E_INVALID, "another step has the number %d", step->number);
    return E_OK;
}

static enum err_code number_steps(struct route_step *steps, size_t n, int after_number,
                                  struct err *err)
{
    size_t end = n;
    int highest = after_number;

    while (end > 0 && steps[end - 1].final)
        end--;
    for (size_t i = 0; i < n; i++) {
        bool at_end = i >= end && (steps[i].number == 0 || steps[i].number > after_number);

        if (number_step(steps, i, highest, at_end, err) != E_OK)
            return err_wrap(err, "steps[%zu].number", i);
        highest = steps[i].number > highest ? steps[i].number : highest;
    }
    return E_OK;
}

enum err_code route_steps_parse(struct slice json, int after_number, struct arena *arena,
                                struct route_step **ret_steps, size_t *ret_n, struct err *err)
{
    static const struct object_list how = {.what = "steps",
                                           .size = sizeof(struct route_step),
                                           .max = ROUTE_STEPS_MAX,
                                           .alone = true,
                                           .of = &step_object};
    struct object_read r = {.arena = arena, .err = err, .key = "steps", .copies = true};
    struct route_step *steps;
    size_t n;

    if (object_read_list(&r, &how, json, &steps, &n) != E_OK)
        return object_blame(&r);
    if (n == 0)
        return err_set(err, E_INVALID, "steps: must not be empty: a route has at least one step");
    if (number_steps(steps, n, after_number, err) != E_OK)
        return err->code;
    *ret_steps = steps;
    *ret_n = n;
    return E_OK;
}
