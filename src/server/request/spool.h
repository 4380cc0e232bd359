/*
 * A long body on disk: a file without a name in the data directory, gone with its descriptor.
 * HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct spool;

/* E_FULL when the disk is, E_INTERNAL otherwise. */
MUST_CHECK enum err_code spool_new(int dir_fd, struct spool **ret_spool, struct err *err);
void spool_free(struct spool *s); /* NULL is fine */

MUST_CHECK enum err_code spool_add(struct spool *s, struct slice data, struct err *err);
int64_t spool_size(const struct spool *s);

/* Adds at most `size` bytes from `at` on to `to`. */
MUST_CHECK enum err_code spool_read(const struct spool *s, int64_t at, size_t size, struct buf *to,
                                    struct err *err);
