/*
 * Whole reads and writes of descriptors that are open: signals and short counts are dealt with
 * here.
 *
 * They block for as long as the descriptor does.  When they fail, errno says why.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/slice.h"

/* Writes all of it. */
MUST_CHECK bool file_write_all(int fd, struct slice data);

/* Appends what is there up to its end, or until the buffer has overflowed. */
MUST_CHECK bool file_read_all(int fd, struct buf *out);
