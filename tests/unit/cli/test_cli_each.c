/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "each/halt.h"
#include "each/line/command.h"
#include "each/line/words.h"
#include "each/lines.h"
#include "each/order.h"
#include "each/printed.h"
#include "own/bar.h"
#include "own/rate_meter.h"

/* ---- lines ---- */

static void give(struct each_lines *l, const char *data, size_t size)
{
    while (size > 0) {
        size_t room;
        char *to = each_lines_room(l, &room);
        size_t n = size < room ? size : room;

        memcpy(to, data, n);
        each_lines_added(l, n);
        data += n;
        size -= n;
    }
}

/* The lines that are there now, with | between. */
static void take_all(struct each_lines *l, struct buf *out)
{
    struct slice line;
    struct err err;
    bool found = true;

    for (;;) {
        assert_int_equal(each_lines_next(l, &line, &found, &err), E_OK);
        if (!found)
            return;
        buf_add_slice(out, line);
        buf_add_char(out, '|');
    }
}

static void lines_are_found_wherever_the_input_is_cut(void **state)
{
    static const char input[] = "one\n\ntwo words\r\n{}\nlast";

    (void)state;
    for (size_t cut = 0; cut < sizeof(input); cut++) {
        CLEANUP(buf) struct buf got = BUF_INIT(1000);
        struct each_lines l;

        each_lines_init(&l, '\n');
        give(&l, input, cut);
        take_all(&l, &got);
        give(&l, input + cut, sizeof(input) - 1 - (cut < sizeof(input) ? cut : 0));
        take_all(&l, &got);
        each_lines_end(&l);
        take_all(&l, &got);
        assert_string_equal(buf_text(&got), "one||two words\r|{}|last|");
        assert_int_equal(l.count, 5);
        each_lines_deinit(&l);
    }
}

static void a_newline_at_the_end_makes_no_line_of_its_own(void **state)
{
    CLEANUP(buf) struct buf got = BUF_INIT(1000);
    struct each_lines l;

    (void)state;
    each_lines_init(&l, '\n');
    give(&l, "a\n\n", 3);
    each_lines_end(&l);
    take_all(&l, &got);
    assert_string_equal(buf_text(&got), "a||");
    each_lines_deinit(&l);
}

static void items_may_end_with_nul_instead(void **state)
{
    CLEANUP(buf) struct buf got = BUF_INIT(1000);
    struct each_lines l;

    (void)state;
    each_lines_init(&l, '\0');
    give(&l, "a\nb\0c\0", 6);
    each_lines_end(&l);
    take_all(&l, &got);
    assert_string_equal(buf_text(&got), "a\nb|c|");
    each_lines_deinit(&l);
}

static void a_nul_in_a_line_is_refused_with_its_number(void **state)
{
    struct each_lines l;
    struct slice line;
    struct err err;
    bool found;

    (void)state;
    each_lines_init(&l, '\n');
    give(&l, "fine\na\0b\n", 9);
    assert_int_equal(each_lines_next(&l, &line, &found, &err), E_OK);
    assert_int_equal(each_lines_next(&l, &line, &found, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "line 2 has a NUL byte"));
    assert_non_null(strstr(err.msg, "--null"));
    each_lines_deinit(&l);
}

static void a_line_of_a_mebibyte_is_taken_and_not_one_byte_more(void **state)
{
    CLEANUP(mem) char *data = mem_alloc(EACH_LINE_MAX + 2);

    (void)state;
    memset(data, 'x', EACH_LINE_MAX + 2);
    for (size_t more = 0; more < 2; more++) {
        struct each_lines l;
        struct slice line = {NULL, 0};
        struct err err;
        bool found = false;

        each_lines_init(&l, '\n');
        give(&l, data, EACH_LINE_MAX + more);
        if (more == 0) {
            assert_int_equal(each_lines_next(&l, &line, &found, &err), E_OK);
            assert_false(found);
            each_lines_end(&l);
            assert_int_equal(each_lines_next(&l, &line, &found, &err), E_OK);
            assert_true(found);
            assert_int_equal(line.size, EACH_LINE_MAX);
        } else { /* it need not be read to its end to know */
            assert_int_equal(each_lines_next(&l, &line, &found, &err), E_INVALID);
            assert_non_null(strstr(err.msg, "line 1 is longer"));
        }
        each_lines_deinit(&l);
    }
}

static void long_input_is_read_in_bounded_memory(void **state)
{
    struct each_lines l;
    char piece[4096];
    int64_t lines = 0;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    for (size_t i = 99; i < sizeof(piece); i += 100)
        piece[i] = '\n';
    each_lines_init(&l, '\n');
    for (int i = 0; i < 5000; i++) {
        struct slice line;
        struct err err;
        bool found = true;

        give(&l, piece, sizeof(piece));
        while (found) {
            assert_int_equal(each_lines_next(&l, &line, &found, &err), E_OK);
            lines += found;
        }
        assert_true(l.capacity <= (size_t)1 << 20);
    }
    assert_int_equal(lines, 5000 * 40);
    each_lines_deinit(&l);
}

/* ---- commands ---- */

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static size_t count_words(const char *const *words)
{
    size_t n = 0;

    while (words[n] != NULL)
        n++;
    return n;
}

#define ONE_LINE(literal) ((struct each_item){.lines = &SLICE(literal), .n_lines = 1, .number = 7})

static enum err_code read_command(struct each_command *c, const char *const *words, size_t n_words,
                                  struct slice separator, struct err *err)
{
    return each_command_init(c, words, n_words,
                             &(struct each_cut){.separator = separator, .lines = 1}, err);
}

static void check_command(const char *const *words, const char *separator, const char *line,
                          const char *want_template, const char *want_params,
                          const char *want_shell)
{
    CLEANUP(buf) struct buf template = BUF_INIT(10000);
    CLEANUP(buf) struct buf params = BUF_INIT(10000);
    CLEANUP(buf) struct buf shell = BUF_INIT(10000);
    struct each_command c;
    struct err err = ERR_INIT;

    const struct slice lines[] = {slice_of(line)};
    const struct each_item item = {.lines = lines, .n_lines = 1, .number = 7};

    assert_int_equal(read_command(&c, words, count_words(words), slice_of(separator), &err), E_OK);
    each_command_add_template(&c, 1, &template);
    assert_string_equal(buf_text(&template), want_template);
    assert_int_equal(each_command_add_params(&c, &item, &params, &err), E_OK);
    assert_string_equal(buf_text(&params), want_params);
    assert_int_equal(each_add_shell(&c, &item, &shell, &err), E_OK);
    assert_string_equal(buf_text(&shell), want_shell);
}

static void braces_are_the_line_wherever_they_stand(void **state)
{
    (void)state;
    check_command(WORDS("cp", "{}", "/to/{}.bak"), NULL, "a b",
                  "[\"cp\",\"{line}\",\"/to/{line}.bak\"]", "{\"line\":\"a b\"}",
                  "cp 'a b' '/to/a b.bak'");
    check_command(WORDS("{}", "x"), NULL, "ls", "[\"{line}\",\"x\"]", "{\"line\":\"ls\"}", "ls x");
}

static void without_braces_the_line_comes_last(void **state)
{
    (void)state;
    check_command(WORDS("rm", "-f"), NULL, "it's", "[\"rm\",\"-f\",\"{line}\"]",
                  "{\"line\":\"it's\"}", "rm -f 'it'\\''s'");
    check_command(WORDS("echo"), NULL, "", "[\"echo\",\"{line}\"]", "{\"line\":\"\"}", "echo ''");
}

static void other_braces_are_what_they_are(void **state)
{
    (void)state;
    check_command(WORDS("awk", "{print $1} {{", "{1,}", "{x}", "}{"), NULL, "f",
                  "[\"awk\",\"{{print $1} {{{{\",\"{{1,}\",\"{{x}\",\"}{{\",\"{line}\"]",
                  "{\"line\":\"f\"}", "awk '{print $1} {{' '{1,}' '{x}' '}{' f");
    check_command(WORDS("p", "a{1}"), NULL, "f", "[\"p\",\"a{line}\"]", "{\"line\":\"f\"}", "p af");
}

static void what_the_shell_fills_in_is_left_to_it(void **state)
{
    (void)state;
    check_command(WORDS("p", "${1%.wav} ${{x} $${} {}}", "{}"), NULL, "f",
                  "[\"p\",\"${1%.wav} ${{{x} $${} {line}}\",\"{line}\"]", "{\"line\":\"f\"}",
                  "p '${1%.wav} ${{x} $${} f}' f");
}

static void parts_of_a_path_are_those_of_parallel(void **state)
{
    static const struct {
        const char *line, *parts[4];
    } cases[] = {
        {"a/b.c/d.tar.gz", {"a/b.c/d.tar", "d.tar.gz", "a/b.c", "d.tar"}},
        {"a.b/c", {"a.b/c", "c", "a.b", "c"}},
        {"x.wav", {"x", "x.wav", ".", "x"}},
        {"/x", {"/x", "x", "/", "x"}},
        {"a/b/", {"a/b/", "", "a", ""}},
        {"a/.b", {"a/", ".b", "a", ""}},
        {"//a//b.", {"//a//b", "b.", "//a", "b"}},
        {"", {"", "", ".", ""}},
        {"/", {"/", "", "/", ""}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int k = 0; k < 4; k++) {
            struct slice got = each_path_part(EACH_NO_SUFFIX + (enum each_part)k,
                                              slice_of(cases[i].line));

            assert_true(slice_is(got, cases[i].parts[k]));
        }
    check_command(WORDS("p", "{.}", "x{/}", "{//}", "{/.}", "{#}"), NULL, "a/b.c",
                  "[\"p\",\"{no_suffix}\",\"x{base}\",\"{dir}\",\"{stem}\",\"{number}\"]",
                  "{\"line\":\"a/b.c\",\"no_suffix\":\"a/b\",\"base\":\"b.c\",\"dir\":\"a\","
                  "\"stem\":\"b\",\"number\":7}",
                  "p a/b xb.c a b 7");
    check_command(WORDS("p", "{#}"), NULL, "a", "[\"p\",\"{number}\",\"{line}\"]",
                  "{\"line\":\"a\",\"number\":7}", "p 7 a");
}

static void check_lines(const char *const *words, size_t n_lines, const char *want_template,
                        const char *want_params, const char *want_shell)
{
    static const struct slice lines[] = {SLICE("a b"), SLICE("c.d"), SLICE("")};
    const struct each_item item = {.lines = lines, .n_lines = n_lines, .number = 7};
    CLEANUP(buf) struct buf template = BUF_INIT(10000);
    CLEANUP(buf) struct buf params = BUF_INIT(10000);
    CLEANUP(buf) struct buf shell = BUF_INIT(10000);
    struct each_command c;
    struct err err = ERR_INIT;

    assert_int_equal(each_command_init(&c, words, count_words(words),
                                       &(struct each_cut){.lines = 3}, &err),
                     E_OK);
    each_command_add_template(&c, n_lines, &template);
    assert_string_equal(buf_text(&template), want_template);
    assert_int_equal(each_command_add_params(&c, &item, &params, &err), E_OK);
    assert_string_equal(buf_text(&params), want_params);
    assert_int_equal(each_add_shell(&c, &item, &shell, &err), E_OK);
    assert_string_equal(buf_text(&shell), want_shell);
}

static void several_lines_are_several_words(void **state)
{
    struct each_command c;
    struct err err = ERR_INIT;

    (void)state;
    check_lines(WORDS("p"), 3, "[\"p\",\"{line1}\",\"{line2}\",\"{line3}\"]",
                "{\"line\":\"a b\\nc.d\\n\",\"line1\":\"a b\",\"line2\":\"c.d\",\"line3\":\"\"}",
                "p 'a b' c.d ''");
    check_lines(WORDS("p", "{.}", "x"), 2, "[\"p\",\"{no_suffix1}\",\"{no_suffix2}\",\"x\"]",
                "{\"line\":\"a b\\nc.d\",\"no_suffix1\":\"a b\",\"no_suffix2\":\"c\"}",
                "p 'a b' c x");
    check_lines(WORDS("p", "{2}-{3}", "{#}"), 2, "[\"p\",\"{line2}-\",\"{number}\"]",
                "{\"line\":\"a b\\nc.d\",\"line1\":\"a b\",\"line2\":\"c.d\",\"number\":7}",
                "p c.d- 7");
    assert_int_equal(each_command_init(&c, WORDS("p", "x{}"), 2, &(struct each_cut){.lines = 2},
                                       &err),
                     E_INVALID);
    assert_non_null(strstr(err.msg, "a separate word"));
    assert_int_equal(each_command_init(&c, WORDS("p", "{3}"), 2, &(struct each_cut){.lines = 2},
                                       &err),
                     E_INVALID);
}

static void columns_are_cut_by_the_separator(void **state)
{
    (void)state;
    check_command(WORDS("mv", "{2}", "x{1}", "{0}", "{01}", "{1x}"), "\t", "a\tb\tc",
                  "[\"mv\",\"{c2}\",\"x{c1}\",\"{{0}\",\"{{01}\",\"{{1x}\"]",
                  "{\"line\":\"a\\tb\\tc\",\"c1\":\"a\",\"c2\":\"b\"}",
                  "mv b xa '{0}' '{01}' '{1x}'");
    check_command(WORDS("p", "{3}", "{1}"), ", ", "a, , c", "[\"p\",\"{c3}\",\"{c1}\"]",
                  "{\"line\":\"a, , c\",\"c1\":\"a\",\"c3\":\"c\"}", "p c a");
    check_command(WORDS("p", "{1}"), ",", "", "[\"p\",\"{c1}\"]", "{\"line\":\"\",\"c1\":\"\"}",
                  "p ''");
}

static void a_line_with_too_few_columns_is_refused(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct each_command c;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read_command(&c, WORDS("p", "{3}"), 2, SLICE(","), &err), E_OK);
    assert_int_equal(each_command_add_params(&c, &ONE_LINE("a,b"), &out, &err), E_INVALID);
    assert_string_equal(err.msg, "has 2 columns, and the command wants {3}");
    assert_int_equal(each_command_add_params(&c, &ONE_LINE("a"), &out, &err), E_INVALID);
    assert_string_equal(err.msg, "has 1 column, and the command wants {3}");
}

static void commands_that_cannot_be_are_refused(void **state)
{
    struct each_command c;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read_command(&c, NULL, 0, slice_of(NULL), &err), E_INVALID);
    assert_int_equal(read_command(&c, WORDS(""), 1, slice_of(NULL), &err), E_INVALID);
    assert_int_equal(read_command(&c, WORDS("a", "\xFF"), 2, slice_of(NULL), &err), E_INVALID);
    assert_non_null(strstr(err.msg, "word 2"));
    assert_int_equal(read_command(&c, WORDS("a", "{65}"), 2, SLICE(","), &err), E_INVALID);
    assert_int_equal(read_command(&c, WORDS("a", "{99999999999}"), 2, SLICE(","), &err), E_INVALID);
    assert_int_equal(read_command(&c, WORDS("a", "{64}"), 2, SLICE(","), &err), E_OK);
}

static void a_line_that_is_not_utf8_comes_encoded(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct each_command c;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read_command(&c, WORDS("p", "{}{x"), 2, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_add_encoded(&c, &ONE_LINE("a\\ \xFF"), &out, &err), E_OK);
    assert_non_null(
        strstr(buf_text(&out), ",\"sh\",\"p\",\"a\\\\0134\\\\0040\\\\0377\\\\0173x\"]"));
    assert_int_equal(read_command(&c, WORDS("p", "{1}"), 2, SLICE("\xA4"), &err), E_OK);
    assert_int_equal(each_command_add_params(&c, &ONE_LINE("ä"), &out, &err), E_INVALID);
}

static void a_separator_may_be_written_with_escapes(void **state)
{
    static const struct {
        const char *text;
        struct slice want;
    } cases[] = {
        {"\\t", SLICE("\t")}, {", ", SLICE(", ")},    {"\\\\t", SLICE("\\t")},
        {"\\0", SLICE("\0")}, {"\\x", SLICE("\\x")},  {"a\\", SLICE("a\\")},
        {"::", SLICE("::")},  {"\\n|", SLICE("\n|")},
    };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(100);

        assert_int_equal(each_separator_parse(cases[i].text, &out, &err), E_OK);
        assert_true(slice_equal(buf_slice(&out), cases[i].want));
    }
    CLEANUP(buf) struct buf out = BUF_INIT(100);

    assert_int_equal(each_separator_parse("", &out, &err), E_INVALID);
}

static void a_program_that_is_not_there_is_known_before(void **state)
{
    struct each_command c;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read_command(&c, WORDS("true"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_OK);
    assert_int_equal(read_command(&c, WORDS("/bin/true"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_OK);
    assert_int_equal(read_command(&c, WORDS("no-such-{}"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_OK);
    assert_int_equal(read_command(&c, WORDS("no-such-pr"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_NOT_FOUND);
    assert_string_equal(err.msg, "there is no program 'no-such-pr' in PATH");
    assert_int_equal(read_command(&c, WORDS("/etc/passwd"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_FORBIDDEN);
    assert_int_equal(read_command(&c, WORDS("/etc"), 1, slice_of(NULL), &err), E_OK);
    assert_int_equal(each_command_check_program(&c, &err), E_FORBIDDEN);
}

/* ---- halting ---- */

static void halting_is_said_as_to_parallel(void **state)
{
    static const char *const wrong[] = {
        "",           "never",       "now,",          "soon,fail",   "soon,fail=",
        "now,fail=0", "now,fail=-1", "now,fail=101%", "now,fail=1x", "soonest"};
    struct each_halt h;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(each_halt_parse("now", &h, &err), E_OK);
    assert_true(h.when == EACH_HALT_NOW && h.count == 1 && h.percent == 0);
    assert_int_equal(each_halt_parse("soon,fail=12", &h, &err), E_OK);
    assert_true(h.when == EACH_HALT_SOON && h.count == 12);
    assert_int_equal(each_halt_parse("soon,fail=30%", &h, &err), E_OK);
    assert_true(h.count == 0 && h.percent == 30);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(each_halt_parse(wrong[i], &h, &err), E_INVALID);
}

static void a_share_is_judged_when_enough_is_read(void **state)
{
    const struct each_halt tenth = {.when = EACH_HALT_SOON, .percent = 10};

    (void)state;
    assert_false(each_halt_is_due(&tenth, &(struct each_halt_facts){.failed = 3, .lines = 20}));
    assert_true(each_halt_is_due(
        &tenth, &(struct each_halt_facts){.failed = 2, .lines = 20, .all_read = true}));
    assert_false(each_halt_is_due(
        &tenth, &(struct each_halt_facts){.failed = 2, .lines = 21, .all_read = true}));
    assert_true(each_halt_is_due(&tenth, &(struct each_halt_facts){.failed = 100, .lines = 1000}));
    assert_false(each_halt_is_due(&(struct each_halt){.when = EACH_HALT_NEVER},
                                  &(struct each_halt_facts){.failed = 100, .lines = 100}));
}

/* ---- the order ---- */

static void check_next(struct each_order *o, int64_t line, const char *output)
{
    const struct each_turn *t = each_order_next(o);

    assert_non_null(t);
    assert_int_equal(t->line, line);
    assert_int_equal(t->state, EACH_TURN_HELD);
    assert_slice_is(slice_make(t->output, t->size), output);
    each_order_pop(o);
}

static void with_order_kept_output_waits_for_its_turn(void **state)
{
    struct each_order o;

    (void)state;
    each_order_init(&o, true);
    for (int64_t line = 1; line <= 200; line++)
        each_order_expect(&o, line * 3);
    for (int64_t line = 200; line > 1; line--)
        each_order_ended(&o, line * 3, line, &(struct each_output){.out = SLICE("x")});
    assert_null(each_order_next(&o));
    each_order_ended(&o, 3, 1, &(struct each_output){.out = SLICE("")});
    check_next(&o, 3, "");
    for (int64_t line = 2; line <= 200; line++)
        check_next(&o, line * 3, "x");
    assert_null(each_order_next(&o));
    assert_int_equal(o.held, 0);
    each_order_deinit(&o);
}

static void without_order_the_first_to_end_is_the_first_printed(void **state)
{
    struct each_order o;

    (void)state;
    each_order_init(&o, false);
    each_order_expect(&o, 1);
    each_order_expect(&o, 2);
    assert_null(each_order_next(&o));
    each_order_ended(&o, 2, 2, &(struct each_output){.out = SLICE("two")});
    each_order_ended(&o, 1, 1, &(struct each_output){.out = SLICE("one")});
    check_next(&o, 2, "two");
    check_next(&o, 1, "one");
    each_order_deinit(&o);
}

static void output_that_waits_too_long_is_left_in_the_log(void **state)
{
    CLEANUP(mem) char *large = mem_zalloc(EACH_HELD_MAX / 2);
    struct each_order o;
    const struct each_turn *t;

    (void)state;
    each_order_init(&o, true);
    for (int64_t line = 1; line <= 4; line++)
        each_order_expect(&o, line);
    each_order_ended(&o, 2, 20, &(struct each_output){.out = slice_make(large, EACH_HELD_MAX / 2)});
    each_order_ended(&o, 3, 30, &(struct each_output){.out = slice_make(large, EACH_HELD_MAX / 2)});
    each_order_ended(&o, 4, 40, &(struct each_output){.out = SLICE("x")});
    each_order_ended_before(&o, 1, 10);
    t = each_order_next(&o);
    assert_int_equal(t->state, EACH_TURN_LOGGED);
    assert_int_equal(t->id, 10);
    each_order_pop(&o);
    assert_int_equal(each_order_next(&o)->state, EACH_TURN_HELD);
    each_order_pop(&o);
    each_order_pop(&o);
    t = each_order_next(&o);
    assert_int_equal(t->state, EACH_TURN_LOGGED);
    assert_int_equal(t->id, 40);
    each_order_deinit(&o);
}

/* ---- marks ---- */

static void marks_outlive_the_process(void **state)
{
    char dir[] = "/tmp/waybill-marks.XXXXXX";
    struct each_printed m = EACH_PRINTED_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(each_printed_open(&m, fd, "marks", &err), E_OK);
    assert_false(each_printed_has(&m, 1));
    assert_int_equal(each_printed_reserve(&m, 5000000, &err), E_OK);
    each_printed_set(&m, 1);
    each_printed_set(&m, 2);
    each_printed_set(&m, 5000000);
    each_printed_clear(&m, 2);
    each_printed_close(&m);
    assert_int_equal(each_printed_open(&m, fd, "marks", &err), E_OK);
    assert_true(each_printed_has(&m, 1));
    assert_false(each_printed_has(&m, 2));
    assert_true(each_printed_has(&m, 5000000));
    assert_false(each_printed_has(&m, 5000001));
    assert_false(each_printed_has(&m, 50000000));
    each_printed_close(&m);
    unlinkat(fd, "marks", 0);
    close(fd);
    rmdir(dir);
}

/* ---- for people ---- */

static void check_bar(const struct progress *p, int width, const char *want)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);

    progress_add(&out, p, width);
    assert_string_equal(buf_text(&out), want);
}

static void the_bar_fits_its_line(void **state)
{
    struct progress p = {.done = 40, .failed = 10, .running = 4, .total = 100, .rate = 2.5};

    (void)state;
    check_bar(&p, 80,
              "50/100   50% [=============>            ]  10 failed  4 running  2.5/s  20s left");
    check_bar(&p, 55, "50/100  10 failed  4 running  2.5/s  20s left");
    check_bar(&p, 10, "50/100  10");
    p = (struct progress){.done = 1234567, .total = 2000000, .is_estimated = true, .rate = 5000};
    check_bar(&p, 60, "1,234,567/~2,000,000  0 running  5,000/s  3m left");
    p = (struct progress){.done = 7, .running = 1};
    check_bar(&p, 80, "7  1 running  0.0/s");
}

static void the_result_says_what_was_done_before(void **state)
{
    static const struct {
        struct run_result result;
        const char *want;
    } cases[] = {
        {{.done = 100000, .took_us = 32100000}, "100,000 done, 0 failed in 32.1 s (3,115/s)\n"},
        {{.done = 0, .took_us = 0}, "0 done, 0 failed in 0.0 s\n"},
        {{.done = 90, .failed = 10, .before = 50, .left = 7, .took_us = 100 * US_PER_S},
         "90 done, 10 failed, 7 left; 50 of them now, in 100 s (0.5/s)\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(1000);

        run_result_add(&out, &cases[i].result);
        assert_string_equal(buf_text(&out), cases[i].want);
    }
}

static void the_rate_is_that_of_the_last_half_minute(void **state)
{
    struct rate_meter m = {.count = 0};

    (void)state;
    assert_true(rate_now(&m) == 0);
    for (int i = 0; i <= 10000; i++)
        rate_note(&m, i * US_PER_S / 10, i < 9000 ? 0 : i - 9000);
    assert_true(rate_now(&m) > 9.99 && rate_now(&m) < 10.01);
}

static void without_ends_lately_the_rate_is_that_of_all_the_time(void **state)
{
    struct rate_meter m = {.count = 0};

    (void)state;
    rate_note(&m, 0, 0);
    rate_note(&m, US_PER_S / 2, 1);
    assert_true(rate_now(&m) > 1.99 && rate_now(&m) < 2.01);
    for (int i = 1; i <= 100; i++)
        rate_note(&m, i * US_PER_S, 10);
    assert_true(rate_now(&m) > 0.099 && rate_now(&m) < 0.101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found_wherever_the_input_is_cut),
        cmocka_unit_test(a_newline_at_the_end_makes_no_line_of_its_own),
        cmocka_unit_test(items_may_end_with_nul_instead),
        cmocka_unit_test(a_nul_in_a_line_is_refused_with_its_number),
        cmocka_unit_test(a_line_of_a_mebibyte_is_taken_and_not_one_byte_more),
        cmocka_unit_test(long_input_is_read_in_bounded_memory),
        cmocka_unit_test(braces_are_the_line_wherever_they_stand),
        cmocka_unit_test(without_braces_the_line_comes_last),
        cmocka_unit_test(other_braces_are_what_they_are),
        cmocka_unit_test(what_the_shell_fills_in_is_left_to_it),
        cmocka_unit_test(parts_of_a_path_are_those_of_parallel),
        cmocka_unit_test(several_lines_are_several_words),
        cmocka_unit_test(halting_is_said_as_to_parallel),
        cmocka_unit_test(a_share_is_judged_when_enough_is_read),
        cmocka_unit_test(columns_are_cut_by_the_separator),
        cmocka_unit_test(a_line_with_too_few_columns_is_refused),
        cmocka_unit_test(commands_that_cannot_be_are_refused),
        cmocka_unit_test(a_line_that_is_not_utf8_comes_encoded),
        cmocka_unit_test(a_separator_may_be_written_with_escapes),
        cmocka_unit_test(a_program_that_is_not_there_is_known_before),
        cmocka_unit_test(with_order_kept_output_waits_for_its_turn),
        cmocka_unit_test(without_order_the_first_to_end_is_the_first_printed),
        cmocka_unit_test(output_that_waits_too_long_is_left_in_the_log),
        cmocka_unit_test(marks_outlive_the_process),
        cmocka_unit_test(the_bar_fits_its_line),
        cmocka_unit_test(the_result_says_what_was_done_before),
        cmocka_unit_test(the_rate_is_that_of_the_last_half_minute),
        cmocka_unit_test(without_ends_lately_the_rate_is_that_of_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
