/*
 * What a plain YAML scalar means, by the core schema.  For yaml.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "core/definition/yaml.h"

/* Sets type and text of `v`.  E_INVALID for a number that JSON lacks: too large, .inf, .nan. */
MUST_CHECK enum err_code yaml_scalar_resolve(struct slice plain, struct arena *arena,
                                             struct yaml_value *v, struct err *err);
