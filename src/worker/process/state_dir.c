/* SPDX-License-Identifier: MIT */
#include "worker/process/state_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LOCK_NAME "lock"

static enum err_code in_use(const char *state_dir, int holder, struct err *err)
{
    const char *slash = strrchr(state_dir, '/');
    const char *name = slash != NULL ? slash + 1 : state_dir;

    if (holder < 0)
        return err_set(err, E_CONFLICT, "a worker named %s runs here already: give --name", name);
    return err_set(err, E_CONFLICT, "a worker named %s runs here already (pid %d): give --name",
                   name, holder);
}

enum err_code state_dir_open(const char *path, struct state_dir *ret_state, struct err *err)
{
    struct state_dir s = STATE_DIR_INIT;

    if (own_dir_open(path, "the worker's directory", LOCK_NAME, &s.own, err) != E_OK)
        return err->code;
    enum err_code code = s.own.holder == 0 ? E_OK : in_use(path, s.own.holder, err);

    if (code == E_OK && (s.path = realpath(path, NULL)) == NULL)
        code = err_file(err, "open", path);
    if (code != E_OK)
        state_dir_close(&s);
    else
        *ret_state = s;
    return code;
}

void state_dir_close(struct state_dir *s)
{
    own_dir_close(&s->own);
    free(s->path);
    *s = STATE_DIR_INIT;
}

enum err_code state_dir_part(const struct state_dir *s, const char *name, int *ret_fd,
                             struct err *err)
{
    if (!own_dir_make(s->own.fd, name))
        return err_file(err, "make a directory in", s->path);
    int fd = openat(s->own.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_file(err, "open a directory in", s->path);
    *ret_fd = fd;
    return E_OK;
}
