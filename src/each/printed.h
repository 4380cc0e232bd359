/*
 * Which lines' output has been printed: one bit a line, in a file that outlives a kill.
 *
 * A mark is a write to mapped memory: no system call a line.  After a power cut marks may be
 * missing, never wrong: what lacks its mark is printed again.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct each_printed {
    int fd;
    unsigned char *bits;
    int64_t size; /* bytes mapped */
};

#define EACH_PRINTED_INIT ((struct each_printed){.fd = -1})

/* Opens the file, made if it is not there. */
MUST_CHECK enum err_code each_printed_open(struct each_printed *m, int dir_fd, const char *name,
                                           struct err *err);
void each_printed_close(struct each_printed *m);

bool each_printed_has(const struct each_printed *m, int64_t line);

/* Room for marks up to this line. */
MUST_CHECK enum err_code each_printed_reserve(struct each_printed *m, int64_t line,
                                              struct err *err);

/* Lines that were reserved. */
void each_printed_set(struct each_printed *m, int64_t line);
void each_printed_clear(struct each_printed *m, int64_t line);
