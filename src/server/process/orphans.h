/*
 * Processes that a dead worker left: its programs and their descendants, which become our
 * children.
 *
 * A program that outlives its worker would run beside its own next attempt.  We are a subreaper,
 * so that whatever loses its parent below the worker is our child from then on, daemon or not, and
 * no pid of it can be reused before we reap it.  While the worker lives, it reaps its own.
 *
 * Not done when we had children before the worker, or are the first process of a container:
 * foreign processes would become our children as well.
 *
 * The HTTP thread alone, which is the only one that starts and reaps children.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct orphans {
    bool adopts;
};

/* Before the first child of ours is started. */
void orphans_adopt(struct orphans *o);

/* Kills all children, and reaps those that have ended.  Returns how many there still are: not
 * 0, call it again in some ms.  *ret_killed grows by those that were alive. */
unsigned orphans_end(const struct orphans *o, unsigned *ret_killed);
