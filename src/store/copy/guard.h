/*
 * Who may be copied, and into what: nobody else is there, the source is of our version, the target
 * is empty.  And what a shared store has that an embedded one does without.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "store/store.h"

/* While it is not 0 the store is the target of a copy that has not been finished. */
#define META_COPYING "copying"

/* E_INVALID unless the store is of the version that we write. */
MUST_CHECK enum err_code copy_require_version(struct store *s, struct err *err);

/* A shared store is held while its connection lasts: no server joins meanwhile.  E_UNAVAILABLE: one
 * is there. */
MUST_CHECK enum err_code copy_guard(struct store *s, int64_t *ret_guard, struct err *err);

/* E_UNAVAILABLE when the connection is not that of copy_guard any more. */
MUST_CHECK enum err_code copy_guard_stands(struct store *s, int64_t guard, struct err *err);

/* The same; E_CONFLICT when both are one. */
MUST_CHECK enum err_code copy_guard_target(struct store *to, struct store *from, struct err *err);

/* E_CONFLICT when there is anything in it besides what a new store has.  In a transaction. */
MUST_CHECK enum err_code copy_require_empty(struct store *s, struct err *err);

/* The highest id that a server may have made; 0 for an embedded store, whose mark is among its
 * numbers. */
MUST_CHECK enum err_code copy_ids_marks(struct store *s, int64_t *ret_mark, struct err *err);

/* Copied claims are a dead server's, so that one of those who come takes them over.  In a
 * transaction. */
MUST_CHECK enum err_code copy_leave_claims(struct store *s, struct err *err);

/* Makes a shared store ready for questions about what has come all at once.  In a transaction. */
MUST_CHECK enum err_code copy_analyze(struct store *s, struct err *err);

/* On a shared store a running job itself tells that it has emitted something, on an embedded one
 * only its emitter does.  In a transaction. */
MUST_CHECK enum err_code copy_mark_emitters(struct store *s, struct err *err);
