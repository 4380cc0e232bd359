/*
 * What is kept of a group: flags and counters, from which its facts follow.
 *
 * Numbers are persisted: never renumber.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "core/group/group.h"

/* Always exists, holds everything, counts nothing.  Jobs outside of all other groups have the
 * group 0. */
#define GROUP_ROOT INT64_C(1)

enum { GROUP_NAME_MAX = 200 }; /* bytes */

enum group_flag {
    GROUP_IS_PROVISIONAL = 1, /* all its jobs are staged: it is not there unless one is released */
    GROUP_IS_SEALED = 2,      /* it may end */
    GROUP_IS_PAUSED = 4,
    GROUP_IS_CANCELLED = 8,
    GROUP_IS_STOPPED = 16,    /* a member has failed, and its kind says fail: stop */
    GROUP_CHILD_FAILED = 32,  /* a child group has */
    GROUP_STOPS_ON_FAIL = 64, /* fail: stop */
    GROUP_IS_AWAITED = 128,   /* jobs wait for its end */
    GROUP_OPENER_LIVES = 256, /* the job or request that opened it may add to it */
};

/* Of its direct members and children. */
struct group_counts {
    int64_t made;    /* members in all */
    int64_t waiting; /* staged, held, scheduled or ready */
    int64_t running;
    int64_t done, failed, cancelled;
    int64_t dropped; /* by filters: not made */
    int64_t groups;  /* children that have not ended */
};

struct group_facts group_facts_of(unsigned flags, const struct group_counts *counts,
                                  enum group_finaliser finaliser);

/* Whether it is to be removed: nothing of it was released, and nothing can be any more. */
bool group_never_was(unsigned flags, const struct group_counts *counts);

/* Whether nothing in it may start. */
static inline bool group_is_held(unsigned flags)
{
    return (flags & (GROUP_IS_PAUSED | GROUP_IS_CANCELLED | GROUP_IS_STOPPED)) != 0;
}

/* Whether its members are to be cancelled. */
static inline bool group_cancels(unsigned flags)
{
    return (flags & (GROUP_IS_CANCELLED | GROUP_IS_STOPPED)) != 0;
}

/* 0 when it is no state's name. */
enum group_state group_state_parse(struct slice name);
