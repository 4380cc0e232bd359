/* SPDX-License-Identifier: MIT */
#include "server/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "server/server.h"

static enum err_code refuse(struct err *err, const char *what, const char *path)
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

/* Programs that run as other users must get through to their working directories; what is in it is for its owner
 * alone, who does not let them look around. */
enum { DIR_MODE = 0711 };

/* Whatever the umask is.  One that is there already stays as it is. */
static bool make_dir(const char *path)
{
    return mkdir(path, 0700) == 0 ? chmod(path, DIR_MODE) == 0 : errno == EEXIST;
}

/* With those on the way to it. */
static enum err_code make_dirs(const char *path, struct err *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);

    if (size == 0 || size >= sizeof(part))
        return err_set(err, E_INVALID, "the data directory needs a path of 1 to %d bytes",
                       PATH_MAX);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i < size; i++)
        if (part[i] == '/') {
            part[i] = '\0';
            if (!make_dir(part))
                return refuse(err, "make the directory", part);
            part[i] = '/';
        }
    if (!make_dir(path))
        return refuse(err, "make the data directory", path);
    return E_OK;
}

static enum err_code in_use(int lock_fd, const char *path, struct err *err)
{
    char pid[24] = "";
    ssize_t n = pread(lock_fd, pid, sizeof(pid) - 1, 0);

    while (n > 0 && (pid[n - 1] < '0' || pid[n - 1] > '9'))
        pid[--n] = '\0';
    if (n <= 0)
        return err_set(err, E_UNAVAILABLE, "the data directory %s is in use by another server",
                       path);
    return err_set(err, E_UNAVAILABLE,
                   "the data directory %s is in use by the server with process id %s", path, pid);
}

static enum err_code lock(int dir_fd, const char *path, int *ret_fd, struct err *err)
{
    int fd = openat(dir_fd, SERVER_LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return refuse(err, "open " SERVER_LOCK_NAME " in", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        enum err_code code = errno == EWOULDBLOCK ? in_use(fd, path, err)
                                                  : refuse(err, "lock the data directory", path);

        close(fd);
        return code;
    }
    if (ftruncate(fd, 0) < 0 || dprintf(fd, "%ld\n", (long)getpid()) < 0) {
        enum err_code code = refuse(err, "write " SERVER_LOCK_NAME " in", path);

        close(fd);
        return code;
    }
    *ret_fd = fd;
    return E_OK;
}

enum err_code data_dir_open(const char *path, struct data_dir *ret_dir, struct err *err)
{
    struct data_dir d = DATA_DIR_INIT;

    if (make_dirs(path, err) != E_OK)
        return err->code;
    d.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d.fd < 0)
        return refuse(err, "open the data directory", path);
    if (lock(d.fd, path, &d.lock_fd, err) != E_OK) {
        close(d.fd);
        return err->code;
    }
    *ret_dir = d;
    return E_OK;
}

void data_dir_close(struct data_dir *d)
{
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    if (d->fd >= 0)
        close(d->fd);
    *d = DATA_DIR_INIT;
}
