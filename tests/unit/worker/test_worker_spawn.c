/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/os/fault.h"
#include "process_fixture.h"
#include "testing.h"
#include "worker/process/proc.h"

/* Runs it to its end; what it printed is in the file `out`. */
static const char *output_of(struct spawn *s)
{
    struct spawned started;
    struct err err = ERR_INIT;

    unlink(in_dir("out"));
    close(s->out);
    s->out = open(in_dir("out"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (spawn_start(s, &started, &err) != E_OK)
        fail_msg("%s", err.msg);
    (void)await_exit(started.pid);
    return read_text("out");
}

static const char *output_of_script(const char *script)
{
    struct spawn s = shell(script, NULL);
    const char *text = output_of(&s);

    shell_done(&s);
    return text;
}

/* Tries to start it; the message of the failure. */
static const char *refusal(const struct spawn *s, enum err_code want)
{
    static struct err err;
    struct spawned started;

    err = ERR_INIT;
    assert_int_equal(spawn_start(s, &started, &err), want);
    assert_int_equal(started.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return err.msg;
}

static void a_program_has_its_descriptors_and_no_others(void **state)
{
    (void)state;
    int leak = open("/dev/null", O_RDWR); /* not CLOEXEC on purpose */
    int pipe_fd[2];

    assert_int_equal(pipe(pipe_fd), 0);
    struct spawn s = shell("ls -1 /proc/self/fd", NULL);

    /* `ls` has the directory it reads open as well. */
    assert_string_equal(output_of(&s), "0\n1\n2\n3\n");
    s.words = pipe_fd[1];
    s.replies = pipe_fd[0];
    assert_string_equal(output_of(&s), "0\n1\n2\n3\n4\n5\n");
    shell_done(&s);
    close(leak);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

static void descriptors_do_not_clobber_each_other(void **state)
{
    (void)state;
    int saved[3] = {dup(0), dup(3), dup(4)};
    int in = open(in_dir("in"), O_RDWR | O_CREAT, 0600);
    int words = open(in_dir("words"), O_RDWR | O_CREAT, 0600);
    int replies = open(in_dir("replies"), O_RDWR | O_CREAT, 0600);
    struct spawn s = shell("cat; echo word >&3; cat <&4", NULL);

    assert_int_equal(write(in, "body\n", 5), 5);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(write(replies, "ok\n", 3), 3);
    assert_int_equal(lseek(replies, 0, SEEK_SET), 0);
    /* Each sits where another must go. */
    dup2(in, 4);
    dup2(words, 0);
    dup2(replies, 3);
    s.in = 4;
    s.words = 0;
    s.replies = 3;
    char text[64];

    snprintf(text, sizeof(text), "%s", output_of(&s));
    int targets[3] = {0, 3, 4};

    for (int i = 0; i < 3; i++) {
        if (saved[i] < 0) {
            close(targets[i]);
            continue;
        }
        dup2(saved[i], targets[i]);
        close(saved[i]);
    }
    shell_done(&s);
    assert_string_equal(text, "body\nok\n");
    assert_string_equal(read_text("words"), "word\n");
    close(in);
    close(words);
    close(replies);
}

static void standard_input_is_empty_when_there_is_none(void **state)
{
    (void)state;
    assert_string_equal(output_of_script("readlink /proc/self/fd/0; cat; echo end"),
                        "/dev/null\nend\n");
}

static void a_handler(int sig)
{
    (void)sig;
}

static void a_program_starts_with_default_signals_in_a_group_of_its_own(void **state)
{
    (void)state;
    struct sigaction old;
    struct sigaction action = {.sa_handler = a_handler};

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigaction(SIGUSR1, &action, &old);
    const char *text = output_of_script(
        "grep -E '^Sig(Blk|Ign)' /proc/self/status; "
        "test \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ && echo leader");

    assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nleader\n");
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigaction(SIGUSR1, &old, NULL);
}

static void what_the_caller_blocks_stays_blocked_there(void **state)
{
    (void)state;
    sigset_t now;

    (void)output_of_script("true");
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &now), 0);
    assert_true(sigismember(&now, SIGCHLD));
    assert_false(sigismember(&now, SIGTERM));
}

static void a_program_dies_with_the_worker(void **state)
{
    (void)state;
    pid_t worker = fork();

    assert_true(worker >= 0);
    if (worker == 0) {
        (void)start_shell("echo $$ > pid; while :; do sleep 1; done", NULL);
        for (;;)
            pause();
    }
    pid_t program = await_pid("pid");

    kill(worker, SIGKILL);
    (void)await_exit(worker);
    await_gone(program);
    kill_children();
}

static void limits_are_set(void **state)
{
    (void)state;
    struct spawn s = shell(
        "ulimit -c; ulimit -d; ulimit -t; ulimit -n; ulimit -Hn; nice; umask; pwd", NULL);
    char want[128];
    int own = getpriority(PRIO_PROCESS, 0);

    s.limits = (struct spawn_limits){
        .memory = 256 << 20, .cpu_us = 2500000, .files = 64, .nice = 5};
    s.mask = 027;
    snprintf(want, sizeof(want), "0\n262144\n3\n64\n64\n%d\n0027\n%s\n",
             own + 5 > 19 ? 19 : own + 5, test_dir);
    assert_string_equal(output_of(&s), want);
    s.limits = (struct spawn_limits){.files = 0};
    s.soft_files = 77;
    assert_non_null(strstr(output_of(&s), "\n77\n"));
    shell_done(&s);
}

static void memory_beyond_the_limit_is_not_had(void **state)
{
    (void)state;
    struct spawn s = shell("dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null; echo $?",
                           NULL);

    assert_string_equal(output_of(&s), "0\n");
    s.limits.memory = 32 << 20;
    assert_string_equal(output_of(&s), "1\n");
    shell_done(&s);
}

static void a_program_that_uses_up_its_time_is_told_so(void **state)
{
    (void)state;
    struct spawn s = shell("while :; do :; done", NULL);
    struct spawned started;
    struct err err = ERR_INIT;

    s.limits.cpu_us = 1;
    assert_int_equal(spawn_start(&s, &started, &err), E_OK);
    int status = await_exit(started.pid);

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
    shell_done(&s);
}

static void a_program_runs_as_another_user(void **state)
{
    (void)state;
    struct spawn_user *user = NULL;
    struct err err = ERR_INIT;

    if (geteuid() != 0)
        skip();
    assert_int_equal(spawn_user_find(SLICE("nobody"), &user, &err), E_OK);
    const gid_t extra[] = {4242};
    gid_t old[256];
    int n_old = getgroups(ARRAY_LEN(old), old);

    assert_int_equal(setgroups(1, extra), 0); /* of the worker, not of its programs */
    struct spawn s = shell("id -u; id -g; id -G", NULL);
    char want[64];

    s.user = user;
    snprintf(want, sizeof(want), "%u\n%u\n%u\n", user->uid, user->gid, user->gid);
    assert_string_equal(output_of(&s), want);
    s.dir = in_dir("closed");
    assert_int_equal(mkdir(s.dir, 0700), 0);
    const char *message = refusal(&s, E_FORBIDDEN);

    assert_non_null(strstr(message, "cannot change to directory /tmp/"));
    assert_non_null(strstr(message, "/closed as user nobody: Permission denied"));
    assert_int_equal(setgroups((size_t)n_old, old), 0);
    shell_done(&s);
    spawn_user_free(user);
}

/* Runs programs as a user that nothing else has. */
static struct spawn_user *spare_user(void)
{
    struct spawn_user *user = NULL;
    struct err err = ERR_INIT;

    if (geteuid() != 0)
        skip();
    assert_int_equal(spawn_user_find(SLICE("61235"), &user, &err), E_OK);
    assert_int_equal(chmod(test_dir, 0777), 0);
    return user;
}

static void another_user_s_program_has_its_descriptors_and_no_others(void **state)
{
    (void)state;
    struct spawn_user *user = spare_user();
    struct spawn s = shell("ls -1 /proc/self/fd", NULL);
    int low[3] = {dup(0), dup(0), dup(0)}; /* whatever numbers the pipe gets */

    s.user = user;
    assert_string_equal(output_of(&s), "0\n1\n2\n3\n");
    for (int i = 0; i < 3; i++)
        close(low[i]);
    assert_string_equal(output_of(&s), "0\n1\n2\n3\n");
    shell_done(&s);
    spawn_user_free(user);
}

static void another_user_s_program_that_cannot_start_says_why(void **state)
{
    (void)state;
    struct spawn_user *user = spare_user();
    struct spawn s = shell("true", NULL);

    s.user = user;
    write_text("own", "#!/bin/sh\n", 0700);
    s.path = in_dir("own");
    assert_non_null(strstr(refusal(&s, E_FORBIDDEN), "/own as user 61235: Permission denied"));
    s.path = "/nowhere/x.sh";
    assert_non_null(strstr(refusal(&s, E_NOT_FOUND), "No such file"));
    s.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* fails before descriptors are placed */
    assert_non_null(strstr(refusal(&s, E_INVALID), "cannot enter the cgroup"));
    close(s.cgroup_fd);
    shell_done(&s);
    spawn_user_free(user);
}

static void another_user_s_program_dies_with_the_worker(void **state)
{
    (void)state;
    struct spawn_user *user = spare_user();
    pid_t worker = fork();

    assert_true(worker >= 0);
    if (worker == 0) {
        struct spawn s = shell("echo $$ > pid; while :; do sleep 1; done", NULL);
        struct spawned started;
        struct err err = ERR_INIT;

        s.user = user;
        if (spawn_start(&s, &started, &err) != E_OK)
            _exit(1);
        for (;;)
            pause();
    }
    pid_t program = await_pid("pid");

    kill(worker, SIGKILL);
    (void)await_exit(worker);
    await_gone(program);
    kill_children();
    spawn_user_free(user);
}

static void a_child_that_its_user_stops_goes_on(void **state)
{
    (void)state;
    struct spawn_user *user = spare_user();
    struct spawn s = shell("id -u", NULL);

    s.user = user;
    assert_true(fault_arm("spawn.stopped:1:fail"));
    assert_string_equal(output_of(&s), "61235\n");
    assert_false(fault_hit("spawn.stopped")); /* it was hit before */
    fault_arm(NULL);
    shell_done(&s);
    spawn_user_free(user);
}

static void a_child_that_its_user_stops_for_ever_is_given_up(void **state)
{
    (void)state;
    struct spawn_user *user = spare_user();
    struct spawn s = shell("touch ran", NULL);

    s.user = user;
    assert_true(fault_arm("spawn.hung:1:fail"));
    assert_string_equal(refusal(&s, E_UNAVAILABLE),
                        "cannot start /bin/sh as user 61235: it was not executed within 2 s");
    fault_arm(NULL);
    assert_int_equal(access(in_dir("ran"), F_OK), -1);
    assert_string_equal(output_of(&s), "");
    assert_int_equal(access(in_dir("ran"), F_OK), 0);
    shell_done(&s);
    spawn_user_free(user);
}

static void users_are_found_by_name_or_number(void **state)
{
    (void)state;
    struct spawn_user *user = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(spawn_user_find(SLICE("no-such-user"), &user, &err), E_NOT_FOUND);
    assert_string_equal(err.msg, "user no-such-user: there is no such user here");
    assert_int_equal(spawn_user_find(SLICE(""), &user, &err), E_INVALID);
    if (geteuid() != 0) {
        assert_int_equal(spawn_user_find(SLICE("root"), &user, &err), E_FORBIDDEN);
        assert_string_equal(err.msg,
                            "user root: only a worker that is run by root can change the user");
        return;
    }
    assert_int_equal(spawn_user_find(SLICE("54321"), &user, &err), E_OK);
    assert_int_equal(user->uid, 54321);
    assert_int_equal(user->gid, 54321);
    assert_int_equal(user->n_groups, 0);
    spawn_user_free(user);
}

static void failures_say_what_is_wrong(void **state)
{
    (void)state;
    struct spawn s = shell("true", NULL);
    const char *directory = in_dir("nowhere");

    s.dir = directory;
    assert_non_null(strstr(refusal(&s, E_NOT_FOUND), "cannot change to directory"));
    s.dir = test_dir;
    s.path = "/nowhere/x.sh";
    assert_string_equal(refusal(&s, E_NOT_FOUND),
                        "cannot start /nowhere/x.sh: No such file or directory");
    write_text("text", "just text\n", 0755);
    s.path = in_dir("text");
    assert_non_null(strstr(refusal(&s, E_INVALID), "not a program: does it lack #!?"));
    write_text("lost", "#!/nowhere/perl\n", 0755);
    s.path = in_dir("lost");
    assert_non_null(
        strstr(refusal(&s, E_NOT_FOUND), "its interpreter is not here: #!/nowhere/perl"));
    write_text("windows", "#!/bin/sh\r\n", 0755);
    s.path = in_dir("windows");
    assert_non_null(strstr(refusal(&s, E_NOT_FOUND), "ends with CR"));
    write_text("plain", "#!/bin/sh\n", 0644);
    s.path = in_dir("plain");
    assert_non_null(strstr(refusal(&s, E_FORBIDDEN), "Permission denied"));
    shell_done(&s);
}

static void a_script_still_open_for_writing_is_for_later(void **state)
{
    (void)state;
    struct spawn s = shell("true", NULL);

    write_text("busy", "#!/bin/sh\n", 0755);
    int fd = open(in_dir("busy"), O_WRONLY | O_CLOEXEC);

    s.path = in_dir("busy");
    assert_non_null(strstr(refusal(&s, E_UNAVAILABLE), "Text file busy"));
    close(fd);
    shell_done(&s);
}

static void arguments_of_200_kib_are_told_apart(void **state)
{
    (void)state;
    struct spawn s = shell("true", NULL);
    char *large = mem_alloc((200 << 10) + 1);
    char *argv[] = {s.argv[0], s.argv[1], s.argv[2], large, NULL};

    memset(large, 'x', 200 << 10);
    large[200 << 10] = '\0';
    s.argv = argv;
    assert_non_null(
        strstr(refusal(&s, E_TOO_LARGE), "arguments too large: number 3 has 204800 bytes"));
    argv[3] = NULL;
    char *env[] = {large, NULL};

    s.envp = env;
    assert_non_null(strstr(refusal(&s, E_TOO_LARGE), "arguments too large"));
    free(large);
    shell_done(&s);
}

static void the_record_holds_pid_and_time(void **state)
{
    (void)state;
    struct spawned started = start_shell("sleep 60 & wait", NULL);
    struct proc p;

    assert_true(proc_find(started.pid, &p));
    assert_true(p.start_ticks + 1 >= proc_ticks(started.before_us));
    assert_true(p.start_ticks <= proc_ticks(started.after_us) + 1);
    assert_int_equal(p.group, started.pid);
    kill(-started.pid, SIGKILL);
    kill_children();
}

static void a_program_is_found_beside_its_definition(void **state)
{
    (void)state;
    char *path = NULL;
    struct err err = ERR_INIT;

    write_text("run me.sh", "#!/bin/sh\n", 0755);
    assert_int_equal(spawn_find(SLICE("./run me.sh"), test_dir, "/bin", &path, &err), E_OK);
    assert_string_equal(path, in_dir("run me.sh"));
    free(path);
    assert_int_equal(spawn_find(SLICE("./none.sh"), test_dir, "/bin", &path, &err), E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "cannot start ./none.sh: there is no file /tmp/"));
    assert_int_equal(spawn_find(SLICE("./run me.sh"), NULL, "/bin", &path, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "give the whole path"));
    write_text("plain", "", 0644);
    assert_int_equal(spawn_find(SLICE("./plain"), test_dir, "/bin", &path, &err), E_FORBIDDEN);
    assert_non_null(strstr(err.msg, "not executable"));
    assert_int_equal(spawn_find(SLICE("/tmp"), test_dir, "/bin", &path, &err), E_FORBIDDEN);
    assert_non_null(strstr(err.msg, "is a directory"));
}

static void a_program_is_found_in_the_path(void **state)
{
    (void)state;
    char *path = NULL;
    char dirs[256];
    struct err err = ERR_INIT;

    write_text("sh", "", 0644); /* of that name, but nothing to execute: the next one counts */
    snprintf(dirs, sizeof(dirs), ":relative:%s:/bin", test_dir);
    assert_int_equal(spawn_find(SLICE("sh"), NULL, dirs, &path, &err), E_OK);
    assert_string_equal(path, "/bin/sh");
    free(path);
    assert_int_equal(spawn_find(SLICE("sh"), NULL, test_dir, &path, &err), E_FORBIDDEN);
    write_text("here", "#!/bin/sh\n", 0755); /* where one stands decides nothing */
    int old = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(chdir(test_dir), 0);
    assert_int_equal(spawn_find(SLICE("here"), NULL, ".::/bin", &path, &err), E_NOT_FOUND);
    assert_int_equal(fchdir(old), 0);
    close(old);
    assert_int_equal(spawn_find(SLICE("no-such-program"), NULL, "/bin", &path, &err), E_NOT_FOUND);
    assert_string_equal(err.msg, "no program no-such-program in PATH");
    assert_int_equal(spawn_find(SLICE(""), NULL, "/bin", &path, &err), E_INVALID);
    assert_int_equal(spawn_find(SLICE("a\0b"), NULL, "/bin", &path, &err), E_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, process_setup, process_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_program_has_its_descriptors_and_no_others),
        TEST(descriptors_do_not_clobber_each_other),
        TEST(standard_input_is_empty_when_there_is_none),
        TEST(a_program_starts_with_default_signals_in_a_group_of_its_own),
        TEST(what_the_caller_blocks_stays_blocked_there),
        TEST(a_program_dies_with_the_worker),
        TEST(limits_are_set),
        TEST(memory_beyond_the_limit_is_not_had),
        TEST(a_program_that_uses_up_its_time_is_told_so),
        TEST(a_program_runs_as_another_user),
        TEST(another_user_s_program_has_its_descriptors_and_no_others),
        TEST(another_user_s_program_that_cannot_start_says_why),
        TEST(another_user_s_program_dies_with_the_worker),
        TEST(a_child_that_its_user_stops_goes_on),
        TEST(a_child_that_its_user_stops_for_ever_is_given_up),
        TEST(users_are_found_by_name_or_number),
        TEST(failures_say_what_is_wrong),
        TEST(a_script_still_open_for_writing_is_for_later),
        TEST(arguments_of_200_kib_are_told_apart),
        TEST(the_record_holds_pid_and_time),
        TEST(a_program_is_found_beside_its_definition),
        TEST(a_program_is_found_in_the_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
