/* SPDX-License-Identifier: MIT */
#include "cli/table/noun.h"

#include "cli/view/queue_view.h"
#include "cli/view/reply_json.h"
#include "cli/view/route_view.h"
#include "cli/view/worker_view.h"
#include "core/queue/def.h"
#include "core/route/dest.h"

static enum err_code check_queue_name(const char *noun, struct slice name, struct err *err)
{
    (void)noun;
    return queue_name_check(name, err);
}

/* The jobs of a queue in a state.  Columns of rare states are shown when they are used. */
#define QUEUE_COLUMN(state, heading)                                                     \
    {                                                                                    \
        .title = (heading), .member = (state), .write = queue_write_count, .right = true \
    }
#define QUEUE_RARE_COLUMN(state, heading)                                                 \
    {                                                                                     \
        .title = (heading), .member = (state), .write = queue_write_count, .right = true, \
        .used = queue_has_count                                                           \
    }
#define QUEUE_LINE(state)                                                 \
    {                                                                     \
        .title = (state), .member = (state), .write = queue_write_nonzero \
    }

const struct noun nouns[NOUN_COUNT] =
    {
        [NOUN_QUEUE] =
            {
                .name = "queue",
                .plural = "queues",
                .check_name = check_queue_name,
                .columns = {{.title = "QUEUE", .member = "name"},
                            {.title = "STATE", .member = "state", .write = queue_write_state},
                            QUEUE_RARE_COLUMN("staged", "STAGED"),
                            QUEUE_RARE_COLUMN("held", "HELD"),
                            QUEUE_RARE_COLUMN("scheduled", "SCHEDULED"),
                            QUEUE_COLUMN("ready", "READY"),
                            QUEUE_COLUMN("running", "RUNNING"),
                            QUEUE_COLUMN("done", "DONE"),
                            QUEUE_COLUMN("failed", "FAILED"),
                            QUEUE_RARE_COLUMN("cancelled", "CANCELLED"),
                            QUEUE_RARE_COLUMN("relayed", "RELAYED"),
                            {.title = "NEXT AGE",
                             .member = "next_created_at",
                             .write = view_age,
                             .right = true},
                            {.title = "ENDED/S",
                             .member = QUEUE_RATE,
                             .write = queue_write_rate,
                             .right = true,
                             .used = queue_has_rate}},
                .heading = {{.title = "state", .member = "state", .write = queue_write_state},
                            {.title = "why", .member = "why", .write = queue_write_why}},
                .page = {QUEUE_LINE("staged"),
                         QUEUE_LINE("held"),
                         QUEUE_LINE("scheduled"),
                         QUEUE_LINE("ready"),
                         QUEUE_LINE("running"),
                         QUEUE_LINE("done"),
                         QUEUE_LINE("failed"),
                         QUEUE_LINE("cancelled"),
                         QUEUE_LINE("relayed"),
                         {.title = "next", .member = "next", .write = queue_write_next},
                         {.title = "restarts", .member = "restarts", .write = view_nonzero}},
                .print_more = queue_print_more,
            },
        [NOUN_TOPIC] =
            {
                .name = "topic",
                .plural = "topics",
                .check_name = dest_name_check,
                .columns = {{.title = "TOPIC", .member = "name"},
                            {.title = "QUEUES", .member = "queues", .write = view_names}},
                .page = {{.title = "", .member = "queues", .write = view_lines}},
            },
        [NOUN_SIGNAL] =
            {
                .name = "signal",
                .plural = "signals",
                .check_name = dest_name_check,
                .columns =
                    {{.title = "SIGNAL", .member = "name"},
                     {.title = "COUNT", .member = "count", .write = view_count, .right = true},
                     {.title = "WAITING",
                      .member = "waiters",
                      .write = view_count,
                      .colour = COLOUR_YELLOW,
                      .right = true},
                     {.title = "CHANGED",
                      .member = "changed_at",
                      .write = view_ago,
                      .right = true}},
                .heading = {{.title = "count", .member = "count", .write = view_int}},
                .page = {{.title = "changed", .member = "changed_at", .write = view_ago},
                         {.title = "waiting", .member = "waiters", .write = view_int}},
                .part = "waiting",
                .part_columns =
                    {{.title = "JOB", .member = "id"},
                     {.title = "NEEDS", .member = "count", .write = view_int, .right = true},
                     {.title = "",
                      .member = "take",
                      .write = signal_write_take,
                      .colour = COLOUR_DIM}},
            },
        [NOUN_JOIN] =
            {
                .name = "join",
                .plural = "joins",
                .check_name = dest_name_check,
                .columns =
                    {{.title = "JOIN", .member = "name"},
                     {.title = "KEY", .member = "key"},
                     {.title = "COUNT", .member = "count", .write = view_int, .right = true},
                     {.title = "KEYS OPEN",
                      .member = "keys",
                      .write = view_count,
                      .colour = COLOUR_YELLOW,
                      .right = true},
                     {.title = "FIRED", .member = "fired", .write = view_count, .right = true},
                     {.title = "LAST", .member = "fired_at", .write = view_ago, .right = true},
                     {.title = "THEN", .member = "then", .write = view_dests}},
                .page = {{.title = "key", .member = "key"},
                         {.title = "count", .member = "count", .write = view_int},
                         {.title = "then", .member = "then", .write = view_dests},
                         {.title = "fired", .member = "fired", .write = join_write_fired}},
                .part = "arrivals",
                .part_columns =
                    {{.title = "KEY", .member = "key"},
                     {.title = "ARRIVED",
                      .member = "count",
                      .write = join_write_arrived,
                      .right = true},
                     {.title = "FIRST", .member = "first_at", .write = view_ago, .right = true},
                     {.title = "JOBS", .member = "jobs", .write = view_words}},
            },
        [NOUN_WORKER] =
            {
                .name = "worker",
                .command = "workers",
                .plural = "workers",
                .columns = {{.title = "WORKER", .member = "name"},
                            {.title = "HOST", .member = "host"},
                            {.title = "PID", .member = "pid", .write = view_nonzero, .right = true},
                            {.title = "VERSION", .member = "version"},
                            {.title = "RUNNING",
                             .member = "running",
                             .write = worker_write_running,
                             .right = true},
                            {.title = "SEEN",
                             .member = "seen_at",
                             .write = worker_write_seen,
                             .right = true},
                            {.title = "QUEUES", .member = "queues", .write = worker_write_queues}},
                .page = {{.title = "host", .member = "host"},
                         {.title = "pid", .member = "pid", .write = view_nonzero},
                         {.title = "version", .member = "version"},
                         {.title = "instance",
                          .member = "instance",
                          .write = worker_write_instance},
                         {.title = "stopped",
                          .member = "seen_at",
                          .write = worker_write_stopped_at},
                         {.title = "seen", .member = "seen_at", .write = worker_write_seen_at},
                         {.title = "slots", .member = "slots", .write = worker_write_slots},
                         {.title = "queues", .member = "queues", .write = worker_write_queue_lines},
                         {.title = "broken",
                          .member = "broken",
                          .write = worker_write_broken_lines},
                         {.title = "running", .member = WORKER_JOBS, .write = worker_write_jobs}},
            },
};

const char *noun_command(enum noun_id id)
{
    return nouns[id].command != NULL ? nouns[id].command : nouns[id].name;
}

void noun_print_table(enum noun_id id, const json_t *items, int64_t now_at, const struct screen *s)
{
    view_table_print(
        &(struct view_table){.columns = nouns[id].columns, .items = items, .now_at = now_at}, s);
}

void noun_print_page(enum noun_id id, const json_t *item, int64_t now_at, const struct screen *s)
{
    const struct noun *noun = &nouns[id];
    const struct view_source from = {.item = item, .now_at = now_at};

    fprintf(screen_out(s), "%s %s", noun->name, reply_text(item, "name"));
    view_line_print(noun->heading, &from, s);
    fputc('\n', screen_out(s));
    view_page_print(noun->page, &from, s);
    if (noun->part != NULL)
        view_table_print(&(struct view_table){.columns = noun->part_columns,
                                              .items = json_object_get(item, noun->part),
                                              .parent = item,
                                              .indent = 2,
                                              .now_at = now_at},
                         s);
    if (noun->print_more != NULL)
        noun->print_more(item, s);
}
