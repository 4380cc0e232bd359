/* SPDX-License-Identifier: MIT */
#include "base/os/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

enum { DIR_MODE = 0711 };

enum err_code err_file(struct err *err, const char *what, const char *path)
{
    switch (errno) {
    case ENOSPC:
    case EDQUOT: return err_errno(err, E_FULL, "%s %s", what, path);
    case EACCES:
    case EPERM:
    case EROFS: return err_errno(err, E_FORBIDDEN, "%s %s", what, path);
    default: return err_errno(err, E_INVALID, "%s %s", what, path);
    }
}

enum err_code own_check(int fd, const char *what, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_file(err, "look at", path);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return E_OK;
    return err_set(err, E_FORBIDDEN,
                   "%s %s can be written by others (mode %04o): mend it with chmod go-w %s", what,
                   path, (unsigned)st.st_mode & 07777, path);
}

bool own_dir_make(int parent_fd, const char *name)
{
    if (mkdirat(parent_fd, name, 0700) < 0)
        return errno == EEXIST;
    return fchmodat(parent_fd, name, DIR_MODE, 0) == 0; /* whatever the umask is */
}

static enum err_code make_all(const char *path, const char *what, struct err *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);

    if (size == 0 || size >= sizeof(part))
        return err_set(err, E_INVALID, "%s needs a path of 1 to %d bytes", what, PATH_MAX - 1);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++) {
        char was = part[i];

        if (was != '/' && was != '\0')
            continue;
        part[i] = '\0';
        if (!own_dir_make(AT_FDCWD, part))
            return err_file(err, "make the directory", part);
        part[i] = was;
    }
    return E_OK;
}

int own_dir_holder(int lock_fd)
{
    char text[24] = "";

    if (pread(lock_fd, text, sizeof(text) - 1, 0) <= 0)
        return -1;
    long pid = strtol(text, NULL, 10);

    return pid > 0 && pid <= INT_MAX ? (int)pid : -1;
}

static enum err_code hold(struct own_dir *d, const char *path, const char *lock_name,
                          struct err *err)
{
    d->lock_fd = openat(d->fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock_fd < 0)
        return err_file(err, "open the lock in", path);
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return err_file(err, "lock", path);
        d->holder = own_dir_holder(d->lock_fd);
        return E_OK;
    }
    if (ftruncate(d->lock_fd, 0) < 0 || dprintf(d->lock_fd, "%d\n", (int)getpid()) < 0)
        return err_file(err, "write the lock in", path);
    return E_OK;
}

enum err_code own_dir_open(const char *path, const char *what, const char *lock_name,
                           struct own_dir *ret_dir, struct err *err)
{
    struct own_dir d = OWN_DIR_INIT;

    if (make_all(path, what, err) != E_OK)
        return err->code;
    d.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err_code code = d.fd < 0 ? err_file(err, "open", path) : hold(&d, path, lock_name, err);

    if (code != E_OK)
        own_dir_close(&d);
    else
        *ret_dir = d;
    return code;
}

void own_dir_close(struct own_dir *d)
{
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->fd >= 0)
        close(d->fd);
    *d = OWN_DIR_INIT;
}
