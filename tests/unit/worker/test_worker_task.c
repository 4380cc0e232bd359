/* SPDX-License-Identifier: MIT */
#include "testing.h"
#include "worker/run/task.h"

/* Its finish may have taken effect, with a lost reply, before an older touch was answered. */
static void a_task_that_has_ended_is_judged_by_its_finish_alone(void **state)
{
    struct task sent = {.state = TASK_ENDED, .finish_sent = true};
    struct task to_be_sent_again = {.state = TASK_ENDED};

    (void)state;
    task_lost_lease(&sent);
    task_lost_lease(&to_be_sent_again);
    assert_false(sent.lost);
    assert_false(to_be_sent_again.lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_has_ended_is_judged_by_its_finish_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
