/*
 * Conditions on params, as data: `{depth: {max: 5}, url: {glob: "*.org"}, kind: {in: [a, b]}}`.
 *
 * All must hold.  A name that the params do not have fails every test but `exists: false` and `ne`.
 * Values are texts, numbers, true, false or null; 1 and 1.0 are the same.  min and max compare
 * numbers with numbers and texts with texts, by bytes.
 *
 * Pure; what is read lives in the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct object_read;
struct regex;

enum {
    MATCH_TESTS_MAX = 100, /* of one match */
    MATCH_NAME_MAX = 200,
    MATCH_TEXT_MAX = 4096, /* bytes of a value; a regex has less */
    MATCH_IN_MAX = 1000,   /* values of one `in` */
};

enum match_op {
    MATCH_EQ,
    MATCH_NE,
    MATCH_IN,
    MATCH_MIN,
    MATCH_MAX,
    MATCH_GLOB,
    MATCH_REGEX,
    MATCH_EXISTS,
    MATCH_OPS,
};

struct match_test {
    struct slice name;
    enum match_op op;
    struct slice value;        /* JSON, compact */
    struct slice text;         /* of a value that is a text */
    const struct regex *regex; /* MATCH_REGEX */
};

/* In canonical order: names by their bytes, then operators. */
struct match {
    struct match_test *tests;
    size_t count;
};

/* Reads the member of `r`; r->copies is set.  E_INVALID: "match.depth.max: …". */
MUST_CHECK enum err_code match_read(struct object_read *r, struct slice value,
                                    struct match *ret_match);
void match_json(const struct match *m, struct buf *out);

/* The first test that does not hold for the params, a checked JSON object; NULL: all hold. */
const struct match_test *match_fails(const struct match *m, struct slice params);

/* Adds why a test does not hold: "depth is 7, which is not 5 or less". */
void match_reason(const struct match_test *t, struct slice params, struct buf *out);

/* `*` stands for any text, `?` for one character, `\` takes the next one as it is. */
bool glob_matches(struct slice glob, struct slice text);
