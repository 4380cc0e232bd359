/* SPDX-License-Identifier: MIT */
#include "worker/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_NAME "lock"

enum err_code state_refuse(struct err *err, const char *what, const char *path)
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

bool state_make_passable(int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0700) < 0)
        return errno == EEXIST;
    return fchmodat(dir_fd, name, 0711, 0) == 0; /* whatever the umask is */
}

static enum err_code make_dirs(const char *path, struct err *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);

    if (size == 0 || size >= sizeof(part))
        return err_set(err, E_INVALID, "the worker's directory needs a path of 1 to %d bytes",
                       PATH_MAX - 1);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i <= size; i++)
        if (part[i] == '/' || part[i] == '\0') {
            char was = part[i];

            part[i] = '\0';
            if (!state_make_passable(AT_FDCWD, part))
                return state_refuse(err, "make the directory", part);
            part[i] = was;
        }
    return E_OK;
}

static enum err_code in_use(const char *state_dir, int lock_fd, struct err *err)
{
    const char *slash = strrchr(state_dir, '/');
    const char *name = slash != NULL ? slash + 1 : state_dir;
    char pid[24] = "";
    ssize_t n = pread(lock_fd, pid, sizeof(pid) - 1, 0);

    pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
    return err_set(err, E_CONFLICT, "a worker named %s runs here already (pid %s): give --name",
                   name, pid[0] != '\0' ? pid : "unknown");
}

static enum err_code lock(struct state_dir *s, struct err *err)
{
    s->lock_fd = openat(s->fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock_fd < 0)
        return state_refuse(err, "open " LOCK_NAME " in", s->path);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? in_use(s->path, s->lock_fd, err)
                                    : state_refuse(err, "lock", s->path);
    if (ftruncate(s->lock_fd, 0) < 0 || dprintf(s->lock_fd, "%ld\n", (long)getpid()) < 0)
        return state_refuse(err, "write " LOCK_NAME " in", s->path);
    return E_OK;
}

enum err_code state_dir_open(const char *path, struct state_dir *ret_state, struct err *err)
{
    struct state_dir s = STATE_DIR_INIT;

    if (make_dirs(path, err) != E_OK)
        return err->code;
    s.path = realpath(path, NULL);
    if (s.path == NULL)
        return state_refuse(err, "open", path);
    s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err_code code = s.fd < 0 ? state_refuse(err, "open", path) : lock(&s, err);

    if (code != E_OK)
        state_dir_close(&s);
    else
        *ret_state = s;
    return code;
}

void state_dir_close(struct state_dir *s)
{
    if (s->fd >= 0)
        close(s->fd);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->path);
    *s = STATE_DIR_INIT;
}

enum err_code state_dir_part(const struct state_dir *s, const char *name, int *ret_fd,
                             struct err *err)
{
    if (!state_make_passable(s->fd, name))
        return state_refuse(err, "make a directory in", s->path);
    int fd = openat(s->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return state_refuse(err, "open a directory in", s->path);
    *ret_fd = fd;
    return E_OK;
}
