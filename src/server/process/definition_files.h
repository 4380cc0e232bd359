/*
 * Reads definition files: one file, or every *.yaml and *.yml of a directory in the order of their
 * names.
 *
 * Hidden files are left out.  Messages show paths as they were given; a queue's `dir` is the real,
 * absolute directory of its file.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct definitions;

#define DEFINITION_FILE_MAX ((size_t)8 << 20)

/* Where mistakes are gathered, files that cannot be read are as well, and it fails only when
 * there are too many. E_NOT_FOUND, E_FORBIDDEN, E_TOO_LARGE, or what definitions_add_from says.
 * When one file of a directory is wrong, those before it have been added: whoever wants all or
 * nothing starts with an empty `d`. */
MUST_CHECK enum err_code definitions_read(struct definitions *d, const char *path, struct err *err);

/* Whether this machine has the time zones that they name; mistakes go where others go. */
MUST_CHECK enum err_code definitions_check_zones(const struct definitions *d, struct err *err);
