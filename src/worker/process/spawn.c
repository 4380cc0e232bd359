/* SPDX-License-Identifier: MIT */
#include "worker/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/os/fault.h"

enum {
    STACK_SIZE = 64 << 10,
    FD_REPORT = 5,       /* for the child's report, until the program is executed */
    FD_FIRST_FREE = 6,   /* all descriptors from here on are closed */
    KERNEL_SIGNALS = 64, /* also the number of bits in their mask */
    XCPU_GRACE_S = 5,
    ONE_ARGUMENT_MAX = 128 << 10, /* MAX_ARG_STRLEN, its NUL included */
    START_US = 2 * US_PER_S,      /* for a child of another user to execute its program */
    END_US = US_PER_S,            /* for a killed child to end */
    LOOK_MS = 1,                  /* between two looks at a child */
};

enum stage {
    STAGE_NONE, /* no failure */
    STAGE_GROUP,
    STAGE_CGROUP,
    STAGE_FILES,
    STAGE_LIMITS,
    STAGE_NICE,
    STAGE_USER,
    STAGE_DIR,
    STAGE_PARENT,
    STAGE_EXEC,
};

struct report {
    enum stage stage;
    int error;
};

/*
 * What parent and child share.  A child with the worker's own user runs in the parent's memory, on
 * its own stack, while the parent is suspended: that is fast.  A child that changes its user can be
 * stopped by that user's other programs, and must not suspend the parent: it gets a copy of the
 * memory, and a pipe for its report that is closed when the program is executed.
 *
 * The child calls the kernel directly.  libc's wrappers and the sanitizers keep state about the
 * process (threads to tell of setuid, descriptors, handlers), and in shared memory that is the
 * parent's.
 */
struct child {
    const struct spawn *spawn;
    pid_t parent;
    int report_fd; /* -1: the memory is shared */
    int stops;     /* in tests: how often it stops itself before the program is executed */
    struct report report;
};

#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
/* The sanitizer treats clone as a fork, after which both sides would reset its locks. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

IN_CHILD static int failed(struct child *c, enum stage stage)
{
    c->report = (struct report){.stage = stage, .error = errno};
    return -1;
}

/* Handlers are reset before the mask: none of the parent's handlers may run here. */
IN_CHILD static void default_handlers(void)
{
    const uint64_t action[8] = {0}; /* the kernel's struct: SIG_DFL is 0, no flags, no mask */

    for (int sig = 1; sig <= KERNEL_SIGNALS; sig++)
        syscall(SYS_rt_sigaction, sig, action, NULL, KERNEL_SIGNALS / 8);
}

/* Moves a descriptor above the numbers that are about to be assigned. */
IN_CHILD static int out_of_the_way(int fd)
{
    if (fd < 0 || fd >= FD_FIRST_FREE)
        return fd;
    return (int)syscall(SYS_fcntl, fd, F_DUPFD, FD_FIRST_FREE);
}

IN_CHILD static int place(int fd, int target)
{
    if (fd >= 0)
        return syscall(SYS_dup3, fd, target, 0) < 0 ? -1 : 0;
    syscall(SYS_close, target);
    if (target > STDERR_FILENO)
        return 0;
    fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    if (fd < 0 || fd == target)
        return fd < 0 ? -1 : 0;
    return syscall(SYS_dup3, fd, target, 0) < 0 ? -1 : 0;
}

IN_CHILD static void close_others(void)
{
    struct rlimit64 limit;

    if (syscall(SYS_close_range, FD_FIRST_FREE, ~0U, 0) == 0)
        return;
    if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0 || limit.rlim_cur > 1 << 20)
        limit.rlim_cur = 1 << 20;
    for (int fd = FD_FIRST_FREE; fd < (int)limit.rlim_cur; fd++)
        syscall(SYS_close, fd);
}

IN_CHILD static int place_report(struct child *c)
{
    if (c->report_fd < 0) {
        syscall(SYS_close, FD_REPORT);
        return 0;
    }
    if (syscall(SYS_dup3, c->report_fd, FD_REPORT, O_CLOEXEC) < 0)
        return -1;
    c->report_fd = FD_REPORT;
    return 0;
}

IN_CHILD static int set_files(struct child *c)
{
    const struct spawn *s = c->spawn;
    int given[] = {s->in, s->out, s->words, s->replies, s->errors_apart ? s->errors : -1};

    for (int i = 0; i < (int)ARRAY_LEN(given); i++) {
        int fd = out_of_the_way(given[i]);

        if (fd < 0 && given[i] >= 0)
            return failed(c, STAGE_FILES);
        given[i] = fd;
    }
    if (c->report_fd >= 0 && (c->report_fd = out_of_the_way(c->report_fd)) < 0)
        return failed(c, STAGE_FILES);
    if (place(given[0], 0) < 0 || place(given[1], 1) < 0 ||
        place(s->errors_apart ? given[4] : given[1], 2) < 0 || place(given[2], 3) < 0 ||
        place(given[3], 4) < 0 || place_report(c) < 0)
        return failed(c, STAGE_FILES);
    close_others();
    return 0;
}

/* Never raises the present limit: a queue's limit is a maximum. */
IN_CHILD static int set_limit(struct child *c, int which, uint64_t soft, uint64_t hard)
{
    struct rlimit64 old;

    if (syscall(SYS_prlimit64, 0, which, NULL, &old) < 0)
        return failed(c, STAGE_LIMITS);
    struct rlimit64 new = {
        .rlim_cur = soft < old.rlim_max ? soft : old.rlim_max,
        .rlim_max = hard < old.rlim_max ? hard : old.rlim_max,
    };

    return syscall(SYS_prlimit64, 0, which, &new, NULL) < 0 ? failed(c, STAGE_LIMITS) : 0;
}

IN_CHILD static int set_limits(struct child *c)
{
    const struct spawn_limits *l = &c->spawn->limits;
    uint64_t memory = (uint64_t)l->memory;
    uint64_t files = (uint64_t)l->files;
    uint64_t seconds = (uint64_t)((l->cpu_us + US_PER_S - 1) / US_PER_S);

    if (set_limit(c, RLIMIT_CORE, 0, RLIM64_INFINITY) < 0)
        return -1;
    if (memory > 0 && set_limit(c, RLIMIT_DATA, memory, memory) < 0)
        return -1;
    if (seconds > 0 && set_limit(c, RLIMIT_CPU, seconds, seconds + XCPU_GRACE_S) < 0)
        return -1;
    if (files > 0)
        return set_limit(c, RLIMIT_NOFILE, files, files);
    if (c->spawn->soft_files > 0)
        return set_limit(c, RLIMIT_NOFILE, (uint64_t)c->spawn->soft_files, RLIM64_INFINITY);
    return 0;
}

IN_CHILD static int set_nice(struct child *c)
{
    if (c->spawn->limits.nice == 0)
        return 0;
    long value = 20 - syscall(SYS_getpriority, PRIO_PROCESS, 0) + c->spawn->limits.nice;

    value = value > 19 ? 19 : value;
    value = value < -20 ? -20 : value;
    return syscall(SYS_setpriority, PRIO_PROCESS, 0, value) < 0 ? failed(c, STAGE_NICE) : 0;
}

IN_CHILD static bool changes_user(const struct spawn *s)
{
    return s->user != NULL && !s->user->same;
}

/* The user's rights, but not yet the user's process: real and saved ids decide who may signal
 * it. */
IN_CHILD static int take_rights(struct child *c)
{
    const struct spawn_user *u = c->spawn->user;

    if (!changes_user(c->spawn))
        return 0;
    if (syscall(SYS_setgroups, u->n_groups, u->groups) < 0 ||
        syscall(SYS_setresgid, u->gid, u->gid, u->gid) < 0 ||
        syscall(SYS_setresuid, -1, u->uid, -1) < 0)
        return failed(c, STAGE_USER);
    return 0;
}

/* From here on that user's programs can signal it, so this is the last step before the program. */
IN_CHILD static int set_user(struct child *c)
{
    const struct spawn_user *u = c->spawn->user;

    if (!changes_user(c->spawn))
        return 0;
    if (syscall(SYS_setresuid, u->uid, u->uid, u->uid) < 0)
        return failed(c, STAGE_USER);
    for (int i = 0; i < c->stops; i++)
        syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
    return 0;
}

/* After the change of rights, which resets it.  The parent may have died before. */
IN_CHILD static int die_with_parent(struct child *c)
{
    if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return failed(c, STAGE_PARENT);
    if (syscall(SYS_getppid) != c->parent)
        syscall(SYS_exit_group, 127);
    return 0;
}

IN_CHILD static int become(struct child *c)
{
    const struct spawn *s = c->spawn;
    const uint64_t no_signal[2] = {0};

    default_handlers();
    if (syscall(SYS_setpgid, 0, 0) < 0)
        return failed(c, STAGE_GROUP);
    if (s->cgroup_fd >= 0 && syscall(SYS_write, s->cgroup_fd, "0\n", 2) < 0)
        return failed(c, STAGE_CGROUP);
    if (set_files(c) < 0 || set_limits(c) < 0 || set_nice(c) < 0 || take_rights(c) < 0)
        return -1;
    if (syscall(SYS_chdir, s->dir) < 0)
        return failed(c, STAGE_DIR);
    syscall(SYS_umask, s->mask);
    if (die_with_parent(c) < 0)
        return -1;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signal, NULL, KERNEL_SIGNALS / 8);
    if (set_user(c) < 0)
        return -1;
    syscall(SYS_execve, s->path, s->argv, s->envp);
    return failed(c, STAGE_EXEC);
}

IN_CHILD static int child_main(void *arg)
{
    struct child *c = arg;

    if (become(c) < 0 && c->report_fd >= 0)
        syscall(SYS_write, c->report_fd, &c->report, sizeof(c->report));
    syscall(SYS_exit_group, 127);
    return 127;
}

static void *child_stack(void)
{
    static char *stack; /* used by one child at a time, while its parent waits */

    if (stack == NULL) {
        stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        ASSERT(stack != MAP_FAILED);
    }
    return stack + STACK_SIZE;
}

static enum err_code code_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR: return E_NOT_FOUND;
    case EACCES:
    case EPERM: return E_FORBIDDEN;
    case E2BIG: return E_TOO_LARGE;
    case EAGAIN:
    case ENOMEM:
    case ENFILE:
    case EMFILE:
    case ETXTBSY:
    case EIO: return E_UNAVAILABLE;
    default: return E_INVALID;
    }
}

static enum err_code too_large(const struct spawn *s, struct err *err)
{
    size_t all = 0;

    for (int i = 0; s->argv[i] != NULL; i++) {
        size_t size = strlen(s->argv[i]) + 1;

        if (size > ONE_ARGUMENT_MAX)
            return err_set(err, E_TOO_LARGE,
                           "cannot start %s: arguments too large: number %d has %zu bytes, the "
                           "system takes %d",
                           s->path, i, size - 1, ONE_ARGUMENT_MAX - 1);
        all += size;
    }
    for (int i = 0; s->envp[i] != NULL; i++)
        all += strlen(s->envp[i]) + 1;
    return err_set(err, E_TOO_LARGE,
                   "cannot start %s: arguments too large: with the environment they are %zu bytes",
                   s->path, all);
}

/* The file exists, so its interpreter or loader does not. */
static enum err_code no_interpreter(const struct spawn *s, struct err *err)
{
    char line[128];
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "#!", 2) != 0)
        return err_set(err, E_NOT_FOUND, "cannot start %s: the loader it needs is not here",
                       s->path);
    char *end = line + strcspn(line, "\r");
    bool windows = *end == '\r';

    *end = '\0';
    return err_set(err, E_NOT_FOUND, "cannot start %s: its interpreter is not here: %s%s", s->path,
                   line, windows ? " (the the line ends with CR)" : "");
}

static enum err_code exec_refused(const struct spawn *s, int error, struct err *err)
{
    struct stat st;

    errno = error;
    switch (error) {
    case E2BIG: return too_large(s, err);
    case ENOEXEC:
        return err_set(err, E_INVALID, "cannot start %s: not a program: does it lack #!?", s->path);
    case ENOENT:
        if (stat(s->path, &st) == 0)
            return no_interpreter(s, err);
        errno = error;
        break;
    default: break;
    }
    if (s->user != NULL && code_of(error) == E_FORBIDDEN)
        return err_errno(err, E_FORBIDDEN, "cannot start %s as user %s", s->path, s->user->name);
    return err_errno(err, code_of(error), "cannot start %s", s->path);
}

static enum err_code refused(const struct child *c, struct err *err)
{
    const struct spawn *s = c->spawn;
    enum err_code code = code_of(c->report.error);

    errno = c->report.error;
    switch (c->report.stage) {
    case STAGE_NONE:
    case STAGE_PARENT:
    case STAGE_GROUP:
        return err_errno(err, E_INTERNAL, "cannot prepare the process of %s", s->path);
    case STAGE_CGROUP: return err_errno(err, code, "cannot enter the cgroup of the job");
    case STAGE_FILES: return err_errno(err, code, "cannot give %s its descriptors", s->path);
    case STAGE_LIMITS: return err_errno(err, code, "cannot set the limits");
    case STAGE_NICE: return err_errno(err, code, "nice %d", (int)s->limits.nice);
    case STAGE_USER: return err_errno(err, code, "user %s", s->user->name);
    case STAGE_DIR:
        return err_errno(err, code, "cannot change to directory %s%s%s", s->dir,
                         s->user != NULL ? " as user " : "", s->user != NULL ? s->user->name : "");
    case STAGE_EXEC: return exec_refused(s, c->report.error, err);
    }
    return err_set(err, E_INTERNAL, "cannot start %s", s->path);
}

/* ---- the parent's side ---- */

/* Writes the pid as soon as it exists; -1 with errno. */
static pid_t make_child(struct child *c, int flags, struct spawned *started)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    pid_t pid = clone(child_main, child_stack(), flags | CLONE_PARENT_SETTID | SIGCHLD, c,
                      &started->pid);
    int error = errno;

    ASSERT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    /* Written again: the kernel could not, if the page of the record was missing. */
    started->pid = pid < 0 ? 0 : pid;
    errno = error;
    return pid;
}

/* A child that does not die at once is blocked in a file system.  It is reaped later like any
 * other child; its program will not be executed. */
static void end_child(pid_t pid)
{
    int64_t until_at = clock_mono_us() + END_US;

    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, WNOHANG) == 0 && clock_mono_us() < until_at)
        (void)poll(NULL, 0, LOOK_MS);
}

/* Waits until the program is executed or has failed; false: its time is over. */
static bool await_report(int fd, pid_t pid, struct report *ret_report)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until_at = clock_mono_us() + START_US;
    struct report report;

    while (poll(&p, 1, LOOK_MS) <= 0) {
        if (clock_mono_us() >= until_at)
            return false;
        /* Continues a child that others have stopped. */
        siginfo_t info = {.si_pid = 0};

        if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid)
            (void)kill(pid, SIGCONT);
    }
    if (read(fd, &report, sizeof(report)) == (ssize_t)sizeof(report))
        *ret_report = report;
    return true;
}

/* Starts a child that shares only a pipe. */
static enum err_code start_apart(struct child *c, struct spawned *started, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot make a pipe for %s", c->spawn->path);
    c->report_fd = fds[1];
    c->stops = fault_hit("spawn.stopped") ? 1 : fault_hit("spawn.hung") ? INT_MAX : 0;
    pid_t pid = make_child(c, 0, started);
    int error = errno;

    close(fds[1]);
    bool in_time = pid < 0 || await_report(fds[0], pid, &c->report);

    close(fds[0]);
    errno = error;
    if (pid < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot make a process for %s", c->spawn->path);
    if (!in_time)
        return err_set(err, E_UNAVAILABLE,
                       "cannot start %s as user %s: it was not executed within %d s",
                       c->spawn->path, c->spawn->user->name, (int)(START_US / US_PER_S));
    return E_OK;
}

enum err_code spawn_start(const struct spawn *s, struct spawned *started, struct err *err)
{
    struct child c = {.spawn = s, .parent = getpid(), .report_fd = -1};

    started->pid = 0;
    started->after_us = 0;
    started->before_us = clock_boot_us();
    enum err_code code = E_OK;

    if (changes_user(s))
        code = start_apart(&c, started, err);
    else if (make_child(&c, CLONE_VM | CLONE_VFORK, started) < 0)
        code = err_errno(err, E_UNAVAILABLE, "cannot make a process for %s", s->path);
    started->after_us = clock_boot_us();
    if (code == E_OK && c.report.stage == STAGE_NONE)
        return E_OK;
    if (started->pid > 0)
        end_child(started->pid);
    started->pid = 0;
    return code == E_OK ? refused(&c, err) : code;
}
