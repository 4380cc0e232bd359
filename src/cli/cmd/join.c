/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cmd/cmd.h"
#include "cli/request/named.h"
#include "cli/view/answer.h"
#include "cli/view/link_view.h"

#define BODY_MAX ((size_t)16 << 20)
#define LINE_SIZE_MAX ((size_t)64 << 10)

static void add_fired(struct table *t, const json_t *join)
{
    int64_t at = answer_time(join, "fired_at");
    char age[SHORT_TEXT_SIZE];

    table_add_count(t, COLOUR_PLAIN, answer_int(join, "fired"));
    table_addf(t, COLOUR_PLAIN, "%s%s", at > 0 ? age_format(clock_wall_us() - at, age) : "",
               at > 0 ? " ago" : "");
}

static void print_joins(const struct cli *cli, const json_t *joins)
{
    static const struct column columns[] = {
        {.title = "JOIN"},
        {.title = "KEY"},
        {.title = "COUNT", .right = true},
        {.title = "KEYS OPEN", .right = true},
        {.title = "FIRED", .right = true},
        {.title = "LAST", .right = true},
        {.title = "THEN"},
    };
    CLEANUP(table) struct table t;
    const json_t *join = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (join = json_array_get(joins, i)) != NULL; i++) {
        CLEANUP(buf) struct buf then = BUF_INIT(LINE_SIZE_MAX);

        table_add(&t, COLOUR_PLAIN, answer_text(join, "name"));
        table_add(&t, COLOUR_PLAIN, answer_text(join, "key"));
        table_addf(&t, COLOUR_PLAIN, "%" PRId64, answer_int(join, "count"));
        table_add_count(&t, COLOUR_YELLOW, answer_int(join, "keys"));
        add_fired(&t, join);
        dests_add(&then, json_object_get(join, "then"));
        table_add(&t, COLOUR_PLAIN, buf_text(&then));
    }
    table_print(&t, &cli->screen);
}

int cmd_join_list(struct cli *cli)
{
    return named_list(cli, "joins", print_joins);
}

/* ---- one of them ---- */

static void print_arrivals(const struct cli *cli, const json_t *join)
{
    static const struct column columns[] = {
        {.title = "  KEY"},
        {.title = "ARRIVED", .right = true},
        {.title = "FIRST", .right = true},
        {.title = "JOBS"},
    };
    CLEANUP(table) struct table t;
    const json_t *arrivals = json_object_get(join, "arrivals");
    const json_t *one = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (one = json_array_get(arrivals, i)) != NULL; i++) {
        CLEANUP(buf) struct buf jobs = BUF_INIT(LINE_SIZE_MAX);
        const json_t *ids = json_object_get(one, "jobs");
        int64_t first_at = answer_time(one, "first_at");
        char age[SHORT_TEXT_SIZE];

        for (size_t n = 0; n < json_array_size(ids); n++)
            buf_addf(&jobs, "%s%s", n > 0 ? " " : "", json_string_value(json_array_get(ids, n)));
        table_addf(&t, COLOUR_PLAIN, "  %s", answer_text(one, "key"));
        table_addf(&t, COLOUR_PLAIN, "%" PRId64 "/%" PRId64, answer_int(one, "count"),
                   answer_int(join, "count"));
        table_addf(&t, COLOUR_PLAIN, "%s ago", age_format(clock_wall_us() - first_at, age));
        table_add(&t, COLOUR_PLAIN, buf_text(&jobs));
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
}

static void print_join(const struct cli *cli, const json_t *join)
{
    CLEANUP(buf) struct buf then = BUF_INIT(LINE_SIZE_MAX);
    int64_t fired_at = answer_time(join, "fired_at");
    char age[SHORT_TEXT_SIZE];

    printf("join %s\n", answer_text(join, "name"));
    if (*answer_text(join, "key") != '\0')
        printf("  key    %s\n", answer_text(join, "key"));
    printf("  count  %" PRId64 "\n", answer_int(join, "count"));
    dests_add(&then, json_object_get(join, "then"));
    printf("  then   %s\n", buf_text(&then));
    printf("  fired  %" PRId64, answer_int(join, "fired"));
    if (fired_at > 0)
        printf(", the last time %s ago", age_format(clock_wall_us() - fired_at, age));
    printf("\n");
    print_arrivals(cli, join);
}

int cmd_join_show(struct cli *cli)
{
    return named_each(cli, "GET", "joins", print_join);
}

/* ---- arrivals ---- */

static void print_arrival(const struct cli *cli, const json_t *answer)
{
    (void)cli;
    if (answer_is_true(answer, "fired"))
        printf("%s  fired\n", answer_text(answer, "name"));
    else
        printf("%s  %" PRId64 " arrived\n", answer_text(answer, "name"),
               answer_int(answer, "count"));
}

int cmd_join_arrive(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;

    if (named_params(&cli->args, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return named_one(cli,
                     &(struct named_request){.method = "POST",
                                             .kind = "joins",
                                             .name = args_word(&cli->args, 0),
                                             .body = buf_slice(&body)},
                     print_arrival);
}

static void print_cleared(const struct cli *cli, const json_t *answer)
{
    (void)answer;
    printf("%s  cleared\n", args_word(&cli->args, 0));
}

int cmd_join_clear(struct cli *cli)
{
    return named_one(cli,
                     &(struct named_request){.method = "DELETE",
                                             .kind = "joins",
                                             .name = args_word(&cli->args, 0),
                                             .key = args_text(&cli->args, "key")},
                     print_cleared);
}
