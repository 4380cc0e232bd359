/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "cli/live/job_wait.h"
#include "cli/request/filter.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/reply_json.h"
#include "cli/view/screen.h"

static void control_characters_are_shown_and_never_obeyed(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("plain ä €"), "plain ä €"},
        {SLICE("a\nb\tc\r"), "a b c\\x0d"},
        {SLICE("\033[2Jx\007\b"), "\\x1b[2Jx\\x07\\x08"},
        {SLICE("a\0b"), "a\\x00b"},
        {SLICE("\x7F"), "\\x7f"},
        {SLICE("\xC2\x9B"
               "31m"),
         "\\u009b31m"}, /* U+009B opens a sequence, too */
        {SLICE("\u202Egnp.exe \u2066\u2069\u202C"), "\\u202egnp.exe \\u2066\\u2069\\u202c"},
        {SLICE("\u200D\u2065\u206A"), "\u200D\u2065\u206A"},
        {SLICE("\xC2\xA0"), "\xC2\xA0"},
        {SLICE("\xFF\xC3"), "\\xff\\xc3"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf b = BUF_INIT(100);

        clean_text(&b, cases[i].text);
        assert_string_equal(buf_text(&b), cases[i].want);
    }
}

/* Whole, and byte by byte. */
static void assert_safe(enum safe_kind kind, struct slice text, const char *want)
{
    for (size_t piece = 1; piece <= text.size; piece += text.size > 1 ? text.size - 1 : 1) {
        CLEANUP(buf) struct buf out = BUF_INIT(1000);
        struct safe safe = {.kind = kind};

        for (size_t at = 0; at < text.size; at += piece)
            safe_add(&safe, slice_make(text.data + at, piece), &out);
        safe_end(&safe, &out);
        assert_string_equal(buf_text(&out), want);
    }
}

static void what_a_terminal_would_obey_is_made_visible(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("plain\tä €\n"), "plain\tä €\n"},
        {SLICE("\033[1mbold\033[0m"), "\033[1mbold\033[0m"}, /* ours */
        {SLICE("\033[31mred"), "\033[31mred"},
        {SLICE("\033[41mred"), "\\x1b[41mred"},
        {SLICE("\033[2J"), "\\x1b[2J"},
        {SLICE("\033[3"), "\\x1b[3"},
        {SLICE("\033]0;title\007"), "\\x1b]0;title\\x07"},
        {SLICE("\r\033[K"), "\\x0d\\x1b[K"},
        {SLICE("\xC2\x9B"
               "2J\x7F"),
         "\\u009b2J\\x7f"},
        {SLICE("\u202E\u202C\u2069"), "\\u202e\\u202c\\u2069"},
        {SLICE("\x9B\xE2\x82"), "\\x9b\\xe2\\x82"},
        {SLICE("\xED\xA0\x80"), "\\xed\\xa0\\x80"}, /* a surrogate */
        {SLICE("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_safe(SAFE_TEXT, cases[i].text, cases[i].want);
    assert_safe(SAFE_STATUS, SLICE("\r50%\033[K\033[2J"), "\r50%\033[K\\x1b[2J");
}

static void a_log_on_a_terminal_keeps_its_colours_only(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("plain\tä €\n"), "plain\tä €\n"},
        {SLICE("\033[1;38;5;200mred\033[0m!"), "\033[1;38;5;200mred\033[0m!\033[0m"},
        {SLICE("\033[38:2::1:2:3mx"), "\033[38:2::1:2:3mx\033[0m"},
        {SLICE("\033[>4;1mx\033[?25lx\033[2 qx\033[1 mx"), "xxxx"}, /* other sequences with m */
        {SLICE("a\033[2J\033[10;10Hb\033[Ac\033[6nd\033[1049h"), "abcd"},
        {SLICE("\033]0;title\007a\033]52;c;eA==\033\\b"), "ab"},
        {SLICE("\033]8;;http://x\033\\link\033]8;;\033\\!"), "link!"},
        {SLICE("\033P$q\"p\033\\a\033_apc\033\\b\033^pm\033\\c\033Xsos\033\\d"), "abcd"},
        {SLICE("\xC2\x9B"
               "2Ja\xC2\x9D"
               "0;t\xC2\x9C"
               "b\xC2\x90q\007c\xC2\x85"
               "d"),
         "abcd"},
        {SLICE("\xC2\x9B"
               "31mred"),
         "red"},
        {SLICE("\033]0;never ended\nnext"), "\nnext"},
        {SLICE("\033ca\0337b\033(Bc\033#8d\033"), "abcd"},
        {SLICE("\033\033[2Ja\033[3\nb"), "a\nb"},
        {SLICE("bell\007 back\b nul\0 del\x7F so\016"), "bell back nul del so"},
        {SLICE("10%\r20%\r\n30%\r\r\n40%\r"), "10%\n20%\n30%\n40%\n"},
        {SLICE("\xFFx\x9Bx\xE2\x82"), "\\xffx\\x9bx\\xe2\\x82"},
        {SLICE("\u202Ex\u202C"), "\\u202ex\\u202c"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_safe(SAFE_LOG, cases[i].text, cases[i].want);
}

static void json_on_a_terminal_is_the_same_json(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("{\"a\":[\"ä € \\u001b\\n\"]}\n"), "{\"a\":[\"ä € \\u001b\\n\"]}\n"},
        /* Each mark is closed: the compiler's tools refuse texts that turn what follows them. */
        {SLICE("\"\xC2\x9B\x7F\xE2\x80\xAE\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\xAC\""),
         "\"\\u009b\\u007f\\u202e\\u2066\\u2069\\u202c\""},
        {SLICE("\"\033[1m\""), "\"\\u001b[1m\""},
        {SLICE("\"\xE2\x80\xA8\xF3\xA0\x81\x81\""), "\"\\u2028\\udb40\\udc41\""},
        {SLICE("\"\xF0\x9F\x98\x80\""), "\"\xF0\x9F\x98\x80\""},
        {SLICE("\"\x9B\xE2\x82"), "\"\\ufffd\\ufffd\\ufffd"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_safe(SAFE_JSON, cases[i].text, cases[i].want);
}

static void an_endless_sequence_is_held_back_within_bounds(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(100000);
    struct safe safe = {.kind = SAFE_LOG};

    (void)state;
    safe_add(&safe, SLICE("\033["), &out);
    for (size_t i = 0; i < 10000; i++)
        safe_add(&safe, SLICE("1"), &out);
    safe_add(&safe, SLICE("\nnext"), &out);
    safe_end(&safe, &out);
    assert_null(strchr(buf_text(&out), '\033'));
    assert_non_null(strstr(buf_text(&out), "\nnext"));
}

/* Whether a terminal would obey nothing in it but colours. */
static bool is_harmless(struct slice text)
{
    for (const char *at = text.data; at < slice_end(text);) {
        size_t size = utf8_step(at, slice_end(text));

        if (*at == '\033') {
            at += 1 + strspn(at + 1, "[0123456789;:");
            if (*at != 'm')
                return false;
        } else if (*at != '\n' && *at != '\t' && !printable(at, size)) {
            return false;
        }
        at += size == 0 ? 1 : size;
    }
    return true;
}

static void nothing_at_random_gets_through_whatever_its_pieces(void **state)
{
    static const char *const parts[] = {"\033", "[",    "]",    "P",    "\\",   "0",
                                        ";",    "m",    "J",    "?",    " ",    "\007",
                                        "\r",   "\n",   "x",    "\b",   "\xC2", "\x9B",
                                        "\x9C", "\xE2", "\x80", "\xAE", "\xF0", "\x9F"};
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (size_t round = 0; round < 200000; round++) {
        CLEANUP(buf) struct buf text = BUF_INIT(100);
        CLEANUP(buf) struct buf whole = BUF_INIT(1000);
        CLEANUP(buf) struct buf pieces = BUF_INIT(1000);
        static const enum safe_kind kinds[] = {SAFE_TEXT, SAFE_LOG, SAFE_JSON};
        enum safe_kind kind = kinds[round % ARRAY_LEN(kinds)];
        struct safe safe = {.kind = kind};

        for (size_t n = 1 + rng_below(&rng, 20); n > 0; n--)
            buf_add_str(&text, parts[rng_below(&rng, ARRAY_LEN(parts))]);
        safe_add(&safe, buf_slice(&text), &whole);
        safe_end(&safe, &whole);
        assert_true(is_harmless(slice_of(buf_text(&whole))));
        for (size_t at = 0; at < text.size;) {
            size_t size = 1 + rng_below(&rng, text.size - at);

            safe_add(&safe, slice_make(text.data + at, size), &pieces);
            at += size;
        }
        safe_end(&safe, &pieces);
        assert_string_equal(buf_text(&pieces), buf_text(&whole));
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
        {US_PER_S / 2 - 1, "0s"},
        {US_PER_S / 2, "1s"},
        {119 * US_PER_S + US_PER_S / 2 - 1, "119s"},
        {119 * US_PER_S + US_PER_S / 2, "2m"},
        {US_PER_HOUR - 1, "60m"},
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

static void lengths_of_time_are_rounded_to_the_nearest(void **state)
{
    static const struct {
        int64_t us;
        const char *want;
    } cases[] = {
        {0, "0 ms"},
        {1499, "1 ms"},
        {1500, "2 ms"},
        {999499, "999 ms"},
        {999500, "1.0 s"},
        {11649999, "11.6 s"},
        {11650000, "11.7 s"},
        {99950000, "1m 40s"},
        {119600000, "2m 00s"},
        {2 * US_PER_HOUR - 400000, "2h 00m"},
        {3 * US_PER_HOUR - US_PER_S, "3h 00m"},
        {3 * US_PER_DAY - US_PER_MIN, "3d 0h"},
    };
    char text[SHORT_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(took_format(cases[i].us, text), cases[i].want);
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

/* What `print` writes to the descriptor (free it). */
static char *written(int fd, void (*print)(const void *ctx), const void *ctx)
{
    FILE *file = tmpfile();
    int before = dup(fd);
    char *text = mem_zalloc(4096);

    assert_non_null(file);
    fflush(stdout);
    assert_true(before >= 0 && dup2(fileno(file), fd) >= 0);
    print(ctx);
    fflush(stdout);
    assert_true(dup2(before, fd) >= 0);
    close(before);
    rewind(file);
    (void)!fread(text, 1, 4095, file);
    assert_int_equal(fclose(file), 0);
    return text;
}

static char *printed(void (*print)(const void *ctx), const void *ctx)
{
    return written(STDOUT_FILENO, print, ctx);
}

static void draw_over_a_line(const void *ctx)
{
    struct outputs outputs;

    (void)ctx;
    outputs_open(&outputs, OUTPUTS_TEXT);
    fputs("waybill: no queue 'x\r\033[Kall is well'\n", stderr);
    output_status(SLICE("\r\033[K50% \033[2J"));
    outputs_close(&outputs);
}

static void only_a_line_of_progress_is_drawn_over_another(void **state)
{
    CLEANUP(mem) char *text = written(STDERR_FILENO, draw_over_a_line, NULL);

    (void)state;
    assert_string_equal(text, "waybill: no queue 'x\\x0d\\x1b[Kall is well'\n"
                              "\r\033[K50% \\x1b[2J");
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

static void print_wide_table(const void *ctx)
{
    static const struct column columns[] = {{.title = "ID"},
                                            {.title = "WHAT", .shrinks = true},
                                            {.title = "ABOUT"}};
    CLEANUP(table) struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    table_add(&t, COLOUR_PLAIN, "0123456789");
    table_add(&t, COLOUR_PLAIN, "wwwwwwwwwwwwwwwwwwww");
    table_add(&t, COLOUR_PLAIN, "aaaaaaaaaaaaaaa");
    table_print(&t, ctx);
}

static void print_table_with_an_optional_column(const void *ctx)
{
    static const struct column columns[] = {{.title = "ID"},
                                            {.title = "TRY", .right = true, .optional = true},
                                            {.title = "ABOUT"}};
    CLEANUP(table) struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    table_add(&t, COLOUR_PLAIN, "0123456789");
    table_add_count(&t, COLOUR_PLAIN, 1);
    table_add(&t, COLOUR_PLAIN, "aaaaaaaaaaaaaaa");
    table_print(&t, ctx);
}

static void a_column_that_is_optional_goes_first(void **state)
{
    const struct screen wide = {.width = 32};
    const struct screen narrow = {.width = 31};
    const struct screen narrower = {.width = 20};
    CLEANUP(mem) char *all = printed(print_table_with_an_optional_column, &wide);
    CLEANUP(mem) char *some = printed(print_table_with_an_optional_column, &narrow);
    CLEANUP(mem) char *few = printed(print_table_with_an_optional_column, &narrower);

    (void)state;
    assert_string_equal(all, "ID          TRY  ABOUT\n0123456789    1  aaaaaaaaaaaaaaa\n");
    assert_string_equal(some, "ID          ABOUT\n0123456789  aaaaaaaaaaaaaaa\n");
    assert_string_equal(few, "ID          ABOUT\n0123456789  aaaaaaa…\n");
}

static void texts_share_the_room_and_short_ones_stay_whole(void **state)
{
    const struct screen narrow = {.width = 30};
    const struct screen middle = {.width = 46};
    CLEANUP(mem) char *cut = printed(print_wide_table, &narrow);
    CLEANUP(mem) char *some = printed(print_wide_table, &middle);

    (void)state;
    assert_non_null(strstr(cut, "\n0123456789  wwwww…  aaaaaaaaa…\n"));
    assert_non_null(strstr(some, "\n0123456789  wwwwwwwwwwwwwwww…  aaaaaaaaaaaaaaa\n"));
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
        {"{\"state\":\"scheduled\",\"reason\":{\"text\":\"not due yet\","
         "\"until\":\"1970-01-01T01:00:00Z\"}}",
         "not due yet: starts in 60m"},
        {"{\"state\":\"running\",\"done\":3,\"total\":10,\"text\":\"pages\"}", "3/10 pages"},
        {"{\"state\":\"running\",\"cancelling\":true}", "cancelling"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"exit\":3,\"text\":\"no route\"}",
         "exit 3: no route"},
        {"{\"state\":\"failed\",\"cause\":\"signal\",\"exit\":-9}", "signal 9 (KILL)"},
        {"{\"state\":\"failed\",\"cause\":\"signal\",\"exit\":-15,\"text\":\"ended by signal 15 "
         "(TERM)\"}",
         "signal 15 (TERM)"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"exit\":7,\"text\":\"exit status 7\"}",
         "exit 7"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"exit\":-9}", "exit, signal 9 (KILL)"},
        {"{\"state\":\"failed\",\"cause\":\"timeout\",\"exit\":-15}", "timeout, signal 15 (TERM)"},
        {"{\"state\":\"failed\",\"cause\":\"protocol\",\"laters\":16,\"text\":\"not yet\"}",
         "asked to run later 16 times: not yet"},
        {"{\"state\":\"failed\",\"exit\":2}", "exit 2"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"exit\":0,\"text\":\"no good\"}", "no good"},
        {"{\"state\":\"failed\",\"cause\":\"exit\",\"text\":\"no good\"}", "no good"},
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
    assert_non_null(strstr(err.msg, "'a' appears twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_shown_and_never_obeyed),
        cmocka_unit_test(what_a_terminal_would_obey_is_made_visible),
        cmocka_unit_test(a_log_on_a_terminal_keeps_its_colours_only),
        cmocka_unit_test(json_on_a_terminal_is_the_same_json),
        cmocka_unit_test(an_endless_sequence_is_held_back_within_bounds),
        cmocka_unit_test(nothing_at_random_gets_through_whatever_its_pieces),
        cmocka_unit_test(ages_have_one_unit),
        cmocka_unit_test(lengths_of_time_are_rounded_to_the_nearest),
        cmocka_unit_test(sizes_have_a_unit),
        cmocka_unit_test(only_a_line_of_progress_is_drawn_over_another),
        cmocka_unit_test(columns_stand_under_each_other),
        cmocka_unit_test(the_last_column_ends_at_the_edge_of_the_screen),
        cmocka_unit_test(texts_share_the_room_and_short_ones_stay_whole),
        cmocka_unit_test(a_column_that_is_optional_goes_first),
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
