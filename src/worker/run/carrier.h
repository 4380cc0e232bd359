/*
 * Carriers: how a task is carried out, by whatever does so.
 *
 * A task has a carrier from its start to the moment it is settled.  `program` starts one process for each
 * task, `resident` hands tasks to processes that go on living.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/slice.h"

struct carrier;
struct tree_event;

struct carrier_ops {
    /* Its process ended, was stopped or continued, as the tree tells. */
    void (*event)(struct carrier *c, const struct tree_event *event);

    /* TERM to all of it now, KILL at that instant of the steady clock. */
    void (*stop)(struct carrier *c, int64_t kill_at);

    /* Once a pass of the loop: time-outs, kills, what is still being ended.  Returns when to look again. */
    int64_t (*pass)(struct carrier *c, int64_t now);

    /* More lines can be taken again. */
    void (*read_on)(struct carrier *c);

    /* Answers of the report; what does not fit into the pipe is dropped. */
    void (*reply)(struct carrier *c, struct slice lines);

    /* Its processes have been killed: forgets it, its task has no carrier any more. */
    void (*abandon)(struct carrier *c);
};

struct carrier {
    const struct carrier_ops *ops;
};
