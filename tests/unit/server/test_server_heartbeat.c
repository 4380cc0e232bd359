/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include <sys/socket.h>

#include "base/clock.h"
#include "server/process/heartbeat.h"
#include "testing.h"

#define LIMIT_US (60 * US_PER_S)
#define STEP_US (LIMIT_US / 4)
#define START_AT (1000 * US_PER_S)

static int ends[2];

static int make_pair(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
}

static int close_pair(void **state)
{
    (void)state;
    return close(ends[0]) + close(ends[1]);
}

/* As the worker's loop does. */
static void answer(void)
{
    char questions[64];
    ssize_t n = read(ends[1], questions, sizeof(questions));

    assert_true(n > 0);
    assert_int_equal(write(ends[1], questions, (size_t)n), n);
}

static void one_that_answers_lives_for_ever(void **state)
{
    (void)state;
    struct heartbeat p;

    heartbeat_begin(&p, ends[0], LIMIT_US, START_AT);
    for (int i = 0; i < 1000; i++) {
        assert_true(heartbeat_look(&p, p.look_at));
        answer();
    }
    assert_int_equal(p.heard_at, START_AT + 999 * STEP_US);
}

static void one_that_does_not_is_hung_after_the_limit(void **state)
{
    (void)state;
    struct heartbeat p;

    heartbeat_begin(&p, ends[0], LIMIT_US, START_AT);
    assert_true(heartbeat_look(&p, p.look_at));
    answer();
    for (int i = 0; i < 4; i++)
        assert_true(heartbeat_look(&p, p.look_at));
    assert_int_equal(p.look_at, START_AT + STEP_US + LIMIT_US);
    assert_false(heartbeat_look(&p, p.look_at + US_PER_S));
    assert_int_equal(p.heard_at, START_AT + STEP_US);
}

static void a_late_answer_is_in_time_before_the_limit(void **state)
{
    (void)state;
    struct heartbeat p;

    heartbeat_begin(&p, ends[0], LIMIT_US, START_AT);
    for (int i = 0; i < 4; i++)
        assert_true(heartbeat_look(&p, p.look_at));
    answer();
    for (int i = 0; i < 4; i++)
        assert_true(heartbeat_look(&p, p.look_at));
}

static void after_a_pause_of_our_own_there_is_a_full_limit_again(void **state)
{
    (void)state;
    struct heartbeat p;

    heartbeat_begin(&p, ends[0], LIMIT_US, START_AT);
    for (int i = 0; i < 4; i++)
        assert_true(heartbeat_look(&p, p.look_at));
    int64_t back_at = p.look_at + 10 * LIMIT_US;

    assert_true(heartbeat_look(&p, back_at));
    for (int i = 0; i < 3; i++)
        assert_true(heartbeat_look(&p, p.look_at));
    assert_int_equal(p.look_at, back_at + LIMIT_US);
    assert_false(heartbeat_look(&p, p.look_at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_answers_lives_for_ever, make_pair, close_pair),
        cmocka_unit_test_setup_teardown(one_that_does_not_is_hung_after_the_limit, make_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(a_late_answer_is_in_time_before_the_limit, make_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(after_a_pause_of_our_own_there_is_a_full_limit_again,
                                        make_pair, close_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
