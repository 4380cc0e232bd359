/* SPDX-License-Identifier: MIT */
#include "core/route/join_def.h"
#include "json_testing.h"

static struct join_def parse(const char *json)
{
    struct err err = ERR_INIT;
    struct join_def def;

    if (join_def_parse(checked(json), &arena, &def, NULL, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return def;
}

static void assert_canonical(const char *json, const char *want)
{
    assert_canonical_by(join_def_canonical, json, want);
}

static void assert_refused(const char *json, const char *message, const char *at)
{
    struct err err = ERR_INIT;
    struct join_def def = {.count = 77};
    const char *fault_at = NULL;

    if (join_def_parse(checked(json), &arena, &def, &fault_at, &err) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(def.count, 77);
    assert_memory_equal(fault_at, at, strlen(at));
}

static void a_join_has_a_key_a_count_and_destinations(void **state)
{
    (void)state;
    struct join_def def = parse("{\"key\":\"{date}/{site}\",\"count\":10,\"then\":[\"summary\"]}");
    struct template_values values = {
        .objects = (struct slice[]){SLICE("{\"date\":\"d\",\"site\":7}")}, .n_objects = 1};
    CLEANUP(buf) struct buf key = BUF_INIT(100);
    struct err err = ERR_INIT;

    assert_int_equal(def.count, 10);
    assert_slice_is(def.key_text, "{date}/{site}");
    assert_int_equal(def.then.count, 1);
    assert_slice_is(def.then.items[0].name, "summary");
    assert_int_equal(template_text_fill(&def.key, &values, &key, &err), E_OK);
    assert_string_equal(buf_text(&key), "d/7");
}

static void without_a_key_all_meet(void **state)
{
    (void)state;
    struct join_def def = parse("{\"count\":1,\"then\":\"a\"}");

    assert_int_equal(def.key.n_parts, 0);
    assert_int_equal(def.key_text.size, 0);
    def = parse("{\"count\":1,\"then\":\"a\",\"key\":\"\"}");
    assert_int_equal(def.key_text.size, 0);
}

static void canonical_joins_have_their_members_in_one_order(void **state)
{
    (void)state;
    assert_canonical("{ \"then\" : \"a\", \"count\" : 3 }",
                     "{\"count\":3,\"then\":[{\"queue\":\"a\"}]}");
    assert_canonical(
        "{\"then\":[{\"signal\":\"s\",\"count\":1}],\"count\":1000000,\"key\":\"{a}\\\"\"}",
        "{\"key\":\"{a}\\\"\",\"count\":1000000,\"then\":[{\"signal\":\"s\"}]}");
    assert_canonical("{\"key\":\"\",\"count\":1,\"then\":[\"a\"]}",
                     "{\"count\":1,\"then\":[{\"queue\":\"a\"}]}");
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    assert_refused("[]", "a join must be an object like {count: 10, then: [summary]}, not an array",
                   "[");
    assert_refused("{\"then\":\"a\"}", "count: is missing: number of arrivals that make it fire",
                   "{");
    assert_refused("{\"count\":3}", "then: is missing: where to continue when it fires", "{");
    assert_refused("{\"count\":3,\"then\":[]}", "then: must not be empty", "[]");
    assert_refused("{\"count\":1000001,\"then\":\"a\"}",
                   "count: must be a whole number from 1 to 1000000, not 1000001", "1000001");
    assert_refused("{\"count\":\"3\",\"then\":\"a\"}",
                   "count: must be a whole number from 1 to 1000000, not '3'", "\"3\"");
    assert_refused("{\"key\":3}", "key: must be text, not 3 (put it in quotes)", "3");
    assert_refused("{\"kye\":\"a\"}", "unknown key 'kye', did you mean 'key'?", "\"kye\"");
    assert_refused("{\"after\":1}", "unknown key 'after', the keys are: key count then",
                   "\"after\"");
    assert_refused("{\"count\":1,\"then\":[\"a\",{\"signal\":\"\"}]}",
                   "then[1].signal: a signal's name must not be empty", "\"\"");
}

static void a_key_too_long_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 16);

    buf_add_str(&json, "{\"key\":\"");
    for (int i = 0; i < 4097; i++)
        buf_add_char(&json, 'k');
    buf_add_str(&json, "\"}");
    assert_refused(buf_text(&json), "key: must have at most 4096 bytes, not 4097", "\"kkk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_has_a_key_a_count_and_destinations),
        cmocka_unit_test(without_a_key_all_meet),
        cmocka_unit_test(canonical_joins_have_their_members_in_one_order),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(a_key_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
