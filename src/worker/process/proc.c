/* SPDX-License-Identifier: MIT */
#include "worker/process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "base/clock.h"

enum {
    PATH_SIZE = 80,
    STAT_SIZE = 1024,
    CHILDREN_MAX = 1 << 20, /* bytes of one list: about 100,000 children */
};

static int open_of(pid_t pid, const char *what)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, what);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_all(int fd, struct buf *out)
{
    for (;;) {
        char *room = buf_reserve(out, 4096);
        ssize_t n = room == NULL ? 0 : read(fd, room, 4096);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        out->size += (size_t)n;
    }
}

/* The program's name is in parentheses and may contain any byte: the last parenthesis ends it. */
static bool parse_stat(char *text, struct proc *p)
{
    char *at = strrchr(text, ')');
    long numbers[20] = {0}; /* fields 4 to 22 */

    if (at == NULL || at[1] != ' ' || at[2] == '\0')
        return false;
    p->state = at[2];
    at += 3;
    for (int i = 0; i < 18; i++) {
        char *end;

        numbers[i] = strtol(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    p->parent = (pid_t)numbers[0];
    p->group = (pid_t)numbers[1];
    p->session = (pid_t)numbers[2];
    p->start_ticks = strtoull(at, NULL, 10);
    return true;
}

bool proc_find(pid_t pid, struct proc *ret_proc)
{
    char text[STAT_SIZE];
    struct proc p = {.pid = pid};
    int fd = open_of(pid, "stat");

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);

    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    if (!parse_stat(text, &p))
        return false;
    *ret_proc = p;
    return true;
}

static pid_t entry_pid(const struct dirent *entry)
{
    char *end;
    long pid = strtol(entry->d_name, &end, 10);

    return *end == '\0' && pid > 0 ? (pid_t)pid : 0;
}

bool proc_all(struct proc_list *list)
{
    DIR *dir = opendir("/proc");

    if (dir == NULL)
        return false;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        pid_t pid = entry_pid(entry);
        struct proc p;

        if (pid > 0 && proc_find(pid, &p))
            VEC_PUSH(&list->all, p);
    }
    closedir(dir);
    return true;
}

void proc_parse_pids(struct slice text, struct pid_list *list)
{
    long pid = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] >= '0' && text.data[i] <= '9') {
            pid = pid * 10 + (text.data[i] - '0');
            continue;
        }
        if (pid > 0)
            VEC_PUSH(&list->all, (pid_t)pid);
        pid = 0;
    }
    if (pid > 0)
        VEC_PUSH(&list->all, (pid_t)pid);
}

/* For kernels built without `children` files. */
static void children_by_parent(pid_t pid, struct pid_list *list)
{
    CLEANUP(proc_list) struct proc_list procs = {VEC_INIT};

    if (!proc_all(&procs))
        return;
    for (size_t i = 0; i < procs.all.count; i++)
        if (procs.all.items[i].parent == pid)
            VEC_PUSH(&list->all, procs.all.items[i].pid);
}

/* False when the kernel has no `children` files. */
static bool children_of_thread(pid_t pid, pid_t thread, struct pid_list *list)
{
    CLEANUP(buf) struct buf text = BUF_INIT(CHILDREN_MAX);
    char what[48];

    snprintf(what, sizeof(what), "task/%ld/children", (long)thread);
    int fd = open_of(pid, what);

    if (fd < 0)
        return errno != ENOENT || kill(pid, 0) != 0;
    read_all(fd, &text);
    close(fd);
    proc_parse_pids(buf_slice(&text), list);
    return true;
}

void proc_children(pid_t pid, struct pid_list *list)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    bool listed = false;

    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        pid_t thread = entry_pid(entry);

        if (thread > 0 && children_of_thread(pid, thread, list))
            listed = true;
    }
    closedir(dir);
    if (!listed)
        children_by_parent(pid, list);
}

/* Every program has a command line; kernel threads never have one. */
static bool has_arguments(pid_t pid)
{
    char first;
    int fd = open_of(pid, "cmdline");
    ssize_t n = fd < 0 ? 1 : read(fd, &first, 1);

    if (fd >= 0)
        close(fd);
    return n != 0;
}

enum proc_env_state proc_environ(pid_t pid, struct buf *out)
{
    int fd = open_of(pid, "environ");

    buf_clear(out);
    if (fd >= 0) {
        read_all(fd, out);
        close(fd);
    }
    if (out->size > 0)
        return PROC_ENV_READ;
    return has_arguments(pid) ? PROC_ENV_EMPTY : PROC_ENV_STARTING;
}

struct slice proc_env(const struct buf *env, const char *name)
{
    size_t size = strlen(name);
    const char *at = env->data;
    const char *end = slice_end(buf_slice(env));

    while (at != NULL && at < end) {
        const char *stop = memchr(at, '\0', (size_t)(end - at));

        if (stop == NULL)
            stop = end;
        if ((size_t)(stop - at) > size && memcmp(at, name, size) == 0 && at[size] == '=')
            return slice_make(at + size + 1, (size_t)(stop - at) - size - 1);
        at = stop + 1;
    }
    return (struct slice){NULL, 0};
}

bool proc_is_in(pid_t pid, const char *dir)
{
    char path[PATH_SIZE];
    char target[4096 + 16];
    size_t size = strlen(dir);

    snprintf(path, sizeof(path), "/proc/%ld/cwd", (long)pid);
    ssize_t n = readlink(path, target, sizeof(target));

    /* The kernel adds " (deleted)" to the path of a removed directory. */
    return n >= (ssize_t)size && memcmp(target, dir, size) == 0 &&
           (n == (ssize_t)size || target[size] == '/' || target[size] == ' ');
}

uint64_t proc_ticks(int64_t boot_us)
{
    static long per_second; /* constant */

    if (per_second == 0)
        per_second = sysconf(_SC_CLK_TCK);
    return (uint64_t)boot_us / (uint64_t)(US_PER_S / per_second);
}

int proc_open(pid_t pid, uint64_t start_ticks)
{
    struct proc p;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return -1;
    if (proc_find(pid, &p) && p.start_ticks == start_ticks)
        return fd;
    close(fd);
    errno = ESRCH;
    return -1;
}

int proc_signal(pid_t pid, uint64_t start_ticks, int sig)
{
    int fd = proc_open(pid, start_ticks);

    if (fd < 0)
        return errno;
    int error = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0 ? errno : 0;

    close(fd);
    return error;
}
