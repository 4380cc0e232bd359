/* SPDX-License-Identifier: MIT */
#include "server/request/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/file.h"

struct spool {
    int fd;
    int64_t size;
};

static enum err_code disk_error(struct err *err, const char *what)
{
    bool full = errno == ENOSPC || errno == EDQUOT;

    return err_errno(err, full ? E_FULL : E_INTERNAL, "%s the spooled body", what);
}

/* For file systems without O_TMPFILE. */
static int open_and_unlink(int dir_fd)
{
    char name[64];

    snprintf(name, sizeof(name), ".spool-%ld", (long)getpid());
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        (void)unlinkat(dir_fd, name, 0);
    return fd;
}

enum err_code spool_new(int dir_fd, struct spool **ret_spool, struct err *err)
{
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
        fd = open_and_unlink(dir_fd);
    if (fd < 0)
        return disk_error(err, "make a file for");
    struct spool *s = mem_zalloc(sizeof(*s));

    s->fd = fd;
    *ret_spool = s;
    return E_OK;
}

void spool_free(struct spool *s)
{
    if (s == NULL)
        return;
    close(s->fd);
    free(s);
}

enum err_code spool_add(struct spool *s, struct slice data, struct err *err)
{
    if (!file_write_all(s->fd, data))
        return disk_error(err, "write");
    s->size += (int64_t)data.size;
    return E_OK;
}

int64_t spool_size(const struct spool *s)
{
    return s->size;
}

enum err_code spool_read(const struct spool *s, int64_t at, size_t size, struct buf *to,
                         struct err *err)
{
    while (size > 0) {
        char *room = buf_reserve(to, size);

        if (room == NULL)
            return err_set(err, E_TOO_LARGE, "a line of the body is too long");
        ssize_t n = pread(s->fd, room, size, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return disk_error(err, "read");
        if (n == 0)
            return E_OK;
        to->size += (size_t)n;
        to->data[to->size] = '\0';
        at += n;
        size -= (size_t)n;
    }
    return E_OK;
}
