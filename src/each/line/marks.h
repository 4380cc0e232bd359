/*
 * Which lines' output has been printed: one bit a line, in a file that outlives a kill.
 *
 * A mark is a write to mapped memory: no system call a line.  After a power cut marks may be missing,
 * never wrong: what lacks its mark is printed again.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct each_marks {
    int fd;
    unsigned char *bits;
    int64_t size; /* bytes mapped */
};

#define EACH_MARKS_INIT ((struct each_marks){.fd = -1})

/* Opens the file, made if it is not there. */
MUST_CHECK enum err_code each_marks_open(struct each_marks *m, int dir_fd, const char *name,
                                         struct err *err);
void each_marks_close(struct each_marks *m);

bool each_marks_has(const struct each_marks *m, int64_t line);

/* Room for marks up to this line. */
MUST_CHECK enum err_code each_marks_reserve(struct each_marks *m, int64_t line, struct err *err);

/* Lines that were reserved. */
void each_marks_set(struct each_marks *m, int64_t line);
void each_marks_clear(struct each_marks *m, int64_t line);
