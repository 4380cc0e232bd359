/*
 * Needs: what a job takes of resources while it runs, `{search-api: 1, llm: "{tokens}"}`.
 *
 * A weight is a whole number from 1 on, a size like 512M, or a template that must give one of them
 * when the job is created.  The needs of queue, step and job are added together.
 *
 * Always in the order of the names' bytes: canonical JSON has that order, and gates are locked in
 * it.  Pure; slices live in the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/template.h"

struct object_read;

enum { NEEDS_MAX = 16, NEED_TEMPLATE_MAX = 1000 };

#define NEED_WEIGHT_MAX (INT64_C(1) << 50)

struct need {
    struct slice name;
    int64_t weight;             /* 0: the template gives it */
    struct slice text;          /* of the template */
    struct template_text parts; /* … read */
};

struct needs {
    struct need items[NEEDS_MAX];
    size_t count;
};

/* Reads the member of `r`; r->copies is set.  E_INVALID: "needs.llm: …". */
MUST_CHECK enum err_code needs_read(struct object_read *r, struct slice value,
                                    struct needs *ret_needs);

/* The same for checked JSON alone: from the store, or the needs of a step.  Empty text: none. */
MUST_CHECK enum err_code needs_parse(struct slice json, struct arena *arena,
                                     struct needs *ret_needs, struct err *err);

/* Adds the canonical JSON, also of needs without templates. */
void needs_json(const struct needs *needs, struct buf *out);

/* Adds `more` to *sum, filling templates from the values.  So *sum has weights only.  E_INVALID: a
 * name that cannot be filled, a weight that is no number, a sum that is too large, more than
 * NEEDS_MAX names; *sum is then as it was. */
MUST_CHECK enum err_code needs_add(struct needs *sum, const struct needs *more,
                                   const struct template_values *values, struct arena *arena,
                                   struct err *err);

/* memory, cpu and disk are counted by worker, not by a resource. */
bool need_is_of_host(struct slice name);
