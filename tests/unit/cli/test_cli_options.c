/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cli/table/args.h"
#include "cli/table/completion.h"
#include "cli/table/help.h"
#include "cli/table/value.h"
#include "cli/view/screen.h"
#include "core/program/word.h"

#define WORDS_MAX 16
#define ID "05D8K3Q9XW2RT"

/* A line with its words apart: `|` between words, so that they may hold spaces. */
struct line {
    char text[512];
    const char *words[WORDS_MAX];
    int count;
};

static void split(struct line *l, const char *text)
{
    char *rest = l->text;
    char *word = NULL;

    l->count = 0;
    snprintf(l->text, sizeof(l->text), "%s", text);
    while ((word = strsep(&rest, "|")) != NULL) {
        assert_true(l->count < WORDS_MAX);
        l->words[l->count++] = word;
    }
}

static enum err_code parse(struct args *a, struct line *l, const char *text, struct err *err)
{
    split(l, text);
    return args_parse(a, commands, l->count, l->words, err);
}

static const struct {
    const char *line;
    const char *command;
    const char *option; /* NULL: none to look at */
    const char *value;
    size_t words;
    size_t program;
} good[] = {
    {"list", "list", NULL, NULL, 0, 0},
    {"add|q|-p|a=b", "add", "param", "a=b", 1, 0},
    {"add|-pa=b|q", "add", "param", "a=b", 1, 0},
    {"add|--param=a=b|q", "add", "param", "a=b", 1, 0},
    {"add|q|--param|a:={\"x\":[1,2]}", "add", "param", "a:={\"x\":[1,2]}", 1, 0},
    {"add|q|-p|a=", "add", "param", "a=", 1, 0},
    {"add|q|-p|a=b|-p|c=d", "add", "param", "c=d", 1, 0},
    {"add|q|--priority|-5", "add", "priority", "-5", 1, 0},
    {"add|q|--priority=-1000", "add", "priority", "-1000", 1, 0},
    {"add|q|--body|-", "add", "body", "-", 1, 0},
    {"add|q|--body|--", "add", "body", "--", 1, 0},
    {"add|two words|-w", "add", "wait", NULL, 1, 0},
    {"add|q|--at|22:00", "add", "at", "22:00", 1, 0},
    {"add|q|--at|2026-12-24 22:00", "add", "at", "2026-12-24 22:00", 1, 0},
    {"add|q|--at|2026-12-24T22:00:00+01:00", "add", "at", "2026-12-24T22:00:00+01:00", 1, 0},
    {"add|q|--delay|1.5h", "add", "delay", "1.5h", 1, 0},
    {"add|q|--|ls|-l|--json", "add", NULL, NULL, 1, 3},
    {"add|q|--|--", "add", NULL, NULL, 1, 1},
    {"add|--|ls", "add", NULL, NULL, 0, 1},
    {"show|" ID "|http://h:6769/v1/jobs/" ID, "show", NULL, NULL, 2, 0},
    {"show|05d8k3q9xw2rt", "show", NULL, NULL, 1, 0},
    {"list|--state|failed,done|--json", "list", "state", "failed,done", 0, 0},
    {"list|-n5", "list", "limit", "5", 0, 0},
    {"log|-fn|5|" ID, "log", "tail", "5", 1, 0},
    {"log|-f|--json|" ID, "log", "follow", NULL, 1, 0},
    {"queue", "list", NULL, NULL, 0, 0},
    {"queue|--json", "list", "json", NULL, 0, 0},
    {"queue|pause|a|b|two words", "pause", NULL, NULL, 3, 0},
    {"queue|rm|--|-q", "rm", NULL, NULL, 1, 0},
    {"workers|show|w 1", "show", NULL, NULL, 1, 0},
    {"serve|-c|a.yaml|-c|dir|-j4|--listen|127.0.0.1:0", "serve", "jobs", "4", 0, 0},
    {"serve|--store|postgresql://a@b/c", "serve", "store", "postgresql://a@b/c", 0, 0},
    {"check", "check", NULL, NULL, 0, 0},
    {"check|--max-age=10m", "check", "max-age", "10m", 0, 0},
    {"completion|fish", "completion", NULL, NULL, 1, 0},
    {"retry|--set|a:=1|" ID, "retry", "set", "a:=1", 1, 0},
    {"queue|log|q|-n|5", "log", "limit", "5", 1, 0},
    {"queue|empty|a|two words", "empty", NULL, NULL, 2, 0},
    {"log|--times|" ID, "log", "times", NULL, 1, 0},
    {"top|--json", "top", "json", NULL, 0, 0},
    {"progress|40/100|page 40", "progress", NULL, NULL, 2, 0},
    {"progress|--left|90s", "progress", "left", "90s", 0, 0},
    {"emit|-", "emit", NULL, NULL, 1, 0},
    {"emit|-!|q|-p|a=b", "emit", "now", NULL, 1, 0},
    {"emit|q|--|ls|-l", "emit", NULL, NULL, 1, 2},
    {"set|a=b|c:=1", "set", NULL, NULL, 2, 0},
    {"done", "done", NULL, NULL, 0, 0},
    {"resend|10m|why|not", "resend", NULL, NULL, 3, 0},
    {"add|--job|@route.json|-n", "add", "job", "@route.json", 0, 0},
    {"add|q|--after|" ID ":end|--after|signal:x", "add", "after", "signal:x", 1, 0},
    {"add|q|--redo|--key|k", "add", "redo", NULL, 1, 0},
    {"retry|--from|main|" ID, "retry", "from", "main", 1, 0},
    {"topic", "list", NULL, NULL, 0, 0},
    {"topic|publish|dump|-p|date=1", "publish", "param", "date=1", 1, 0},
    {"signal|raise|dump|3", "raise", NULL, NULL, 2, 0},
    {"join|clear|report|--key|", "clear", "key", "", 1, 0},
    {"worker|--subscribe|a|--subscribe|b|--lifetime|3d", "worker", "subscribe", "b", 0, 0},
    {"step|unpack|-q|shelf|--|ls|-l", "step", "queue", "shelf", 1, 2},
    {"raise|two words|3", "raise", NULL, NULL, 2, 0},
};

static void good_lines_are_taken_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        CLEANUP(args) struct args a = ARGS_INIT;
        struct err err = ERR_INIT;
        struct line l;

        if (parse(&a, &l, good[i].line, &err) != E_OK)
            fail_msg("%s: %s", good[i].line, err.msg);
        assert_string_equal(a.command->name, good[i].command);
        assert_int_equal(a.words.count, good[i].words);
        assert_int_equal(a.program.count, good[i].program);
        if (good[i].option == NULL)
            continue;
        assert_true(args_has(&a, good[i].option));
        if (good[i].value == NULL)
            assert_null(args_text(&a, good[i].option));
        else
            assert_string_equal(args_text(&a, good[i].option), good[i].value);
    }
}

static const struct {
    const char *line;
    const char *says;
} bad[] = {
    {"", "verb ''"},
    {"--json|list", "the verb comes first"},
    {"lsit", "did you mean 'list'?"},
    {"zzzzzzzz", "there is no verb 'zzzzzzzz'"},
    {"queue|pasue|q", "verb 'queue pasue'; did you mean 'pause'?"},
    {"queue|pause", "NAME is missing"},
    {"emit", "QUEUE|JSON|- is missing"},
    {"topic|publish", "NAME is missing"},
    {"topic|show|a/b", "NAME: a topic's name must not have a '/' in it"},
    {"signal|raise|a|0", "'0' is not a number from 1 to 1000000000000"},
    {"signal|raise|a|1|2", "'2' is one word too many"},
    {"join|clear|a|b", "'b' is one word too many"},
    {"worker|--subscribe|.x", "--subscribe: a topic's name must not begin with a '.'"},
    {"add|q|r", "'r' is one word too many"},
    {"add|a/b", "QUEUE"},
    {"add|q|--dealy|5s", "there is no option --dealy; did you mean --delay?"},
    {"add|q|--dealy=5s", "did you mean --delay?"},
    {"add|q|--qqqqqqqq", "there is no option --qqqqqqqq"},
    {"add|q|-Z", "there is no option -Z"},
    {"add|q|--delay", "--delay needs a value: D"},
    {"add|q|-d", "-d needs a value"},
    {"each|--colsep|--|echo", "--colsep needs a value: S"},
    {"add|q|--body|--|echo", "--body needs a value"},
    {"add|q|--wait=yes", "--wait takes no value"},
    {"add|q|--delay|soon", "--delay: "},
    {"add|q|--delay|-5s", "--delay: "},
    {"add|q|--delay|1s|--delay|2s", "--delay appears twice"},
    {"add|q|--at|tomorrow", "--at: 'tomorrow' is not a time"},
    {"add|q|--at|25:00", "--at: '25:00' is not a time"},
    {"add|q|--at|2026-02-30", "not a time"},
    {"add|q|--priority|1001", "from -1000 to 1000"},
    {"add|q|--priority|5x", "'5x' is not a number"},
    {"add|q|--priority|", "not a number"},
    {"add|q|--priority|99999999999999999999", "not a number"},
    {"add|q|-p|novalue", "'novalue' does not have the form K=V|K:=JSON"},
    {"add|q|-p|=v", "form"},
    {"add|q|-p|:=1", "form"},
    {"add|q|-p|a:={", "'a' is not JSON"},
    {"add|q|-p|a:={\"x\":1,\"x\":2}", "'a' is not JSON"},
    {"add|q|-p|a=\xFF", "not UTF-8"},
    {"add|q|--label|x", "form K=V"},
    {"show", "ID is missing"},
    {"show|xyz", "'xyz' is not a job's id"},
    {"show|" ID "X", "is not a job's id"},
    {"list|--state|faild", "did you mean 'failed'?"},
    {"list|--state|done,", "'' is not a state"},
    {"list|--limit|0", "from 1 to"},
    {"completion|bahs", "did you mean 'bash'?"},
    {"completion|tcsh", "bash|zsh|fish"},
    {"serve|--log-level|loud", "error|warn|info|debug"},
    {"version|x", "one word too many"},
    {"queue|log", "NAME is missing"},
    {"queue|log|q|-n|1001", "from 1 to 1000"},
    {"fail", "TEXT is missing"},
    {"resend", "D is missing"},
    {"resend|soon", "D: "},
    {"emit", "QUEUE|JSON|- is missing"},
    {"set", "is missing"},
};

static void bad_lines_are_refused_with_the_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(args) struct args a = ARGS_INIT;
        struct err err = ERR_INIT;
        struct line l;

        enum err_code code = parse(&a, &l, bad[i].line, &err);

        if (code != E_INVALID || strstr(err.msg, bad[i].says) == NULL)
            fail_msg("%s: '%s' instead of '%s'", bad[i].line, err.msg, bad[i].says);
    }
}

static void an_empty_line_is_refused(void **state)
{
    struct args a = ARGS_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(args_parse(&a, commands, 0, NULL, &err), E_INVALID);
}

static void help_is_given_even_where_the_rest_of_the_line_is_wrong(void **state)
{
    static const char *const lines[] = {"add|--help", "add|-h|--nonsense", "queue|--help",
                                        "queue|pause|--help", "log|-fh"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        CLEANUP(args) struct args a = ARGS_INIT;
        struct err err = ERR_INIT;
        struct line l;

        assert_int_equal(parse(&a, &l, lines[i], &err), E_OK);
        assert_true(a.wants_help);
    }
}

static void values_are_read_as_what_they_are(void **state)
{
    CLEANUP(args) struct args a = ARGS_INIT;
    struct err err = ERR_INIT;
    struct line l;
    size_t i = 0;

    (void)state;
    assert_int_equal(parse(&a, &l, "add|q|--priority|-7|--delay|90s|-p|a=1|-p|b=2", &err), E_OK);
    assert_int_equal(args_int(&a, "priority", 0), -7);
    assert_int_equal(args_int(&a, "retry", 42), 42);
    assert_int_equal(args_duration_us(&a, "delay", 0), 90 * US_PER_S);
    assert_int_equal(args_duration_us(&a, "timeout", 5), 5);
    assert_string_equal(args_next(&a, "param", &i)->value, "a=1");
    assert_string_equal(args_next(&a, "param", &i)->value, "b=2");
    assert_null(args_next(&a, "param", &i));
    assert_string_equal(args_word(&a, 0), "q");
    assert_null(args_word(&a, 1));
}

static int64_t time_of(const char *text, const char *now)
{
    struct err err = ERR_INIT;
    int64_t now_at = 0;
    int64_t at = 0;

    assert_int_equal(time_parse(slice_of(now), &now_at, &err), E_OK);
    assert_int_equal(value_time(text, now_at, &at, &err), E_OK);
    return at;
}

static void assert_time(const char *text, const char *now, const char *want)
{
    char got[TIME_TEXT_SIZE];

    assert_string_equal(time_format(time_of(text, now), got), want);
}

static void a_time_of_day_is_the_next_one_by_the_local_clock(void **state)
{
    const char *now = "2026-11-15T21:30:00Z"; /* 22:30 in Berlin */

    (void)state;
    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    assert_time("22:31", now, "2026-11-15T21:31:00Z");
    assert_time("22:30", now, "2026-11-16T21:30:00Z");
    assert_time("6:05", now, "2026-11-16T05:05:00Z");
    assert_time("23:59:58", now, "2026-11-15T22:59:58Z");
    assert_time("12:00", "2026-12-31T20:00:00Z", "2027-01-01T11:00:00Z");
    assert_time("12:00", "2026-10-24T20:00:00Z", "2026-10-25T11:00:00Z"); /* the clock went back */
    assert_time("2026-07-01 08:00", now, "2026-07-01T06:00:00Z");
    assert_time("2026-12-24", now, "2026-12-23T23:00:00Z");
    assert_time("2026-12-24T20:00:00Z", now, "2026-12-24T20:00:00Z");
}

static void assert_since(const char *text, const char *now, const char *expected)
{
    struct err err = ERR_INIT;
    char shown[TIME_TEXT_SIZE];
    int64_t now_at = 0;
    int64_t at = 0;

    assert_int_equal(time_parse(slice_of(now), &now_at, &err), E_OK);
    assert_int_equal(value_since(text, now_at, &at, &err), E_OK);
    assert_string_equal(time_format(at, shown), expected);
}

static void since_is_how_long_ago_or_the_last_time_the_clock_showed_that(void **state)
{
    const char *now = "2026-11-15T21:30:00Z"; /* 22:30 in Berlin */
    struct err err = ERR_INIT;
    int64_t at = 0;

    (void)state;
    assert_int_equal(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    tzset();
    assert_since("2h", now, "2026-11-15T19:30:00Z");
    assert_since("22:00", now, "2026-11-15T21:00:00Z");
    assert_since("22:31", now, "2026-11-14T21:31:00Z");
    assert_since("2026-07-01", now, "2026-06-30T22:00:00Z");
    assert_int_equal(value_since("soon", 0, &at, &err), E_INVALID);
}

typedef void command_fn(const struct command *parent, const struct command *c);

static void for_each_command(command_fn *fn)
{
    for (const struct command *c = commands; c->name != NULL; c++) {
        fn(NULL, c);
        for (const struct command *v = c->verbs; v != NULL && v->name != NULL; v++)
            fn(c, v);
    }
}

static void check_command(const struct command *parent, const struct command *c)
{
    const struct option_spec *o = NULL;
    const struct option_spec *p = NULL;

    (void)parent;
    assert_true((c->run != NULL) != (c->verbs != NULL));
    assert_non_null(c->help);
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        assert_non_null(o->help);
        assert_true((o->value.type != VALUE_NONE) == (o->value.name != NULL));
        assert_true((o->value.type == VALUE_CHOICE) == (o->value.choices != NULL));
        for (unsigned k = i; (p = command_next_option(c, &k)) != NULL;) {
            assert_string_not_equal(o->name, p->name);
            assert_true(o->letter == '\0' || o->letter != p->letter);
        }
    }
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for_each_command(check_command);
}

static char *help_of(const struct command *parent, const struct command *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    help_command(to, parent, c, 0);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void check_help(const struct command *parent, const struct command *c)
{
    CLEANUP(mem) char *text = help_of(parent, c);
    const struct option_spec *o = NULL;

    assert_non_null(strstr(text, c->help));
    for (const struct argument_spec *a = c->arguments; a->value.name != NULL; a++)
        assert_non_null(strstr(text, a->value.name));
    for (const struct command *v = c->verbs; v != NULL && v->name != NULL; v++)
        assert_non_null(strstr(text, v->name));
    for (unsigned i = 0; c->verbs == NULL && (o = command_next_option(c, &i)) != NULL;) {
        char name[64];

        snprintf(name, sizeof(name), "--%s", o->name);
        assert_non_null(strstr(text, name));
    }
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 120);
}

static void help_names_every_argument_and_option(void **state)
{
    (void)state;
    for_each_command(check_help);
}

static struct buf script;

static void check_script(const struct command *parent, const struct command *c)
{
    const struct option_spec *o = NULL;

    (void)parent;
    assert_non_null(strstr(buf_text(&script), c->name));
    for (unsigned i = 0; c->verbs == NULL && (o = command_next_option(c, &i)) != NULL;)
        assert_non_null(strstr(buf_text(&script), o->name));
}

static void help_is_wrapped_to_the_terminal(void **state)
{
    static const int widths[] = {0, 40, 80, 200};

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
        CLEANUP(mem) char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);

        assert_non_null(to);
        help_overview(to, widths[w]);
        for (const struct command *c = commands; c->name != NULL; c++) {
            struct command plain = *c;

            plain.examples = NULL; /* lines to be copied stay whole */
            help_command(to, NULL, &plain, widths[w]);
        }
        assert_int_equal(fclose(to), 0);
        for (const char *line = text; *line != '\0';) {
            struct slice one = slice_make(line, strcspn(line, "\n"));

            size_t most = widths[w] == 0 || widths[w] > 96 ? 96 : (size_t)widths[w];

            size_t indent = strspn(line, " ");
            bool one_word = memchr(line + indent, ' ', one.size - indent) == NULL;

            assert_true(text_columns(one) <= most || one_word);
            line += one.size + 1;
        }
    }
}

static void completions_know_every_verb_and_option(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        script = BUF_INIT((size_t)1 << 20);
        completion_script(shells[i], &script);
        assert_false(script.overflowed);
        for_each_command(check_script);
        buf_deinit(&script);
    }
}

static void check_offer(const struct command *parent, const struct command *c)
{
    char offer[200];

    snprintf(offer, sizeof(offer), "%s' -a %s -d ", parent != NULL ? parent->name : "-eq 1",
             c->name);
    assert_non_null(strstr(buf_text(&script), offer));
}

static void fish_offers_every_verb_at_its_place(void **state)
{
    (void)state;
    script = BUF_INIT((size_t)1 << 20);
    completion_script("fish", &script);
    for_each_command(check_offer);
    buf_deinit(&script);
}

static char *read_manual(void)
{
    CLEANUP(buf) struct buf text = BUF_INIT((size_t)1 << 20);
    FILE *f = fopen(SOURCE_ROOT "/docs/cli.md", "re");
    char piece[4096];
    size_t n = 0;

    assert_non_null(f);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        buf_add(&text, piece, n);
    assert_int_equal(fclose(f), 0);
    return buf_take(&text);
}

static void the_manual_is_what_the_table_says(void **state)
{
    CLEANUP(mem) char *manual = read_manual();
    CLEANUP(mem) char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    (void)state;
    assert_non_null(to);
    help_markdown(to);
    assert_int_equal(fclose(to), 0);
    if (strcmp(manual, text) != 0)
        fail_msg("docs/cli.md is old: regenerate it with 'waybill help --markdown'");
}

static bool is_said_by(const char *verb)
{
    for (size_t i = 0; i < n_words; i++)
        if (words[i].verb != NULL && strcmp(words[i].verb, verb) == 0)
            return true;
    return false;
}

static const struct command *verb_inside_a_job(const char *verb)
{
    for (size_t i = 0; commands[i].name != NULL; i++)
        if (commands[i].group == GROUP_IN_JOB && strcmp(commands[i].name, verb) == 0)
            return &commands[i];
    return NULL;
}

static void the_verbs_inside_a_job_are_those_of_the_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_words; i++)
        if (words[i].verb != NULL && verb_inside_a_job(words[i].verb) == NULL)
            fail_msg("the word %s has no command %s", words[i].name, words[i].verb);
    for (size_t i = 0; commands[i].name != NULL; i++)
        if (commands[i].group == GROUP_IN_JOB && !is_said_by(commands[i].name))
            fail_msg("no word is said by the command %s", commands[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verbs_inside_a_job_are_those_of_the_words),
        cmocka_unit_test(good_lines_are_taken_apart),
        cmocka_unit_test(bad_lines_are_refused_with_the_cause),
        cmocka_unit_test(an_empty_line_is_refused),
        cmocka_unit_test(help_is_given_even_where_the_rest_of_the_line_is_wrong),
        cmocka_unit_test(values_are_read_as_what_they_are),
        cmocka_unit_test(a_time_of_day_is_the_next_one_by_the_local_clock),
        cmocka_unit_test(since_is_how_long_ago_or_the_last_time_the_clock_showed_that),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(help_names_every_argument_and_option),
        cmocka_unit_test(help_is_wrapped_to_the_terminal),
        cmocka_unit_test(completions_know_every_verb_and_option),
        cmocka_unit_test(fish_offers_every_verb_at_its_place),
        cmocka_unit_test(the_manual_is_what_the_table_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
