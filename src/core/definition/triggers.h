/*
 * The `triggers:` section of definitions.  For src/core/definition alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/definition/read.h"

/* Adds to r->d->server.triggers; a duplicate name is an error. */
MUST_CHECK enum err_code definition_triggers_add(struct definition_read *r, struct yaml_value *map);
