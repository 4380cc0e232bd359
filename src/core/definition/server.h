/*
 * The `server:` section of definitions.  For definition.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct definition_read;
struct yaml_value;

/* Adds to r->d->server; a duplicate key is an error. */
MUST_CHECK enum err_code definition_server_add(struct definition_read *r, struct yaml_value *map);
