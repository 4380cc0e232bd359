/* SPDX-License-Identifier: MIT */
#include "server/process/worker_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/stat.h>

#include "server/process/server_state.h"

enum { LIFELINE_FD = 3, NAME_MAX_SIZE = 128, ARGS_MAX = 32 };

/* ---- the name ---- */

/* Distinguishes workers of hosts with the same name that share a store: by the data directory,
 * unless it is the default one. */
static struct slice distinction(const struct server *s)
{
    if (s->member.name != NULL)
        return slice_of(s->member.name);
    struct stat x;
    struct stat y;

    return slice_of((s->config->default_data_dir != NULL &&
                     stat(s->config->default_data_dir, &x) == 0 && stat(s->data_dir, &y) == 0 &&
                     x.st_dev == y.st_dev && x.st_ino == y.st_ino)
                        ? ""
                        : s->data_dir);
}

/* HOST-serve, or HOST-serve-XXXX. */
const char *worker_exec_name(struct server *s)
{
    struct slice by = distinction(s);
    char host[HOST_NAME_MAX + 1] = "";
    char name[NAME_MAX_SIZE];
    char mark[8] = "";

    if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
        snprintf(host, sizeof(host), "localhost");
    if (by.size > 0) {
        uint64_t hash = slice_hash(by);

        mark[0] = '-';
        for (int i = 1; i <= 4; i++, hash /= 26)
            mark[i] = (char)('a' + hash % 26);
    }
    snprintf(name, sizeof(name), "%s-serve%s", host, mark);
    return arena_strdup(&s->arena, slice_of(name));
}

/* ---- the process ---- */

/* Variables of the service manager and of the store are not for the child. */
static const char *const private_names[] = {"NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC=",
                                            "WAYBILL_STORE=", "WAYBILL_TOKEN="};

/* Everything the child needs, prepared before the fork: nothing may be allocated between fork
 * and exec. */
struct plan {
    const char *args[ARGS_MAX];
    VEC(char *) env;
    char slots[16];
    char grace[16];
    char lifeline[16];
    struct buf socket;
    const struct birthright *birthright;
    int its_end; /* of the lifeline */
};

static bool is_private(const char *entry)
{
    for (size_t i = 0; i < ARRAY_LEN(private_names); i++)
        if (strncmp(entry, private_names[i], strlen(private_names[i])) == 0)
            return true;
    return false;
}

static void plan_args(struct plan *p, const struct worker_child *w)
{
    const struct server *s = w->server;
    size_t n = 0;

    snprintf(p->slots, sizeof(p->slots), "%d", s->config->slots);
    snprintf(p->grace, sizeof(p->grace), "%ds", WORKER_GRACE_S);
    snprintf(p->lifeline, sizeof(p->lifeline), "%d", LIFELINE_FD);
    p->socket = BUF_INIT((size_t)PATH_MAX + 8);
    buf_addf(&p->socket, "unix:%s", s->socket);
    const char *const words[] = {
        "waybill",     "worker",    "--server", buf_text(&p->socket),
        "--data",      s->data_dir, "--name",   w->name,
        "-j",          p->slots,    "--grace",  p->grace,
        "--parent-fd", p->lifeline,
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        p->args[n++] = words[i];
    for (size_t i = 0; i < s->config->n_worker_options; i++) {
        ASSERT(n + 1 < ARGS_MAX);
        p->args[n++] = s->config->worker_options[i];
    }
    p->args[n] = NULL;
}

/* In the child, which may only make system calls: restores limits, umask and signals. */
static NORETURN void become_worker(const struct plan *p)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &plain, NULL);
    sigemptyset(&none);
    (void)setpgid(0, 0); /* Ctrl-C reaches only us: we stop it */
    (void)umask(p->birthright->umask);
    (void)setrlimit(RLIMIT_NOFILE, &p->birthright->files);
    int null_fd = open("/dev/null", O_RDWR);

    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        dup2(p->its_end, LIFELINE_FD) < 0 || fcntl(LIFELINE_FD, F_SETFD, 0) < 0 ||
        close_range(LIFELINE_FD + 1, ~0U, 0) < 0)
        _exit(126);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execve("/proc/self/exe", (char *const *)(uintptr_t)p->args, p->env.items);
    _exit(127);
}

/* With all signals blocked, so that no handler of ours runs in the child. */
static pid_t fork_quietly(const struct plan *p)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();

    if (pid == 0)
        become_worker(p);
    int cause = errno;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return pid;
}

pid_t worker_exec(const struct worker_child *w, int its_end)
{
    struct plan plan = {.birthright = &w->birthright, .its_end = its_end};

    plan_args(&plan, w);
    for (char **entry = environ; *entry != NULL; entry++)
        if (!is_private(*entry))
            VEC_PUSH(&plan.env, *entry);
    VEC_PUSH(&plan.env, NULL);
    pid_t pid = fork_quietly(&plan);
    int cause = errno;

    VEC_DEINIT(&plan.env);
    buf_deinit(&plan.socket);
    errno = cause;
    return pid;
}
