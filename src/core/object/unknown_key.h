/*
 * Refuses an unknown key: names the nearest known one, or lists them all.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/* E_INVALID.  Only the first `n_shown` of `words` are listed; the nearest may be any of them. */
enum err_code unknown_key(struct slice name, const char *const *words, size_t n, size_t n_shown,
                          struct err *err);
