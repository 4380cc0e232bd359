/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cmd/cmd.h"
#include "cli/request/named.h"
#include "cli/view/answer.h"

static void add_ago(struct table *t, const json_t *of, const char *member)
{
    int64_t at = answer_time(of, member);
    char age[SHORT_TEXT_SIZE];

    if (at > 0)
        table_addf(t, COLOUR_PLAIN, "%s ago", age_format(clock_wall_us() - at, age));
    else
        table_add(t, COLOUR_PLAIN, "");
}

static void print_signals(const struct cli *cli, const json_t *signals)
{
    static const struct column columns[] = {
        {.title = "SIGNAL"},
        {.title = "COUNT", .right = true},
        {.title = "WAITING", .right = true},
        {.title = "CHANGED", .right = true},
    };
    CLEANUP(table) struct table t;
    const json_t *signal = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (signal = json_array_get(signals, i)) != NULL; i++) {
        table_add(&t, COLOUR_PLAIN, answer_text(signal, "name"));
        table_add_count(&t, COLOUR_PLAIN, answer_int(signal, "count"));
        table_add_count(&t, COLOUR_YELLOW, answer_int(signal, "waiters"));
        add_ago(&t, signal, "changed_at");
    }
    table_print(&t, &cli->screen);
}

int cmd_signal_list(struct cli *cli)
{
    return named_list(cli, "signals", print_signals);
}

static void print_waiting(const struct cli *cli, const json_t *waiting)
{
    static const struct column columns[] = {
        {.title = "  JOB"},
        {.title = "NEEDS", .right = true},
        {.title = ""},
    };
    CLEANUP(table) struct table t;
    CLEANUP(buf) struct buf id = BUF_INIT(200);
    const json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(waiting, i)) != NULL; i++) {
        buf_clear(&id);
        buf_addf(&id, "  %s", answer_text(job, "id"));
        table_add(&t, COLOUR_PLAIN, buf_text(&id));
        table_addf(&t, COLOUR_PLAIN, "%" PRId64, answer_int(job, "count"));
        table_add(&t, COLOUR_DIM, answer_is_true(job, "take") ? "takes it" : "");
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
}

static void print_level(const struct cli *cli, const json_t *signal)
{
    (void)cli;
    printf("%s  %" PRId64 "\n", answer_text(signal, "name"), answer_int(signal, "count"));
}

static void print_signal(const struct cli *cli, const json_t *signal)
{
    int64_t waiters = answer_int(signal, "waiters");
    int64_t changed_at = answer_time(signal, "changed_at");
    char age[SHORT_TEXT_SIZE];

    printf("signal %s  %" PRId64 "\n", answer_text(signal, "name"), answer_int(signal, "count"));
    if (changed_at > 0)
        printf("  changed  %s ago\n", age_format(clock_wall_us() - changed_at, age));
    printf("  waiting  %" PRId64 "\n", waiters);
    print_waiting(cli, json_object_get(signal, "waiting"));
}

int cmd_signal_show(struct cli *cli)
{
    return named_each(cli, "GET", "signals", print_signal);
}

int cmd_signal_raise(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(100);
    const char *count = args_word(&cli->args, 1);

    buf_addf(&body, "{\"count\":%lld}", count != NULL ? strtoll(count, NULL, 10) : 1);
    return named_one(cli,
                     &(struct named_request){.method = "POST",
                                             .kind = "signals",
                                             .name = args_word(&cli->args, 0),
                                             .body = buf_slice(&body)},
                     print_level);
}

int cmd_signal_clear(struct cli *cli)
{
    return named_each(cli, "DELETE", "signals", print_level);
}
