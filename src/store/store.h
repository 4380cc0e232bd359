/*
 * The store: everything that survives, behind functions of our own.  All SQL of the project is below.
 *
 * A store opened for writing belongs to one thread; one opened for reading belongs to one thread too and
 * sees committed data only.  Write functions are called between store_begin and store_commit; a function
 * that fails leaves the transaction to be rolled back by the caller.
 *
 * The embedded store is one server's own.  One that is reached by a URL is shared: see store_shared.h.
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
    const char *vfs;       /* SQLite VFS by name; NULL: the system's (tests bring their own) */
    int64_t read_limit_us; /* STORE_READ: a transaction may take so long; 0: no limit */
    struct store_damage *damage; /* told of what is found (store/damage.h); NULL: nobody */
    bool half_copied; /* open it even if a copy into it was not finished: for store_copy.h alone */
};

/* Opens, creates or migrates.  E_INVALID when the URL is of no store that we know, E_UNAVAILABLE when the store
 * cannot be reached or is of a newer version (the message says what to do), E_FULL, E_INTERNAL with the cause
 * otherwise. */
MUST_CHECK enum err_code store_open(const struct store_config *config, struct store **ret_store,
                                    struct err *err);

/* STORE_WRITE, embedded: checkpoints and marks a clean stop (unless a transaction failed to commit).  NULL is
 * fine. */
void store_close(struct store *s);

/* Gives up without any of that: for tests that throw a process away. */
void store_abandon(struct store *s);

/* Several servers may work on it at the same time. */
bool store_is_shared(const struct store *s);

/* Its database cannot be reached: begin fails until it is there again.  Any thread. */
bool store_is_away(const struct store *s);

/* E_UNAVAILABLE when the files that a writer works on were removed or replaced.  Any thread. */
MUST_CHECK enum err_code store_in_place(const struct store *s, struct err *err);

/* The last writer did not stop cleanly: a quick check is due.  Never of a shared store. */
bool store_was_unclean(const struct store *s);

MUST_CHECK enum err_code store_begin(struct store *s, struct err *err);
MUST_CHECK enum err_code store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);

/* What the store has asked of the database since it was opened: statements, and how often their answers were waited for, which
 * takes a round trip each where the database is elsewhere.  Begin and commit are not counted. */
struct store_traffic {
    int64_t statements, rounds;
};

struct store_traffic store_traffic(const struct store *s);

enum store_check { STORE_CHECK_QUICK, STORE_CHECK_FULL };

typedef void store_finding_fn(void *ctx, const char *finding);

/* For who reads on: what the store tells of a job cannot be.  Notes the damage.  Always E_INTERNAL, with
 * bad_row and the job's id. */
enum err_code store_job_damaged(struct store *s, int64_t job, const char *what, struct err *err);

/* The same of a queue: it is not there, or twice. */
enum err_code store_queue_damaged(struct store *s, int64_t queue, struct err *err);

/* Calls back for each thing that is wrong: what was noted in DIR/damage, SQLite's own check (a shared store's files
 * are its database's business), and with FULL the kept counts and the invariants between tables.  Works on a reader.
 * E_OK also when there are findings, which are noted as damage.  FULL takes back what was noted when
 * it finds nothing else: somebody has been told. */
MUST_CHECK enum err_code store_verify(struct store *s, enum store_check how,
                                      store_finding_fn *on_finding, void *ctx, struct err *err);

/* A consistent copy of the running store into an existing empty or new directory.  Works on a reader.
 * E_INVALID for a shared one: its database has tools for that. */
MUST_CHECK enum err_code store_backup(struct store *s, const char *dir, int64_t *ret_bytes,
                                      struct err *err);

struct store_facts {
    int64_t bytes;      /* of the database file, or of the database */
    int64_t wal_bytes;  /* these three: embedded only, else 0 */
    int64_t free_bytes; /* inside the file, to be reused */
    int64_t disk_free;
    int version;     /* of the schema */
    char path[4096]; /* of the file, or the URL without its password */
};

MUST_CHECK enum err_code store_facts(struct store *s, struct store_facts *ret_facts,
                                     struct err *err);

/* Gives up to so many free pages back to the file system; a shared store has none.  Outside of transactions. */
MUST_CHECK enum err_code store_shrink(struct store *s, int pages, struct err *err);
