/*
 * What running jobs emit: staged jobs and whose they are, and cursors.
 *
 * A staged job stands among the living, belongs to one row of `emits`, and through it to one attempt of its
 * owner.  It leaves in a set with its row: released, or dropped as if it had never been.
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

/* What becomes of an attempt's staged jobs.  Persisted. */
enum emit_fate {
    EMIT_OPEN, /* the attempt runs */
    EMIT_RELEASE,
    EMIT_DROP,
};

/* An attempt that has emitted something, or saved a cursor. */
struct stored_emitter {
    int64_t owner, token;
    int64_t seq;          /* the last that was taken */
    int64_t visible_upto; /* visible ones are to be released up to this seq, whatever the fate */
    int64_t staged;       /* jobs that are staged */
    enum emit_fate fate;
};

typedef void store_emitter_fn(void *ctx, const struct stored_emitter *emitter);

MUST_CHECK enum err_code store_emitters_load(struct store *s, store_emitter_fn *on_emitter,
                                             void *ctx, struct err *err);

/* Shared stores: one of them, and some with something to be settled that no other server is at; held until the
 * transaction ends. */
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
    int64_t id; /* older than those of its jobs, younger than all that was made before; 0: none */
    int64_t owner, token;
    int64_t seq;
    bool visible; /* a cursor releases them, not only the end of the attempt */
    bool staged;  /* its jobs are staged: all of them are its own */
    const int64_t *jobs;
    const uint64_t *contents; /* hashes of those with a key; NULL: none has one */
    size_t n_jobs;
};

MUST_CHECK enum err_code store_emit_add(struct store *s, const struct stored_emit *e,
                                        struct err *err);

/* Each of these fills a row, its arrays in the arena; id 0 when there is none. */
MUST_CHECK enum err_code store_emit_find(struct store *s, const struct stored_emitter *m,
                                         int64_t seq, struct arena *arena,
                                         struct stored_emit *ret_emit, struct err *err);
MUST_CHECK enum err_code store_emit_first(struct store *s, const struct stored_emitter *m,
                                          struct arena *arena, struct stored_emit *ret_emit,
                                          struct err *err);

/* The first that is visible, staged and to be released. */
MUST_CHECK enum err_code store_emit_first_visible(struct store *s, const struct stored_emitter *m,
                                                  struct arena *arena, struct stored_emit *ret_emit,
                                                  struct err *err);

/* Its jobs are on their own; the row stays, so that the request can be repeated. */
MUST_CHECK enum err_code store_emit_let_go(struct store *s, int64_t id, struct err *err);
MUST_CHECK enum err_code store_emit_remove(struct store *s, int64_t id, struct err *err);

/* Whose a staged job is; 0 when it is not known. */
MUST_CHECK enum err_code store_emit_owner(struct store *s, int64_t job, int64_t *ret_owner,
                                          struct err *err);

/* The staged jobs of a request: id, queue, state, priority, due_at, awaited, key, bill and history, in the
 * arena. */
MUST_CHECK enum err_code store_staged_load(struct store *s, const struct stored_emit *e,
                                           struct arena *arena, struct job **ret_jobs,
                                           size_t *ret_n, struct err *err);

/* They become ready, scheduled when they are due after now_at, or held when there are holds in their row. */
MUST_CHECK enum err_code store_staged_release(struct store *s, const int64_t *ids, size_t n,
                                              int64_t now_at, struct arena *arena, struct err *err);

/* They have never been. */
MUST_CHECK enum err_code store_staged_drop(struct store *s, const int64_t *ids, size_t n,
                                           struct arena *arena, struct err *err);

MUST_CHECK enum err_code store_cursor_put(struct store *s, int64_t job, struct slice cursor,
                                          struct err *err);
MUST_CHECK enum err_code store_cursor_remove(struct store *s, int64_t job, struct err *err);

/* JSON, in the arena; empty when there is none. */
MUST_CHECK enum err_code store_cursor_find(struct store *s, int64_t job, struct arena *arena,
                                           struct slice *ret_cursor, struct err *err);
