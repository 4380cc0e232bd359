/* SPDX-License-Identifier: MIT */
#include "process_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "testing.h"
#include "worker/process/empty_dir.h"
#include "worker/process/proc.h"

char test_dir[64];

int process_setup(void **state)
{
    sigset_t set;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    snprintf(test_dir, sizeof(test_dir), "/tmp/waybill-unit-XXXXXX");
    return mkdtemp(test_dir) == NULL || chmod(test_dir, 0711) < 0 ? -1 : 0;
}

int process_teardown(void **state)
{
    bool left = waitpid(-1, NULL, WNOHANG) != -1;
    unsigned budget = 1u << 20;
    int fd = open(test_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    kill_children();
    if (fd >= 0) {
        (void)empty_dir(fd, &budget);
        close(fd);
    }
    if (left)
        fprintf(stderr, "the test has left a child\n");
    return rmdir(test_dir) < 0 || left ? -1 : 0;
}

const char *in_dir(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", test_dir, name);
    return path;
}

void write_text(const char *name, const char *text, mode_t mode)
{
    int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

const char *read_text(const char *name)
{
    static char text[16 << 10];
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

struct spawn shell(const char *script, char *const *env)
{
    static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    static char *plain[] = {path, NULL};
    static char name[] = "sh";
    static char option[] = "-c";
    static char *argvs[8][4];
    static unsigned next;
    char **argv = argvs[next++ % ARRAY_LEN(argvs)];

    argv[0] = name;
    argv[1] = option;
    argv[2] = (char *)(uintptr_t)script; /* exec does not write */
    return (struct spawn){
        .path = "/bin/sh",
        .argv = argv,
        .envp = env != NULL ? env : plain,
        .dir = test_dir,
        .in = -1,
        .out = open(in_dir("out"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644),
        .words = -1,
        .replies = -1,
        .cgroup_fd = -1,
        .mask = 022,
    };
}

void shell_done(struct spawn *s)
{
    close(s->out);
}

struct spawned start_shell(const char *script, char *const *env)
{
    struct spawn s = shell(script, env);
    struct spawned started;
    struct err err = ERR_INIT;

    if (spawn_start(&s, &started, &err) != E_OK)
        fail_msg("%s", err.msg);
    shell_done(&s);
    return started;
}

void await_child_signal(void)
{
    const struct timespec a_moment = {.tv_nsec = 5000000};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    (void)sigtimedwait(&set, NULL, &a_moment);
}

const char *await_text(const char *name)
{
    int64_t until = clock_mono_us() + DEADLINE_US;

    for (;;) {
        const char *text = read_text(name);
        size_t size = strlen(text);

        if (size > 0 && text[size - 1] == '\n')
            return text;
        if (clock_mono_us() > until)
            fail_msg("%s has not come", name);
        await_child_signal();
    }
}

pid_t await_pid(const char *name)
{
    return (pid_t)strtol(await_text(name), NULL, 10);
}

bool is_running(pid_t pid)
{
    struct proc p;

    return proc_find(pid, &p) && p.state != 'Z' && p.state != 'X';
}

void await_gone(pid_t pid)
{
    int64_t until = clock_mono_us() + DEADLINE_US;

    while (is_running(pid)) {
        if (clock_mono_us() > until)
            fail_msg("process %d does not end", (int)pid);
        await_child_signal();
    }
}

int await_exit(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

void kill_children(void)
{
    int64_t until = clock_mono_us() + DEADLINE_US;

    while (waitpid(-1, NULL, WNOHANG) != -1 && clock_mono_us() < until) {
        CLEANUP(pid_list) struct pid_list children = {VEC_INIT};

        proc_children(getpid(), &children);
        for (size_t i = 0; i < children.all.count; i++)
            kill(children.all.items[i], SIGKILL);
        await_child_signal();
    }
}
