/* SPDX-License-Identifier: MIT */
#include <float.h>

#include "base/jtext/jtext.h"
#include "testing.h"

static struct slice checked(const char *text)
{
    struct slice value;
    struct err err = ERR_INIT;

    if (jtext_check(slice_of(text), &value, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return value;
}

static void members_come_in_order_with_raw_keys_and_values(void **state)
{
    (void)state;
    struct slice object = checked(" {\"a\" : 1 , \"b\\n\":[1, {\"x\":\"]}\"}] ,\"c\":\"q\\\"}\","
                                  "\"d\":{},\"e\":null , \"f\": -1.5e3 } ");
    static const char *const want[][2] = {
        {"\"a\"", "1"},          {"\"b\\n\"", "[1, {\"x\":\"]}\"}]"},
        {"\"c\"", "\"q\\\"}\""}, {"\"d\"", "{}"},
        {"\"e\"", "null"},       {"\"f\"", "-1.5e3"},
    };
    struct slice key;
    struct slice value;
    size_t n = 0;

    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value); n++) {
        assert_in_range(n, 0, ARRAY_LEN(want) - 1);
        assert_slice_is(key, want[n][0]);
        assert_slice_is(value, want[n][1]);
    }
    assert_int_equal(n, ARRAY_LEN(want));
}

static void items_come_in_order(void **state)
{
    (void)state;
    struct slice array = checked("[ 1,\"a,b\" , [ ] ,[[2],3],{\"k\":[4]},true\n]");
    static const char *const want[] = {"1", "\"a,b\"", "[ ]", "[[2],3]", "{\"k\":[4]}", "true"};
    struct slice value;
    size_t n = 0;

    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &value); n++) {
        assert_in_range(n, 0, ARRAY_LEN(want) - 1);
        assert_slice_is(value, want[n]);
    }
    assert_int_equal(n, ARRAY_LEN(want));
}

static void an_empty_object_or_array_has_nothing_to_walk(void **state)
{
    (void)state;
    static const char *const empty[] = {"{}", "{ \n}"};
    struct slice key;
    struct slice value;

    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        struct jtext_iter it = jtext_members(checked(empty[i]));

        assert_false(jtext_next_member(&it, &key, &value));
        assert_false(jtext_next_member(&it, &key, &value));
    }
    struct jtext_iter it = jtext_items(checked("[ ]"));

    assert_false(jtext_next_item(&it, &value));
}

static void types_are_told_by_their_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum jtext_type type;
        const char *name;
    } cases[] = {
        {"null", JTEXT_NULL, "null"},       {"false", JTEXT_FALSE, "false"},
        {"true", JTEXT_TRUE, "true"},       {"-12", JTEXT_INT, "a whole number"},
        {"1.0", JTEXT_REAL, "a number"},    {"1e3", JTEXT_REAL, "a number"},
        {"1E3", JTEXT_REAL, "a number"},    {"\"1\"", JTEXT_STRING, "a string"},
        {"[1.5]", JTEXT_ARRAY, "an array"}, {"{}", JTEXT_OBJECT, "an object"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(jtext_type_of(checked(cases[i].text)), cases[i].type);
        assert_string_equal(jtext_type_name(cases[i].type), cases[i].name);
    }
}

static void a_key_is_compared_as_it_reads(void **state)
{
    (void)state;
    assert_true(jtext_key_is(SLICE("\"queue\""), "queue"));
    assert_true(jtext_key_is(SLICE("\"\""), ""));
    assert_true(jtext_key_is(SLICE("\"q\\u0075eue\""), "queue"));
    assert_true(jtext_key_is(SLICE("\"\\uD83D\\uDE00\""), "😀"));
    assert_true(jtext_key_is(SLICE("\"\\\\\""), "\\"));
    assert_true(jtext_key_is(SLICE("\"a\\/b\""), "a/b"));
    assert_false(jtext_key_is(SLICE("\"queue\""), "queues"));
    assert_false(jtext_key_is(SLICE("\"queues\""), "queue"));
    assert_false(jtext_key_is(SLICE("\"Queue\""), "queue"));
    assert_false(jtext_key_is(SLICE("\"q\\u0075eue\""), "queu"));
    assert_false(jtext_key_is(SLICE("\"q\\u0075eue\""), "queuex"));
    assert_false(jtext_key_is(SLICE("\"\\n\""), "\\n"));
}

static void a_member_is_found_by_name_at_the_top_level_only(void **state)
{
    (void)state;
    struct slice object = checked("{\"a\":{\"b\":1},\"\\u0062\":2,\"c\":\"b\"}");
    struct slice value = SLICE("untouched");

    assert_true(jtext_find(object, "b", &value));
    assert_slice_is(value, "2");
    assert_true(jtext_find(object, "c", &value));
    assert_slice_is(value, "\"b\"");
    assert_false(jtext_find(object, "d", &value));
    assert_slice_is(value, "\"b\"");
}

static void a_string_without_escapes_is_not_copied(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value = SLICE("\"plain ä\"");
    struct slice text = jtext_text(value, &arena);

    assert_slice_is(text, "plain ä");
    assert_ptr_equal(text.data, value.data + 1);
    assert_slice_is(jtext_text(SLICE("\"\""), &arena), "");
    assert_null(arena.blocks);
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    static const struct {
        const char *value;
        const char *text;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"a\\u0041\\u007f\\u0080\\u00e4\"", "aA\x7F\xC2\x80ä"},
        {"\"\\u07FF\\u0800\\u20AC\\uD7ff\\uE000\\uFFFF\"",
         "\xDF\xBF\xE0\xA0\x80€\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"},
        {"\"\\uD800\\uDC00|\\uD83D\\uDE00|\\uDBFF\\uDFFF\"", "\xF0\x90\x80\x80|😀|\xF4\x8F\xBF\xBF"},
        {"\"ends in \\\\\"", "ends in \\"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_slice_is(jtext_text(checked(cases[i].value), &arena), cases[i].text);
}

static void whole_numbers_are_exact_to_their_ends(void **state)
{
    (void)state;
    assert_true(jtext_int(checked("0")) == 0);
    assert_true(jtext_int(checked("-0")) == 0);
    assert_true(jtext_int(checked("-17")) == -17);
    assert_true(jtext_int(checked("9223372036854775807")) == INT64_MAX);
    assert_true(jtext_int(checked("-9223372036854775808")) == INT64_MIN);
}

static void numbers_are_read_wherever_they_stand(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);
    struct slice value;
    struct jtext_iter it = jtext_items(checked("[1.5,2e3,-7,1.7976931348623157e308,4.25]"));
    static const double want[] = {1.5, 2000, -7, DBL_MAX, 4.25};

    for (size_t i = 0; jtext_next_item(&it, &value); i++)
        assert_true(jtext_number(value) == want[i]);
    buf_add_str(&b, "0.5");
    for (int i = 0; i < 200; i++)
        buf_add_char(&b, '0');
    assert_true(jtext_number(buf_slice(&b)) == 0.5);
}

/* Each text is of its own size on the heap, where a sanitizer sees a byte too many. */
static void text_that_nobody_has_checked_is_walked_to_its_end(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[",
        "x",
        "\"",
        "{]}",
        "[}]",
        "{\"a\":",
        "{\"a\"",
        "[\"\\u12",
        "\"\\u",
        "\"\\ud800\\u\"",
        "\"\\uzzzz\"",
        "\"\\",
        "{\"\\u0061",
        "{,,}",
        "{\"a\":}",
        "[[[[",
        "{{}",
        "\"\\\"",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(mem) char *copy = mem_alloc(strlen(texts[i]) + 1);
        struct slice text = slice_make(copy, strlen(texts[i]));
        struct slice key, value;

        memcpy(copy, texts[i], text.size);
        for (struct jtext_iter it = jtext_members(text); jtext_next_member(&it, &key, &value);)
            (void)(jtext_key_is(key, "a") && jtext_text(value, &arena).size > 0);
        for (struct jtext_iter it = jtext_items(text); jtext_next_item(&it, &value);)
            (void)jtext_type_of(value);
        assert_true(jtext_text(text, &arena).size <= text.size);
        (void)jtext_type_of(text);
        (void)jtext_find(text, "a", &value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_order_with_raw_keys_and_values),
        cmocka_unit_test(items_come_in_order),
        cmocka_unit_test(an_empty_object_or_array_has_nothing_to_walk),
        cmocka_unit_test(types_are_told_by_their_text),
        cmocka_unit_test(a_key_is_compared_as_it_reads),
        cmocka_unit_test(a_member_is_found_by_name_at_the_top_level_only),
        cmocka_unit_test(a_string_without_escapes_is_not_copied),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(whole_numbers_are_exact_to_their_ends),
        cmocka_unit_test(numbers_are_read_wherever_they_stand),
        cmocka_unit_test(text_that_nobody_has_checked_is_walked_to_its_end),
    };

    return cmocka_run_group_tests_name("jtext_walk", tests, NULL, NULL);
}
