/* SPDX-License-Identifier: MIT */
#include "core/group/row.h"

struct group_facts group_facts_of(unsigned flags, const struct group_counts *counts,
                                  enum group_finaliser finaliser)
{
    return (struct group_facts){
        .living = counts->waiting + counts->running,
        .groups = counts->groups,
        .failed = counts->failed,
        .failed_groups = (flags & GROUP_CHILD_FAILED) != 0,
        .opener_lives = (flags & GROUP_OPENER_LIVES) != 0,
        .sealed = (flags & GROUP_IS_SEALED) != 0,
        .cancelled = (flags & GROUP_IS_CANCELLED) != 0,
        .stopped = (flags & GROUP_IS_STOPPED) != 0,
        .fail = (flags & GROUP_STOPS_ON_FAIL) != 0 ? GROUP_FAIL_STOP : GROUP_FAIL_FINISH,
        .finaliser = finaliser,
    };
}

bool group_never_was(unsigned flags, const struct group_counts *counts)
{
    return (flags & GROUP_IS_PROVISIONAL) != 0 && (flags & GROUP_OPENER_LIVES) == 0 &&
           counts->waiting == 0 && counts->running == 0 && counts->groups == 0;
}

enum group_state group_state_parse(struct slice name)
{
    for (unsigned s = GROUP_OPEN; s <= GROUP_CANCELLED; s++)
        if (slice_is(name, group_state_name((enum group_state)s)))
            return (enum group_state)s;
    return (enum group_state)0;
}
