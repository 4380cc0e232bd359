/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/text/utf8.h"
#include "core/program/word.h"
#include "json_testing.h"

static struct word parse(const char *line)
{
    struct err err = ERR_INIT;
    struct word w;

    if (word_parse(slice_of(line), &arena, &w, &err) != E_OK)
        fail_msg("%s: %s", line, err.msg);
    return w;
}

static void assert_refused(const char *line, const char *message)
{
    struct err err = ERR_INIT;
    struct word w = {.kind = WORD_DONE};

    assert_int_equal(word_parse(slice_of(line), &arena, &w, &err), E_INVALID);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(w.kind, WORD_DONE);
}

static void words_of_status_take_the_rest_of_the_line(void **state)
{
    (void)state;
    struct word w = parse("run copying  a.txt ");

    assert_int_equal(w.kind, WORD_RUN);
    assert_slice_is(w.text, "copying  a.txt");
    assert_slice_is(parse("\t done\tall of it").text, "all of it");
    assert_int_equal(parse("done").kind, WORD_DONE);
    assert_slice_is(parse("done").text, "");
    assert_int_equal(parse("err broken").kind, WORD_FAIL);
    assert_int_equal(parse("fail broken").kind, WORD_FAIL);
    assert_int_equal(parse("").kind, WORD_NONE);
    assert_int_equal(parse(" \t ").kind, WORD_NONE);
}

static void progress_has_counts_units_and_a_text(void **state)
{
    (void)state;
    struct word w = parse("progress 40/100MB copying a");

    assert_int_equal(w.kind, WORD_PROGRESS);
    assert_true(w.has_done);
    assert_int_equal(w.done, 40);
    assert_int_equal(w.total, 100);
    assert_slice_is(w.unit, "MB");
    assert_slice_is(w.text, "copying a");
    w = parse("progress 7");
    assert_int_equal(w.done, 7);
    assert_int_equal(w.total, 0);
    assert_int_equal(w.unit.size + w.text.size, 0);
    w = parse("progress 12.9% nearly");
    assert_int_equal(w.done, 12);
    assert_int_equal(w.total, 100);
    assert_slice_is(w.unit, "%");
    assert_slice_is(w.text, "nearly");
    w = parse("progress 1/2.5");
    assert_int_equal(w.total, 2);
    assert_false(w.has_left);
}

static void progress_tells_how_long_it_will_take(void **state)
{
    (void)state;
    struct word w = parse("progress left 90s almost");

    assert_false(w.has_done);
    assert_true(w.has_left);
    assert_int_equal(w.left_us, 90 * US_PER_S);
    assert_slice_is(w.text, "almost");
    assert_int_equal(parse("progress left 5m").left_us, 5 * US_PER_MIN);
    assert_refused("progress left", "progress: left: needs a length of time, such as 90s");
    assert_refused("progress left soon",
                   "progress: left: 'soon' is not a length of time like 500ms, 10s, 5m, 2h or 30d");
}

static void progress_without_a_number_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *given;
    } bad[] = {
        {"progress", "nothing"},     {"progress half", "'half'"},
        {"progress -1/2", "'-1/2'"}, {"progress 1/", "'1/'"},
        {"progress 1/x", "'1/x'"},   {"progress 9223372036854775808", "'9223372036854775808'"},
        {"progress /5", "'/5'"},     {"progress 1/-5", "'1/-5'"}};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char want[200];

        snprintf(want, sizeof(want),
                 "progress: needs N, N/M or 'left TIME', such as 40/100, 12MB or left 90s, not %s",
                 bad[i].given);
        assert_refused(bad[i].line, want);
    }
}

static void emits_take_one_job_in_json(void **state)
{
    (void)state;
    struct word w = parse("emit  {\"queue\": \"a\", \"params\": {}}  ");

    assert_int_equal(w.kind, WORD_EMIT);
    assert_slice_is(w.json, "{\"queue\": \"a\", \"params\": {}}");
    assert_int_equal(parse("emit! {\"queue\":\"a\"}").kind, WORD_EMIT_NOW);
    assert_refused("emit", "emit: needs a JSON value");
    assert_refused("emit! [1]", "emit!: needs a job, a JSON object, not an array");
    struct err err = ERR_INIT;

    assert_int_equal(word_parse(SLICE("emit {\"a\":1,\"a\":2}"), &arena, &w, &err), E_INVALID);
    assert_int_equal(word_parse(SLICE("emit {\"a\":1} x"), &arena, &w, &err), E_INVALID);
    assert_int_equal(word_parse(SLICE("emit {\"a\":\"\\u0000\"}"), &arena, &w, &err), E_INVALID);
    assert_int_equal(word_parse(SLICE("emit {\"a\":\"\xFF\"}"), &arena, &w, &err), E_INVALID);
}

static void a_cursor_is_any_json_of_some_size(void **state)
{
    (void)state;
    static char line[WORD_CURSOR_MAX + 100];

    assert_slice_is(parse("cursor {\"page\": 3}").json, "{\"page\": 3}");
    assert_slice_is(parse("cursor 17").json, "17");
    memset(line, '1', sizeof(line));
    memcpy(line, "cursor \"", 8);
    line[7 + WORD_CURSOR_MAX - 1] = '"';
    line[7 + WORD_CURSOR_MAX] = '\0';
    assert_int_equal(parse(line).json.size, WORD_CURSOR_MAX);
    memcpy(line + 7 + WORD_CURSOR_MAX - 1, "1\"", 3);
    assert_refused(line, "cursor: has 65537 bytes, at most 65536 are allowed");
}

static void names_with_spaces_are_json_strings(void **state)
{
    (void)state;
    struct word w = parse("set total 17");

    assert_int_equal(w.kind, WORD_SET);
    assert_slice_is(w.name, "total");
    assert_slice_is(w.json, "17");
    w = parse("set \"a \\\"b\\\" c\" [1, 2]");
    assert_slice_is(w.name, "a \"b\" c");
    assert_slice_is(w.json, "[1, 2]");
    w = parse("set \"a\"{}");
    assert_slice_is(w.json, "{}");
    assert_refused("set", "set: needs a name of 1 to 200 bytes of UTF-8");
    assert_refused("set \"\" 1", "set: needs a name of 1 to 200 bytes of UTF-8");
    assert_refused("set a", "set: needs a JSON value");
    assert_refused("set \"a b 1", "set: the name has no closing quote");
}

static void resend_needs_seconds(void **state)
{
    (void)state;
    struct word w = parse("resend 300-the server is busy");

    assert_int_equal(w.kind, WORD_RESEND);
    assert_int_equal(w.delay_us, 300 * US_PER_S);
    assert_slice_is(w.text, "the server is busy");
    assert_int_equal(parse("resend 0").delay_us, 0);
    assert_int_equal(parse("resend 5m - a-b").delay_us, 5 * US_PER_MIN);
    assert_slice_is(parse("resend 5m - a-b").text, "a-b");
    assert_refused(
        "resend",
        "resend: needs a number of seconds and optionally a reason, such as 300-busy, not nothing");
    assert_refused(
        "resend busy",
        "resend: needs a number of seconds and optionally a reason, such as 300-busy, not 'busy'");
    assert_refused(
        "resend -5",
        "resend: needs a number of seconds and optionally a reason, such as 300-busy, not '-5'");
}

static void a_step_is_an_object_that_a_route_takes(void **state)
{
    (void)state;
    struct word w = parse("step  {\"name\": \"cleanup\", \"queue\": \"shelf\"} ");

    assert_int_equal(w.kind, WORD_STEP);
    assert_slice_is(w.json, "{\"name\": \"cleanup\", \"queue\": \"shelf\"}");
    assert_int_equal(parse("step {\"process name\":\"a\",\"command line\":\"echo one\"}").kind,
                     WORD_STEP);
    assert_refused("step", "step: needs a JSON value");
    assert_refused("step [{\"name\":\"a\"}]", "step: needs a step, a JSON object, not an array");
    struct err err = ERR_INIT;

    assert_int_equal(word_parse(SLICE("step {\"queue\":7}"), &arena, &w, &err), E_INVALID);
    assert_int_equal(strncmp(err.msg, "step: steps.queue: ", 19), 0);
    assert_int_equal(word_parse(SLICE("step {}"), &arena, &w, &err), E_INVALID);
}

static void a_signal_is_raised_by_one_or_by_a_number(void **state)
{
    (void)state;
    struct word w = parse("raise dump");

    assert_int_equal(w.kind, WORD_RAISE);
    assert_slice_is(w.name, "dump");
    assert_int_equal(w.count, 1);
    w = parse("raise \"all of it\" 12 ");
    assert_slice_is(w.name, "all of it");
    assert_int_equal(w.count, 12);
    assert_int_equal(parse("raise a 1000000000000").count, 1000000000000);
    assert_refused("raise", "raise: needs a name of 1 to 200 bytes of UTF-8");
    assert_refused("raise a/b", "raise: a signal's name must not have a '/' in it: 'a/b'");
    static const char *const bad[] = {"0", "-1", "1.5", "1000000000001", "two", "1 2"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char line[100];
        char want[200];

        snprintf(line, sizeof(line), "raise a %s", bad[i]);
        snprintf(want, sizeof(want),
                 "raise: the number after the name must be an integer from 1 to 1000000000000, "
                 "not '%s'",
                 bad[i]);
        assert_refused(line, want);
    }
}

static void an_unknown_word_is_told_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("emti {}", "unknown word 'emti', did you mean 'emit'?");
    assert_refused("fial x", "unknown word 'fial', did you mean 'fail'?");
    assert_refused("hello world", "unknown word 'hello'");
    assert_refused("attach a", "unknown word 'attach': this version does not have it");
    assert_refused("dup 3-X-y", "unknown word 'dup': this version does not have it");
    assert_refused("\x01\x02", "unknown word '\?\?'");
    assert_refused("Done", "unknown word 'Done', did you mean 'done'?");
}

static void texts_become_utf8_whatever_was_written(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct word w;
    struct slice line = slice_make("run a\0b\xFF\xC3\xA4\xE2\x82", 12);

    assert_int_equal(word_parse(line, &arena, &w, &err), E_OK);
    assert_slice_is(w.text, "a?b?\xC3\xA4\?\?");
    static char longer[WORD_TEXT_MAX * 2];

    memcpy(longer, "run xx", 6);
    for (size_t i = 6; i + 3 < sizeof(longer); i += 3)
        memcpy(longer + i, "\xE2\x82\xAC", 3);
    w = parse(longer);
    assert_in_range(w.text.size, WORD_TEXT_MAX - 3, WORD_TEXT_MAX);
    assert_true(utf8_valid(w.text));
}

static void a_resident_names_its_job_first(void **state)
{
    (void)state;
    char text[ID_TEXT_SIZE];
    char buffer[100];
    struct err err = ERR_INIT;
    int64_t id = 0;

    snprintf(buffer, sizeof(buffer), " %s  done it is", id_format(123456789, text));
    struct slice line = slice_of(buffer);

    assert_int_equal(word_take_id(&line, &id, &err), E_OK);
    assert_int_equal(id, 123456789);
    assert_slice_is(line, "done it is");
    line = SLICE("done it is");
    assert_int_equal(word_take_id(&line, &id, &err), E_INVALID);
    assert_string_equal(err.msg, "a line must begin with the id of its job, not with 'done'");
    assert_slice_is(line, "done it is");
}

static void every_word_stands_in_the_table_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_words; i++) {
        struct slice rest;

        assert_ptr_equal(word_find(slice_of(words[i].name), &rest), &words[i]);
        assert_int_equal(strncmp(words[i].syntax, words[i].name, strlen(words[i].name)), 0);
        assert_ptr_equal(word_spec_of(words[i].kind), &words[i]);
        assert_int_equal(words[i].at_end == WORD_AT_END_DECIDES, words[i].kind >= WORD_DONE);
        assert_non_null(words[i].read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_status_take_the_rest_of_the_line),
        cmocka_unit_test(progress_has_counts_units_and_a_text),
        cmocka_unit_test(progress_tells_how_long_it_will_take),
        cmocka_unit_test(progress_without_a_number_is_refused),
        cmocka_unit_test(emits_take_one_job_in_json),
        cmocka_unit_test(a_cursor_is_any_json_of_some_size),
        cmocka_unit_test(names_with_spaces_are_json_strings),
        cmocka_unit_test(resend_needs_seconds),
        cmocka_unit_test(a_step_is_an_object_that_a_route_takes),
        cmocka_unit_test(a_signal_is_raised_by_one_or_by_a_number),
        cmocka_unit_test(an_unknown_word_is_told_with_the_nearest),
        cmocka_unit_test(texts_become_utf8_whatever_was_written),
        cmocka_unit_test(a_resident_names_its_job_first),
        cmocka_unit_test(every_word_stands_in_the_table_once),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
