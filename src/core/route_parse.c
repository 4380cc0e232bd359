/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/nearest.h"
#include "core/bill.h"
#include "core/queue_def.h"
#include "core/quote.h"

enum { RECORD_MAX = 10000, RECORD_TEXT_MAX = 16 << 10, SIGNAL_MAX = 64, EXIT_MAX = 255 };

/* One reading of a list of objects, steps or entries of a record. */
struct list_read {
    const char *list; /* its name: "steps" */
    size_t index;     /* the item that is read */
    const char *key;  /* its member that is read, as it came */
    struct route_step *step;
    struct route_status *entry;
    struct arena *arena;
    struct err *err;
};

struct list_key {
    const char *name;
    const char *other; /* the same thing in other words, or NULL */
    enum err_code (*read)(struct list_read *r, struct slice value);
    bool ignored;
};

/* ---- values ---- */

/* The value of the member is to blame: the message gets its place. */
static enum err_code named(struct list_read *r)
{
    return err_wrap(r->err, "%s[%zu].%s", r->list, r->index, r->key);
}

/* The item is to blame. */
static enum err_code of_item(struct list_read *r)
{
    return err_wrap(r->err, "%s[%zu]", r->list, r->index);
}

static enum err_code must_be(struct list_read *r, const char *what, struct slice value)
{
    struct quote quote;

    (void)err_set(r->err, E_INVALID, "must be %s, not %s", what, quote_json(&quote, value));
    return named(r);
}

static enum err_code read_whole(struct list_read *r, struct slice value, int min, int max,
                                int *ret_n)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT || json_int(value) < min || json_int(value) > max) {
        (void)err_set(r->err, E_INVALID, "must be a whole number from %d to %d, not %s", min, max,
                      quote_json(&quote, value));
        return named(r);
    }
    *ret_n = (int)json_int(value);
    return E_OK;
}

static enum err_code read_text(struct list_read *r, struct slice value, size_t max,
                               struct slice *ret_text)
{
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "a text", value);
    struct slice text = json_text(value, r->arena);

    if (text.size > max) {
        (void)err_set(r->err, E_INVALID, "must have at most %zu bytes, not %zu", max, text.size);
        return named(r);
    }
    *ret_text = arena_copy(r->arena, text);
    return E_OK;
}

static enum err_code read_object(struct list_read *r, struct slice value, struct slice *ret_json)
{
    if (json_type_of(value) != JSON_T_OBJECT)
        return must_be(r, "an object", value);
    *ret_json = json_compact(value, r->arena);
    return E_OK;
}

/* ---- a step ---- */

static enum err_code read_number(struct list_read *r, struct slice value)
{
    return read_whole(r, value, 1, STEP_NUMBER_MAX, &r->step->number);
}

static enum err_code read_name(struct list_read *r, struct slice value)
{
    struct quote quote;

    if (read_text(r, value, STEP_NAME_MAX, &r->step->name) != E_OK)
        return r->err->code;
    if (r->step->name.size == 0)
        (void)err_set(r->err, E_INVALID, "must not be empty");
    else if (text_has_control(r->step->name))
        (void)err_set(r->err, E_INVALID, "must not have control characters: %s",
                      quote_json(&quote, value));
    else
        return E_OK;
    return named(r);
}

static enum err_code read_queue(struct list_read *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "the name of a queue", value);
    r->step->queue = arena_copy(r->arena, json_text(value, r->arena));
    return queue_name_check(r->step->queue, r->err) == E_OK ? E_OK : named(r);
}

static enum err_code read_command(struct list_read *r, struct slice value)
{
    return queue_def_value("command", value, r->arena, &r->step->command, r->err) == E_OK
               ? E_OK
               : named(r);
}

static enum err_code read_command_line(struct list_read *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "a text, which is run by sh -c", value);
    return read_command(r, value);
}

static enum err_code read_params(struct list_read *r, struct slice value)
{
    return read_object(r, value, &r->step->params);
}

static enum err_code read_timeout(struct list_read *r, struct slice value)
{
    return queue_def_value("timeout", value, r->arena, &r->step->timeout, r->err) == E_OK
               ? E_OK
               : named(r);
}

static enum err_code read_retry(struct list_read *r, struct slice value)
{
    if (queue_def_value("retry", value, r->arena, &r->step->retry, r->err) == E_OK)
        return E_OK;
    return err_set(r->err, E_INVALID, "%s[%zu].%s", r->list, r->index, r->err->msg);
}

static enum err_code read_on_error(struct list_read *r, struct slice value)
{
    static const char *const words[] = {"stop", "continue"};
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "stop or continue", value);
    r->step->goes_on = json_key_is(value, "continue");
    if (r->step->goes_on || json_key_is(value, "stop"))
        return E_OK;
    const char *near = nearest_word(json_text(value, r->arena), words, ARRAY_LEN(words));

    if (near == NULL)
        return must_be(r, "stop or continue", value);
    (void)err_set(r->err, E_INVALID, "%s is unknown, did you mean '%s'?", quote_json(&quote, value),
                  near);
    return named(r);
}

static enum err_code read_final(struct list_read *r, struct slice value)
{
    enum json_type type = json_type_of(value);

    if (type != JSON_T_TRUE && type != JSON_T_FALSE)
        return must_be(r, "true or false", value);
    r->step->final = type == JSON_T_TRUE;
    return E_OK;
}

static enum err_code read_dests(struct list_read *r, struct slice value, struct slice *ret_json)
{
    char what[64];

    snprintf(what, sizeof(what), "%s[%zu].%s", r->list, r->index, r->key);
    return dest_list_canonical(value, what, r->arena, ret_json, r->err);
}

static enum err_code read_on_success(struct list_read *r, struct slice value)
{
    return read_dests(r, value, &r->step->on_success);
}

static enum err_code read_on_failure(struct list_read *r, struct slice value)
{
    return read_dests(r, value, &r->step->on_failure);
}

static enum err_code read_all(struct list_read *r, struct slice value)
{
    (void)value;
    (void)err_set(r->err, E_INVALID, "steps that run side by side are not built yet");
    return named(r);
}

static const struct list_key step_keys[] = {
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

/* ---- an entry of a record ---- */

static enum err_code read_entry_number(struct list_read *r, struct slice value)
{
    return read_whole(r, value, 1, STEP_NUMBER_MAX, &r->entry->number);
}

static enum err_code read_status(struct list_read *r, struct slice value)
{
    r->entry->has_status = true;
    return read_whole(r, value, -SIGNAL_MAX, EXIT_MAX, &r->entry->status);
}

static enum err_code read_instant(struct list_read *r, struct slice value, int64_t *ret_at)
{
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "an instant like \"2026-11-15T21:30:00Z\"", value);
    return time_parse(json_text(value, r->arena), ret_at, r->err) == E_OK ? E_OK : named(r);
}

static enum err_code read_started_at(struct list_read *r, struct slice value)
{
    return read_instant(r, value, &r->entry->started_at);
}

static enum err_code read_ended_at(struct list_read *r, struct slice value)
{
    return read_instant(r, value, &r->entry->ended_at);
}

static enum err_code read_entry_text(struct list_read *r, struct slice value)
{
    return read_text(r, value, RECORD_TEXT_MAX, &r->entry->text);
}

static enum err_code read_set(struct list_read *r, struct slice value)
{
    return read_object(r, value, &r->entry->set);
}

static const struct list_key entry_keys[] = {
    {.name = "number", .read = read_entry_number},
    {.name = "status", .read = read_status},
    {.name = "started_at", .other = "start time", .read = read_started_at},
    {.name = "ended_at", .other = "end time", .read = read_ended_at},
    {.name = "start time", .other = "started_at", .read = read_started_at},
    {.name = "end time", .other = "ended_at", .read = read_ended_at},
    {.name = "text", .read = read_entry_text},
    {.name = "set", .read = read_set},
    {.name = "name", .ignored = true},
    {.name = "process name", .ignored = true},
    {.name = "queue", .ignored = true},
    {.name = "queue name", .ignored = true},
    {.name = "attempt", .ignored = true},
    {.name = "state", .ignored = true},
    {.name = "cause", .ignored = true},
    {.name = "worker", .ignored = true},
};

/* ---- members and lists ---- */

enum { LIST_KEYS_MAX = 16 };

_Static_assert(ARRAY_LEN(step_keys) <= LIST_KEYS_MAX, "raise LIST_KEYS_MAX");
_Static_assert(ARRAY_LEN(entry_keys) <= LIST_KEYS_MAX, "raise LIST_KEYS_MAX");

struct list_table {
    const struct list_key *keys;
    size_t n_keys;
    const char *shown; /* those that people should write */
};

static const struct list_table step_table = {
    step_keys, ARRAY_LEN(step_keys),
    "number name queue command params timeout retry on_error final on_success on_failure"};
static const struct list_table entry_table = {entry_keys, ARRAY_LEN(entry_keys),
                                              "number status started_at ended_at text set"};

static enum err_code unknown_key(struct list_read *r, const struct list_table *table,
                                 struct slice name)
{
    const char *words[LIST_KEYS_MAX];
    struct quote quote;

    for (size_t i = 0; i < table->n_keys; i++)
        words[i] = table->keys[i].name;
    const char *near = nearest_word(json_text(name, r->arena), words, table->n_keys);

    quote_json(&quote, name);
    if (near != NULL)
        (void)err_set(r->err, E_INVALID, "unknown key %s, did you mean '%s'?", quote.text, near);
    else
        (void)err_set(r->err, E_INVALID, "unknown key %s, the keys are: %s", quote.text,
                      table->shown);
    return of_item(r);
}

static const struct list_key *find_key(const struct list_table *table, struct slice name)
{
    for (size_t i = 0; i < table->n_keys; i++)
        if (json_key_is(name, table->keys[i].name))
            return &table->keys[i];
    return NULL;
}

static enum err_code read_item(struct list_read *r, const struct list_table *table,
                               struct slice object)
{
    struct slice name;
    struct slice value;
    struct slice twin;
    struct quote quote;

    if (json_type_of(object) != JSON_T_OBJECT) {
        (void)err_set(r->err, E_INVALID, "must be an object, not %s", quote_json(&quote, object));
        return of_item(r);
    }
    for (struct json_iter it = json_members(object); json_next_member(&it, &name, &value);) {
        const struct list_key *key = find_key(table, name);

        if (key == NULL)
            return unknown_key(r, table, name);
        if (key->ignored || json_type_of(value) == JSON_T_NULL)
            continue;
        r->key = key->name;
        if (key->other != NULL && json_find(object, key->other, &twin)) {
            (void)err_set(r->err, E_INVALID,
                          "'%s' and '%s' are the same thing: one of them is "
                          "enough",
                          key->name, key->other);
            return of_item(r);
        }
        if (key->read(r, value) != E_OK)
            return r->err->code;
    }
    return E_OK;
}

/* ---- steps ---- */

/* What one step means on its own, and behind number `before`. */
static enum err_code complete_step(struct list_read *r, int before)
{
    struct route_step *step = r->step;

    if (step->name.size == 0 && step->queue.size == 0) {
        (void)err_set(r->err, E_INVALID, "a step needs a 'name', or a 'queue'");
        return of_item(r);
    }
    if (step->name.size == 0)
        step->name = step->queue;
    if (step->queue.size == 0) {
        step->queue = step->name;
        r->key = "name";
        if (queue_name_check(step->queue, r->err) != E_OK)
            return named(r);
    }
    r->key = "number";
    if (step->number == 0 && before == STEP_NUMBER_MAX) {
        (void)err_set(r->err, E_INVALID, "would be above %d", STEP_NUMBER_MAX);
        return named(r);
    }
    if (step->number == 0)
        step->number = before + 1;
    if (step->number > before)
        return E_OK;
    (void)err_set(r->err, E_INVALID, "must be above %d, the number before it, not %d", before,
                  step->number);
    return named(r);
}

static enum err_code read_steps(struct list_read *r, struct slice json, int before,
                                struct route_step *steps)
{
    struct slice item;

    if (json_type_of(json) == JSON_T_OBJECT) {
        r->step = steps;
        return read_item(r, &step_table, json) == E_OK ? complete_step(r, before) : r->err->code;
    }
    for (struct json_iter it = json_items(json); json_next_item(&it, &item); r->index++) {
        r->step = &steps[r->index];
        if (read_item(r, &step_table, item) != E_OK || complete_step(r, before) != E_OK)
            return r->err->code;
        before = r->step->number;
    }
    return E_OK;
}

enum err_code route_steps_parse(struct slice json, int after_number, struct arena *arena,
                                struct route_step **ret_steps, size_t *ret_n, struct err *err)
{
    struct list_read r = {.list = "steps", .arena = arena, .err = err};
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

    if (read_steps(&r, json, after_number, steps) != E_OK)
        return err->code;
    *ret_steps = steps;
    *ret_n = n;
    return E_OK;
}

/* ---- records ---- */

static enum err_code complete_entry(struct list_read *r, const struct bill *bill)
{
    const struct route_status *e = r->entry;

    r->key = "number";
    if (e->number == 0)
        (void)err_set(r->err, E_INVALID, "is missing: of which step the entry is");
    else if (route_find(bill, e->number) == NULL)
        (void)err_set(r->err, E_INVALID, "there is no step %d", e->number);
    else if (e->started_at == 0 || e->ended_at == 0 || e->started_at <= e->ended_at)
        return E_OK;
    else {
        (void)err_set(r->err, E_INVALID, "it has ended before it was started");
        return of_item(r);
    }
    return named(r);
}

enum err_code route_progress_parse(struct slice json, const struct bill *bill, struct arena *arena,
                                   struct route_status **ret_entries, size_t *ret_n,
                                   struct err *err)
{
    struct list_read r = {.list = "progress", .arena = arena, .err = err};
    struct slice item;
    struct quote quote;

    if (json_type_of(json) != JSON_T_ARRAY)
        return err_set(err, E_INVALID, "progress: must be a list of entries, not %s",
                       quote_json(&quote, json));
    size_t n = json_count_items(json);

    if (n > RECORD_MAX)
        return err_set(err, E_INVALID, "progress: has %zu entries, at most %d are allowed", n,
                       RECORD_MAX);
    if (n > 0 && bill->n_steps == 0)
        return err_set(err, E_INVALID, "progress: is the record of steps, and the job has none");
    struct route_status *entries = arena_array(arena, n + 1, sizeof(*entries));

    for (struct json_iter it = json_items(json); json_next_item(&it, &item); r.index++) {
        r.entry = &entries[r.index];
        if (read_item(&r, &entry_table, item) != E_OK || complete_entry(&r, bill) != E_OK)
            return err->code;
    }
    *ret_entries = entries;
    *ret_n = n;
    return E_OK;
}
