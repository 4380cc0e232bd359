/*
 * Groups: when one ends, and how.
 *
 * One function judges a group by its counters and says what the commit that changed them must do.
 * Staged members live.  A group ends when nobody can add to it any more (it is sealed, and the job
 * or request that opened it has ended) and nothing in it lives; then its finaliser is made, in the
 * same commit; then, when the finaliser has ended, the group has.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/group/group_def.h"

enum {
    GROUP_DEPTH_MAX = 100,       /* groups in each other, below root */
    GROUP_DATA_MAX = 1 << 20,    /* bytes of a group's data */
    GROUP_DATA_SHOWN = 64 << 10, /* … that a claimed job gets with it */
};

/* Numbers are persisted. */
enum group_state { GROUP_OPEN = 1, GROUP_FINISHING, GROUP_DONE, GROUP_FAILED, GROUP_CANCELLED };

/* Numbers are persisted. */
enum group_finaliser {
    FINALISER_NONE,       /* the group has none */
    FINALISER_DUE,        /* not made yet */
    FINALISER_LIVES,      /* made, not ended */
    FINALISER_ENDED_WELL, /* also when nothing was made: a topic without subscribers */
    FINALISER_ENDED_BADLY,
};

struct group_facts {
    int64_t living;        /* members that have not ended, staged ones included */
    int64_t groups;        /* child groups that have not ended */
    int64_t failed;        /* members that have failed, less those that were retried */
    int64_t failed_groups; /* child groups that have failed */
    bool opener_lives;     /* the job, or the request, that opened it may still add to it */
    bool sealed;
    bool cancelled; /* by request, or with a group above it */
    bool stopped;   /* by `fail: stop`; the rest is being cancelled, or was */
    enum group_fail fail;
    enum group_finaliser finaliser;
};

enum group_next {
    GROUP_STAYS,
    GROUP_STOPS,           /* mark it stopped and cancel the rest */
    GROUP_MAKES_FINALISER, /* in the parent group, in this commit */
    GROUP_ENDS,            /* count it as ended in its parent, in this commit */
};

struct group_verdict {
    enum group_state state;
    enum group_next next;
};

/* For a group that has not ended.  After GROUP_STOPS the caller judges again. */
struct group_verdict group_judge(const struct group_facts *g);

/* Whether members may be added, if it has not ended.  A sealed group takes them as long as it is
 * open: what its own members emit. */
bool group_takes(const struct group_facts *g);

const char *group_state_name(enum group_state state);

static inline bool group_has_ended(enum group_state state)
{
    return state == GROUP_DONE || state == GROUP_FAILED || state == GROUP_CANCELLED;
}
