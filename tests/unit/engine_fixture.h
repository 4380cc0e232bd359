/*
 * An engine over a store in a temporary directory, with a clock that the test holds.  With
 * WAYBILL_TEST_STORE the store is a schema of that PostgreSQL.
 *
 * Ops are run alone (run_op) or as one batch (batch_add, then batch_run).  They belong to the
 * fixture and live until its end; `answered` says whether the engine has called back.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/reads/query.h"
#include "pg_schema.h"
#include "store/damage.h"
#include "store/shared.h"
#include "store/store.h"

/* 2026-01-01T00:00:00Z */
#define START_AT INT64_C(1767225600000000)

struct test_op {
    struct op op; /* first */
    bool answered;
    bool client_left;
};

struct fixture {
    char dir[64];
    struct pg_schema place; /* on PostgreSQL */
    struct store_member member;
    bool is_guest;              /* of another fixture's store */
    struct store_damage damage; /* that was found */
    struct store *store;
    struct engine *engine;
    struct now now;
    struct arena arena; /* of what tests hand in */
    VEC(struct test_op *) ops;
    struct test_op *batch; /* the first one */
    struct test_op *batch_last;
    uint32_t waiting_max;
    struct fanout fanout; /* what a commit makes of one; counts from the next opening on */
    int64_t tick_us;      /* so much time passes whenever the engine looks at the clock */
};

/* For cmocka's setup and teardown: *state is a struct fixture. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

#define ENGINE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* On PostgreSQL: another server on the same store, which goes before it. */
struct fixture *fixture_join(const struct fixture *f);
void fixture_leave(struct fixture *f);

/* The process is gone: nothing is closed, the store is opened again. */
void fixture_crash(struct fixture *f);
void fixture_pass(struct fixture *f, int64_t us);

struct test_op *op_make(struct fixture *f, enum op_kind kind);
void batch_add(struct fixture *f, struct test_op *t);

/* The batch that was added, or nothing: whatever is due. */
void batch_run(struct fixture *f);
struct test_op *run_op(struct fixture *f, struct test_op *t);

/* ---- the usual ones; the returned op has not run ---- */

struct submit_item item_of(const char *queue);
const struct routing *routing_of(struct fixture *f, const char *json);
struct test_op *op_submit(struct fixture *f, const struct submit_item *items, size_t n);
struct test_op *op_claim(struct fixture *f, const char *queue, int max);
struct test_op *op_finish(struct fixture *f, int64_t id, int64_t token, enum job_outcome outcome);
struct test_op *op_touch(struct fixture *f, int64_t id, int64_t token);
struct test_op *op_act(struct fixture *f, enum job_action_kind kind, int64_t id);
struct test_op *op_queue_put(struct fixture *f, const char *name, const char *definition);
struct test_op *op_queue_state(struct fixture *f, const char *name, enum queue_state state);
struct test_op *op_bulk(struct fixture *f, enum job_action_kind kind, const char *queue);
struct test_op *op_wait(struct fixture *f, int64_t id, int64_t wait_us);

/* ---- run and judged: they fail the test when the engine refuses ---- */

int64_t submit_one(struct fixture *f, const char *queue);
void submit_many(struct fixture *f, const char *queue, size_t n);
void define_queue(struct fixture *f, const char *name, const char *definition);

struct granted {
    int64_t id, token, fence;
};

/* What a claim was granted: at most `room`. */
size_t granted_of(const struct test_op *t, struct granted *ret, size_t room);
struct granted claim_one(struct fixture *f, const char *queue);

/* ---- looking ---- */

const char *reply_of(const struct test_op *t);
bool reply_has(const struct test_op *t, const char *text);
enum job_state state_of(struct fixture *f, int64_t id);

/* The job at that place of a reply's `ids`. */
int64_t id_at(const struct test_op *t, size_t place);

/* A job as the store has it, which must be there; its texts live in the arena. */
struct job job_of(struct fixture *f, int64_t id, struct arena *arena);

int64_t kept_count(struct fixture *f, const char *queue, enum job_state state);

/* Runs a query on the fixture's store; its memory is the caller's to deinit. */
void run_query(struct fixture *f, struct query *q);

/* When the engine wants to be run next; on a shared store at the latest, as it beats in between. */
void assert_next_us(struct fixture *f, int64_t us);

/* SQL on a connection of its own: for damage. */
void damage_store(const struct fixture *f, const char *sql);

/* The full check: kept counts and the invariants between tables. */
void assert_sound(struct fixture *f);
