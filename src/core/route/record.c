/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/json/json.h"
#include "core/object/item_read.h"
#include "core/object/quote.h"
#include "core/route/bill.h"

enum { RECORD_MAX = 10000, RECORD_TEXT_MAX = 16 << 10, SIGNAL_MAX = 64, EXIT_MAX = 255 };

static struct route_status *entry_of(struct item_read *r)
{
    return r->to;
}

static enum err_code read_entry_number(struct item_read *r, struct slice value)
{
    return item_whole(r, value, 1, STEP_NUMBER_MAX, &entry_of(r)->number);
}

static enum err_code read_status(struct item_read *r, struct slice value)
{
    entry_of(r)->has_status = true;
    return item_whole(r, value, -SIGNAL_MAX, EXIT_MAX, &entry_of(r)->status);
}

static enum err_code read_instant(struct item_read *r, struct slice value, int64_t *ret_at)
{
    if (json_type_of(value) != JSON_T_STRING)
        return item_must_be(r, "an instant like \"2026-11-15T21:30:00Z\"", value);
    return time_parse(json_text(value, r->arena), ret_at, r->err) == E_OK ? E_OK
                                                                          : item_blame_member(r);
}

static enum err_code read_started_at(struct item_read *r, struct slice value)
{
    return read_instant(r, value, &entry_of(r)->started_at);
}

static enum err_code read_ended_at(struct item_read *r, struct slice value)
{
    return read_instant(r, value, &entry_of(r)->ended_at);
}

static enum err_code read_entry_text(struct item_read *r, struct slice value)
{
    return item_text(r, value, RECORD_TEXT_MAX, &entry_of(r)->text);
}

static enum err_code read_set(struct item_read *r, struct slice value)
{
    return item_object(r, value, &entry_of(r)->set);
}

static const struct item_key entry_keys[] = {
    {.name = "number", .read = read_entry_number},
    {.name = "status", .read = read_status},
    {.name = "started_at", .other = "start time", .read = read_started_at},
    {.name = "ended_at", .other = "end time", .read = read_ended_at},
    {.name = "start time", .other = "started_at", .read = read_started_at},
    {.name = "end time", .other = "ended_at", .read = read_ended_at},
    {.name = "text", .read = read_entry_text},
    {.name = "set", .read = read_set},
    {.name = "name"},
    {.name = "process name"},
    {.name = "queue"},
    {.name = "queue name"},
    {.name = "attempt"},
    {.name = "state"},
    {.name = "cause"},
    {.name = "worker"},
};

_Static_assert(ARRAY_LEN(entry_keys) <= ITEM_KEYS_MAX, "raise ITEM_KEYS_MAX");

static const struct item_table entry_table = {entry_keys, ARRAY_LEN(entry_keys),
                                              "number status started_at ended_at text set"};

static enum err_code complete_entry(struct item_read *r, const struct bill *bill)
{
    const struct route_status *e = r->to;

    r->key = "number";
    if (e->number == 0)
        (void)err_set(r->err, E_INVALID, "is missing: of which step the entry is");
    else if (route_find(bill, e->number) == NULL)
        (void)err_set(r->err, E_INVALID, "there is no step %d", e->number);
    else if (e->started_at == 0 || e->ended_at == 0 || e->started_at <= e->ended_at)
        return E_OK;
    else {
        (void)err_set(r->err, E_INVALID, "it has ended before it was started");
        return item_blame(r);
    }
    return item_blame_member(r);
}

enum err_code route_progress_parse(struct slice json, const struct bill *bill, struct arena *arena,
                                   struct route_status **ret_entries, size_t *ret_n,
                                   struct err *err)
{
    struct item_read r = {.list = "progress", .arena = arena, .err = err};
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
        r.to = &entries[r.index];
        if (item_read_members(&r, &entry_table, item) != E_OK || complete_entry(&r, bill) != E_OK)
            return err->code;
    }
    *ret_entries = entries;
    *ret_n = n;
    return E_OK;
}
