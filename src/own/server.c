/* SPDX-License-Identifier: MIT */
#include "own/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "server/server.h"

#define STOP_PATIENCE_MS 12000
#define WORDS_MAX 16

/* In the server's process: becomes `waybill serve`.  A separate process group protects it from
 * Ctrl-C. */
static NORETURN void become_server(const struct own_server_config *c, int out, pid_t parent)
{
    char slots[16];
    const char *words[WORDS_MAX] = {
        "waybill",   "serve",    "--data",
        c->data_dir, "--listen", c->listen != NULL ? c->listen : SERVER_LISTEN_NONE,
        "-j",        slots,      "--log-level",
        "error"};

    snprintf(slots, sizeof(slots), "%d", c->slots);
    if (c->token_file != NULL) {
        words[10] = "--token-file";
        words[11] = c->token_file;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CLI_NO_SERVER);
    int null = open("/dev/null", O_RDONLY);

    dup2(null, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    unsetenv("LISTEN_FDS");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WAYBILL_STORE"); /* a run has its own store */
    execv("/proc/self/exe", (char *const *)(uintptr_t)words);
    fprintf(stderr, "waybill: cannot start the server: %s\n", strerror(errno));
    _exit(CLI_NO_SERVER);
}

/* Reads `ready [http://…] unix:PATH` up to its line end; the socket is the last word. */
static bool read_ready(struct own_server *s)
{
    char line[PATH_MAX + 256] = {0};
    size_t used = 0;

    while (used + 1 < sizeof(line) && memchr(line, '\n', used) == NULL) {
        ssize_t n = read(s->out_fd, line + used, sizeof(line) - 1 - used);

        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0)
            used += (size_t)n;
    }
    line[used] = '\0';
    line[strcspn(line, "\n")] = '\0';
    const char *url = strstr(line, "unix:");
    const char *http = strstr(line, "http://");

    if (strncmp(line, "ready ", 6) != 0 || url == NULL)
        return false;
    s->url = mem_strdup(url);
    if (http != NULL && http < url)
        s->http = mem_strndup(http, strcspn(http, " "));
    return true;
}

enum err_code own_server_start(struct own_server *s, const struct own_server_config *config,
                               struct err *err)
{
    pid_t parent = getpid();
    int out[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        return err_errno(err, E_UNAVAILABLE, "make a pipe");
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0)
        become_server(config, out[1], parent);
    close(out[1]);
    s->out_fd = out[0];
    if (s->pid < 0) {
        s->pid = 0;
        return err_errno(err, E_UNAVAILABLE, "start the server");
    }
    if (!read_ready(s))
        return err_set(err, E_UNAVAILABLE, "the server of the store %s does not start",
                       config->data_dir);
    return E_OK;
}

/* True when all that wrote there are gone. */
static bool has_ended(int fd, int patience_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char rest[256];

    while (poll(&p, 1, patience_ms) > 0)
        if (read(fd, rest, sizeof(rest)) <= 0)
            return true;
    return false;
}

void own_server_stop(struct own_server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGTERM);
        if (!has_ended(s->out_fd, STOP_PATIENCE_MS))
            kill(s->pid, SIGKILL);
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (s->out_fd >= 0)
        close(s->out_fd);
    free(s->url);
    free(s->http);
    *s = OWN_SERVER_INIT;
}
