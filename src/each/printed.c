/* SPDX-License-Identifier: MIT */
#include "each/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP (INT64_C(64) << 10) /* the file grows so: half a million lines */

/* The blocks must be there: a write to mapped memory has no way to say that the disk is full. */
static enum err_code grow(struct each_printed *m, int64_t size, struct err *err)
{
    int fault = posix_fallocate(m->fd, 0, size);

    if (fault != 0) {
        errno = fault;
        return err_errno(err, fault == ENOSPC || fault == EDQUOT ? E_FULL : E_INTERNAL,
                         "room for the marks of what is printed");
    }
    void *bits = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);

    if (bits == MAP_FAILED)
        return err_errno(err, E_INTERNAL, "map the marks of what is printed");
    if (m->bits != NULL)
        munmap(m->bits, (size_t)m->size);
    m->bits = bits;
    m->size = size;
    return E_OK;
}

enum err_code each_printed_open(struct each_printed *m, int dir_fd, const char *name,
                                struct err *err)
{
    struct stat st;

    *m = EACH_PRINTED_INIT;
    m->fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (m->fd < 0 || fstat(m->fd, &st) < 0)
        return err_errno(err, E_INTERNAL, "open the marks of what is printed");
    int64_t size = st.st_size < STEP ? STEP : st.st_size;

    return grow(m, (size + STEP - 1) / STEP * STEP, err);
}

void each_printed_close(struct each_printed *m)
{
    if (m->bits != NULL)
        munmap(m->bits, (size_t)m->size);
    if (m->fd >= 0)
        close(m->fd);
    *m = EACH_PRINTED_INIT;
}

bool each_printed_has(const struct each_printed *m, int64_t line)
{
    ASSERT(line >= 0);
    return line / 8 < m->size && (m->bits[line / 8] >> (line % 8) & 1) != 0;
}

enum err_code each_printed_reserve(struct each_printed *m, int64_t line, struct err *err)
{
    if (line / 8 < m->size)
        return E_OK;
    return grow(m, (line / 8 / STEP + 1) * STEP, err);
}

void each_printed_set(struct each_printed *m, int64_t line)
{
    ASSERT(line >= 0 && line / 8 < m->size);
    m->bits[line / 8] |= (unsigned char)(1u << (line % 8));
}

void each_printed_clear(struct each_printed *m, int64_t line)
{
    ASSERT(line >= 0 && line / 8 < m->size);
    m->bits[line / 8] &= (unsigned char)~(1u << (line % 8));
}
