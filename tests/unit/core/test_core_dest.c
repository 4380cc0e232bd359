/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "core/route/dest.h"
#include "json_testing.h"

static struct dest_list parse(const char *json)
{
    struct err err = ERR_INIT;
    struct dest_list list;

    if (dest_list_parse(checked(json), "then", &arena, &list, NULL, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return list;
}

static void assert_canonical(const char *json, const char *want)
{
    struct err err = ERR_INIT;
    struct slice once;
    struct slice twice;

    if (dest_list_canonical(checked(json), "then", &arena, &once, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    assert_slice_is(once, want);
    if (once.size == 0)
        return;
    assert_int_equal(dest_list_canonical(checked(once.data), "then", &arena, &twice, &err), E_OK);
    assert_slice_is(twice, want);
}

/* `at` is what the fault begins with. */
static void assert_refused(const char *json, const char *message, const char *at)
{
    struct err err = ERR_INIT;
    struct dest_list list = {.count = 77};
    const char *fault_at = NULL;
    struct slice value = checked(json);

    if (dest_list_parse(value, "on_success", &arena, &list, &fault_at, &err) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(list.count, 77);
    assert_true(fault_at >= value.data && fault_at < value.data + value.size);
    assert_memory_equal(fault_at, at, strlen(at));
}

/* ---- reading ---- */

static void a_list_has_every_kind_of_destination(void **state)
{
    (void)state;
    struct dest_list list = parse(
        "[\"parse\",{\"queue\":\"a b\",\"params\":{ \"x\" : [1, \" \"] }},"
        "{\"topic\":\"t\",\"params\":{}},{\"join\":\"j\"},"
        "{\"signal\":\"s\"},{\"count\":7,\"signal\":\"s\"}]");

    assert_int_equal(list.count, 6);
    assert_int_equal(list.items[0].kind, DEST_QUEUE);
    assert_slice_is(list.items[0].name, "parse");
    assert_int_equal(list.items[0].params.size, 0);
    assert_slice_is(list.items[1].name, "a b");
    assert_slice_is(list.items[1].params, "{\"x\":[1,\" \"]}");
    assert_int_equal(list.items[2].kind, DEST_TOPIC);
    assert_int_equal(list.items[3].kind, DEST_JOIN);
    assert_int_equal(list.items[4].kind, DEST_SIGNAL);
    assert_int_equal(list.items[4].count, 1);
    assert_int_equal(list.items[5].count, 7);
}

static void one_destination_stands_for_a_list_of_one(void **state)
{
    (void)state;
    assert_slice_is(parse("\"a\"").items[0].name, "a");
    assert_int_equal(parse("{\"join\":\"j\"}").items[0].kind, DEST_JOIN);
    assert_int_equal(parse("{\"join\":\"j\"}").count, 1);
    assert_int_equal(parse("[]").count, 0);
}

static void canonical_lists_say_what_must_be_said(void **state)
{
    (void)state;
    assert_canonical("\"a\"", "[{\"queue\":\"a\"}]");
    assert_canonical("[]", "");
    assert_canonical("[ {\"params\" : { \"q\\\" \" : 1 }, \"queue\" : \"\\u0061\" } ]",
                     "[{\"queue\":\"a\",\"params\":{\"q\\\" \":1}}]");
    assert_canonical("[{\"signal\":\"s\",\"count\":1},{\"count\":2,\"signal\":\"s\"}]",
                     "[{\"signal\":\"s\"},{\"signal\":\"s\",\"count\":2}]");
    assert_canonical("[{\"topic\":\"a \\\"b\\\"\"},{\"join\":\"\\\\\"}]",
                     "[{\"topic\":\"a \\\"b\\\"\"},{\"join\":\"\\\\\"}]");
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    assert_refused("7",
                   "on_success: must be the name of a queue, or {queue: …}, {topic: …}, {join: …} "
                   "or {signal: …}, not 7",
                   "7");
    assert_refused("[\"a\",\"b\",{\"join\":3}]",
                   "on_success[2].join: must be the name of a join, not 3", "3");
    assert_refused("{\"join\":null}", "on_success.join: must be the name of a join, not null",
                   "null");
    assert_refused("[\"a\",\"\"]", "on_success[1]: a queue's name must not be empty", "\"\"");
    assert_refused("[{\"queue\":\"a/b\"}]",
                   "on_success[0].queue: a queue's name must not have a '/' in it: 'a/b'", "\"a/b");
    assert_refused("[{\"signal\":\"a\\nb\"}]",
                   "on_success[0].signal: a signal's name must not have control characters: 'a?b'",
                   "\"a");
    assert_refused("[{\"quue\":\"a\"}]", "on_success[0]: unknown key 'quue', did you mean 'queue'?",
                   "\"quue\"");
    assert_refused("[{\"queue\":\"a\",\"prams\":{}}]",
                   "on_success[0]: unknown key 'prams', did you mean 'params'?", "\"prams\"");
    assert_refused("[{\"queue\":\"a\",\"delay\":3}]",
                   "on_success[0]: unknown key 'delay', the keys are: queue topic join signal "
                   "params count",
                   "\"delay\"");
    assert_refused("[{}]", "on_success[0]: must have one of queue, topic, join and signal", "{");
    assert_refused("[{\"queue\":\"a\",\"topic\":\"b\"}]",
                   "on_success[0]: must have one of queue, topic, join and signal", "{");
    assert_refused("[{\"join\":\"a\",\"params\":{}}]",
                   "on_success[0].params: is for queues and topics, not for a join", "{}");
    assert_refused("[{\"queue\":\"a\",\"params\":[]}]",
                   "on_success[0].params: must be an object, not an array", "[]");
    assert_refused("[{\"queue\":\"a\",\"count\":2}]",
                   "on_success[0].count: is for signals, not for a queue", "2");
    assert_refused("[{\"signal\":\"a\",\"count\":0}]",
                   "on_success[0].count: must be a whole number from 1 to 1000000000000, not 0",
                   "0");
    assert_refused("[[\"a\"]]",
                   "on_success[0]: must be the name of a queue, or {queue: …}, {topic: …}, "
                   "{join: …} or {signal: …}, not an array",
                   "[\"a\"]");
}

static void a_list_too_long_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 16);

    buf_add_char(&json, '[');
    for (int i = 0; i < DEST_MAX; i++)
        buf_addf(&json, "%s\"a\"", i == 0 ? "" : ",");
    buf_add_char(&json, ']');
    assert_int_equal(parse(buf_text(&json)).count, DEST_MAX);
    json.size--;
    buf_add_str(&json, ",\"b\"]");
    assert_refused(buf_text(&json), "on_success: must have at most 100 destinations, not 101", "[");
}

/* ---- names ---- */

static void assert_name(const char *name, size_t size, const char *message)
{
    struct err err = ERR_INIT;

    assert_int_equal(dest_name_check("topic", slice_make(name, size), &err), E_INVALID);
    assert_string_equal(err.msg, message);
}

static void names_are_checked(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char longest[TOPIC_NAME_MAX + 1];

    memset(longest, 'x', sizeof(longest));
    assert_int_equal(dest_name_check("topic", slice_make(longest, TOPIC_NAME_MAX), &err), E_OK);
    assert_int_equal(dest_name_check("topic", SLICE("a b.\"'$(x) é"), &err), E_OK);
    assert_name(
        longest, sizeof(longest),
        "a topic's name has at most 200 bytes: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'");
    assert_name("", 0, "a topic's name must not be empty");
    assert_name("a\0b", 3, "a topic's name must not have control characters: 'a?b'");
    assert_name("a\xC2\x85", 3, "a topic's name must not have control characters: 'a?'");
    assert_name("a\xFF", 2, "a topic's name must be UTF-8: 'a?'");
    assert_name(".a", 2, "a topic's name must not begin with a '.': '.a'");
}

static void only_an_end_of_dot_and_star_is_a_pattern(void **state)
{
    (void)state;
    assert_true(topic_matches(SLICE("site"), SLICE("site")));
    assert_false(topic_matches(SLICE("site"), SLICE("site.a")));
    assert_true(topic_matches(SLICE("site.*"), SLICE("site.a")));
    assert_true(topic_matches(SLICE("site.*"), SLICE("site.a.b")));
    assert_true(topic_matches(SLICE("site.*"), SLICE("site.")));
    assert_false(topic_matches(SLICE("site.*"), SLICE("site")));
    assert_false(topic_matches(SLICE("site.*"), SLICE("sites.a")));
    assert_false(topic_matches(SLICE("site*"), SLICE("sites")));
    assert_true(topic_matches(SLICE("site*"), SLICE("site*")));
    assert_false(topic_matches(SLICE("*"), SLICE("site")));
    assert_false(topic_matches(SLICE("a.*.c"), SLICE("a.b.c")));
    assert_false(topic_matches(SLICE(""), SLICE("a")));
    assert_false(topic_matches(SLICE("a"), SLICE("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_every_kind_of_destination),
        cmocka_unit_test(one_destination_stands_for_a_list_of_one),
        cmocka_unit_test(canonical_lists_say_what_must_be_said),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(a_list_too_long_is_refused),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(only_an_end_of_dot_and_star_is_a_pattern),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
