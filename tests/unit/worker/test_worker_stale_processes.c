/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

#include "process_fixture.h"
#include "testing.h"
#include "worker/process/stale_processes.h"

/* The same test may run beside itself: ids and leases are its own. */
static char job_text[16];
static char leases[3][16];
static char url_text[64];

#define LEASE leases[0]
#define NEXT_LEASE leases[1]
#define LAST_LEASE leases[2]
#define URL url_text

static struct slots *slots;

static void name_job(unsigned number)
{
    snprintf(job_text, sizeof(job_text), "01JOB%08x", number);
    for (int i = 0; i < 3; i++)
        snprintf(leases[i], sizeof(leases[i]), "01L%u%09x", (unsigned)i % 10, number);
    snprintf(url_text, sizeof(url_text), "http://127.0.0.1:1/v1/jobs/%s", job_text);
}

static void open_slots(const char *name, struct slots **ret_slots)
{
    struct err err = ERR_INIT;
    char path[64];

    snprintf(path, sizeof(path), "workers/%s", name);
    if (slots_open(in_dir(path), 2, ret_slots, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static int setup(void **state)
{
    if (process_setup(state) != 0)
        return -1;
    name_job((unsigned)getpid());
    open_slots("w", &slots);
    return 0;
}

static int teardown(void **state)
{
    slots_close(slots);
    slots = NULL;
    kill_children();
    return process_teardown(state);
}

/* The environment of a program of the job; `url` may be NULL. */
static char *const *marks(const char *lease, const char *url)
{
    static char texts[4][128];
    static char *env[5];

    snprintf(texts[0], sizeof(texts[0]), "PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    snprintf(texts[1], sizeof(texts[1]), "WAYBILL_ID=%s", job_text);
    snprintf(texts[2], sizeof(texts[2]), "WAYBILL_LEASE=%s", lease);
    snprintf(texts[3], sizeof(texts[3]), "WAYBILL_JOB_URL=%s", url == NULL ? "" : url);
    for (int i = 0; i < 4; i++)
        env[i] = texts[i];
    if (url == NULL)
        env[3] = NULL;
    return env;
}

static char *const *with_job_file(const char *name)
{
    static char file[128];
    static char *env[5];
    char *const *marked = marks(LEASE, NULL);

    snprintf(file, sizeof(file), "WAYBILL_JOB_FILE=%s", in_dir(name));
    for (int i = 0; i < 3; i++)
        env[i] = marked[i];
    env[3] = file;
    return env;
}

/* Starts a script in a slot as a worker does. */
static struct slot *start_in(struct slots *s, const char *script, char *const *env)
{
    const struct slot_job job = {.id = slice_of(job_text),
                                 .lease = slice_of(LEASE),
                                 .json = SLICE("{}")};
    struct slot *slot = slot_take(s);
    struct spawn program = shell(script, env);
    struct err err = ERR_INIT;

    if (slot_prepare(s, slot, &job, &err) != E_OK ||
        spawn_start(&program, &slot->record->process, &err) != E_OK)
        fail_msg("%s", err.msg);
    shell_done(&program);
    return slot;
}

/* A new worker takes the place of the one that is gone. */
static struct stale_result next_worker(void)
{
    slots_close(slots);
    open_slots("w", &slots);
    return stale_processes_kill(slots, DEADLINE_US);
}

static struct stale_result end_job(const char *url)
{
    const struct stale_job job = {.id = slice_of(job_text),
                                  .lease = slice_of(NEXT_LEASE),
                                  .url = slice_of(url)};

    return stale_processes_kill_job(slots, &job, DEADLINE_US);
}

static void a_recorded_program_is_ended(void **state)
{
    (void)state;
    char *none[] = {NULL};
    pid_t pid = start_in(slots, "exec sleep 100", none)->record->process.pid;
    struct stale_result done = next_worker();

    assert_int_equal(done.ended, 1);
    assert_int_equal(done.stay, 0);
    assert_false(is_running(pid));
    assert_int_equal(process_registry_at(slots_registry(slots), 0)->process.pid,
                     0); /* and forgotten */
}

static void a_stopped_one_too(void **state)
{
    (void)state;
    pid_t pid = start_in(slots, "kill -STOP $$; sleep 100", NULL)->record->process.pid;
    int status;

    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_int_equal(next_worker().ended, 1);
    assert_false(is_running(pid));
}

static void a_pid_that_was_given_to_another_is_left_alone(void **state)
{
    (void)state;
    struct slot *slot = start_in(slots, "exec sleep 100", NULL);
    pid_t pid = slot->record->process.pid;

    slot->record->process.before_us -= 60 * 1000000;
    slot->record->process.after_us -= 60 * 1000000;
    struct stale_result done = next_worker();

    assert_int_equal(done.ended + done.stay, 0);
    assert_true(is_running(pid));
}

static void a_start_that_was_not_seen_to_its_end_is_believed_for_some_seconds(void **state)
{
    (void)state;
    struct slot *slot = start_in(slots, "exec sleep 100", NULL);
    struct slot *old = start_in(slots, "exec sleep 100", NULL);
    pid_t pids[2] = {slot->record->process.pid, old->record->process.pid};

    slot->record->process.after_us = 0;
    old->record->process.after_us = 0;
    old->record->process.before_us -= 60 * 1000000;
    assert_int_equal(next_worker().ended, 1);
    assert_false(is_running(pids[0]));
    assert_true(is_running(pids[1]));
}

static void records_of_another_boot_are_not_believed(void **state)
{
    (void)state;
    struct slot *slot = start_in(slots, "exec sleep 100", NULL);
    pid_t pid = slot->record->process.pid;

    snprintf(slot->record->boot, sizeof(slot->record->boot), "another");
    assert_int_equal(next_worker().ended, 0);
    assert_true(is_running(pid));
}

static void a_daemon_of_a_killed_worker_is_ended(void **state)
{
    (void)state;
    slots_close(slots);
    slots = NULL;
    pid_t worker = fork();

    assert_true(worker >= 0);
    if (worker == 0) {
        open_slots("w", &slots);
        (void)start_in(
            slots,
            "setsid -f sh -c 'echo $$ > daemon; trap \"\" TERM; while :; do sleep 1; done'; "
            "sleep 100",
            with_job_file("workers/w/slots/0/job.json"));
        for (;;)
            pause();
    }
    pid_t daemon = await_pid("daemon");

    kill(worker, SIGKILL);
    (void)await_exit(worker);
    assert_true(is_running(daemon));
    open_slots("w", &slots);
    struct stale_result done = stale_processes_kill(slots, DEADLINE_US);

    assert_true(done.ended >= 1);
    assert_int_equal(done.stay, 0);
    assert_false(is_running(daemon));
}

static void what_is_in_the_group_of_a_dead_program_is_ended(void **state)
{
    (void)state;
    pid_t pid =
        start_in(
            slots,
            "env -i sh -c 'echo $$ > child; exec sleep 100' & while ! test -s child; do :; done",
            NULL)
            ->record->process.pid;
    (void)await_exit(pid);
    pid_t child = await_pid("child");

    assert_true(is_running(child));
    assert_int_equal(next_worker().ended, 1);
    assert_false(is_running(child));
}

static void what_is_below_a_recorded_program_is_ended(void **state)
{
    (void)state;
    (void)start_in(slots, "env -i setsid sh -c 'echo $$ > child; exec sleep 100' & wait", NULL);
    pid_t child = await_pid("child");

    assert_true(next_worker().ended >= 2);
    assert_false(is_running(child));
}

static void another_worker_s_processes_are_left_alone_at_the_start(void **state)
{
    (void)state;
    struct slots *other = NULL;

    open_slots("other", &other);
    pid_t pid = start_in(other, "exec sleep 100", marks(LEASE, URL))->record->process.pid;

    assert_int_equal(next_worker().ended, 0);
    assert_true(is_running(pid));
    slots_close(other);
}

static void a_job_that_runs_again_is_ended_wherever_it_runs(void **state)
{
    (void)state;
    struct slots *other = NULL;
    char *none[] = {NULL};

    open_slots("other", &other);
    pid_t recorded = start_in(other, "exec sleep 100", none)->record->process.pid;
    pid_t marked = start_shell("kill -STOP $$; sleep 100", marks(LEASE, URL)).pid;
    pid_t elsewhere = start_shell("exec sleep 100", marks(LEASE, "http://127.0.0.1:2/x")).pid;
    pid_t present = start_shell("exec sleep 100", marks(NEXT_LEASE, URL)).pid;
    pid_t later = start_shell("exec sleep 100", marks(LAST_LEASE, URL)).pid;
    struct stale_result done = end_job(URL);

    assert_int_equal(done.ended, 2);
    assert_int_equal(done.stay, 0);
    assert_false(is_running(recorded));
    assert_false(is_running(marked));
    assert_true(is_running(elsewhere)); /* the same id in another store */
    assert_true(is_running(present));
    assert_true(is_running(later)); /* not ours to end: we are the stale one */
    slots_close(other);
}

static void a_job_file_beside_ours_marks_a_job_too(void **state)
{
    (void)state;
    char *const *env = with_job_file("workers/gone/slots/0/job.json");
    pid_t pid = start_shell("exec sleep 100", env).pid;

    assert_int_equal(end_job("").ended, 1);
    assert_false(is_running(pid));
}

static void a_job_file_in_the_state_marks_a_leftover(void **state)
{
    (void)state;
    pid_t ours = start_shell("exec sleep 100", with_job_file("workers/w/slots/7/job.json")).pid;
    pid_t other = start_shell("exec sleep 100", with_job_file("workers/w2/slots/7/job.json")).pid;

    assert_int_equal(next_worker().ended, 1);
    assert_false(is_running(ours));
    assert_true(is_running(other));
}

static void a_daemon_of_a_resident_program_is_ended(void **state)
{
    (void)state;
    char *const *env = marks(LEASE, NULL);
    char *without_id[] = {env[0], env[2], NULL};
    struct slot *slot = start_in(slots,
                                 "setsid -f sh -c 'echo $$ > daemon; exec sleep 100'; "
                                 "while ! test -s daemon; do :; done",
                                 without_id);

    (void)await_exit(slot->record->process.pid);
    process_record_change(slot->record, slice_of("another"), slice_of(NEXT_LEASE));
    pid_t daemon = await_pid("daemon");

    assert_int_equal(next_worker().ended, 1);
    assert_false(is_running(daemon));
}

static void the_worker_and_its_ancestors_are_spared(void **state)
{
    (void)state;
    pid_t worker = fork();

    assert_true(worker >= 0);
    if (worker == 0) {
        /* A worker that was itself started by a program of the job: the mark is in its
         * environment. */
        char number[24];
        char *argv[] = {number, test_dir, NULL};

        snprintf(number, sizeof(number), "%ld", (long)getppid());

        execve("/proc/self/exe", argv, marks(LEASE, URL));
        _exit(9);
    }
    assert_int_equal(await_exit(worker), 0);
}

static int inner(const char *number, const char *dir)
{
    name_job((unsigned)strtol(number, NULL, 10));
    snprintf(test_dir, sizeof(test_dir), "%s", dir);
    open_slots("inner", &slots);
    struct stale_result done = end_job(URL);

    slots_close(slots);
    return done.ended == 0 && done.stay == 0 ? 0 : 1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_recorded_program_is_ended),
        TEST(a_stopped_one_too),
        TEST(a_pid_that_was_given_to_another_is_left_alone),
        TEST(a_start_that_was_not_seen_to_its_end_is_believed_for_some_seconds),
        TEST(records_of_another_boot_are_not_believed),
        TEST(a_daemon_of_a_killed_worker_is_ended),
        TEST(what_is_in_the_group_of_a_dead_program_is_ended),
        TEST(what_is_below_a_recorded_program_is_ended),
        TEST(another_worker_s_processes_are_left_alone_at_the_start),
        TEST(a_job_that_runs_again_is_ended_wherever_it_runs),
        TEST(a_job_file_beside_ours_marks_a_job_too),
        TEST(a_job_file_in_the_state_marks_a_leftover),
        TEST(a_daemon_of_a_resident_program_is_ended),
        TEST(the_worker_and_its_ancestors_are_spared),
    };

    if (argc == 2)
        return inner(argv[0], argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
