/*
 * For tests of what is read from JSON text: an arena for all tests of a program, checked JSON, and
 * canonical forms.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/jtext/jtext.h"
#include "testing.h"

static struct arena arena = ARENA_INIT;

static inline int release_memory(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static inline struct slice checked(const char *json)
{
    struct err err = ERR_INIT;
    struct slice value;

    if (jtext_check(slice_of(json), &value, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return value;
}

typedef enum err_code canonical_fn(struct slice json, struct buf *out, struct err *err);

/* The canonical form of `json` is `want`, and that of `want` is itself. */
static inline void assert_canonical_by(canonical_fn *canonical, const char *json, const char *want)
{
    CLEANUP(buf) struct buf once = BUF_INIT(1 << 20);
    CLEANUP(buf) struct buf twice = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;

    if (canonical(checked(json), &once, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    assert_string_equal(buf_text(&once), want);
    assert_int_equal(canonical(checked(buf_text(&once)), &twice, &err), E_OK);
    assert_string_equal(buf_text(&twice), want);
}
