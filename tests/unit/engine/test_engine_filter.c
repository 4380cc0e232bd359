/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "engine/jobs/filter.h"
#include "testing.h"

#define BIT(state) (1u << (state))

static bool matches(struct job_filter f, const struct job *j)
{
    return filter_matches(&f, 0, j);
}

static void an_empty_filter_means_all(void **state)
{
    (void)state;
    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++) {
        struct job j = {.state = (enum job_state)s};

        assert_true(matches((struct job_filter){0}, &j));
    }
    assert_true(filter_wants_live(&(struct job_filter){0}));
    assert_true(filter_wants_ended(&(struct job_filter){0}));
    assert_false(filter_wants_only_failed(&(struct job_filter){0}));
}

static void the_queue_is_compared_by_number(void **state)
{
    (void)state;
    const struct job_filter f = {.queue = SLICE("fetch")};
    struct job j = {.state = JOB_READY, .queue = 3};

    assert_true(filter_matches(&f, 3, &j));
    assert_false(filter_matches(&f, 4, &j));
}

static void states_are_a_set(void **state)
{
    (void)state;
    const struct job_filter f = {.states = BIT(JOB_READY) | BIT(JOB_FAILED)};

    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++) {
        struct job j = {.state = (enum job_state)s};

        assert_int_equal(matches(f, &j), s == JOB_READY || s == JOB_FAILED);
    }
}

/* What is said about the stretches must hold for every job: nothing that matches is passed over. */
static void a_filter_wants_the_stretches_in_which_it_can_match(void **state)
{
    (void)state;
    for (unsigned states = 0; states < BIT(JOB_STATE_COUNT); states += 2)
        for (int64_t before = 0; before <= 10; before += 10) {
            const struct job_filter f = {.states = states, .ended_before_at = before};

            for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++) {
                struct job j = {.state = (enum job_state)s, .finished_at = 5};

                if (!filter_matches(&f, 0, &j))
                    continue;
                assert_true(job_state_ended(j.state) ? filter_wants_ended(&f)
                                                     : filter_wants_live(&f));
                if (filter_wants_only_failed(&f))
                    assert_int_equal(s, JOB_FAILED);
            }
        }
}

static void older_means_ended_before(void **state)
{
    (void)state;
    const struct job_filter f = {.ended_before_at = 100};
    struct job j = {.state = JOB_DONE, .finished_at = 99};

    assert_true(matches(f, &j));
    j.finished_at = 100;
    assert_false(matches(f, &j));
    j = (struct job){.state = JOB_READY};
    assert_false(matches(f, &j));
    assert_false(filter_wants_live(&f));
}

static void every_label_asked_for_must_be_there(void **state)
{
    (void)state;
    struct job j = {.state = JOB_READY,
                    .labels = SLICE("{\"a\":\"1\",\"b c\":\"\\u00fc\",\"\\u0064\":\"x\"}")};
    static const struct {
        const char *labels;
        bool match;
    } cases[] = {
        {"{\"a\":\"1\"}", true},
        {"{\"a\":\"2\"}", false},
        {"{\"a\":\"1\",\"b c\":\"\xc3\xbc\"}", true},
        {"{\"d\":\"x\"}", true},
        {"{\"\\u0061\":\"\\u0031\"}", true},
        {"{\"a\":\"1\",\"e\":\"\"}", false},
        {"{}", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct job_filter f = {.labels = slice_of(cases[i].labels)};

        assert_int_equal(matches(f, &j), cases[i].match);
    }
    j.labels = slice_make(NULL, 0);
    assert_false(matches((struct job_filter){.labels = SLICE("{\"a\":\"1\"}")}, &j));
}

static void a_text_is_looked_for_in_what_people_see(void **state)
{
    (void)state;
    struct job j = {.state = JOB_READY,
                    .params = SLICE("{\"url\":\"http://x.org\"}"),
                    .key = SLICE("key-7"),
                    .labels = SLICE("{\"l\":\"blue\"}"),
                    .text = SLICE("half way"),
                    .body = SLICE("not here")};
    static const char *const found[] = {"x.org", "key-7", "blue", "half", "url"};
    static const char *const missing[] = {"not here", "X.ORG", "key-77", "half  way"};

    for (size_t i = 0; i < ARRAY_LEN(found); i++)
        assert_true(matches((struct job_filter){.text = slice_of(found[i])}, &j));
    for (size_t i = 0; i < ARRAY_LEN(missing); i++)
        assert_false(matches((struct job_filter){.text = slice_of(missing[i])}, &j));
    j = (struct job){.state = JOB_READY};
    assert_false(matches((struct job_filter){.text = SLICE("x")}, &j));
}

static void all_conditions_must_hold(void **state)
{
    (void)state;
    const struct job_filter f = {.states = BIT(JOB_FAILED),
                                 .labels = SLICE("{\"a\":\"1\"}"),
                                 .text = SLICE("x"),
                                 .ended_before_at = 10};
    struct job j = {.state = JOB_FAILED,
                    .finished_at = 9,
                    .labels = SLICE("{\"a\":\"1\"}"),
                    .params = SLICE("{\"x\":1}")};

    assert_true(matches(f, &j));
    struct job other = j;

    other.state = JOB_DONE;
    assert_false(matches(f, &other));
    other = j;
    other.finished_at = 11;
    assert_false(matches(f, &other));
    other = j;
    other.labels = SLICE("{\"a\":\"2\"}");
    assert_false(matches(f, &other));
    other = j;
    other.params = SLICE("{\"y\":1}");
    assert_false(matches(f, &other));
}

static void assert_round_trip(struct job_filter f, struct slice target)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct job_filter back;
    struct slice value;
    struct slice to;

    filter_to_json(&f, target, &text);
    if (jtext_check(buf_slice(&text), &value, &err) != E_OK)
        fail_msg("%s: %s", err.msg, buf_text(&text));
    filter_from_json(value, &arena, &back, &to);
    assert_int_equal(back.states, f.states);
    assert_int_equal(back.ended_before_at, f.ended_before_at);
    assert_true(slice_equal(back.queue, f.queue));
    assert_true(slice_equal(back.text, f.text));
    assert_true(slice_equal(back.labels, f.labels));
    assert_true(slice_equal(to, target));
}

static void a_filter_survives_the_store(void **state)
{
    (void)state;
    assert_round_trip((struct job_filter){0}, slice_make(NULL, 0));
    assert_round_trip((struct job_filter){.queue = SLICE("fetch"),
                                          .states = BIT(JOB_FAILED) | BIT(JOB_RELAYED),
                                          .labels = SLICE("{\"a\":\"\\\"1\\\"\",\"b\":\"\"}"),
                                          .text = SLICE("say \"\xc3\xbc\"\n"),
                                          .ended_before_at = INT64_MAX},
                      SLICE("other"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_filter_means_all),
        cmocka_unit_test(the_queue_is_compared_by_number),
        cmocka_unit_test(states_are_a_set),
        cmocka_unit_test(a_filter_wants_the_stretches_in_which_it_can_match),
        cmocka_unit_test(older_means_ended_before),
        cmocka_unit_test(every_label_asked_for_must_be_there),
        cmocka_unit_test(a_text_is_looked_for_in_what_people_see),
        cmocka_unit_test(all_conditions_must_hold),
        cmocka_unit_test(a_filter_survives_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
