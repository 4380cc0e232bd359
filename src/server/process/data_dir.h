/*
 * The data directory: held by one server at a time.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/os/own_dir.h"

/* E_UNAVAILABLE when another process holds it; E_INVALID, E_FORBIDDEN, E_FULL for the directory. */
MUST_CHECK enum err_code data_dir_open(const char *path, struct own_dir *ret_dir, struct err *err);
