/*
 * cmocka and the headers it wants before it.
 *
 * A test is a static function named as a sentence, listed in the table of its file's main: one that
 * is forgotten there does not compile.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/slice.h"

#define assert_slice_is(got, want)                            \
    do {                                                      \
        struct slice got_ = (got);                            \
        const char *want_ = (want);                           \
        assert_int_equal(got_.size, strlen(want_));           \
        if (got_.size > 0)                                    \
            assert_memory_equal(got_.data, want_, got_.size); \
    } while (0)
