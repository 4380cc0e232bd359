/*
 * YAML as people write it in definitions: text into a tree that knows its lines, and the tree into
 * JSON.
 *
 * The core schema: null, true, false, whole numbers of 64 bits, finite numbers; everything else,
 * and everything in quotes, is text.  Names of members are always text (75: later).  Refused, with
 * file and line: a name twice in one map, more than YAML_DEPTH_MAX levels, NUL, tags other than
 * !!str, merge keys.  An alias is replaced by a copy of its anchor; YAML_VALUES_MAX bounds the
 * whole.
 *
 * Everything lives in the given arena.  Errors read "FILE:LINE: cause", E_INVALID or
 * E_TOO_LARGE.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum {
    YAML_DEPTH_MAX = 64,
    YAML_VALUES_MAX = 200000, /* after aliases are replaced */
    YAML_ANCHORS_MAX = 1000,
};

enum yaml_type {
    YAML_T_PLAIN, /* null, true, false or a number; `text` is its JSON */
    YAML_T_TEXT,
    YAML_T_LIST,
    YAML_T_MAP,
};

struct yaml_value {
    enum yaml_type type;
    int line;
    struct slice text; /* PLAIN, TEXT */
    struct slice name; /* when it is the member of a map */
    int name_line;
    struct yaml_value *first; /* of a LIST or a MAP */
    struct yaml_value *next;  /* beside it: item, member or document */

    size_t jtext_at;     /* where yaml_json has put it */
    size_t name_json_at; /* and its name */
};

/* All documents of the text; NULL when there are none. */
MUST_CHECK enum err_code yaml_parse(const char *file, struct slice text, struct arena *arena,
                                    struct yaml_value **ret_documents, struct err *err);

static inline bool yaml_is_null(const struct yaml_value *v)
{
    return v->type == YAML_T_PLAIN && v->text.data[0] == 'n';
}

/* Adds the value as JSON that jtext_check accepts, and notes the place of each part.
 * E_TOO_LARGE when it does not fit: the caller says which line that is. */
MUST_CHECK enum err_code yaml_json(struct yaml_value *v, struct buf *out, struct err *err);

/* The line of the name or value that is written at that place (an offset into yaml_json's
 * `out`). */
int yaml_line_at(const struct yaml_value *v, size_t jtext_at);

#define YAML_PLACE_SIZE 96

/* "FILE:LINE"; a long path loses its beginning. */
const char *yaml_place_format(const char *file, int line, char text[static YAML_PLACE_SIZE]);

/* Puts "FILE:LINE: " in front of the message.  Returns err->code. */
enum err_code yaml_err_at(struct err *err, const char *file, int line);
