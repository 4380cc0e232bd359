/* SPDX-License-Identifier: MIT */
#include "core/group/group.h"

#include "base/compiler.h"

static const char *const state_names[] = {[GROUP_OPEN] = "open",
                                          [GROUP_FINISHING] = "finishing",
                                          [GROUP_DONE] = "done",
                                          [GROUP_FAILED] = "failed",
                                          [GROUP_CANCELLED] = "cancelled"};

const char *group_state_name(enum group_state state)
{
    ASSERT(state >= GROUP_OPEN && state <= GROUP_CANCELLED);
    return state_names[state];
}

static bool has_failed(const struct group_facts *g)
{
    return g->failed > 0 || g->failed_groups > 0;
}

/* Nothing in it lives, and nothing can come. */
static bool is_over(const struct group_facts *g)
{
    bool closed = g->sealed || g->cancelled || g->stopped;

    return closed && !g->opener_lives && g->living == 0 && g->groups == 0;
}

/* A cancel is the last word: its finaliser may fail. */
static enum group_state end_state(const struct group_facts *g)
{
    if (g->cancelled)
        return GROUP_CANCELLED;
    /* A member that failed may have been retried since, but the rest was cancelled for it. */
    if (has_failed(g) || g->stopped || g->finaliser == FINALISER_ENDED_BADLY)
        return GROUP_FAILED;
    return GROUP_DONE;
}

struct group_verdict group_judge(const struct group_facts *g)
{
    if (g->finaliser == FINALISER_LIVES)
        return (struct group_verdict){GROUP_FINISHING, GROUP_STAYS};
    if (g->finaliser == FINALISER_ENDED_WELL || g->finaliser == FINALISER_ENDED_BADLY)
        return (struct group_verdict){end_state(g), GROUP_ENDS};
    if (g->fail == GROUP_FAIL_STOP && has_failed(g) && !g->stopped && !g->cancelled)
        return (struct group_verdict){GROUP_OPEN, GROUP_STOPS};
    if (!is_over(g))
        return (struct group_verdict){GROUP_OPEN, GROUP_STAYS};
    if (g->finaliser == FINALISER_DUE)
        return (struct group_verdict){GROUP_FINISHING, GROUP_MAKES_FINALISER};
    return (struct group_verdict){end_state(g), GROUP_ENDS};
}

bool group_takes(const struct group_facts *g)
{
    if (g->cancelled || g->stopped)
        return false;
    return g->finaliser == FINALISER_NONE || g->finaliser == FINALISER_DUE;
}
