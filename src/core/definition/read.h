/*
 * A definition text while it is read, and the mistakes that every section can have.
 *
 * For src/core/definition alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/definition/definition.h"

struct yaml_value;

struct definition_read {
    struct definitions *d;
    const struct definition_source *source;
    struct slice file; /* source->file, in the arena of `d` */
    struct err *err;
};

/* After a mistake: E_OK when mistakes are gathered and reading continues, else err->code. */
MUST_CHECK enum err_code definition_fault(const struct definition_read *r);

/* These return err->code.  "FILE:LINE: cause", the line being the value's. */
enum err_code definition_wrong(const struct definition_read *r, const struct yaml_value *v,
                               const char *cause);

/* "FILE:LINE: unknown key 'x', did you mean 'y'?", the line being the name's. */
enum err_code definition_unknown(const struct definition_read *r, const struct yaml_value *v,
                                 const char *const *words, size_t count);

/* "queue 'x' is defined twice, first in FILE:LINE"; the caller adds the place of the second. */
enum err_code definition_twice(const struct definition_read *r, const char *kind, const char *name,
                               struct definition_place before);

/* The sections for the server itself, which fill r->d->server; a duplicate key or name is an
 * error. */
MUST_CHECK enum err_code definition_server_add(struct definition_read *r, struct yaml_value *map);
MUST_CHECK enum err_code definition_triggers_add(struct definition_read *r, struct yaml_value *map);

/* The sections for `run`, which fill r->d->start. */
MUST_CHECK enum err_code definition_start_add(struct definition_read *r, struct yaml_value *v);
MUST_CHECK enum err_code definition_finally_add(struct definition_read *r, struct yaml_value *v);
