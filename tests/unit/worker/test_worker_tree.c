/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include "base/clock.h"
#include "process_fixture.h"
#include "testing.h"
#include "worker/process/proc.h"

static struct tree *tree;

/* A job in the tree and what was told of it. */
struct run {
    struct tree_job job;
    unsigned events[TREE_CONTINUED + 1];
    int status;
    struct rusage usage;
};

static int setup(void **state)
{
    struct err err = ERR_INIT;

    return process_setup(state) != 0 || tree_new(&tree, &err) != E_OK ? -1 : 0;
}

static int teardown(void **state)
{
    tree_free(tree);
    tree = NULL;
    return process_teardown(state);
}

static void told(void *ctx, const struct tree_event *event)
{
    struct run *run = event->job->owner;

    (void)ctx;
    run->events[event->kind]++;
    run->status = event->status;
    run->usage = event->usage;
}

static void begin(struct run *run, const char *lease, const char *script)
{
    static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char variable[64];
    char *env[] = {path, variable, NULL};

    snprintf(variable, sizeof(variable), "WAYBILL_LEASE=%s", lease);
    struct spawned started = start_shell(script, env);

    *run = (struct run){.job = {.lease = lease, .owner = run}};
    tree_add(tree, &run->job, &started);
}

static void await_event(struct run *run, enum tree_event_kind kind)
{
    int64_t until = clock_mono_us() + DEADLINE_US;

    while (tree_reap(tree, told, NULL), run->events[kind] == 0) {
        if (clock_mono_us() > until)
            fail_msg("no event %d", (int)kind);
        await_child_signal();
    }
}

static void await_end(struct run *run)
{
    int64_t until = clock_mono_us() + DEADLINE_US;

    while (tree_end(tree, &run->job) > 0) {
        if (clock_mono_us() > until)
            fail_msg("something of the job does not end");
        await_child_signal();
        tree_reap(tree, told, NULL);
    }
    tree_remove(tree, &run->job);
}

static void a_program_that_exits_is_told_with_its_status(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", "exit 7");
    await_event(&run, TREE_EXITED);
    assert_int_equal(run.status, 7);
    assert_int_equal(tree_end(tree, &run.job), 0);
    tree_remove(tree, &run.job);
    begin(&run, "l2", "kill -9 $$");
    await_event(&run, TREE_KILLED);
    assert_int_equal(run.status, SIGKILL);
    await_end(&run);
}

static void what_is_in_its_group_ends_with_the_program(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", "(trap '' TERM HUP; sleep 100) & echo $! > child; exit 0");
    await_event(&run, TREE_EXITED);
    await_end(&run);
    assert_false(is_running(await_pid("child")));
}

static void a_daemon_is_known_by_the_lease(void **state)
{
    (void)state;
    struct run run;
    struct run other;

    begin(&other, "l0", "sleep 100");
    begin(&run, "l1",
          "d=$PWD; cd /; setsid -f sh -c 'echo $$ > \"$0\"/child; exec sleep 100' \"$d\"; "
          "while ! test -s \"$d\"/child; do :; done");
    await_event(&run, TREE_EXITED);
    pid_t daemon = await_pid("child");

    assert_true(is_running(daemon));
    await_end(&run);
    assert_false(is_running(daemon));
    assert_true(is_running(other.job.pid));
    await_end(&other);
}

/* Neither group nor environment nor directory: only the time is left. */
#define HIDDEN                                                                               \
    "d=$PWD; cd /; env -i setsid -f sh -c 'echo $$ > \"$0\"/child; exec sleep 100' \"$d\"; " \
    "while ! test -s \"$d\"/child; do :; done"

static void a_daemon_without_marks_ends_with_its_job(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", HIDDEN);
    await_event(&run, TREE_EXITED);
    pid_t daemon = await_pid("child");

    assert_true(is_running(daemon));
    await_end(&run);
    assert_false(is_running(daemon));
}

static void a_daemon_without_marks_ends_with_the_last_job_it_may_belong_to(void **state)
{
    (void)state;
    struct run first;
    struct run second;
    struct run third;

    begin(&first, "l1", "sleep 100");
    begin(&second, "l2", HIDDEN);
    await_event(&second, TREE_EXITED);
    pid_t daemon = await_pid("child");
    struct proc p;

    assert_true(proc_find(daemon, &p));
    while (proc_ticks(clock_boot_us()) <= p.start_ticks)
        await_child_signal();
    begin(&third, "l3", "sleep 100"); /* began after it */
    await_end(&second);
    assert_true(is_running(daemon));
    await_end(&first);
    assert_false(is_running(daemon));
    assert_true(is_running(third.job.pid));
    await_end(&third);
}

static void a_daemon_without_marks_is_known_by_its_directory(void **state)
{
    (void)state;
    struct run first;
    struct run second;

    begin(&first, "l1", "sleep 100");
    begin(&second, "l2",
          "env -i setsid -f sh -c 'echo $$ > child; exec sleep 100'; "
          "while ! test -s child; do :; done");
    second.job.dir = test_dir;
    await_event(&second, TREE_EXITED);
    pid_t daemon = await_pid("child");

    await_end(&second);
    assert_false(is_running(daemon));
    await_end(&first);
}

static void what_hides_below_a_running_program_ends_with_it(void **state)
{
    (void)state;
    struct run first;
    struct run second;

    begin(&first, "l1", "sleep 100");
    begin(&second, "l2",
          "d=$PWD; cd /; env -i setsid sh -c "
          "'setsid sh -c \"echo \\$\\$ > $0/deep; exec sleep 100\" & wait' \"$d\" & wait");
    pid_t deep = await_pid("deep");

    await_end(&second);
    assert_false(is_running(deep));
    await_end(&first);
}

static void what_ignores_term_is_killed(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1",
          "trap 'echo term >> got' TERM; echo $$ > pid; while :; do sleep 100 & wait; done");
    (void)await_pid("pid");
    tree_signal(tree, &run.job, SIGTERM);
    assert_string_equal(await_text("got"), "term\n");
    tree_reap(tree, told, NULL);
    assert_int_equal(run.events[TREE_EXITED] + run.events[TREE_KILLED], 0);
    await_end(&run);
    assert_int_equal(run.events[TREE_KILLED], 1);
    assert_string_equal(read_text("got"), "term\n");
}

static void a_signal_reaches_all_that_belongs_to_the_job_once(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1",
          "trap 'echo top >> got' TERM; "
          "setsid sh -c 'trap \"echo deep >> got; exit\" TERM; echo $$ > deep; "
          "while :; do sleep 0.05; done' & "
          "while :; do sleep 100 & wait; done");
    pid_t deep = await_pid("deep");

    tree_signal(tree, &run.job, SIGTERM);
    await_gone(deep);
    int64_t until = clock_mono_us() + DEADLINE_US;

    while (strlen(read_text("got")) < strlen("top\ndeep\n") && clock_mono_us() < until)
        await_child_signal();
    assert_non_null(strstr(read_text("got"), "top\n"));
    assert_non_null(strstr(read_text("got"), "deep\n"));
    assert_int_equal(strlen(read_text("got")), strlen("top\ndeep\n"));
    await_end(&run);
}

static void a_program_that_stops_itself_is_told_and_can_be_ended(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", "kill -STOP $$; sleep 100");
    await_event(&run, TREE_STOPPED);
    assert_int_equal(run.status, SIGSTOP);
    kill(run.job.pid, SIGCONT);
    await_event(&run, TREE_CONTINUED);
    kill(run.job.pid, SIGSTOP);
    await_end(&run);
    begin(&run, "l2", "kill -STOP $$");
    await_event(&run, TREE_STOPPED);
    tree_signal(tree, &run.job, SIGTERM); /* heeds it although it is stopped */
    await_event(&run, TREE_KILLED);
    assert_int_equal(run.status, SIGTERM);
    await_end(&run);
}

static void a_program_that_leaves_its_group_is_reached(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1",
          "exec perl -e 'setpgrp(0, getppid()) or setpgrp(0, getpgrp(getppid())); $|=1; "
          "open F, q(>), q(pid); print F qq($$\\n); close F; sleep 100'");
    (void)await_pid("pid");
    tree_signal(tree, &run.job, SIGTERM);
    await_event(&run, TREE_KILLED);
    assert_int_equal(run.status, SIGTERM);
    await_end(&run);
}

static void processes_that_fork_while_they_are_killed_all_end(void **state)
{
    (void)state;
    struct run run;

    /* Each starts another in a session of its own, then stays: 50 in all. */
    begin(&run, "l1",
          "export body='test $1 -lt 50 || exit 0; echo x >> all; "
          "setsid -f sh -c \"$body\" sh $(($1 + 1));exec sleep 100'; sh -c \"$body\" sh 1");
    (void)await_text("all");
    await_end(&run);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* It is never where it was seen: each lives for a moment, in a session of its own. */
static void a_process_that_runs_away_from_its_pid_is_caught(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1",
          "exec perl -MPOSIX -e 'open F, q(>), q(pid); print F qq($$\\n); close F; "
          "exit if fork; for (1 .. 20000) { setsid; exit if fork }'");
    (void)await_pid("pid");
    await_event(&run, TREE_EXITED);
    await_end(&run);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_fork_bomb_in_the_group_ends(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1",
          "i=0; while test $i -lt 50; do (trap '' TERM; sleep 100) & i=$((i + 1)); done; "
          "echo done > all; wait");
    (void)await_text("all");
    await_end(&run);
    assert_int_equal(run.events[TREE_KILLED], 1);
}

static void a_program_that_closes_all_descriptors_is_watched(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", "exec 0<&- 1>&- 2>&- 3>&- 4>&-; exit 3");
    await_event(&run, TREE_EXITED);
    assert_int_equal(run.status, 3);
    await_end(&run);
}

static void children_of_others_are_left_alone(void **state)
{
    (void)state;
    struct run run;
    struct spawned other = start_shell("exec sleep 100", NULL);

    tree_spare(tree, other.pid);
    struct spawned brief = start_shell("exit 5", NULL);

    tree_spare(tree, brief.pid);
    await_gone(brief.pid);
    begin(&run, "l1", "exit 4");
    await_event(&run, TREE_EXITED); /* though one that is not ours to reap has ended before it */
    await_end(&run);
    assert_int_equal(tree_end_all(tree), 0);
    assert_true(is_running(other.pid));
    assert_int_equal(WEXITSTATUS(await_exit(brief.pid)), 5);
    kill(other.pid, SIGKILL);
    (void)await_exit(other.pid);
}

static void all_can_be_ended_at_once(void **state)
{
    (void)state;
    struct run a;
    struct run b;
    int64_t until = clock_mono_us() + DEADLINE_US;

    begin(&a, "l1", "sleep 100");
    begin(&b, "l2", HIDDEN "; sleep 100");
    pid_t daemon = await_pid("child");

    while (tree_end_all(tree) > 0 && clock_mono_us() < until) {
        await_child_signal();
        tree_reap(tree, told, NULL);
    }
    assert_false(is_running(daemon));
    assert_int_equal(a.events[TREE_KILLED] + b.events[TREE_KILLED], 2);
    tree_remove(tree, &a.job);
    tree_remove(tree, &b.job);
}

static void the_usage_is_told(void **state)
{
    (void)state;
    struct run run;

    begin(&run, "l1", "exit 0");
    await_event(&run, TREE_EXITED);
    assert_true(run.usage.ru_maxrss > 0);
    await_end(&run);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_that_exits_is_told_with_its_status),
        TEST(what_is_in_its_group_ends_with_the_program),
        TEST(a_daemon_is_known_by_the_lease),
        TEST(a_daemon_without_marks_ends_with_its_job),
        TEST(a_daemon_without_marks_ends_with_the_last_job_it_may_belong_to),
        TEST(a_daemon_without_marks_is_known_by_its_directory),
        TEST(what_hides_below_a_running_program_ends_with_it),
        TEST(what_ignores_term_is_killed),
        TEST(a_signal_reaches_all_that_belongs_to_the_job_once),
        TEST(a_program_that_stops_itself_is_told_and_can_be_ended),
        TEST(a_program_that_leaves_its_group_is_reached),
        TEST(processes_that_fork_while_they_are_killed_all_end),
        TEST(a_process_that_runs_away_from_its_pid_is_caught),
        TEST(a_fork_bomb_in_the_group_ends),
        TEST(a_program_that_closes_all_descriptors_is_watched),
        TEST(children_of_others_are_left_alone),
        TEST(all_can_be_ended_at_once),
        TEST(the_usage_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
