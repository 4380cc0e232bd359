/*
 * Merge patches, and the params of finalisers.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "core/group/finaliser.h"
#include "core/group/merge_patch.h"
#include "testing.h"

static void a_patch_changes_adds_and_removes_members(void **state)
{
    static const struct {
        const char *data, *patch, *want;
    } cases[] = {
        {"", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":null,\"c\":3}", "{\"b\":2,\"c\":3}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":null,\"d\":[1]}}",
         "{\"a\":{\"c\":2,\"d\":[1]}}"},
        {"{\"a\":5}", "{\"a\":{\"b\":null,\"c\":1}}", "{\"a\":{\"c\":1}}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":[null]}", "{\"a\":[null]}"},
        {"{\"x\\u0061\":1}", "{\"xa\":2}", "{\"x\\u0061\":2}"},
        {"{}", "{\"a\":null}", "{}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(1000);

        merge_patch_add(&out, slice_of(cases[i].data), slice_of(cases[i].patch));
        assert_string_equal(buf_text(&out), cases[i].want);
    }
}

static void patches_in_a_row_are_as_one_after_the_other(void **state)
{
    static const char *const patches[] = {"{\"a\":{\"b\":1}}", "{\"a\":{\"c\":2}}",
                                          "{\"a\":null}",      "{\"a\":{\"d\":3,\"e\":null}}",
                                          "{\"x\":null}",      "{\"x\":[1]}"};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct merge_patches all = {.arena = &arena, .data = SLICE("{\"a\":{\"old\":1},\"x\":7}")};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(patches); i++)
        merge_patches_add(&all, slice_of(patches[i]));
    assert_true(slice_is(merge_patches_end(&all), "{\"x\":[1],\"a\":{\"d\":3}}"));
}

static void many_members_are_merged_in_time(void **state)
{
    CLEANUP(buf) struct buf object = BUF_INIT(2 << 20);
    CLEANUP(buf) struct buf out = BUF_INIT(4 << 20);

    (void)state;
    buf_add_char(&object, '{');
    for (int i = 0; i < 80000; i++)
        buf_addf(&object, "%s\"%d\":1", i == 0 ? "" : ",", i);
    buf_add_char(&object, '}');
    merge_patch_add(&out, buf_slice(&object), buf_slice(&object));
    assert_int_equal(out.size, object.size);
}

static void params_are_filled_from_counters_and_data(void **state)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    const struct group_counts counts = {.made = 5, .done = 3, .failed = 2};
    const struct finaliser_values values = {.id = SLICE("ID"),
                                            .kind = SLICE("site"),
                                            .name = SLICE("a\"b"),
                                            .data = SLICE("{\"x\":{\"y\":1},\"made\":9}"),
                                            .counts = &counts};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(finaliser_fill_params(
                         SLICE("{\"n\":\"{made}\",\"t\":[\"{done}/{made} {name}\",7],\"x\":\"{x}\","
                               "\"d\":\"{z:-none}\",\"b\":\"{{made}\"}"),
                         &values, &arena, &out, &err),
                     E_OK);
    assert_string_equal(buf_text(&out),
                        "{\"n\":5,\"t\":[\"3/5 a\\\"b\",7],\"x\":{\"y\":1},\"d\":\"none\","
                        "\"b\":\"{made}\"}");
    assert_int_equal(finaliser_fill_params(SLICE("{\"n\":\"{nobody}\"}"), &values, &arena, &out,
                                           &err),
                     E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_patch_changes_adds_and_removes_members),
        cmocka_unit_test(patches_in_a_row_are_as_one_after_the_other),
        cmocka_unit_test(many_members_are_merged_in_time),
        cmocka_unit_test(params_are_filled_from_counters_and_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
