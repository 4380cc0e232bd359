/* SPDX-License-Identifier: MIT */
#include "worker/process/empty_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/compiler.h"

enum { LIFT_TRIES = 10000, NAME_SIZE = 48 };

struct emptying {
    int top_fd;
    unsigned *budget;
    unsigned lifted;
    unsigned stuck;
};

static void stream_cleanup(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

int dir_is_empty(int dir_fd)
{
    char entries[1024] __attribute__((aligned(8)));
    unsigned names = 0;

    if (lseek(dir_fd, 0, SEEK_SET) < 0)
        return 0;
    for (;;) {
        long size = syscall(SYS_getdents64, dir_fd, entries, sizeof(entries));

        if (size < 0)
            return 0;
        if (size == 0)
            return names == 0;
        for (long at = 0; at < size;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);

            if (!is_dots(entry->d_name))
                return 0;
            at += entry->d_reclen;
        }
    }
}

/* For kernels without openat2.  It does not notice a mount of the same file system. */
static int open_same_device(int dir_fd, const char *name, int flags)
{
    struct stat dir;
    struct stat sub;
    int fd = openat(dir_fd, name, flags);

    if (fd < 0)
        return -1;
    if (fstat(dir_fd, &dir) == 0 && fstat(fd, &sub) == 0 && dir.st_dev == sub.st_dev)
        return fd;
    close(fd);
    errno = EXDEV;
    return -1;
}

/* Opens a directory, but neither through a link nor on another mount. */
static int open_sub(int dir_fd, const char *name, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
    };

    int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

    return fd < 0 && errno == ENOSYS ? open_same_device(dir_fd, name, (int)how.flags) : fd;
}

void dir_permit_owner(int dir_fd, const char *name)
{
    char path[NAME_SIZE];
    int fd = open_sub(dir_fd, name, O_PATH);

    if (fd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    (void)!chmod(path, 0700); /* the next call shows whether it helped */
    close(fd);
}

static int open_permitted(int dir_fd, const char *name)
{
    int fd = open_sub(dir_fd, name, O_RDONLY);

    if (fd >= 0 || errno != EACCES)
        return fd;
    dir_permit_owner(dir_fd, name);
    return open_sub(dir_fd, name, O_RDONLY);
}

/* Moves a directory to the top, under a free name. */
static bool lift(struct emptying *c, int from_fd, const char *name)
{
    for (unsigned i = 0; i < LIFT_TRIES; i++) {
        char target[NAME_SIZE];

        snprintf(target, sizeof(target), ".waybill-%u", c->lifted + i);
        if (renameat(from_fd, name, c->top_fd, target) == 0) {
            c->lifted += i + 1;
            return true;
        }
        if (errno == EACCES && i == 0)
            dir_permit_owner(from_fd, name);
        else if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            return false;
    }
    return false;
}

/* 1: the entry is removed.  0: it is a directory with entries.  -1: it cannot be removed. */
static int remove_entry(int dir_fd, const char *name)
{
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 1;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
        return 1;
    return errno == ENOTEMPTY || errno == EEXIST ? 0 : -1;
}

static bool spend(struct emptying *c)
{
    if (*c->budget == 0)
        return false;
    --*c->budget;
    return true;
}

/* Removes the entries of a directory below the top, or moves them up; false: the budget is
 * spent. */
static bool empty_sub(struct emptying *c, const char *name)
{
    int fd = open_permitted(c->top_fd, name);
    CLEANUP(stream) DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        c->stuck++;
        return true;
    }
    (void)!fchmod(fd, 0700);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_dots(entry->d_name))
            continue;
        if (!spend(c))
            return false;
        if (remove_entry(fd, entry->d_name) == 0)
            (void)!lift(c, fd, entry->d_name);
    }
    if (unlinkat(c->top_fd, name, AT_REMOVEDIR) < 0)
        c->stuck++;
    return true;
}

static bool one_pass(struct emptying *c, DIR *dir)
{
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_dots(entry->d_name))
            continue;
        if (!spend(c))
            return false;
        int gone = remove_entry(c->top_fd, entry->d_name);

        if (gone < 0)
            c->stuck++;
        else if (gone == 0 && !empty_sub(c, entry->d_name))
            return false;
    }
    return true;
}

enum empty_dir_result empty_dir(int dir_fd, unsigned *budget)
{
    struct emptying c = {.top_fd = dir_fd, .budget = budget};

    (void)!fchmod(dir_fd, 0700);
    for (;;) {
        unsigned lifted = c.lifted;
        int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CLEANUP(stream) DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (dir == NULL) {
            if (fd >= 0)
                close(fd);
            return EMPTY_DIR_STUCK;
        }
        c.stuck = 0;
        if (!one_pass(&c, dir))
            return EMPTY_DIR_MORE;
        if (c.stuck == 0 && dir_is_empty(dir_fd))
            return EMPTY_DIR_DONE;
        if (c.lifted == lifted)
            return EMPTY_DIR_STUCK;
    }
}
