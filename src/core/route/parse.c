/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json/json.h"
#include "base/text/nearest.h"
#include "core/object/item_read.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/route/bill.h"

/* ---- the members of a step ---- */

static struct route_step *step_of(struct item_read *r)
{
    return r->to;
}

static enum err_code read_number(struct item_read *r, struct slice value)
{
    return item_whole(r, value, 1, STEP_NUMBER_MAX, &step_of(r)->number);
}

static enum err_code read_name(struct item_read *r, struct slice value)
{
    struct quote quote;

    if (item_text(r, value, STEP_NAME_MAX, &step_of(r)->name) != E_OK)
        return r->err->code;
    if (step_of(r)->name.size == 0)
        (void)err_set(r->err, E_INVALID, "must not be empty");
    else if (text_has_control(step_of(r)->name))
        (void)err_set(r->err, E_INVALID, "must not have control characters: %s",
                      quote_json(&quote, value));
    else
        return E_OK;
    return item_blame_member(r);
}

static enum err_code read_queue(struct item_read *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return item_must_be(r, "the name of a queue", value);
    step_of(r)->queue = arena_copy(r->arena, json_text(value, r->arena));
    return queue_name_check(step_of(r)->queue, r->err) == E_OK ? E_OK : item_blame_member(r);
}

static enum err_code read_command(struct item_read *r, struct slice value)
{
    return queue_def_value("command", value, r->arena, &step_of(r)->command, r->err) == E_OK
               ? E_OK
               : item_blame_member(r);
}

static enum err_code read_command_line(struct item_read *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return item_must_be(r, "a text, which is run by sh -c", value);
    return read_command(r, value);
}

static enum err_code read_params(struct item_read *r, struct slice value)
{
    return item_object(r, value, &step_of(r)->params);
}

static enum err_code read_timeout(struct item_read *r, struct slice value)
{
    return queue_def_value("timeout", value, r->arena, &step_of(r)->timeout, r->err) == E_OK
               ? E_OK
               : item_blame_member(r);
}

static enum err_code read_retry(struct item_read *r, struct slice value)
{
    if (queue_def_value("retry", value, r->arena, &step_of(r)->retry, r->err) == E_OK)
        return E_OK;
    return err_set(r->err, E_INVALID, "%s[%zu].%s", r->list, r->index, r->err->msg);
}

static enum err_code read_on_error(struct item_read *r, struct slice value)
{
    static const char *const words[] = {"stop", "continue"};
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return item_must_be(r, "stop or continue", value);
    step_of(r)->goes_on = json_key_is(value, "continue");
    if (step_of(r)->goes_on || json_key_is(value, "stop"))
        return E_OK;
    const char *near = nearest_word(json_text(value, r->arena), words, ARRAY_LEN(words));

    if (near == NULL)
        return item_must_be(r, "stop or continue", value);
    (void)err_set(r->err, E_INVALID, "%s is unknown, did you mean '%s'?", quote_json(&quote, value),
                  near);
    return item_blame_member(r);
}

static enum err_code read_final(struct item_read *r, struct slice value)
{
    enum json_type type = json_type_of(value);

    if (type != JSON_T_TRUE && type != JSON_T_FALSE)
        return item_must_be(r, "true or false", value);
    step_of(r)->final = type == JSON_T_TRUE;
    return E_OK;
}

static enum err_code read_dests(struct item_read *r, struct slice value, struct slice *ret_json)
{
    char what[64];

    snprintf(what, sizeof(what), "%s[%zu].%s", r->list, r->index, r->key);
    return dest_list_canonical(value, what, r->arena, ret_json, r->err);
}

static enum err_code read_on_success(struct item_read *r, struct slice value)
{
    return read_dests(r, value, &step_of(r)->on_success);
}

static enum err_code read_on_failure(struct item_read *r, struct slice value)
{
    return read_dests(r, value, &step_of(r)->on_failure);
}

static enum err_code read_all(struct item_read *r, struct slice value)
{
    (void)value;
    (void)err_set(r->err, E_INVALID, "steps that run side by side are not built yet");
    return item_blame_member(r);
}

static const struct item_key step_keys[] = {
    {.name = "number", .read = read_number},
    {.name = "name", .other = "process name", .read = read_name},
    {.name = "queue", .other = "queue name", .read = read_queue},
    {.name = "command", .other = "command line", .read = read_command},
    {.name = "params", .read = read_params},
    {.name = "timeout", .read = read_timeout},
    {.name = "retry", .read = read_retry},
    {.name = "on_error", .read = read_on_error},
    {.name = "final", .read = read_final},
    {.name = "on_success", .read = read_on_success},
    {.name = "on_failure", .read = read_on_failure},
    {.name = "process name", .other = "name", .read = read_name},
    {.name = "queue name", .other = "queue", .read = read_queue},
    {.name = "command line", .other = "command", .read = read_command_line},
    {.name = "all", .read = read_all},
};

_Static_assert(ARRAY_LEN(step_keys) <= ITEM_KEYS_MAX, "raise ITEM_KEYS_MAX");

static const struct item_table step_table = {
    step_keys, ARRAY_LEN(step_keys),
    "number name queue command params timeout retry on_error final on_success on_failure"};

/* ---- steps ---- */

static enum err_code complete_step(struct item_read *r)
{
    struct route_step *step = r->to;

    if (step->name.size == 0 && step->queue.size == 0) {
        (void)err_set(r->err, E_INVALID, "a step needs a 'name', or a 'queue'");
        return item_blame(r);
    }
    if (step->name.size == 0)
        step->name = step->queue;
    if (step->queue.size > 0)
        return E_OK;
    step->queue = step->name;
    r->key = "name";
    return queue_name_check(step->queue, r->err) == E_OK ? E_OK : item_blame_member(r);
}

static enum err_code read_steps(struct item_read *r, struct slice json, struct route_step *steps)
{
    struct slice item;

    r->to = steps;
    if (json_type_of(json) == JSON_T_OBJECT)
        return item_read_members(r, &step_table, json) == E_OK ? complete_step(r) : r->err->code;
    for (struct json_iter it = json_items(json); json_next_item(&it, &item); r->index++) {
        r->to = &steps[r->index];
        if (item_read_members(r, &step_table, item) != E_OK || complete_step(r) != E_OK)
            return r->err->code;
    }
    return E_OK;
}

/* ---- numbers ---- */

static bool is_used(const struct route_step *steps, size_t n, int number)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i].number == number)
            return true;
    return false;
}

/* Numbers grow.  Only those of the final steps at the end may be lower: others were added before them. */
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

static enum err_code number_steps(struct item_read *r, struct route_step *steps, size_t n,
                                  int after_number)
{
    size_t end = n;
    int highest = after_number;

    while (end > 0 && steps[end - 1].final)
        end--;
    r->key = "number";
    for (r->index = 0; r->index < n; r->index++) {
        size_t i = r->index;
        bool at_end = i >= end && (steps[i].number == 0 || steps[i].number > after_number);

        if (number_step(steps, i, highest, at_end, r->err) != E_OK)
            return item_blame_member(r);
        highest = steps[i].number > highest ? steps[i].number : highest;
    }
    return E_OK;
}

enum err_code route_steps_parse(struct slice json, int after_number, struct arena *arena,
                                struct route_step **ret_steps, size_t *ret_n, struct err *err)
{
    struct item_read r = {.list = "steps", .arena = arena, .err = err};
    enum json_type type = json_type_of(json);
    struct quote quote;

    if (type != JSON_T_ARRAY && type != JSON_T_OBJECT)
        return err_set(err, E_INVALID, "steps: must be a list of steps, not %s",
                       quote_json(&quote, json));
    size_t n = type == JSON_T_ARRAY ? json_count_items(json) : 1;

    if (n == 0)
        return err_set(err, E_INVALID, "steps: must not be empty: a route has at least one step");
    if (n > ROUTE_STEPS_MAX)
        return err_set(err, E_INVALID, "steps: has %zu steps, at most %d are allowed", n,
                       ROUTE_STEPS_MAX);
    struct route_step *steps = arena_array(arena, n, sizeof(*steps));

    if (read_steps(&r, json, steps) != E_OK || number_steps(&r, steps, n, after_number) != E_OK)
        return err->code;
    *ret_steps = steps;
    *ret_n = n;
    return E_OK;
}
