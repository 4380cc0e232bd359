/*
 * The verbs for programs inside a job: each says a word of core/program/word.c.
 */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/filter.h"
#include "cli/request/in_job.h"
#include "cli/request/job_text.h"
#include "cli/table/value.h"
#include "core/program/word.h"
#include "core/queue/def.h"

/* ---- saying it ---- */

/* A malformed line, or not being inside a job, is a usage error. */
static int fail(const struct cli *cli, const struct err *err)
{
    return err->code == E_INVALID ? cli_usage(cli, "%s", err->msg) : cli_fail(cli, err);
}

static int say(struct cli *cli, const struct buf *line)
{
    CLEANUP(buf) struct buf answer = BUF_INIT(IN_JOB_ANSWER_MAX);
    struct in_job job;
    struct err err = ERR_INIT;

    if (line->overflowed)
        return cli_usage(cli, "the text is longer than %zu KiB", WORD_LINE_MAX >> 10);
    if (in_job_open(&job, &err) != E_OK)
        return fail(cli, &err);
    enum err_code code = in_job_say(&job, buf_slice(line), &answer, &err);

    in_job_close(&job);
    if (code != E_OK)
        return fail(cli, &err);
    if (answer.size > 0)
        puts(buf_text(&answer));
    return CLI_OK;
}

/* Adds the arguments from `first` on as one text on one line. */
static void add_words(const struct args *a, size_t first, struct buf *line)
{
    for (size_t i = first; i < a->words.count; i++) {
        if (i > first)
            buf_add_char(line, ' ');
        clean_text(line, slice_of(a->words.items[i]));
    }
}

/* ---- progress, done, fail, resend ---- */

static int say_left(struct cli *cli, const char *left)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);

    buf_addf(&line, "progress left %s", left);
    return say(cli, &line);
}

int cmd_progress(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);
    const struct args *a = &cli->args;
    const char *left = args_text(a, "left");
    const char *first = args_word(a, 0);

    if (first == NULL && left == NULL)
        return cli_usage(cli, "give a progress: N, N/M, a text, or --left D");
    if (first == NULL)
        return say_left(cli, left);
    bool counts = isdigit((unsigned char)*first) || strcmp(first, "left") == 0;

    buf_add_str(&line, counts ? "progress " : "run ");
    add_words(a, 0, &line);
    int status = say(cli, &line);

    return status != CLI_OK || left == NULL ? status : say_left(cli, left);
}

/* `done` and `fail`: the verb is the word. */
int cmd_end_word(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);

    buf_add_str(&line, cli->args.command->name);
    if (cli->args.words.count > 0)
        buf_add_char(&line, ' ');
    add_words(&cli->args, 0, &line);
    return say(cli, &line);
}

int cmd_resend(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);
    struct err err = ERR_INIT;
    int64_t delay_us = 0;

    if (duration_parse(slice_of(args_word(&cli->args, 0)), &delay_us, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    buf_addf(&line, "resend %" PRId64, (delay_us + US_PER_S - 1) / US_PER_S);
    if (cli->args.words.count > 1)
        buf_add_char(&line, '-');
    add_words(&cli->args, 1, &line);
    return say(cli, &line);
}

int cmd_busy(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);

    buf_add_str(&line, "busy ");
    jtext_add_string(&line, slice_of(args_word(&cli->args, 0)));
    buf_addf(&line, " %s", args_word(&cli->args, 1));
    if (cli->args.words.count > 2)
        buf_add_char(&line, ' ');
    add_words(&cli->args, 2, &line);
    return say(cli, &line);
}

int cmd_use(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);

    buf_add_str(&line, "use ");
    jtext_add_string(&line, slice_of(args_word(&cli->args, 0)));
    buf_addf(&line, " %s", args_word(&cli->args, 1));
    return say(cli, &line);
}

/* ---- set ---- */

static int say_set(struct cli *cli, const struct value_pair *pair)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);
    struct slice json;
    struct err err = ERR_INIT;

    buf_add_str(&line, "set ");
    jtext_add_string(&line, pair->key);
    buf_add_char(&line, ' ');
    if (!pair->is_json) {
        jtext_add_string(&line, pair->value);
        return say(cli, &line);
    }
    if (jtext_check(pair->value, &json, &err) != E_OK)
        return cli_usage(cli, "'%.*s' is not JSON: %s", (int)pair->key.size, pair->key.data,
                         err.msg);
    pairs_add_one_line(&line, json);
    return say(cli, &line);
}

/* NAME VALUE, or any number of NAME=VALUE and NAME:=JSON. */
int cmd_set(struct cli *cli)
{
    static const struct value_spec spec = {.type = VALUE_PARAM, .name = "NAME=VALUE|NAME:=JSON"};
    const struct args *a = &cli->args;
    struct value_pair pair = value_pair_of(&spec, args_word(a, 0));
    int status = CLI_OK;

    if (pair.key.size == 0 && a->words.count == 2) {
        pair = (struct value_pair){slice_of(args_word(a, 0)), slice_of(args_word(a, 1)), false};
        return say_set(cli, &pair);
    }
    for (size_t i = 0; i < a->words.count && status == CLI_OK; i++) {
        pair = value_pair_of(&spec, a->words.items[i]);
        if (pair.key.size == 0)
            return cli_usage(cli, "'%s' does not have the form %s", a->words.items[i], spec.name);
        status = say_set(cli, &pair);
    }
    return status;
}

/* ---- emit ---- */

static int say_emit(struct cli *cli, struct slice job)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);

    buf_add_str(&line, args_has(&cli->args, "now") ? "emit! " : "emit ");
    pairs_add_one_line(&line, job);
    return say(cli, &line);
}

/* One job as JSON, or an array of them. */
static int emit_json(struct cli *cli, struct slice text)
{
    struct slice value;
    struct slice item;
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (jtext_check(text, &value, &err) != E_OK)
        return cli_usage(cli, "the job is not JSON: %s", err.msg);
    if (jtext_type_of(value) != JTEXT_ARRAY)
        return say_emit(cli, value);
    for (struct jtext_iter it = jtext_items(value);
         status == CLI_OK && jtext_next_item(&it, &item);)
        status = say_emit(cli, item);
    return status;
}

/* One job as JSON per line. */
static int emit_lines(struct cli *cli)
{
    CLEANUP(mem) char *line = NULL;
    size_t capacity = 0;
    int64_t number = 0;
    int status = CLI_OK;

    while (status == CLI_OK) {
        ssize_t size = getline(&line, &capacity, stdin);

        if (size < 0 && ferror(stdin))
            return cli_usage(cli, "read standard input: %s", strerror(errno));
        if (size < 0)
            return CLI_OK;
        number++;
        if (strspn(line, " \t\r\n") < (size_t)size)
            status = emit_json(cli, slice_make(line, (size_t)size));
    }
    fprintf(stderr, "line %" PRId64 " of standard input; what came before it is emitted\n", number);
    return status;
}

static bool is_json(const char *word)
{
    word += strspn(word, " \t\r\n");
    return *word == '{' || *word == '[';
}

/* True when an option describes the job. */
static bool describes_job(const struct args *a)
{
    for (size_t i = 0; i < a->options.count; i++) {
        const char *name = a->options.items[i].spec->name;

        if (strcmp(name, "now") != 0 && strcmp(name, "json") != 0)
            return true;
    }
    return a->program.count > 0;
}

int cmd_emit(struct cli *cli)
{
    CLEANUP(buf) struct buf job = BUF_INIT(JOB_TEXT_MAX);
    const char *word = args_word(&cli->args, 0);
    bool whole = is_json(word) || strcmp(word, "-") == 0;
    struct err err = ERR_INIT;

    if (whole && describes_job(&cli->args))
        return cli_usage(cli, "a job given as JSON takes no other options");
    if (strcmp(word, "-") == 0)
        return emit_lines(cli);
    if (whole)
        return emit_json(cli, slice_of(word));
    if (queue_name_check(slice_of(word), &err) != E_OK)
        return cli_usage(cli, "QUEUE: %s", err.msg);
    if (job_text(&cli->args, &job, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return say_emit(cli, buf_slice(&job));
}

/* ---- step, raise ---- */

/* A step from the arguments and options. */
static enum err_code step_text(const struct args *a, struct buf *out, struct err *err)
{
    buf_add_char(out, '{');
    jtext_put_string(out, "name", slice_of(args_word(a, 0)));
    if (args_has(a, "queue"))
        jtext_put_string(out, "queue", slice_of(args_text(a, "queue")));
    if (args_has(a, "param")) {
        jtext_add_key(out, "params");
        if (pairs_add_json(a, "param", out, err) != E_OK)
            return err->code;
    }
    if (job_command_add(a, out, err) != E_OK)
        return err->code;
    if (args_has(a, "timeout"))
        jtext_put_string(out, "timeout", slice_of(args_text(a, "timeout")));
    if (args_has(a, "retry")) {
        jtext_add_key(out, "retry");
        buf_addf(out, "{\"max\":%" PRId64 "}", args_int(a, "retry", 0));
    }
    if (args_has(a, "go-on"))
        jtext_put_string(out, "on_error", SLICE("continue"));
    buf_add_char(out, '}');
    return E_OK;
}

int cmd_step(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);
    const struct args *a = &cli->args;
    const char *word = args_word(a, 0);
    struct err err = ERR_INIT;

    buf_add_str(&line, "step ");
    if (is_json(word) && describes_job(a))
        return cli_usage(cli, "a step given as JSON takes no other options");
    if (is_json(word))
        pairs_add_one_line(&line, slice_of(word));
    else if (step_text(a, &line, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return say(cli, &line);
}

int cmd_raise(struct cli *cli)
{
    CLEANUP(buf) struct buf line = BUF_INIT(WORD_LINE_MAX);
    const char *count = args_word(&cli->args, 1);

    buf_add_str(&line, "raise ");
    jtext_add_string(&line, slice_of(args_word(&cli->args, 0)));
    if (count != NULL)
        buf_addf(&line, " %lld", strtoll(count, NULL, 10));
    return say(cli, &line);
}
