/*
 * Whether a failed attempt is retried, and after which pause.
 *
 * Three budgets, counted apart: failures against the policy's `max`, `later` answers against
 * RETRY_LATER_MAX, lost workers against RETRY_LOST_MAX.  Pure; randomness comes from the caller.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng;

enum {
    RETRY_EXIT_RULES_MAX = 16,
    RETRY_LATER_MAX = 15, /* the 16th `later` fails */
    RETRY_LOST_MAX = 5,   /* the sixth lost worker fails the job */
    RETRY_MAX_LIMIT = 1000000,
};

enum retry_exit { RETRY_EXIT_LATER, RETRY_EXIT_NEVER };

struct retry_exit_rule {
    int first, last; /* exit statuses, both included */
    enum retry_exit then;
};

struct retry_policy {
    int max; /* retries after the first attempt */
    int64_t first_us;
    double factor;
    int64_t cap_us;
    double jitter; /* 0.1: the delay varies by a tenth either way */
    struct retry_exit_rule exits[RETRY_EXIT_RULES_MAX];
    size_t n_exits;
};

#define RETRY_POLICY_DEFAULT                              \
    ((struct retry_policy){.max = 0,                      \
                           .first_us = INT64_C(10000000), \
                           .factor = 2,                   \
                           .cap_us = INT64_C(3600000000), \
                           .jitter = 0.1})

enum retry_verdict {
    RETRY_AGAIN, /* scheduled after retry_delay_us(failures) */
    RETRY_LATER, /* by an exit rule: scheduled, on the `later` budget */
    RETRY_FINAL,
};

struct retry_attempt {
    int failures; /* failed attempts so far, this one included */
    int laters;   /* `later` answers so far, this one not included */
    bool exited;  /* it has an exit status */
    int exit;
    bool final; /* the program said that no retry can help */
};

enum retry_verdict retry_judge(const struct retry_policy *p, const struct retry_attempt *a);

/* The pause before the n-th retry (n from 1): first * factor^(n-1), at most cap, varied by
 * jitter. */
int64_t retry_delay_us(const struct retry_policy *p, int n, struct rng *rng);
