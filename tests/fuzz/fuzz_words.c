/*
 * What a program says and what a command is made of: lines that are read give texts that the server
 * takes, commands that are read give arguments, and no value becomes part of a script.
 *
 * An input is lines: the first is a command, the rest goes to an report.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/program/template.h"
#include "core/program/word.h"
#include "driver.h"
#include "worker/run/line_reader.h"
#include "worker/run/output.h"
#include "worker/run/program_report.h"

static const struct slice seeds[] = {
    SLICE("echo {x} \"{x}\" '{{x}' ${HOME} {y:-it's} `echo {x}` $(echo \"{x}\")\n"
          "run copying\nprogress 40/100MB a\nprogress left 90s\ndone\n"),
    SLICE("cat <<E <<'F'\n{x}\nE\nno\nF\nemit {\"queue\":\"fetch\",\"params\":{\"n\":1}}\n"
          "emit! {\"queue\":\"fetch\"}\ncursor {\"page\":2}\nset a 1\nset \"a b\" [1]\n"),
    SLICE("f() { echo \"$1\"; }; f {x} # it's\nresend 300-busy\nerr broken\nfail\r\nstep {}\n\n"),
    SLICE("true\nstep {\"name\":\"a\",\"queue\":\"fetch\"}\nstep {\"process name\":\"fetch\"}\n"
          "raise dump\nraise \"a b\" 7\nemit {\"topic\":\"crawl\"}\n"
          "emit {\"steps\":[{\"name\":\"fetch\"}]}\n"),
    SLICE("[\"./fetch\",\"{url}\",\"-o{x:-}{{\",\"${y}\"]\nset x \"\\u00e4\"\nemit {}\nemti\n"),
    SLICE("[\"sh\",\"-c\",\"echo {x}\"]\nprogress 12.5%\nprogress 1/2/3\ncursor\nrun \xFF\xC3\n"),
    SLICE("echo \"${a:-{x}}\" ${b#'it'} $((1 + (2))) $$ \\{x} {1..3} {a,b}\ndone a\ndone b\n"),
};

static const struct slice word_list[] = {
    SLICE("{x}"),
    SLICE("{x:-"),
    SLICE("}"),
    SLICE("{{"),
    SLICE("${"),
    SLICE("$(("),
    SLICE("$("),
    SLICE("))"),
    SLICE(")"),
    SLICE("("),
    SLICE("()"),
    SLICE("{ "),
    SLICE(" }"),
    SLICE("\""),
    SLICE("'"),
    SLICE("`"),
    SLICE("\\"),
    SLICE("<<E\n"),
    SLICE("<<-'E'\n"),
    SLICE("\nE\n"),
    SLICE("<<<"),
    SLICE(" #"),
    SLICE("\n"),
    SLICE("\r\n"),
    SLICE("\n[\""),
    SLICE("\",\""),
    SLICE("\"]\n"),
    SLICE("\nrun "),
    SLICE("\ndone "),
    SLICE("\nerr "),
    SLICE("\nset "),
    SLICE("\nemit "),
    SLICE("\nemit! "),
    SLICE("\ncursor "),
    SLICE("\nresend "),
    SLICE("\nstep "),
    SLICE("\nraise "),
    SLICE("{\"name\":\"fetch\"}"),
    SLICE("-"),
    SLICE("9999999999999999999"),
    SLICE("\nprogress "),
    SLICE("left "),
    SLICE("{\"queue\":\"fetch\"}"),
    SLICE("\"\\u0000\""),
    SLICE("\xFF"),
    SLICE("\xE2\x82"),
};

#define EVIL_JSON "{\"x\":\"'; $(echo pwned) \\\" `x` ${y} {x}\",\"n\":[1, 2]}"

/* ---- commands ---- */

static void check_arguments(const struct template_command *c, char **argv)
{
    size_t count = 0;

    while (argv[count] != NULL)
        count++;
    if (count != c->n_args + (c->shell ? 4 : 0))
        fuzz_fail("%zu arguments for %zu templates", count, c->n_args);
    if (c->shell && (strcmp(argv[0], "sh") != 0 || strcmp(argv[1], "-c") != 0 ||
                     !slice_equal(slice_of(argv[2]), c->script)))
        fuzz_fail("the script is not what was read: %s", argv[2]);
    if (c->shell && strstr(argv[2], "pwned") != NULL)
        fuzz_fail("a value is in the script: %s", argv[2]);
}

/* Without names the shell gets what was written, but for {{. */
static void check_untouched(const struct template_command *c, struct slice text)
{
    if (c->n_args == 0 && memmem(text.data, text.size, "{{", 2) == NULL &&
        !slice_equal(c->script, text))
        fuzz_fail("changed without a reason: %s", c->script.data);
}

static void run_command(struct slice line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(FUZZ_INPUT_MAX * 6 + 100);
    const struct slice objects[] = {SLICE(EVIL_JSON)};
    struct template_values values = {.objects = objects, .n_objects = 1, .now_at = US_PER_S};
    struct template_command c;
    struct err err = ERR_INIT;
    struct slice text = word_text(line, FUZZ_INPUT_MAX, &arena);
    struct slice command;
    char **argv;

    if (jtext_check(line, &command, &err) != E_OK || jtext_type_of(command) != JTEXT_ARRAY) {
        jtext_add_string(&json, text);
        command = buf_slice(&json);
    }
    struct slice item;

    if (jtext_type_of(command) == JTEXT_ARRAY)
        for (struct jtext_iter it = jtext_items(command); jtext_next_item(&it, &item);)
            if (jtext_type_of(item) != JTEXT_STRING)
                return;
    err = ERR_INIT;
    if (template_command_parse(command, &arena, &c, NULL, &err) != E_OK) {
        if (err.code != E_INVALID || !utf8_valid(slice_of(err.msg)))
            fuzz_fail("refused with %s: %s", err_name(err.code), err.msg);
        return;
    }
    if (c.shell)
        check_untouched(&c, text);
    bool fills = template_command_check(&c, objects, 1, &err) == E_OK;

    if (template_command_fill(&c, &values, &arena, &argv, &err) == E_OK) {
        check_arguments(&c, argv);
        if (!fills)
            fuzz_fail("filled what cannot be filled");
    } else if (fills) {
        fuzz_fail("not filled: %s", err.msg);
    }
}

/* ---- words ---- */

static enum err_code knows_queue(void *ctx, struct slice name, struct err *err)
{
    (void)ctx;
    return slice_is(name, "fetch") ? E_OK : err_set(err, E_INVALID, "there is no such queue");
}

static enum err_code knows_topic(void *ctx, struct slice name, struct err *err)
{
    (void)ctx;
    return slice_is(name, "crawl") ? E_OK : err_set(err, E_INVALID, "there is no such topic");
}

static void check_json(const char *what, const struct buf *members)
{
    CLEANUP(buf) struct buf object = BUF_INIT((size_t)1 << 24);
    struct err err = ERR_INIT;
    struct slice value;

    buf_add_char(&object, '{');
    buf_add_slice(&object, buf_slice(members));
    buf_add_char(&object, '}');
    if (jtext_check(buf_slice(&object), &value, &err) != E_OK)
        fuzz_fail("%s is not JSON: %s: %s", what, err.msg, buf_text(&object));
}

static void check_lines(const char *what, const struct buf *text)
{
    if (text->size > 0 && text->data[text->size - 1] != '\n')
        fuzz_fail("%s has no end of line: %s", what, text->data);
    if (text->size > 0 && memchr(text->data, '\r', text->size) != NULL)
        fuzz_fail("%s has a carriage return", what);
}

static void pump(struct program_report *a, struct buf *replies)
{
    CLEANUP(buf) struct buf body = BUF_INIT((size_t)1 << 24);
    struct err err = ERR_INIT;
    struct slice value;

    while (program_report_next_batch(a, INT64_MAX - 1, &body)) {
        if (jtext_check(buf_slice(&body), &value, &err) != E_OK)
            fuzz_fail("a batch is not JSON: %s: %s", err.msg, buf_text(&body));
        program_report_batch_done(a, SLICE("{\"ids\":[\"A\"]}"), replies);
        buf_clear(&body);
    }
}

static void check_told(struct program_report *a)
{
    CLEANUP(buf) struct buf finish = BUF_INIT((size_t)1 << 24);
    CLEANUP(buf) struct buf status = BUF_INIT((size_t)1 << 24);

    if (!program_report_settled(a))
        fuzz_fail("never settled");
    program_report_add_finish(a, &finish);
    check_json("the finish", &finish);
    program_report_add_status(a, &status);
    check_json("the status", &status);
}

static void run_lines(struct slice text)
{
    struct program_report *a = program_report_new(&(struct program_report_config){
        .id = "I",
        .lease = "L",
        .rules = {.route = EMIT_ROUTE, .knows_queue = knows_queue, .knows_topic = knows_topic}});
    struct line_reader lines = LINE_READER_INIT(300);
    CLEANUP(buf) struct buf replies = BUF_INIT((size_t)1 << 24);
    CLEANUP(buf) struct buf notices = BUF_INIT((size_t)1 << 24);
    struct line line;

    line_reader_feed(&lines, text);
    line_reader_end(&lines);
    for (int64_t now_at = 0; line_reader_next(&lines, &line); now_at += 1000) {
        if (line.skipped > 0)
            program_report_long_line(a, line.skipped, &replies, &notices);
        else
            program_report_line(a, line.text, now_at, &replies, &notices);
        if (now_at % 7000 == 0)
            pump(a, &replies);
    }
    program_report_close(a);
    pump(a, &replies);
    check_lines("the replies", &replies);
    check_lines("the notices", &notices);
    check_told(a);
    line_reader_deinit(&lines);
    program_report_free(a);
}

/* ---- output ---- */

/* Whatever is printed: the pieces are JSON, and all that is kept within the cap is what was
 * printed. */
static void run_output(struct slice text)
{
    struct output *o = output_new(&(struct output_config){.cap = 100000});
    CLEANUP(buf) struct buf b = BUF_INIT((size_t)1 << 24);
    CLEANUP(buf) struct buf members = BUF_INIT((size_t)1 << 24);
    size_t total = 0;

    output_add(o, text, 5);
    output_end(o, 6);
    while (output_pending(o) > 0) {
        size_t before = output_pending(o);

        buf_clear(&b);
        buf_clear(&members);
        output_ack(o, output_add_piece(o, &b, 50));
        total += before - output_pending(o);
        buf_add_str(&members, "\"log\":");
        buf_add_slice(&members, buf_slice(&b));
        check_json("a piece", &members);
    }
    if (total != text.size)
        fuzz_fail("%zu bytes were sent of %zu", total, text.size);
    output_free(o);
}

static void run(struct slice input)
{
    const char *end = input.size > 0 ? memchr(input.data, '\n', input.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - input.data) : input.size;
    bool list = size > 0 && input.data[0] == '[';

    run_command(list ? slice_make(input.data, size) : input); /* a script has lines */
    run_lines(slice_make(input.data + size, input.size - size));
    run_output(input);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = word_list,
    .word_count = ARRAY_LEN(word_list),
};
