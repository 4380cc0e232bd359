/* SPDX-License-Identifier: MIT */
#include "cli/request/bench_server.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"

#define PATH_SIZE 4096

enum err_code bench_check_disk(const char *dir, struct err *err)
{
    struct statfs fs;

    if (statfs(dir, &fs) < 0)
        return err_errno(err, E_INVALID, "--dir %s", dir);
    if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
        return err_set(err, E_INVALID,
                       "%s is in memory, where nothing is durable: name a directory on a disk with "
                       "--dir",
                       dir);
    return E_OK;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* In the server's process: becomes `waybill serve`. */
static NORETURN void become_server(const char *data_dir, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out, STDOUT_FILENO);
    unsetenv("WAYBILL_STORE"); /* the store that is measured is in the directory that was named */
    execl("/proc/self/exe", "waybill", "serve", "--data", data_dir, "--listen", "127.0.0.1:0", "-j",
          "0", "--log-level", "warn", (char *)NULL);
    fprintf(stderr, "waybill: cannot start the server: %s\n", strerror(errno));
    _exit(CLI_NO_SERVER);
}

/* Reads `ready URL UNIX-URL` up to its line end. */
static bool read_ready(int from, char *line, size_t size)
{
    size_t used = 0;

    while (used + 1 < size && memchr(line, '\n', used) == NULL) {
        ssize_t n = read(from, line + used, size - 1 - used);

        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n > 0)
            used += (size_t)n;
    }
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strncmp(line, "ready ", 6) == 0;
}

/* In the measuring process: starts the server, measures, ends the server with itself. */
static int measure_in_child(const char *dir, bench_fn *measure, void *ctx)
{
    char line[PATH_SIZE * 2] = "";
    char *rest = line;
    int out[2];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pipe2(out, O_CLOEXEC) < 0)
        return CLI_FAILED;
    fflush(NULL);
    pid_t server = fork();

    if (server == 0)
        become_server(dir, out[1]);
    close(out[1]);
    if (server < 0 || !read_ready(out[0], line, sizeof(line))) {
        fprintf(stderr, "waybill: the server for the measurement does not start\n");
        return CLI_NO_SERVER;
    }
    (void)strsep(&rest, " ");
    const char *url = strsep(&rest, " ");
    int status = url != NULL && rest != NULL ? measure(ctx, url, rest) : CLI_FAILED;

    kill(server, SIGTERM);
    waitpid(server, NULL, 0);
    return status;
}

/* Waits for the child; a signal to us ends it first. */
static int wait_for(pid_t child, const sigset_t *signals)
{
    int status = 0;

    for (;;) {
        int sig = sigwaitinfo(signals, NULL);

        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
            kill(child, SIGKILL);
        if (waitpid(child, &status, WNOHANG) == child)
            break;
    }
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) /* the server is ours by now */
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_child(const char *dir, bench_fn *measure, void *ctx)
{
    sigset_t signals;
    sigset_t before;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fflush(NULL);
    pid_t child = fork();

    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        int status = measure_in_child(dir, measure, ctx);

        fflush(stdout);
        _exit(status);
    }
    int status = child > 0 ? wait_for(child, &signals) : CLI_FAILED;

    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

enum err_code bench_with_server(const char *dir, bench_fn *measure, void *ctx, int *ret_status,
                                struct err *err)
{
    char path[PATH_SIZE];

    int size = snprintf(path, sizeof(path), "%s/waybill-bench.XXXXXX", dir);

    if (size < 0 || (size_t)size >= sizeof(path) || mkdtemp(path) == NULL)
        return err_errno(err, E_INVALID, "make a directory in %s", dir);
    *ret_status = run_child(path, measure, ctx);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        fprintf(stderr, "waybill: cannot remove %s: %s\n", path, strerror(errno));
    return E_OK;
}
