/*
 * For tests of server/parse: two clients, a lease, and the arena of a test.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/siphash.h"
#include "server/parse/submit.h"
#include "testing.h"

#define ID "0AHY0AM680000"
#define LEASE "3.0AHY0AM800001.hRZ-SRZFNpitkdlm49GpkC" /* of ID, by lease_key */

static const struct siphash_key lease_key = {{1, 2}};
static const struct submit_source user = {.no_commands = COMMANDS_REFUSED, .leases = &lease_key};
static const struct submit_source admin = {.leases = &lease_key};

static struct arena arena;

static inline int setup(void **state)
{
    (void)state;
    arena = ARENA_INIT;
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static inline struct submit submitted(const char *text, const struct submit_source *source)
{
    struct submit submit = {.mode = SUBMIT_LINES};
    struct err err = ERR_INIT;

    if (parse_submit(slice_of(text), source, &arena, &submit, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return submit;
}
