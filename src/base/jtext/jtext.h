/*
 * JSON without trees: text is checked once, then walked in place.
 *
 * jtext_check is the only judge of what comes from outside; everything else here assumes text that
 * it (or jansson) has accepted.  What it takes, jansson takes too, with JSON_REJECT_DUPLICATES and
 * JSON_DECODE_ANY: strict UTF-8, no NUL in a string, whole numbers that fit 64 bits, finite reals,
 * at most 64 levels, no member twice in one object (names compared as decoded).  The other way
 * round it refuses only what is deeper, and a NUL byte, which jansson overlooks behind a number or
 * a word.
 *
 * Slices point into the caller's text.  No allocation except where an arena or a buf is named.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/text/utf8.h"

#define JTEXT_DEPTH_MAX 64

enum jtext_type {
    JTEXT_NULL,
    JTEXT_FALSE,
    JTEXT_TRUE,
    JTEXT_INT,
    JTEXT_REAL,
    JTEXT_STRING,
    JTEXT_ARRAY,
    JTEXT_OBJECT,
};

/* One whole document of any type, white space around it allowed.  On success *ret_value is the
 * value without that white space.  E_BAD_REQUEST with line, column and cause otherwise; E_TOO_LARGE
 * above 4 GiB. */
MUST_CHECK enum err_code jtext_check(struct slice text, struct slice *ret_value, struct err *err);

/* Whether jtext_check accepts the text and it is an object. */
bool jtext_is_object(struct slice text);

enum jtext_type jtext_type_of(struct slice value);
const char *jtext_type_name(enum jtext_type type); /* "a string", "an object": for messages */

/* for (struct jtext_iter it = jtext_members(v); jtext_next_member(&it, &key, &value);) */
struct jtext_iter {
    const char *at;
    const char *end;
};

struct jtext_iter jtext_members(struct slice object);
bool jtext_next_member(struct jtext_iter *it, struct slice *ret_key, struct slice *ret_value);
struct jtext_iter jtext_items(struct slice array);
bool jtext_next_item(struct jtext_iter *it, struct slice *ret_value);

bool jtext_longer_key_is(struct slice key, const char *name,
                         size_t size); /* for jtext_key_is alone */

size_t jtext_count_members(struct slice object);
size_t jtext_count_items(struct slice array);

/* `key` as the iterator gave it: with its quotes, perhaps with escapes, which make it longer than
 * the name that it means.  Inline, so that the length of a literal name costs nothing. */
static inline bool jtext_key_is(struct slice key, const char *name)
{
    size_t size = strlen(name);

    if (key.size == size + 2)
        return memcmp(key.data + 1, name, size) == 0 && memchr(name, '\\', size) == NULL;
    return key.size > size + 2 && jtext_longer_key_is(key, name, size);
}

/* The member's value; false when there is none. */
bool jtext_find(struct slice object, const char *name, struct slice *ret_value);

/* The text of a string value (quotes off, escapes decoded; the arena is used only if there are
 * any). */
struct slice jtext_text(struct slice value, struct arena *arena);

/* JTEXT_INT only. */
int64_t jtext_int(struct slice value);

/* JTEXT_INT or JTEXT_REAL. */
double jtext_number(struct slice value);

/* Writing.  The caller keeps the structure right; these keep the text right. */
void jtext_add_string(struct buf *b, struct slice utf8); /* quoted and escaped */
void jtext_add_time(struct buf *b, int64_t at); /* "2026-…Z", or null for 0 and TIME_NEVER */

/* `"name":`, with a comma before it unless b is empty or `{` is its last byte. */
void jtext_add_key(struct buf *b, const char *name);

/* A comma, unless b is empty or `{` or `[` is its last byte. */
void jtext_add_comma(struct buf *b);
void jtext_add_bool(struct buf *b, bool value);

/* A whole member: jtext_add_key and its value. */
void jtext_put_string(struct buf *b, const char *name, struct slice utf8);
void jtext_put_int(struct buf *b, const char *name, int64_t value);
void jtext_put_bool(struct buf *b, const char *name, bool value);
void jtext_put_time(struct buf *b, const char *name, int64_t at);
void jtext_put_raw(struct buf *b, const char *name, struct slice json); /* as it is */

/* A copy of a checked value without the white space between its parts. */
MUST_CHECK struct slice jtext_compact(struct slice value, struct arena *arena);
