/*
 * Refuses an unknown key: names the nearest known one, or lists them all.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

/* E_INVALID.  `shown` lists the keys for people; NULL when those are all of `words`. */
enum err_code unknown_key(struct slice name, const char *const *words, size_t n, const char *shown,
                          struct err *err);
