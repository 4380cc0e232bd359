/*
 * A store for each test, and short words for what tests do with it all the time.  It is on a disk
 * in memory, or with WAYBILL_TEST_STORE in a schema of that PostgreSQL.
 *
 * Words fail the test when the store does not do as told.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "core/job/job.h"
#include "pg_schema.h"
#include "powercut_vfs.h"
#include "store/jobs/jobs.h"
#include "store/store.h"

#define FIXTURE_DIR "/data"
#define FIXTURE_FILE FIXTURE_DIR "/waybill.db"
#define NOW_AT (INT64_C(1760000000) * US_PER_S)

struct fixture {
    struct powercut *disk;  /* NULL on PostgreSQL */
    struct pg_schema place; /* there */
    struct store *store;
    struct arena arena;
};

extern struct fixture fx;

int fixture_setup(void **state);
int fixture_teardown(void **state);

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* The rest of the test is about SQLite's files: on PostgreSQL it is skipped. */
void only_embedded(const char *why);

/* Where the store is. */
struct store_config fixture_config(enum store_mode mode);

/* Another one on the same place. */
struct store *fixture_open(enum store_mode mode);
void fixture_reopen(void);             /* after a clean stop */
void fixture_power_cut(uint64_t seed); /* and opens again; on PostgreSQL only the client is gone */

void begin(void);
void commit(void);

/* Fails the test unless the call went well, with its message. */
#define ok(call)                                \
    do {                                        \
        struct err err = ERR_INIT;              \
        if ((call) != E_OK)                     \
            fail_msg("%s: %s", #call, err.msg); \
    } while (0)

/* A queue of that name, made in a transaction of its own; its number. */
int64_t add_queue(const char *name);

/* A ready job with params {"n":id}, in the open transaction; counted. */
struct job add_job(int64_t id, int64_t queue);

/* The job as it is; the test fails when there is none. */
struct job get_job(int64_t id);
bool job_is_there(int64_t id);

/* Claims ready jobs in the open transaction under one token, with its claim row (and, on
 * PostgreSQL, the row of its server, node 1); counted. */
void claim_jobs(int64_t token, const int64_t *ids, size_t n);

void count_move(int64_t queue, enum job_state from, enum job_state to);

/* How many findings a check has; `text` of the first, when not NULL, must occur in one of them. */
int findings(struct store *s, enum store_check how, const char *text);

/* SQL on a connection of its own: for damage, and to see what the store's own words do not tell.
 * Blobs are written as SQLite has them: x'00'. */
void raw_sql(const char *sql);
int64_t raw_number(const char *sql);

/* The same in another place. */
int64_t raw_postgres(const struct pg_schema *place, const char *sql);
