/* SPDX-License-Identifier: MIT */
#include "server/request/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "server/process/server_state.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

static void head(struct buf *out, const char *name, enum metric_type type, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
             type == METRIC_COUNTER ? "counter" : "gauge");
}

static void one(struct buf *out, const char *name, enum metric_type type, const char *help,
                int64_t value)
{
    head(out, name, type, help);
    buf_addf(out, "%s %" PRId64 "\n", name, value);
}

/* The engine's totals: name, help, place. */
static const struct {
    const char *name;
    const char *help;
    size_t offset; /* of an atomic_uint_fast64_t in struct engine_stats */
} totals[] = {
#define TOTAL(field, text)                                                     \
    {                                                                          \
        "waybill_" #field "_total", text, offsetof(struct engine_stats, field) \
    }
    TOTAL(commits, "Transactions committed."),
    TOTAL(rollbacks, "Transactions rolled back."),
    TOTAL(submitted, "Jobs submitted."),
    TOTAL(dropped, "Jobs that filters dropped."),
    TOTAL(claimed, "Jobs claimed."),
    TOTAL(done, "Jobs done."),
    TOTAL(failed, "Jobs failed for good."),
    TOTAL(retried, "Attempts that failed and are tried again."),
    TOTAL(later, "Attempts put off by their program."),
    TOTAL(returned, "Jobs handed back unbegun."),
    TOTAL(lost, "Attempts lost with their worker."),
    TOTAL(cancelled, "Jobs cancelled."),
    TOTAL(stale, "Finishes and touches refused because their lease was stale."),
    TOTAL(deleted, "Jobs deleted by request."),
    TOTAL(retained, "Jobs removed by retention."),
    TOTAL(fired, "Firings of schedules."),
    TOTAL(expired, "Jobs cancelled because they had not started in time."),
    TOTAL(groups_opened, "Groups opened."),
    TOTAL(groups_ended, "Groups that have ended."),
#undef TOTAL
};

static void write_totals(struct buf *out, const struct engine_stats *stats)
{
    for (size_t i = 0; i < ARRAY_LEN(totals); i++) {
        const atomic_uint_fast64_t *total = (const atomic_uint_fast64_t *)((const char *)stats +
                                                                           totals[i].offset);

        one(out, totals[i].name, METRIC_COUNTER, totals[i].help, (int64_t)atomic_load(total));
    }
    one(out, "waybill_waiting", METRIC_GAUGE, "Claims and waits that are not answered yet.",
        (int64_t)atomic_load(&stats->waiting));
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c == '\\' || c == '"')
            buf_add_char(out, '\\');
        if (c == '\n')
            buf_add_str(out, "\\n");
        else
            buf_add_char(out, c);
    }
}

static void write_states(struct buf *out, struct slice queue, struct slice states,
                         struct arena *arena)
{
    struct slice state;
    struct slice count;

    for (struct jtext_iter it = jtext_members(states); jtext_next_member(&it, &state, &count);) {
        buf_add_str(out, "waybill_jobs{queue=\"");
        label(out, queue);
        buf_add_str(out, "\",state=\"");
        label(out, jtext_text(state, arena));
        buf_add_str(out, "\"} ");
        buf_add_slice(out, count);
        buf_add_char(out, '\n');
    }
}

static void write_jobs(struct buf *out, struct slice counts)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice queues;
    struct slice name;
    struct slice states;

    head(out, "waybill_jobs", METRIC_GAUGE, "Jobs by queue and state.");
    if (!jtext_find(counts, "counts", &queues))
        return;
    for (struct jtext_iter it = jtext_members(queues); jtext_next_member(&it, &name, &states);)
        if (jtext_type_of(states) == JTEXT_OBJECT)
            write_states(out, jtext_text(name, &arena), states, &arena);
}

/* One figure of each item of a list. */
struct list_metric {
    const char *name;
    enum metric_type type;
    const char *help;
    const char *label;
    const char *member; /* which figure it is */
};

static void write_list(struct buf *out, const struct list_metric *m, struct slice items)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice item;
    struct slice name;
    struct slice value;

    head(out, m->name, m->type, m->help);
    for (struct jtext_iter it = jtext_items(items); jtext_next_item(&it, &item);) {
        if (!jtext_find(item, "name", &name) || !jtext_find(item, m->member, &value))
            continue;
        buf_addf(out, "%s{%s=\"", m->name, m->label);
        label(out, jtext_text(name, &arena));
        buf_add_str(out, "\"} ");
        buf_add_slice(out, value);
        buf_add_char(out, '\n');
    }
}

static void write_links(struct buf *out, const struct metrics_of_store *store)
{
    static const struct list_metric of_signals[] = {
        {"waybill_signal", METRIC_GAUGE, "Level of a signal.", "signal", "count"},
        {"waybill_signal_waiters", METRIC_GAUGE, "Jobs that wait for a signal.", "signal",
         "waiters"},
    };
    static const struct list_metric of_joins[] = {
        {"waybill_join_fired_total", METRIC_COUNTER, "How often a join fired.", "join", "fired"},
        {"waybill_join_keys", METRIC_GAUGE, "Keys of a join that are under way.", "join", "keys"},
    };
    static const struct list_metric of_schedules[] = {
        {"waybill_schedule_fired_total", METRIC_COUNTER, "Firings of a schedule.", "schedule",
         "fired"},
        {"waybill_schedule_skipped_total", METRIC_COUNTER, "Times that a schedule has skipped.",
         "schedule", "skipped"},
        {"waybill_schedule_missed_total", METRIC_COUNTER,
         "Times of a schedule at which nobody looked.", "schedule", "missed"},
    };
    struct slice items;

    if (jtext_find(store->signals, "signals", &items))
        for (size_t i = 0; i < ARRAY_LEN(of_signals); i++)
            write_list(out, &of_signals[i], items);
    if (jtext_find(store->joins, "joins", &items))
        for (size_t i = 0; i < ARRAY_LEN(of_joins); i++)
            write_list(out, &of_joins[i], items);
    if (jtext_find(store->schedules, "schedules", &items))
        for (size_t i = 0; i < ARRAY_LEN(of_schedules); i++)
            write_list(out, &of_schedules[i], items);
}

static void write_http(struct buf *out, const struct http *h)
{
    head(out, "waybill_http_requests_total", METRIC_COUNTER, "Requests answered, by status class.");
    for (unsigned i = 1; i < STATUS_CLASSES; i++)
        buf_addf(out, "waybill_http_requests_total{class=\"%uxx\"} %" PRIu64 "\n", i,
                 h->answered[i]);
    one(out, "waybill_http_requests_open", METRIC_GAUGE, "Requests that are not answered yet.",
        (int64_t)h->requests);
    one(out, "waybill_http_connections", METRIC_GAUGE, "Connections.", http_connections(h));
    one(out, "waybill_http_unsent_bytes", METRIC_GAUGE,
        "Replies that their clients have not taken yet.", (int64_t)h->connections.unsent);
}

static int64_t resident_bytes(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f == NULL)
        return 0;
    if (fscanf(f, "%*s %lld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* The size of a shared store's files is known to its database only. */
static void write_store(struct buf *out, const struct server *server,
                        const struct store_facts *facts)
{
    one(out, "waybill_store_bytes", METRIC_GAUGE, "Size of the database.", facts->bytes);
    one(out, "waybill_disk_free_bytes", METRIC_GAUGE,
        "Free space on the disk of the data directory.", facts->disk_free);
    if (store_is_shared(server->store))
        return;
    one(out, "waybill_store_wal_bytes", METRIC_GAUGE, "Size of the write-ahead log.",
        facts->wal_bytes);
    one(out, "waybill_store_free_bytes", METRIC_GAUGE, "Free space inside the database file.",
        facts->free_bytes);
}

void metrics_write(struct buf *out, const struct server *server,
                   const struct metrics_of_store *store)
{
    buf_addf(out,
             "# HELP waybill_info What is running.\n# TYPE waybill_info gauge\n"
             "waybill_info{version=\"%s\"} 1\n",
             WAYBILL_VERSION);
    one(out, "waybill_store_damaged", METRIC_GAUGE,
        "1: the store is damaged, see the log; a full check that finds nothing clears it.",
        atomic_load(&server->damage.found));
    one(out, "waybill_uptime_seconds", METRIC_GAUGE, "Seconds since the server started.",
        (server->http.now_at - server->started_mono_at) / US_PER_S);
    write_totals(out, server->engine.stats);
    write_http(out, &server->http);
    one(out, "waybill_resident_bytes", METRIC_GAUGE, "Memory of the server.", resident_bytes());
    one(out, "waybill_store_up", METRIC_GAUGE, "Whether the store can be reached.",
        store != NULL && !store_is_away(server->store));
    if (store == NULL)
        return;
    write_jobs(out, store->counts);
    write_links(out, store);
    write_store(out, server, store->facts);
}
