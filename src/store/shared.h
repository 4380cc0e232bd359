/*
 * Several servers on one store, and the rules that keep them from harming each other.
 *
 * Each server is a member: it has its own node number, which is part of its ids, and a row that
 * says until when it counts as alive.  Every commit signs that row in the same transaction.  A
 * member whose time has passed may be declared dead: another member adopts its claims, and its next
 * signature is refused.  Sweeps are divided by row locks that others skip; there is no leader.
 *
 * Time is the database's clock.  These functions are for shared stores only, unless noted, and
 * belong to the store's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "store/store.h"

/* ---- membership ---- */

struct store_member {
    const char *name; /* permanent: a server that joins again under it gets its old node */
    const char *host;
    const char *version;
    const char *url;
    int64_t pid;
};

struct store_seat {
    uint32_t node;
    int64_t ids_floor;  /* no id of this node is higher */
    int64_t ids_newest; /* no id of any node is higher */
};

/* Takes a node, in its own transaction.  The server owns the claims of its former life again. */
MUST_CHECK enum err_code store_join(struct store *s, const struct store_member *member,
                                    int64_t alive_us, struct store_seat *ret_seat, struct err *err);

/* A clean stop: frees the node; others adopt its claims at once.  Outside of transactions. */
void store_leave(struct store *s);

/* A step after joining has failed: the server must join again. */
void store_unseat(struct store *s);

/* False: the others have declared this server dead; it must join again and reload everything. */
bool store_is_member(const struct store *s);

/* The members, by node.  Works on a reader.  Slices are valid during the call. */
struct store_peer {
    uint32_t node;
    struct slice name, host, version, url;
    int64_t pid;
    int64_t joined_at;
    int64_t alive_until_at; /* by the database's clock; in the past: dead */
};

typedef void store_peer_fn(void *ctx, const struct store_peer *peer);
MUST_CHECK enum err_code store_servers_list(struct store *s, store_peer_fn *on_peer, void *ctx,
                                            struct err *err);

/* ---- transactions ---- */

enum store_company {
    STORE_BESIDE, /* other servers write at the same time */
    STORE_ALONE,  /* no other server writes: for changes of queues */
};

/* What a transaction begins with. */
struct store_view {
    int64_t now_at;      /* the database's clock */
    int64_t definitions; /* as store_definitions_get */
    int64_t changes;     /* grows with every change of a queue */
    bool sole;           /* the only server; none can join before the transaction ends */
};

/* Replaces store_begin. */
MUST_CHECK enum err_code store_begin_shared(struct store *s, enum store_company company,
                                            struct store_view *ret_view, struct err *err);

/* The last write before a commit: signs it, extends this member's life by alive_us, and reserves
 * ids up to ids_mark.  A refusal shows in the commit.  When a connection is lost in a commit,
 * store_commit finds the outcome by the signature. */
MUST_CHECK enum err_code store_sign(struct store *s, int64_t alive_us, int64_t ids_mark,
                                    struct err *err);

/* The outcome of the last commit is unknown for good: do not repeat it. */
bool store_outcome_is_lost(const struct store *s);

/* The server stops: a commit whose outcome is not known is asked after once more, and then given
 * up.  Any thread. */
void store_stop_waiting(struct store *s);

/* The error is a conflict with another server: roll back and run again. */
bool store_is_conflict(const struct store *s);

/* The batch has lost the same race repeatedly: returns an error that counts as a conflict. */
enum err_code store_give_way(struct store *s, struct err *err);

/* The error is a lock timeout: work that does not need the lock may continue. */
bool store_is_busy(const struct store *s);

/* Lock timeout of the transactions that follow; 0: the default. */
void store_set_patience(struct store *s, int patience_ms);

/* Round-trip time measured when the transaction began; 0 on an embedded store. */
int64_t store_round_us(const struct store *s);

/* A queue has changed: increments the number of changes and returns it. */
MUST_CHECK enum err_code store_queues_changed(struct store *s, int64_t *ret_changes,
                                              struct err *err);

/* ---- what members do for each other ---- */

/* Which work is due, in one query. */
struct store_pulse {
    int64_t now_at;
    int64_t due_at;          /* when the next scheduled job is due; TIME_NEVER: none */
    int64_t clock_at;        /* when the next schedule or expiry is due; TIME_NEVER: none */
    bool dead;               /* a member's time has passed: adopt its claims */
    int64_t others_until_at; /* when the next member's time passes, by the store's clock;
                                TIME_NEVER: none */
    bool work;               /* chunked work is unfinished */
    bool unsettled;          /* staged jobs must be released or dropped */
    bool releases;           /* conditions must be checked */
    bool revivals;           /* cancelled jobs must be brought back */
    bool fanouts;            /* publications or ends are unfinished */
    bool ready;              /* a job is ready */
    int64_t changes;         /* as in struct store_view */
};

struct seen_worker {
    int64_t id;
    int64_t at;
    bool is_said; /* written by the beat; false when another server had locked the row */
};

/* Extends this member's life by alive_us, writes when it has seen these workers, and reports which
 * work is due: one statement, outside of transactions. */
MUST_CHECK enum err_code store_beat(struct store *s, int64_t alive_us, struct seen_worker *workers,
                                    size_t n_workers, struct store_pulse *ret_pulse,
                                    struct err *err);

/* Adopts the claims of dead members.  Returns how many, and adds the members' addresses to `names`,
 * separated by commas, as many as fit.  In a transaction. */
MUST_CHECK enum err_code store_adopt(struct store *s, int64_t *ret_claims, struct buf *names,
                                     struct err *err);

/* ---- news ---- */

/* Sends news to all servers, with the commit; at most STORE_NEWS_MAX bytes of UTF-8. */
enum { STORE_NEWS_MAX = 7000 };
MUST_CHECK enum err_code store_tell(struct store *s, struct slice news, struct err *err);

struct store_listener; /* has its own connection; belongs to one thread */

/* `news` is NULL after a reconnect: news sent in between was missed. */
typedef void store_news_fn(void *ctx, const char *news);

/* Does not fail when the database is unreachable: store_listener_wait reconnects. */
MUST_CHECK enum err_code store_listener_open(const struct store_config *config,
                                             struct store_listener **ret_listener, struct err *err);

/* Waits for news until timeout_ms has passed or `stop_fd` is readable; calls back for each. */
void store_listener_wait(struct store_listener *l, int stop_fd, int timeout_ms,
                         store_news_fn *on_news, void *ctx);
void store_listener_close(struct store_listener *l);

/* ---- row locks ---- */

/* Locks the job, alive or ended, until the transaction ends. */
MUST_CHECK enum err_code store_job_lock(struct store *s, int64_t id, struct err *err);
