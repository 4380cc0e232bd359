/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/fault.h"
#include "testing.h"

static int disarm(void **state)
{
    (void)state;
    return fault_arm(NULL) ? 0 : -1;
}

static void an_unarmed_point_does_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_false(fault_hit("commit"));
}

static void fail_fails_the_nth_hit_alone(void **state)
{
    (void)state;
    assert_true(fault_arm("commit:3:fail"));
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(fault_hit("commit"), i == 3);
        assert_false(fault_hit("commits"));
        assert_false(fault_hit("commi"));
    }
}

static void fail_all_fails_from_the_nth_hit_on(void **state)
{
    (void)state;
    assert_true(fault_arm("commit:3:fail-all"));
    for (int i = 1; i <= 10; i++)
        assert_int_equal(fault_hit("commit"), i >= 3);
}

static void arming_again_counts_anew(void **state)
{
    (void)state;
    assert_true(fault_arm("a:2:fail"));
    assert_false(fault_hit("a"));
    assert_true(fault_arm("a:2:fail"));
    assert_false(fault_hit("a"));
    assert_true(fault_hit("a"));
    assert_true(fault_arm(NULL));
    assert_false(fault_hit("a"));
}

static void a_malformed_plan_is_refused_and_arms_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "a",
        "a:",
        ":1",
        "a:0",
        "a:-1",
        "a:x",
        "a:1x",
        "a:1:",
        "a:1:explode",
        "a:1:kill:2",
        "a:99999999999999999999999",
        "a-name-that-is-longer-than-any-point-in-the-code-will-ever-have-to-be:1",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_true(fault_arm("a:1:fail-all"));
        assert_false(fault_arm(bad[i]));
        assert_false(fault_hit("a"));
    }
}

/* What a child that runs `hits` hits under the plan ends with, as waitpid tells it. */
static int child_status(const char *plan, int hits)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL || setenv("WAYBILL_FAULT", plan, 1) != 0 ||
            !fault_init())
            _exit(9);
        for (int i = 0; i < hits; i++)
            fault_hit("commit");
        _exit(0);
    }
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void kill_ends_the_process_at_the_nth_hit(void **state)
{
    (void)state;
    assert_int_equal(child_status("commit:3", 2), 0);
    int status = child_status("commit:3", 3);

    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    status = child_status("commit:3:kill", 3);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(child_status("commit:3:fail", 3), 0);
    status = child_status("commit", 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_unarmed_point_does_nothing, disarm),
        cmocka_unit_test_teardown(fail_fails_the_nth_hit_alone, disarm),
        cmocka_unit_test_teardown(fail_all_fails_from_the_nth_hit_on, disarm),
        cmocka_unit_test_teardown(arming_again_counts_anew, disarm),
        cmocka_unit_test_teardown(a_malformed_plan_is_refused_and_arms_nothing, disarm),
        cmocka_unit_test_teardown(kill_ends_the_process_at_the_nth_hit, disarm),
    };

    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
