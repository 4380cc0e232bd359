/*
 * Breaking an input: one small change after another, none of which knows what the input means.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/rng.h"
#include "driver.h"

struct fuzz_input {
    char data[FUZZ_INPUT_MAX];
    size_t size;
};

/* One of the target's seeds with some changes; the same for the same state of `rng`. */
void fuzz_make_input(const struct fuzz_target *target, struct rng *rng,
                     struct fuzz_input *ret_input);
