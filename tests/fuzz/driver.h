/*
 * Fuzzing without a special compiler: a seeded generator of broken inputs in front of a target.
 *
 * A target is a file that defines `fuzz_target`: inputs to start from, words worth inserting, and
 * one function that runs the code under test and calls fuzz_fail when something does not hold.
 * Each input is a function of seed and number alone, so that a failure is replayed at once:
 *
 *     fuzz_json 200000 1        200,000 inputs of seed 1
 *     fuzz_json 30s 1           for 30 seconds
 *     fuzz_json @4711 1         input 4711 of seed 1 alone
 *     fuzz_json FILE            what is in FILE, as it is
 *
 * Inputs end right before an unmapped page: reading past the end is a crash in every build.
 * Built with -DFUZZ_LIBFUZZER and clang's -fsanitize=fuzzer the same target is led by coverage.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"

#define FUZZ_INPUT_MAX 16384

struct fuzz_target {
    void (*run)(struct slice input);
    const struct slice *seeds;
    size_t seed_count;
    const struct slice *words;
    size_t word_count;
};

extern const struct fuzz_target fuzz_target; /* one in each program */

/* Says what does not hold, shows the input and how to replay it, and ends the program. */
NORETURN void fuzz_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);
