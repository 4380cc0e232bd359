/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cli/answer.h"
#include "cli/filter.h"
#include "cli/job_view.h"
#include "cli/job_wait.h"
#include "cli/screen.h"

static void control_characters_are_shown_and_never_obeyed(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("plain ä €"), "plain ä €"},
        {SLICE("a\nb\tc\r"), "a b c "},
        {SLICE("\033[2Jx\007\b"), "?[2Jx??"},
        {SLICE("a\0b"), "a?b"},
        {SLICE("\x7F"), "?"},
        {SLICE("\xC2\x9B"
               "31m"),
         "?31m"}, /* U+009B opens a sequence, too */
        {SLICE("\xC2\xA0"), "\xC2\xA0"},
        {SLICE("\xFF\xC3"), "??"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf b = BUF_INIT(100);

        clean_text(&b, cases[i].text);
        assert_string_equal(buf_text(&b), cases[i].want);
    }
}

static void ages_have_one_unit(void **state)
{
    static const struct {
        int64_t us;
        const char *want;
    } cases[] = {
        {-5, "0s"},
        {0, "0s"},
        {US_PER_S - 1, "0s"},
        {119 * US_PER_S, "119s"},
        {120 * US_PER_S, "2m"},
        {119 * US_PER_MIN, "119m"},
        {2 * US_PER_HOUR, "2h"},
        {47 * US_PER_HOUR, "47h"},
        {48 * US_PER_HOUR, "2d"},
        {400 * US_PER_DAY, "400d"},
    };
    char text[SHORT_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(age_format(cases[i].us, text), cases[i].want);
}

static void sizes_have_a_unit(void **state)
{
    char text[SHORT_TEXT_SIZE];

    (void)state;
    assert_string_equal(bytes_format(0, text), "0 B");
    assert_string_equal(bytes_format(999, text), "999 B");
    assert_string_equal(bytes_format(1234, text), "1.2 kB");
    assert_string_equal(bytes_format(123456, text), "123 kB");
    assert_string_equal(bytes_format(INT64_MAX, text), "9.2 EB");
}

/* What `print` writes to standard output (free it). */
static char *printed(void (*print)(const void *ctx), const void *ctx)
{
    FILE *file = tmpfile();
    int before = dup(STDOUT_FILENO);
    char *text = mem_zalloc(4096);

    assert_non_null(file);
    fflush(stdout);
    assert_true(before >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    print(ctx);
    fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    rewind(file);
    (void)!fread(text, 1, 4095, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void print_sample_table(const void *ctx)
{
    static const struct column columns[] = {{.title = "NAME"},
                                            {.title = "N", .right = true},
                                            {.title = "TEXT"}};
    CLEANUP(table) struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    table_add(&t, COLOUR_RED, "ä");
    table_add_count(&t, COLOUR_PLAIN, 5);
    table_add(&t, COLOUR_PLAIN, "öööööööööö");
    table_add(&t, COLOUR_PLAIN, "longer");
    table_add_count(&t, COLOUR_PLAIN, 1234);
    table_add(&t, COLOUR_PLAIN, "");
    table_print(&t, ctx);
}

static void columns_stand_under_each_other(void **state)
{
    const struct screen screen = {.width = 0};
    CLEANUP(mem) char *text = printed(print_sample_table, &screen);

    (void)state;
    assert_string_equal(text, "NAME       N  TEXT\n"
                              "ä          5  öööööööööö\n"
                              "longer  1234\n");
}

static void the_last_column_ends_at_the_edge_of_the_screen(void **state)
{
    const struct screen screen = {.width = 20};
    CLEANUP(mem) char *text = printed(print_sample_table, &screen);

    (void)state;
    assert_non_null(strstr(text, "  ööööö…\n"));
}

static void colours_are_there_when_they_are_wanted(void **state)
{
    const struct screen screen = {.colours = true};
    CLEANUP(mem) char *text = printed(print_sample_table, &screen);

    (void)state;
    assert_non_null(strstr(text, "\033[31mä\033[0m  "));
}

static void print_compact(const void *ctx)
{
    print_json(slice_of(ctx));
}

static void json_comes_out_on_one_line_and_otherwise_as_it_came(void **state)
{
    CLEANUP(mem)
    char *text = printed(print_compact,
                         "{ \"a\" :\n\t1.50, \"b c\": \"x \\\" y\\\\\",\r\n\"d\":[ ] }");

    (void)state;
    assert_string_equal(text, "{\"a\":1.50,\"b c\":\"x \\\" y\\\\\",\"d\":[]}\n");
}

static void a_job_exits_as_its_program_did(void **state)
{
    static const struct {
        const char *job;
        int status;
    } cases[] = {
        {"{\"state\":\"done\",\"exit\":0}", 0},
        {"{\"state\":\"done\"}", 0},
        {"{\"state\":\"relayed\"}", 0},
        {"{\"state\":\"failed\",\"exit\":7}", 7},
        {"{\"state\":\"failed\",\"exit\":255}", 255},
        {"{\"state\":\"failed\",\"exit\":-9}", 137},
        {"{\"state\":\"failed\",\"exit\":0}", 1}, /* no end word */
        {"{\"state\":\"failed\"}", 1},
        {"{\"state\":\"failed\",\"exit\":null}", 1},
        {"{\"state\":\"failed\",\"exit\":4711}", 1},
        {"{\"state\":\"cancelled\"}", 1},
        {"{\"state\":\"cancelled\",\"exit\":-15}", 143},
        {"{}", 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *job = json_loads(cases[i].job, 0, NULL);

        assert_non_null(job);
        if (job_exit_status(job) != cases[i].status)
            fail_msg("%s: %d instead of %d", cases[i].job, job_exit_status(job), cases[i].status);
        json_decref(job);
    }
}

static void a_job_is_told_in_one_line(void **state)
{
    static const struct {
        const char *job;
        const char *want;
    } cases[] = {
        {"{\"state\":\"ready\",\"reason\":{\"text\":\"no live worker for q\"}}",
         "no live worker for q"},
        {"{\"state\":\"scheduled\",\"reason\":{\"text\":\"not due yet\",\"until\":\"1970-01-01T01:00:"
         "00Z\"}}",
         "not due yet, in 60m"},
        {"{\"state\":\"running\",\"done\":3,\"total\":10,\"text\":\"pages\"}", "3/10 pages"},
        {"{\"state\":\"running\",\"cancelling\":true}", "cancelling"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"exit\":3,\"text\":\"no route\"}",
         "exit 3: no route"},
        {"{\"state\":\"failed\",\"cause\":\"signal\",\"exit\":-9}", "signal 9"},
        {"{\"state\":\"failed\",\"cause\":\"timeout\",\"exit\":-15}", "timeout, signal 15"},
        {"{\"state\":\"failed\",\"exit\":2}", "exit 2"},
        {"{\"state\":\"done\",\"exit\":0,\"text\":\"all fetched\"}", "all fetched"},
        {"{}", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf about = BUF_INIT(200);
        json_t *job = json_loads(cases[i].job, 0, NULL);

        job_about(job, 0, &about);
        assert_string_equal(buf_text(&about), cases[i].want);
        json_decref(job);
    }
}

/* Parses a line of words with blanks between. */
static void parse(struct args *a, char *line)
{
    const char *words[16];
    struct err err = ERR_INIT;
    int count = 0;

    for (char *rest = line; rest != NULL;)
        words[count++] = strsep(&rest, " ");
    if (args_parse(a, commands, count, words, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static void a_filter_reaches_the_server_as_query_and_as_json(void **state)
{
    char line[] = "cancel -q a&b --state failed,done -l k=v=w -l x=ä --text a\"b --older 7d";
    CLEANUP(args) struct args a = ARGS_INIT;
    CLEANUP(buf) struct buf query = BUF_INIT(400);
    CLEANUP(buf) struct buf json = BUF_INIT(400);
    struct err err = ERR_INIT;

    (void)state;
    parse(&a, line);
    assert_true(filter_given(&a));
    filter_add_query(&a, &query);
    assert_string_equal(buf_text(&query), "&queue=a%26b&state=failed%2Cdone&text=a%22b"
                                          "&label.k=v%3Dw&label.x=%C3%A4");
    assert_int_equal(filter_add_json(&a, "ready", &json, &err), E_OK);
    assert_string_equal(buf_text(&json),
                        "{\"queue\":\"a&b\",\"state\":[\"failed\",\"done\"],\"text\":\"a\\\"b\","
                        "\"older\":\"7d\",\"labels\":{\"k\":\"v=w\",\"x\":\"ä\"}}");
}

static void states_that_are_not_given_are_the_commands(void **state)
{
    char line[] = "prune --queue q";
    CLEANUP(args) struct args a = ARGS_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(400);
    struct err err = ERR_INIT;

    (void)state;
    parse(&a, line);
    assert_int_equal(filter_add_json(&a, "done,failed", &json, &err), E_OK);
    assert_string_equal(buf_text(&json), "{\"queue\":\"q\",\"state\":[\"done\",\"failed\"]}");
}

static void no_filter_is_no_filter(void **state)
{
    char line[] = "list --limit 5 --json";
    CLEANUP(args) struct args a = ARGS_INIT;

    (void)state;
    parse(&a, line);
    assert_false(filter_given(&a));
}

static void params_keep_their_types_and_come_once(void **state)
{
    char line[] = "add q -p a=1 -p b:=[1,\n{\"c\":null}] -p d= -p e:=\"x\"";
    char twice[] = "add q -p a=1 -p b=2 -p a:=3";
    CLEANUP(args) struct args a = ARGS_INIT;
    CLEANUP(args) struct args b = ARGS_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(400);
    struct err err = ERR_INIT;

    (void)state;
    parse(&a, line);
    assert_int_equal(pairs_add_json(&a, "param", &json, &err), E_OK);
    assert_string_equal(buf_text(&json),
                        "{\"a\":\"1\",\"b\":[1, {\"c\":null}],\"d\":\"\",\"e\":\"x\"}");
    parse(&b, twice);
    assert_int_equal(pairs_add_json(&b, "param", &json, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "'a' is there twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_and_never_obeyed),
        cmocka_unit_test(ages_have_one_unit),
        cmocka_unit_test(sizes_have_a_unit),
        cmocka_unit_test(columns_stand_under_each_other),
        cmocka_unit_test(the_last_column_ends_at_the_edge_of_the_screen),
        cmocka_unit_test(colours_are_there_when_they_are_wanted),
        cmocka_unit_test(json_comes_out_on_one_line_and_otherwise_as_it_came),
        cmocka_unit_test(a_job_exits_as_its_program_did),
        cmocka_unit_test(a_job_is_told_in_one_line),
        cmocka_unit_test(a_filter_reaches_the_server_as_query_and_as_json),
        cmocka_unit_test(states_that_are_not_given_are_the_commands),
        cmocka_unit_test(no_filter_is_no_filter),
        cmocka_unit_test(params_keep_their_types_and_come_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
