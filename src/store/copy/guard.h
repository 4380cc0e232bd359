/*
 * Preconditions of a copy: no server is running, the source has the current version, the target is
 * empty.  And the steps that only a shared store needs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "store/store.h"

/* Not 0 while the store is the target of an unfinished copy. */
#define META_COPYING "copying"

/* E_INVALID unless the store has the current version. */
MUST_CHECK enum err_code copy_require_version(struct store *s, struct err *err);

/* Locks a shared store until the connection ends: no server can join.  E_UNAVAILABLE: one is
 * running. */
MUST_CHECK enum err_code copy_guard(struct store *s, int64_t *ret_guard, struct err *err);

/* E_UNAVAILABLE: the connection of copy_guard was lost. */
MUST_CHECK enum err_code copy_guard_stands(struct store *s, int64_t guard, struct err *err);

/* As copy_guard, for the target; E_CONFLICT: it is the source. */
MUST_CHECK enum err_code copy_guard_target(struct store *to, struct store *from, struct err *err);

/* E_CONFLICT when it has more than a new store has.  In a transaction. */
MUST_CHECK enum err_code copy_require_empty(struct store *s, struct err *err);

/* The highest id that a server may have assigned; 0 for an embedded store, which has it in `meta`.
 */
MUST_CHECK enum err_code copy_ids_marks(struct store *s, int64_t *ret_mark, struct err *err);

/* Gives the copied claims to a dead server, so that the first server adopts them.  In a
 * transaction. */
MUST_CHECK enum err_code copy_leave_claims(struct store *s, struct err *err);

/* Updates the planner statistics of a shared store.  In a transaction. */
MUST_CHECK enum err_code copy_analyze(struct store *s, struct err *err);

/* Running jobs that have emitted something are marked on a shared store and not on an embedded one.
 * In a transaction. */
MUST_CHECK enum err_code copy_mark_emitters(struct store *s, struct err *err);
