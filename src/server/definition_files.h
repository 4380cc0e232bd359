/*
 * Reads definition files: one file, or every *.yaml and *.yml of a directory in the order of their names.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct definitions;

#define DEFINITION_FILE_MAX ((size_t)8 << 20)

/* E_NOT_FOUND, E_TOO_LARGE, or what definitions_add says. */
MUST_CHECK enum err_code definitions_read(struct definitions *d, const char *path, struct err *err);
