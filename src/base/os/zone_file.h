/*
 * Files of time zones: the bytes of a zone of the system, by its name.
 *
 * They are in the directory that TZDIR names, else in /usr/share/zoneinfo (Debian: tzdata).  The
 * time zone of the process is neither read nor changed.  core/time/tzif.h parses the bytes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum {
    ZONE_NAME_MAX = 64,
    ZONE_FILE_MAX = 64 << 10, /* bytes; the largest file of tzdata has 4 KiB */
};

/* Whether it can name a zone: letters, digits and `_ + -` in parts between slashes.  So it has no
 * `..`, no dot at all, no NUL, and does not begin with a slash. */
bool zone_name_is_valid(struct slice name);

/*
 * Appends the file of a zone to `out`, whose ceiling should be ZONE_FILE_MAX.  `dir` NULL means the
 * directory of the system.
 *
 * E_INVALID when the name cannot be one, when no zone has it (the message names the nearest zone),
 * or when what has it is no file or too large; E_UNAVAILABLE when there are no zones at all, or the
 * file cannot be read.  Blocks as reading a file does.
 */
MUST_CHECK enum err_code zone_file_read(const char *dir, struct slice name, struct buf *out,
                                        struct err *err);
