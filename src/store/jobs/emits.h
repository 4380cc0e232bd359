/*
 * What running jobs emit: staged jobs, the attempts that own them, and cursors.
 *
 * A staged job is in `jobs`, belongs to one row of `emits`, and through it to one attempt of its
 * owner.  The jobs of a row are released together, or dropped as if they had never existed.
 * Writes run inside the caller's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"

struct store;

/* What happens to an attempt's staged jobs.  Persisted. */
enum emit_fate {
    EMIT_OPEN, /* the attempt runs */
    EMIT_RELEASE,
    EMIT_DROP,
};

/* An attempt that has emitted something, or saved a cursor. */
struct stored_emitter {
    int64_t owner, token;
    int64_t seq;          /* the last request that was accepted */
    int64_t visible_upto; /* release visible jobs up to this seq, whatever the fate */
    int64_t staged;       /* number of staged jobs */
    enum emit_fate fate;
};

typedef void store_emitter_fn(void *ctx, const struct stored_emitter *emitter);

MUST_CHECK enum err_code store_emitters_load(struct store *s, store_emitter_fn *on_emitter,
                                             void *ctx, struct err *err);

/* Shared stores: one emitter, and those with unsettled jobs that no other server has locked. Locked
 * until the transaction ends. */
MUST_CHECK enum err_code store_emitter_find(struct store *s, int64_t owner, int64_t token,
                                            store_emitter_fn *on_emitter, void *ctx,
                                            struct err *err);
MUST_CHECK enum err_code store_emitters_unsettled(struct store *s, size_t limit,
                                                  store_emitter_fn *on_emitter, void *ctx,
                                                  struct err *err);

MUST_CHECK enum err_code store_emitter_put(struct store *s, const struct stored_emitter *m,
                                           struct err *err);
MUST_CHECK enum err_code store_emitter_remove(struct store *s, int64_t owner, int64_t token,
                                              struct err *err);

/* One request of an attempt. */
struct stored_emit {
    int64_t id; /* lower than its jobs' ids, higher than all ids made before; 0: none */
    int64_t owner, token;
    int64_t seq;
    bool visible; /* a cursor releases its jobs, not only the end of the attempt */
    bool staged;  /* its jobs are staged; false: they have been released */
    const int64_t *jobs;
    const uint64_t *contents; /* content hashes of jobs with a key; NULL: no job has a key */
    size_t n_jobs;
    struct slice dropped; /* JSON array of what filters dropped, with its places; or empty */
};

MUST_CHECK enum err_code store_emit_add(struct store *s, const struct stored_emit *e,
                                        struct err *err);

/* These read one row, with its arrays in the arena; id 0: there is none. */
MUST_CHECK enum err_code store_emit_find(struct store *s, const struct stored_emitter *m,
                                         int64_t seq, struct arena *arena,
                                         struct stored_emit *ret_emit, struct err *err);
MUST_CHECK enum err_code store_emit_first(struct store *s, const struct stored_emitter *m,
                                          struct arena *arena, struct stored_emit *ret_emit,
                                          struct err *err);

/* The first one that is visible, staged and due for release. */
MUST_CHECK enum err_code store_emit_first_visible(struct store *s, const struct stored_emitter *m,
                                                  struct arena *arena, struct stored_emit *ret_emit,
                                                  struct err *err);

/* Its jobs are no longer staged; the row stays, so that the request can be repeated. */
MUST_CHECK enum err_code store_emit_let_go(struct store *s, int64_t id, struct err *err);
MUST_CHECK enum err_code store_emit_remove(struct store *s, int64_t id, struct err *err);

/* The owner of a staged job; 0: unknown. */
MUST_CHECK enum err_code store_emit_owner(struct store *s, int64_t job, int64_t *ret_owner,
                                          struct err *err);

/* The staged jobs of a request, in the arena: id, queue, state, priority, due_at, awaited, key,
 * routing and history. */
MUST_CHECK enum err_code store_staged_load(struct store *s, const struct stored_emit *e,
                                           struct arena *arena, struct job **ret_jobs,
                                           size_t *ret_n, struct err *err);

/* Fills in params and assigned of staged jobs. */
MUST_CHECK enum err_code store_staged_params(struct store *s, struct job **jobs, size_t n,
                                             struct arena *arena, struct err *err);

/* Makes them ready, scheduled if they are due after now_at, or held if their rows have holds. */
MUST_CHECK enum err_code store_staged_release(struct store *s, const int64_t *ids, size_t n,
                                              int64_t now_at, struct arena *arena, struct err *err);

/* Removes them without a trace. */
MUST_CHECK enum err_code store_staged_drop(struct store *s, const int64_t *ids, size_t n,
                                           struct arena *arena, struct err *err);

MUST_CHECK enum err_code store_cursor_put(struct store *s, int64_t job, struct slice cursor,
                                          struct err *err);
MUST_CHECK enum err_code store_cursor_remove(struct store *s, int64_t job, struct err *err);

/* JSON, in the arena; empty: there is none. */
MUST_CHECK enum err_code store_cursor_find(struct store *s, int64_t job, struct arena *arena,
                                           struct slice *ret_cursor, struct err *err);
