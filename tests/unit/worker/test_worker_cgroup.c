/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/clock.h"
#include "process_fixture.h"
#include "testing.h"
#include "worker/process/cgroup.h"

/* A plain directory with the files of a cgroup that matter here. */
static void make_root(const char *controllers, const char *enabled)
{
    assert_int_equal(mkdir(in_dir("cg"), 0755), 0);
    write_text("cg/cgroup.controllers", controllers, 0644);
    write_text("cg/cgroup.subtree_control", enabled, 0644);
}

static struct cgroup *open_root(void)
{
    struct cgroup *c = NULL;
    struct err err = ERR_INIT;

    if (cgroup_open(in_dir("cg"), "w", &c, &err) != E_OK)
        fail_msg("%s", err.msg);
    return c;
}

static void a_job_is_held_to_its_memory(void **state)
{
    (void)state;
    struct cgroup_job job = CGROUP_JOB_INIT;
    struct err err = ERR_INIT;

    make_root("cpuset cpu io memory pids\n", "cpu memory\n");
    struct cgroup *c = open_root();

    assert_int_equal(cgroup_job_open(c, 3, 512 << 20, &job, &err), E_OK);
    assert_string_equal(read_text("cg/waybill-w.3/memory.max"), "536870912\n");
    assert_string_equal(read_text("cg/waybill-w.3/memory.oom.group"), "1\n");
    assert_string_equal(read_text("cg/waybill-w.3/memory.swap.max"), "0\n");
    struct spawn s = shell("true", NULL);
    struct spawned started;

    s.cgroup_fd = job.procs_fd;
    assert_int_equal(spawn_start(&s, &started, &err), E_OK);
    (void)await_exit(started.pid);
    shell_done(&s);
    assert_string_equal(read_text("cg/waybill-w.3/cgroup.procs"), "0\n"); /* entered by itself */
    assert_false(cgroup_job_was_full(c, &job));
    write_text("cg/waybill-w.3/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n", 0644);
    assert_false(cgroup_job_was_full(c, &job));
    write_text("cg/waybill-w.3/memory.events", "oom 1\noom_kill 2\noom_group_kill 1\n", 0644);
    assert_true(cgroup_job_was_full(c, &job));
    cgroup_job_kill(c, &job);
    assert_string_equal(read_text("cg/waybill-w.3/cgroup.kill"), "1\n");
    cgroup_job_close(c, &job);
    assert_int_equal(job.procs_fd, -1);
    assert_int_equal(access(in_dir("cg/waybill-w.3"), F_OK), -1);
    cgroup_job_close(c, &job);
    cgroup_close(c);
}

static void the_controller_is_turned_on(void **state)
{
    (void)state;
    make_root("memory\n", "");
    struct cgroup *c = open_root();

    assert_string_equal(read_text("cg/cgroup.subtree_control"), "+memory\n");
    cgroup_close(c);
}

static void without_the_controller_memory_is_not_limited(void **state)
{
    (void)state;
    struct cgroup *c = NULL;
    struct err err = ERR_INIT;

    make_root("cpu memoryx pids\n", "");
    assert_int_equal(cgroup_open(in_dir("cg"), "w", &c, &err), E_OK);
    assert_false(cgroup_limits_memory(c));
    assert_true(cgroup_is_for_all(c));
    cgroup_close(c);
    assert_int_equal(cgroup_open(in_dir("nowhere"), "w", &c, &err), E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "No such file"));
    cgroup_close(NULL);
}

static void a_job_without_a_limit_has_a_group_too(void **state)
{
    (void)state;
    struct cgroup_job job = CGROUP_JOB_INIT;
    struct err err = ERR_INIT;

    make_root("", "");
    struct cgroup *c = open_root();

    assert_int_equal(cgroup_job_open(c, 0, 0, &job, &err), E_OK);
    assert_false(job.limited);
    assert_int_equal(access(in_dir("cg/waybill-w.0/memory.max"), F_OK), -1);
    cgroup_job_kill(c, &job);
    assert_string_equal(read_text("cg/waybill-w.0/cgroup.kill"), "1\n");
    cgroup_job_close(c, &job);
    assert_int_equal(access(in_dir("cg/waybill-w.0"), F_OK), -1);
    assert_int_equal(access(in_dir("cg/waybill-w.probe"), F_OK), -1);
    cgroup_close(c);
}

static void the_root_may_come_from_the_environment(void **state)
{
    (void)state;
    struct cgroup *c = NULL;
    struct err err = ERR_INIT;

    make_root("memory\n", "memory\n");
    setenv("WAYBILL_CGROUP_ROOT", in_dir("cg"), 1);
    assert_int_equal(cgroup_open(NULL, "a/b", &c, &err), E_OK);
    unsetenv("WAYBILL_CGROUP_ROOT");
    struct cgroup_job job = CGROUP_JOB_INIT;

    assert_int_equal(cgroup_job_open(c, 0, 1 << 20, &job, &err), E_OK);
    assert_int_equal(access(in_dir("cg/waybill-a_b.0"), F_OK), 0);
    cgroup_job_close(c, &job);
    cgroup_close(c);
}

static void groups_of_an_earlier_worker_are_removed(void **state)
{
    (void)state;
    make_root("memory\n", "memory\n");
    assert_int_equal(mkdir(in_dir("cg/waybill-w.0"), 0755), 0);
    write_text("cg/waybill-w.0/memory.max", "1\n", 0644);
    assert_int_equal(mkdir(in_dir("cg/waybill-other.0"), 0755), 0);
    struct cgroup *c = open_root();

    assert_int_equal(access(in_dir("cg/waybill-w.0"), F_OK), -1);
    assert_int_equal(access(in_dir("cg/waybill-other.0"), F_OK), 0);
    cgroup_close(c);
}

static void a_group_that_is_not_empty_is_removed_later(void **state)
{
    (void)state;
    struct cgroup_job job = CGROUP_JOB_INIT;
    struct err err = ERR_INIT;

    make_root("memory\n", "memory\n");
    struct cgroup *c = open_root();

    assert_int_equal(cgroup_job_open(c, 1, 1 << 20, &job, &err), E_OK);
    assert_int_equal(mkdir(in_dir("cg/waybill-w.1/busy"), 0755), 0);
    cgroup_job_close(c, &job);
    assert_int_equal(access(in_dir("cg/waybill-w.1"), F_OK), 0);
    assert_int_equal(cgroup_job_open(c, 2, 1 << 20, &job, &err), E_OK);
    assert_int_equal(rmdir(in_dir("cg/waybill-w.1/busy")), 0);
    cgroup_job_close(c, &job);
    assert_int_equal(access(in_dir("cg/waybill-w.1"), F_OK), -1);
    assert_int_equal(access(in_dir("cg/waybill-w.2"), F_OK), -1);
    cgroup_close(c);
}

static void old_groups_that_do_not_go_share_one_second(void **state)
{
    (void)state;
    enum { GROUPS = 6 };
    char name[64];

    make_root("memory\n", "memory\n");
    for (int i = 0; i < 2 * GROUPS; i++) { /* each group, and then what keeps it */
        snprintf(name, sizeof(name), "cg/waybill-w.%d%s", i / 2, i % 2 == 0 ? "" : "/busy");
        assert_int_equal(mkdir(in_dir(name), 0755), 0);
    }
    int64_t began_at = clock_mono_us();
    struct cgroup *c = open_root();

    assert_true(clock_mono_us() - began_at < GROUPS * US_PER_S);
    for (int i = 0; i < GROUPS; i++) {
        snprintf(name, sizeof(name), "cg/waybill-w.%d/busy", i);
        assert_int_equal(rmdir(in_dir(name)), 0);
    }
    struct cgroup_job job = CGROUP_JOB_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(cgroup_job_open(c, GROUPS, 0, &job, &err), E_OK); /* removes them in passing */
    assert_int_equal(access(in_dir("cg/waybill-w.0"), F_OK), -1);
    assert_int_equal(access(in_dir("cg/waybill-w.5"), F_OK), -1);
    cgroup_job_close(c, &job);
    cgroup_close(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, process_setup, process_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_held_to_its_memory),
        TEST(the_controller_is_turned_on),
        TEST(a_job_without_a_limit_has_a_group_too),
        TEST(without_the_controller_memory_is_not_limited),
        TEST(the_root_may_come_from_the_environment),
        TEST(groups_of_an_earlier_worker_are_removed),
        TEST(a_group_that_is_not_empty_is_removed_later),
        TEST(old_groups_that_do_not_go_share_one_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
