/*
 * An instruction to `waybill run`: KEY=VALUE fills the jobs of `start:`.
 *
 * `{KEY}` in a text of a job is replaced by the value; a text that is nothing but `{KEY}` becomes
 * the value itself, so that KEY:=JSON keeps its type.  `{KEY:-default}`, `{{` and all other braces
 * are as in commands (core/program/template.h); `{now}` and `{day}` are those of the start.  Values
 * that no job names are merged into the params of each.
 *
 * The name of an instruction is its values in the order of their keys.  Two with the same name are
 * the same instruction.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/definition/definition.h"

enum { INSTRUCTION_NAME_MAX = 150, INSTRUCTION_VALUES_MAX = 100 };

struct instruction_value {
    struct slice key;
    struct slice json; /* checked: what the value is */
    bool is_used;      /* a job names it */
};

struct instruction {
    struct instruction_value *values; /* in the order of their keys */
    size_t n_values;
    int64_t now_at; /* when it starts */
};

/* Sorts the values.  E_INVALID: a key is given twice, or is no name. */
MUST_CHECK enum err_code instruction_init(struct instruction *in, struct instruction_value *values,
                                          size_t n, int64_t now_at, struct err *err);

/* "depth:=3 site=x.org"; a long one ends in a hash.  "start" when there are no values. */
void instruction_name(const struct instruction *in, struct buf *out);

/* Adds a JSON array of the jobs of `start`, as POST /v1/jobs takes it, each in the group (empty:
 * in none).  E_INVALID: a name in braces without a value; the message has file and line. */
MUST_CHECK enum err_code instruction_fill(struct instruction *in,
                                          const struct definition_start *start, struct slice group,
                                          struct buf *out, struct err *err);
