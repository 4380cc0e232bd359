/* SPDX-License-Identifier: MIT */
#include "worker/process/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/slice.h"
#include "base/vec.h"
#include "worker/process/proc.h"

enum { NAME_SIZE = 160, TEXT_MAX = 64 << 10 };

/* In a cgroup no file can be created; in a plain directory, which tests use, it must be. */
enum { OPEN_TO_WRITE = O_WRONLY | O_CREAT | O_CLOEXEC };

enum { REMOVE_PAUSE_US = 2000, REMOVE_US = 1000 * 1000 };

#define MOUNT "/sys/fs/cgroup"
#define LEAF "waybill-worker"

struct cgroup {
    int root_fd;
    bool for_all;                /* delegated: each job gets a cgroup */
    bool memory;                 /* the memory controller is available */
    VEC(unsigned) dying;         /* numbers of cgroups that could not be removed yet */
    char prefix[NAME_SIZE - 32]; /* of the names of the worker's cgroups */
};

static bool read_file(int dir_fd, const char *name, struct buf *out)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

    buf_clear(out);
    if (fd < 0)
        return false;
    for (;;) {
        char *room = buf_reserve(out, 1024);
        ssize_t n = room == NULL ? 0 : read(fd, room, 1024);

        if (n <= 0)
            break;
        out->size += (size_t)n;
    }
    close(fd);
    buf_add(out, "", 0);
    return true;
}

static bool write_file(int dir_fd, const char *name, const char *text)
{
    int fd = openat(dir_fd, name, OPEN_TO_WRITE, 0644);

    if (fd < 0)
        return false;
    ssize_t n = write(fd, text, strlen(text));
    int error = errno;

    close(fd);
    errno = error;
    return n >= 0;
}

static bool has_word(const struct buf *text, const char *word)
{
    const char *at = buf_text(text);
    size_t size = strlen(word);

    while ((at = strstr(at, word)) != NULL) {
        bool begins = at == buf_text(text) || isspace((unsigned char)at[-1]);

        if (begins && (at[size] == '\0' || isspace((unsigned char)at[size])))
            return true;
        at += size;
    }
    return false;
}

/* The worker's own cgroup of version 2: the line "0::/path". */
static enum err_code own_root(char path[static PATH_MAX], struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);

    if (!read_file(AT_FDCWD, "/proc/self/cgroup", &text))
        return err_errno(err, E_UNAVAILABLE, "/proc/self/cgroup");
    if (access(MOUNT "/cgroup.controllers", R_OK) < 0)
        return err_set(err, E_UNAVAILABLE, "cgroup v2 is not at " MOUNT);
    char *at = text.data;

    while (at != NULL && strncmp(at, "0::/", 4) != 0) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL)
        return err_set(err, E_UNAVAILABLE, "the worker is in no group of cgroup v2");
    at[strcspn(at, "\n")] = '\0';
    if (snprintf(path, PATH_MAX, MOUNT "%s", at + 3) >= PATH_MAX)
        return err_set(err, E_UNAVAILABLE, "the path of the worker's cgroup is too long");
    return E_OK;
}

static bool same_program(pid_t pid, const char *own)
{
    char path[64];
    char target[PATH_MAX];

    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    ssize_t n = readlink(path, target, sizeof(target) - 1);

    if (n <= 0)
        return errno == EACCES && pid == getppid(); /* the server hides its /proc entries */
    target[n] = '\0';
    return strcmp(target, own) == 0;
}

/* A cgroup with members cannot limit cgroups below it, so the worker and its server move into a
 * leaf.  If other processes are members, the cgroup is not the worker's and nothing is moved. */
static bool move_to_leaf(int root_fd)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    CLEANUP(pid_list) struct pid_list pids = {VEC_INIT};
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (n <= 0 || !read_file(root_fd, "cgroup.procs", &text))
        return false;
    own[n] = '\0';
    proc_parse_pids(buf_slice(&text), &pids);
    for (size_t i = 0; i < pids.all.count; i++)
        if (!same_program(pids.all.items[i], own))
            return false;
    if (mkdirat(root_fd, LEAF, 0755) < 0 && errno != EEXIST)
        return false;
    for (size_t i = 0; i < pids.all.count; i++) {
        char pid[24];

        snprintf(pid, sizeof(pid), "%ld\n", (long)pids.all.items[i]);
        if (!write_file(root_fd, LEAF "/cgroup.procs", pid))
            return false;
    }
    return true;
}

static enum err_code enable(int root_fd, const char *root, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);

    if (!read_file(root_fd, "cgroup.controllers", &text) || !has_word(&text, "memory"))
        return err_set(err, E_UNAVAILABLE, "the cgroup %s has no memory controller", root);
    if (read_file(root_fd, "cgroup.subtree_control", &text) && has_word(&text, "memory"))
        return E_OK;
    if (write_file(root_fd, "cgroup.subtree_control", "+memory\n"))
        return E_OK;
    if (errno == EBUSY && move_to_leaf(root_fd) &&
        write_file(root_fd, "cgroup.subtree_control", "+memory\n"))
        return E_OK;
    return err_errno(err, E_UNAVAILABLE, "memory cannot be limited below the cgroup %s", root);
}

static void group_name(const struct cgroup *c, unsigned number, char name[static NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%s%u", c->prefix, number);
}

static bool write_in(const struct cgroup *c, const char *group, const char *name, const char *text)
{
    char path[NAME_SIZE + 32];

    snprintf(path, sizeof(path), "%s/%s", group, name);
    return write_file(c->root_fd, path, text);
}

/* Kernels before 5.14 have no cgroup.kill. */
static void kill_members(const struct cgroup *c, const char *group)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    CLEANUP(pid_list) struct pid_list pids = {VEC_INIT};
    char path[NAME_SIZE + 32];

    if (write_in(c, group, "cgroup.kill", "1\n"))
        return;
    snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    if (!read_file(c->root_fd, path, &text))
        return;
    proc_parse_pids(buf_slice(&text), &pids);
    for (size_t i = 0; i < pids.all.count; i++) {
        struct proc p;

        if (proc_find(pids.all.items[i], &p))
            (void)proc_signal(p.pid, p.start_ticks, SIGKILL);
    }
}

/* rmdir removes the files of a cgroup, but not those of a plain directory in tests. */
static bool remove_group(const struct cgroup *c, const char *group)
{
    static const char *const files[] = {"cgroup.kill", "cgroup.procs",     "memory.events",
                                        "memory.max",  "memory.oom.group", "memory.swap.max"};

    if (unlinkat(c->root_fd, group, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    for (size_t i = 0; errno == ENOTEMPTY && i < ARRAY_LEN(files); i++) {
        char path[NAME_SIZE + 32];

        snprintf(path, sizeof(path), "%s/%s", group, files[i]);
        (void)unlinkat(c->root_fd, path, 0);
        errno = ENOTEMPTY;
    }
    return unlinkat(c->root_fd, group, AT_REMOVEDIR) == 0;
}

/* A cgroup cannot be removed while a process in it is dying.  False: it is still there at
 * until_at. */
static bool remove_until(const struct cgroup *c, const char *group, int64_t until_at)
{
    while (!remove_group(c, group)) {
        kill_members(c, group);
        if (clock_mono_us() >= until_at)
            return false;
        usleep(REMOVE_PAUSE_US);
    }
    return true;
}

/* Removes the cgroups of an earlier worker of that name; those left at until_at are removed
 * later. */
static void remove_old(struct cgroup *c, int64_t until_at)
{
    size_t prefix = strlen(c->prefix);
    int fd = openat(c->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, c->prefix, prefix) == 0) {
            const char *number = entry->d_name + prefix;

            kill_members(c, entry->d_name);
            if (!remove_until(c, entry->d_name, until_at) && isdigit((unsigned char)number[0]))
                VEC_PUSH(&c->dying, (unsigned)strtoul(number, NULL, 10));
        }
    closedir(dir);
}

/* systemd marks delegated cgroups; otherwise one owned by an ordinary user is meant for that
 * user. */
static bool is_delegated(int root_fd)
{
    char mark[8] = "";
    struct stat st;

    if (fstat(root_fd, &st) < 0)
        return false;
    if (fgetxattr(root_fd, "user.delegate", mark, sizeof(mark)) <= 0)
        (void)fgetxattr(root_fd, "trusted.delegate", mark, sizeof(mark));
    return mark[0] == '1' || (st.st_uid != 0 && st.st_uid == geteuid());
}

/* Whether a child can enter a cgroup below the root: a child tries it. */
static bool can_enter(const struct cgroup *c, int64_t until_at)
{
    char name[NAME_SIZE];
    char path[NAME_SIZE + 32];
    int status = -1;

    snprintf(name, sizeof(name), "%sprobe", c->prefix);
    snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    if (mkdirat(c->root_fd, name, 0755) < 0 && errno != EEXIST)
        return false;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = openat(c->root_fd, path, OPEN_TO_WRITE, 0644);

        _exit(fd >= 0 && write(fd, "0\n", 2) == 2 ? 0 : 1);
    }
    if (pid > 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    (void)remove_until(c, name, until_at);
    return status == 0;
}

bool cgroup_is_for_all(const struct cgroup *c)
{
    return c->for_all;
}

bool cgroup_limits_memory(const struct cgroup *c)
{
    return c->memory;
}

enum err_code cgroup_open(const char *root, const char *name, struct cgroup **ret_cgroup,
                          struct err *err)
{
    char own[PATH_MAX];

    if (root == NULL)
        root = getenv("WAYBILL_CGROUP_ROOT");
    bool given = root != NULL && root[0] != '\0';

    if (!given) {
        if (own_root(own, err) != E_OK)
            return err->code;
        root = own;
    }
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "the cgroup %s", root);
    struct err no_memory = ERR_INIT;
    struct cgroup *c = mem_zalloc(sizeof(*c));
    int64_t until_at = clock_mono_us() + REMOVE_US;

    c->root_fd = fd;
    int size = snprintf(c->prefix, sizeof(c->prefix), "waybill-%.100s.", name);

    for (int i = 0; i < size; i++)
        if (c->prefix[i] == '/' || c->prefix[i] == '\n')
            c->prefix[i] = '_';
    c->memory = enable(fd, root, &no_memory) == E_OK;
    c->for_all = (given || is_delegated(fd)) && can_enter(c, until_at);
    if (!c->memory && !c->for_all) {
        *err = no_memory;
        cgroup_close(c);
        return err->code;
    }
    remove_old(c, until_at);
    *ret_cgroup = c;
    return E_OK;
}

static void remove_dying(struct cgroup *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->dying.count; i++) {
        char name[NAME_SIZE];

        group_name(c, c->dying.items[i], name);
        if (!remove_group(c, name))
            c->dying.items[kept++] = c->dying.items[i];
    }
    c->dying.count = kept;
}

void cgroup_close(struct cgroup *c)
{
    if (c == NULL)
        return;
    remove_dying(c);
    VEC_DEINIT(&c->dying);
    close(c->root_fd);
    free(c);
}

enum err_code cgroup_job_open(struct cgroup *c, unsigned number, int64_t memory,
                              struct cgroup_job *ret_job, struct err *err)
{
    char name[NAME_SIZE];
    char limit[24];
    char path[NAME_SIZE + 32];

    remove_dying(c);
    group_name(c, number, name);
    bool made = mkdirat(c->root_fd, name, 0755) == 0;

    if (!made && errno == EEXIST) {
        kill_members(c, name);
        made = remove_group(c, name) && mkdirat(c->root_fd, name, 0755) == 0;
    }
    if (!made)
        return err_errno(err, E_UNAVAILABLE, "make the cgroup %s", name);
    /* The number is in use again. */
    size_t kept = 0;

    for (size_t i = 0; i < c->dying.count; i++)
        if (c->dying.items[i] != number)
            c->dying.items[kept++] = c->dying.items[i];
    c->dying.count = kept;
    snprintf(limit, sizeof(limit), "%lld\n", (long long)memory);
    snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    bool limited = memory == 0 || write_in(c, name, "memory.max", limit);
    int fd = limited ? openat(c->root_fd, path, OPEN_TO_WRITE, 0644) : -1;

    if (fd < 0) {
        err_errno(err, E_UNAVAILABLE, "limit the cgroup %s", name);
        (void)remove_group(c, name);
        return err->code;
    }
    if (memory > 0) {
        (void)write_in(c, name, "memory.oom.group", "1\n"); /* not in all kernels */
        (void)write_in(c, name, "memory.swap.max", "0\n");  /* nor where there is no swap */
    }
    *ret_job = (struct cgroup_job){.procs_fd = fd, .number = number, .limited = memory > 0};
    return E_OK;
}

bool cgroup_job_was_full(const struct cgroup *c, const struct cgroup_job *job)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    char name[NAME_SIZE];
    char path[NAME_SIZE + 32];

    group_name(c, job->number, name);
    snprintf(path, sizeof(path), "%s/memory.events", name);
    if (job->procs_fd < 0 || !job->limited || !read_file(c->root_fd, path, &text))
        return false;
    for (const char *at = buf_text(&text); at != NULL && *at != '\0';) {
        if (strncmp(at, "oom_kill ", 9) == 0)
            return strtoll(at + 9, NULL, 10) > 0;
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    return false;
}

void cgroup_job_kill(const struct cgroup *c, const struct cgroup_job *job)
{
    char name[NAME_SIZE];

    if (job->procs_fd < 0)
        return;
    group_name(c, job->number, name);
    kill_members(c, name);
}

void cgroup_job_close(struct cgroup *c, struct cgroup_job *job)
{
    if (job->procs_fd < 0)
        return;
    close(job->procs_fd);
    VEC_PUSH(&c->dying, job->number);
    remove_dying(c);
    *job = CGROUP_JOB_INIT;
}
