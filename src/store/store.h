/*
 * The store: all data that survives a restart.  All SQL of the project is in this directory.
 *
 * A store belongs to the thread that opened it.  A reader sees committed data only.  Write
 * functions are called between store_begin and store_commit; after a failure the caller rolls back.
 *
 * The embedded store has one server.  A store with a URL is shared by several: see store/shared.h.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;
struct store_damage;

enum store_mode { STORE_WRITE, STORE_READ };

struct store_config {
    const char *url; /* postgresql://…: a shared store; NULL: the embedded one */
    const char *dir; /* the data directory: the embedded store is DIR/waybill.db */
    enum store_mode mode;
    const char *vfs;             /* SQLite VFS by name; NULL: the default (tests have their own) */
    int64_t read_limit_us;       /* STORE_READ: time limit of a transaction; 0: none */
    struct store_damage *damage; /* where damage is noted (store/damage.h); may be NULL */
    bool half_copied;            /* open it although a copy into it is unfinished: for copy/ only */
};

/* Opens, creates or migrates.  E_INVALID: unknown kind of URL; E_UNAVAILABLE: unreachable, or
 * written by a newer version (the message says what to do); E_FULL; otherwise E_INTERNAL with the
 * cause. */
MUST_CHECK enum err_code store_open(const struct store_config *config, struct store **ret_store,
                                    struct err *err);

/* A writer of an embedded store checkpoints and marks a clean stop, unless a commit failed.  s may
 * be NULL. */
void store_close(struct store *s);

/* Closes without checkpoint and mark: for tests that simulate a killed process. */
void store_abandon(struct store *s);

/* Several servers may use it at the same time. */
bool store_is_shared(const struct store *s);

/* The database is unreachable: begin fails until it is back.  Any thread. */
bool store_is_away(const struct store *s);

/* E_UNAVAILABLE when the open files were removed, replaced or cut off, or cannot be looked at.
 * Writers only; any thread. */
MUST_CHECK enum err_code store_in_place(const struct store *s, struct err *err);

/* The last writer did not stop cleanly: run a quick check.  Always false for a shared store. */
bool store_was_unclean(const struct store *s);

MUST_CHECK enum err_code store_begin(struct store *s, struct err *err);
MUST_CHECK enum err_code store_commit(struct store *s, struct err *err);

/* Commits, and leaves the sync to store_sync, so that the next transaction can run meanwhile; its
 * commit waits for that sync.  Readers see the commit at once: until the sync is over, nothing that
 * depends on it may be told to anybody.  Some commits are synced at once all the same. */
MUST_CHECK enum err_code store_commit_early(struct store *s, struct err *err);

/* Whether a commit awaits its sync, or the sync failed.  Any thread. */
bool store_owes_sync(const struct store *s);

/* Makes that commit durable.  Any thread.  E_UNAVAILABLE: whether it survives is unknown until the
 * store is opened again, and until then no other commit succeeds. */
MUST_CHECK enum err_code store_sync(struct store *s, struct err *err);

void store_rollback(struct store *s);

/* Statements since the store was opened, and how often it waited for answers (one round trip each).
 * Begin and commit are not counted. */
struct store_traffic {
    int64_t statements, rounds;
};

struct store_traffic store_traffic(const struct store *s);

enum store_check { STORE_CHECK_QUICK, STORE_CHECK_FULL };

typedef void store_finding_fn(void *ctx, const char *finding);

/* For readers that find impossible data of a job: notes the damage.  Always returns E_INTERNAL,
 * with bad_row and the job's id. */
enum err_code store_job_damaged(struct store *s, int64_t job, const char *what, struct err *err);

/* The same for a queue that is missing or duplicate. */
enum err_code store_queue_damaged(struct store *s, int64_t queue, struct err *err);

/* Calls back for each finding: the note in DIR/damage, SQLite's own check (PostgreSQL checks its
 * own files), and with FULL the kept counts and the invariants between tables.  Works on a reader.
 * E_OK also when there are findings, which are noted as damage.  FULL removes earlier notes when it
 * finds nothing new: they have been reported. */
MUST_CHECK enum err_code store_verify(struct store *s, enum store_check how,
                                      store_finding_fn *on_finding, void *ctx, struct err *err);

/* Copies the running store consistently into a new or empty directory.  Works on a reader.
 * E_INVALID for a shared store: use the tools of its database. */
MUST_CHECK enum err_code store_backup(struct store *s, const char *dir, int64_t *ret_bytes,
                                      struct err *err);

struct store_facts {
    int64_t bytes;      /* of the database file, or of the database */
    int64_t wal_bytes;  /* this and the next two: embedded only, else 0 */
    int64_t free_bytes; /* reusable, inside the file */
    int64_t disk_free;
    int version;     /* of the schema */
    char path[4096]; /* of the file, or the URL without its password */
};

MUST_CHECK enum err_code store_facts(struct store *s, struct store_facts *ret_facts,
                                     struct err *err);

/* Returns at most `pages` free pages to the file system; nothing for a shared store.  Outside of
 * transactions. */
MUST_CHECK enum err_code store_shrink(struct store *s, int pages, struct err *err);
