/*
 * The names of bulk actions.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "core/job/state.h"
#include "engine/op.h"

const char *bulk_action_name(int kind);

/* Whether the action can change a job in that state. */
bool bulk_action_means(enum act_kind kind, enum job_state state);

/* False when it is no action that works over a filter. */
bool bulk_action_parse(struct slice name, enum act_kind *ret_kind);
