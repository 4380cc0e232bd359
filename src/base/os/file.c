/* SPDX-License-Identifier: MIT */
#include "base/os/file.h"

#include <errno.h>
#include <unistd.h>

bool file_write_all(int fd, struct slice data)
{
    while (data.size > 0) {
        ssize_t n = write(fd, data.data, data.size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data = slice_make(data.data + n, data.size - (size_t)n);
    }
    return true;
}

bool file_read_all(int fd, struct buf *out)
{
    char piece[8192];
    ssize_t n = 1;

    while (n > 0 && !out->overflowed) {
        n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            buf_add(out, piece, (size_t)n);
    }
    return n >= 0;
}
