/* SPDX-License-Identifier: MIT */
#include "core/job/state.h"
#include "core/route/routing.h"
#include "json_testing.h"

#define ID "0D3N7Q8R2S4T6"

static struct after_cond *parse(const char *json, size_t want)
{
    struct err err = ERR_INIT;
    struct after_cond *conds;
    size_t n;

    if (after_parse(checked(json), &arena, &conds, &n, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    assert_int_equal(n, want);
    return conds;
}

static void assert_refused(const char *json, const char *message)
{
    struct err err = ERR_INIT;
    struct after_cond *conds = NULL;
    size_t n = 77;

    if (after_parse(checked(json), &arena, &conds, &n, &err) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(n, 77);
}

static void assert_kept(const char *json, const char *want)
{
    const struct after_cond *c = parse(json, 1);
    CLEANUP(buf) struct buf out = BUF_INIT(1000);

    after_cond_json(c, c->job, c->step.size > 0 ? 4 : 0, &out);
    assert_string_equal(buf_text(&out), want);
}

/* ---- reading ---- */

static void conditions_of_every_kind_are_read(void **state)
{
    (void)state;
    const struct after_cond *c = parse(
        "[\"" ID "\",{\"job\":\"" ID "\",\"on\":\"end\",\"step\":4},"
        "{\"job\":\"fetch all\",\"step\":\"main\",\"on\":\"failure\"},"
        "{\"signal\":\"dump\",\"count\":10,\"take\":true},"
        "{\"signal\":\"dump\"}]",
        5);

    assert_int_equal(c[0].kind, AFTER_JOB);
    assert_int_equal(c[0].on, AFTER_SUCCESS);
    assert_true(c[0].job > 0);
    assert_int_equal(c[0].ref.size + c[0].step.size, 0);
    assert_int_equal(c[1].job, c[0].job);
    assert_int_equal(c[1].on, AFTER_END);
    assert_slice_is(c[1].step, "4");
    assert_int_equal(c[2].job, 0);
    assert_slice_is(c[2].ref, "fetch all");
    assert_slice_is(c[2].step, "main");
    assert_int_equal(c[2].on, AFTER_FAILURE);
    assert_int_equal(c[3].kind, AFTER_SIGNAL);
    assert_slice_is(c[3].signal, "dump");
    assert_int_equal(c[3].count, 10);
    assert_true(c[3].take);
    assert_int_equal(c[4].count, 1);
    assert_false(c[4].take);
}

static void one_condition_stands_for_a_list_of_one(void **state)
{
    (void)state;
    assert_slice_is(parse("\"first\"", 1)->ref, "first");
    assert_slice_is(parse("{\"signal\":\"s\"}", 1)->signal, "s");
    (void)parse("[]", 0);
}

static void what_is_null_is_not_said(void **state)
{
    (void)state;
    const struct after_cond *c = parse("{\"job\":\"a\",\"step\":null,\"on\":null}", 1);

    assert_int_equal(c->on, AFTER_SUCCESS);
    assert_int_equal(c->step.size, 0);
    assert_int_equal(parse("{\"signal\":\"a\",\"count\":null,\"take\":null}", 1)->count, 1);
}

static void an_id_is_read_in_either_case(void **state)
{
    (void)state;
    assert_int_equal(parse("\"0d3n7q8r2s4t6\"", 1)->job, parse("\"" ID "\"", 1)->job);
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    assert_refused("7",
                   "after: must be the id of a job, or {job: …}, {signal: …} or {group: …}, not 7");
    assert_refused(
        "[\"a\",null]",
        "after[1]: must be the id of a job, or {job: …}, {signal: …} or {group: …}, not null");
    assert_refused("\"\"", "after: '' is neither the id of a job nor a 'ref'");
    assert_refused("{\"job\":null}", "after.job: must be the id of a job, or the 'ref' of one of "
                                     "the same array, not null");
    assert_refused("[\"a\",\"b\",\"c\",{\"job\":\"d\",\"on\":\"sucess\"}]",
                   "after[3].on: 'sucess' is unknown, did you mean 'success'?");
    assert_refused("[{\"job\":\"d\",\"on\":\"never\"}]",
                   "after[0].on: must be success, failure or end, not 'never'");
    assert_refused("[{\"job\":\"d\",\"on\":true}]",
                   "after[0].on: must be success, failure or end, not true");
    assert_refused("[{\"job\":\"d\",\"step\":0}]",
                   "after[0].step: must be the number or the name of a step, not 0");
    assert_refused("[{\"job\":\"d\",\"step\":\"\"}]",
                   "after[0].step: must be the number or the name of a step, not ''");
    assert_refused("[{\"job\":\"d\",\"step\":1.5}]",
                   "after[0].step: must be the number or the name of a step, not 1.5");
    assert_refused("[{\"job\":\"d\",\"count\":1}]", "after[0].count: is for signals, not for jobs");
    assert_refused("[{\"signal\":\"d\",\"on\":\"end\"}]",
                   "after[0].on: is for jobs, not for signals");
    assert_refused("[{\"signal\":\"d\",\"count\":0}]",
                   "after[0].count: must be a whole number from 1 to 1000000000000, not 0");
    assert_refused("[{\"signal\":\"d\",\"take\":1}]",
                   "after[0].take: must be true or false, not 1");
    assert_refused("[{\"signal\":\"\"}]", "after[0].signal: a signal's name must not be empty");
    assert_refused("[{\"signal\":\"a\\u0007\"}]",
                   "after[0].signal: a signal's name must not have control characters: 'a?'");
    assert_refused("[{\"signall\":\"d\"}]",
                   "after[0]: unknown key 'signall', did you mean 'signal'?");
    assert_refused("[{\"at\":3,\"job\":\"a\"}]",
                   "after[0]: unknown key 'at', the keys are: job step on signal count "
                   "take group");
    assert_refused("[{}]", "after[0]: must have one of job, signal and group");
    assert_refused("[{\"on\":\"end\"}]", "after[0]: must have one of job, signal and group");
    assert_refused("[{\"job\":\"a\",\"signal\":\"b\"}]",
                   "after[0]: must have one of job, signal and group");
    assert_refused("[{\"group\":\"g\"}]", "after[0].group: must be the id of a group, not 'g'");
    assert_refused("[{\"group\":\"0000000000001\",\"take\":true}]",
                   "after[0].take: is for signals, not for groups");
}

static void add_conditions(struct buf *json, int count)
{
    buf_add_char(json, '[');
    for (int i = 0; i < count; i++)
        buf_addf(json, "%s\"a\"", i == 0 ? "" : ",");
    buf_add_char(json, ']');
}

static void too_many_conditions_are_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf most = BUF_INIT(1 << 20);
    CLEANUP(buf) struct buf more = BUF_INIT(1 << 20);

    add_conditions(&most, AFTER_MAX);
    (void)parse(buf_text(&most), AFTER_MAX);
    add_conditions(&more, AFTER_MAX + 1);
    assert_refused(buf_text(&more), "after: must have at most 100000 conditions, not 100001");
}

/* ---- writing ---- */

static void conditions_are_kept_with_ids_and_numbers(void **state)
{
    (void)state;
    assert_kept("\"0d3n7q8r2s4t6\"", "{\"job\":\"" ID "\",\"on\":\"success\"}");
    assert_kept("{\"on\":\"failure\",\"step\":\"main\",\"job\":\"" ID "\"}",
                "{\"job\":\"" ID "\",\"step\":4,\"on\":\"failure\"}");
    assert_kept("{\"signal\":\"a \\\"b\\\"\"}", "{\"signal\":\"a \\\"b\\\"\",\"count\":1}");
    assert_kept("{\"signal\":\"s\",\"take\":true,\"count\":7}",
                "{\"signal\":\"s\",\"count\":7,\"take\":true}");
    assert_kept("{\"signal\":\"s\",\"take\":false,\"count\":7}", "{\"signal\":\"s\",\"count\":7}");
}

static void what_is_kept_can_be_read_again(void **state)
{
    (void)state;
    const struct after_cond *c = parse("{\"job\":\"" ID "\",\"step\":4,\"on\":\"end\"}", 1);

    assert_slice_is(c->step, "4");
    assert_kept("{\"job\":\"" ID "\",\"step\":4,\"on\":\"end\"}",
                "{\"job\":\"" ID "\",\"step\":4,\"on\":\"end\"}");
}

/* ---- judging ---- */

static void an_end_fulfils_or_breaks_a_condition(void **state)
{
    (void)state;
    static const struct {
        enum job_state state;
        enum after_verdict success, failure, end;
    } cases[] = {
        {JOB_NONE, AFTER_NEVER, AFTER_NEVER, AFTER_NEVER},
        {JOB_STAGED, AFTER_OPEN, AFTER_OPEN, AFTER_OPEN},
        {JOB_HELD, AFTER_OPEN, AFTER_OPEN, AFTER_OPEN},
        {JOB_SCHEDULED, AFTER_OPEN, AFTER_OPEN, AFTER_OPEN},
        {JOB_READY, AFTER_OPEN, AFTER_OPEN, AFTER_OPEN},
        {JOB_RUNNING, AFTER_OPEN, AFTER_OPEN, AFTER_OPEN},
        {JOB_DONE, AFTER_HOLDS, AFTER_NEVER, AFTER_HOLDS},
        {JOB_FAILED, AFTER_NEVER, AFTER_HOLDS, AFTER_HOLDS},
        {JOB_CANCELLED, AFTER_NEVER, AFTER_NEVER, AFTER_HOLDS},
        {JOB_RELAYED, AFTER_NEVER, AFTER_NEVER, AFTER_HOLDS},
    };

    assert_int_equal(ARRAY_LEN(cases), JOB_STATE_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(after_judge_end(AFTER_SUCCESS, (int)cases[i].state), cases[i].success);
        assert_int_equal(after_judge_end(AFTER_FAILURE, (int)cases[i].state), cases[i].failure);
        assert_int_equal(after_judge_end(AFTER_END, (int)cases[i].state), cases[i].end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_every_kind_are_read),
        cmocka_unit_test(one_condition_stands_for_a_list_of_one),
        cmocka_unit_test(what_is_null_is_not_said),
        cmocka_unit_test(an_id_is_read_in_either_case),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(too_many_conditions_are_refused),
        cmocka_unit_test(conditions_are_kept_with_ids_and_numbers),
        cmocka_unit_test(what_is_kept_can_be_read_again),
        cmocka_unit_test(an_end_fulfils_or_breaks_a_condition),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
