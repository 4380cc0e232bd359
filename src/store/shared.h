/*
 * A store that several servers share, and what each must do so that none harms the others.
 *
 * Each server is a member: it has a node of its own, which its ids carry, and a row that says until when it is to
 * be taken as alive.  Whatever commits has signed that row in the same transaction.  A member that let its time
 * pass may be taken for dead: its node's claims go to another one, and its next signature is refused.  Sweeps are
 * shared by locks on rows that others pass over; there is no leader.
 *
 * The database's clock is the time.  Everything here is for shared stores only, unless it says otherwise; like the
 * rest of the store it belongs to the store's thread.
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
    const char *name; /* lasts: who comes again under it takes its old node over */
    const char *host;
    const char *version;
    const char *url;
    int64_t pid;
};

struct store_seat {
    uint32_t node;
    int64_t ids_floor;  /* no id of this node was ever above */
    int64_t ids_newest; /* no id of any node was */
};

/* Takes a node; in a transaction of its own.  Claims of its former life are its own again. */
MUST_CHECK enum err_code store_join(struct store *s, const struct store_member *member,
                                    int64_t alive_us, struct store_seat *ret_seat, struct err *err);

/* A clean stop: the node is free, others look after its claims at once.  Outside of transactions. */
void store_leave(struct store *s);

/* What comes after joining has failed: it must join again. */
void store_unseat(struct store *s);

/* False: the others have taken this server for dead; it must join again, and read everything anew. */
bool store_is_member(const struct store *s);

/* The servers that share the store, by node; works on a reader.  Slices are valid during the call. */
struct store_peer {
    uint32_t node;
    struct slice name, host, version, url;
    int64_t pid;
    int64_t joined_at;
    int64_t alive_until_at; /* by the database's clock; passed: it is gone */
};

typedef void store_peer_fn(void *ctx, const struct store_peer *peer);
MUST_CHECK enum err_code store_servers_list(struct store *s, store_peer_fn *on_peer, void *ctx,
                                            struct err *err);

/* ---- transactions ---- */

enum store_company {
    STORE_BESIDE, /* others write at the same time */
    STORE_ALONE,  /* nobody else does: for changes of queues */
};

/* What the transaction begins with. */
struct store_view {
    int64_t now_at;      /* the database's clock */
    int64_t definitions; /* their number, as store_definitions_get */
    int64_t changes;     /* grows with every change of a queue */
    bool sole;           /* there is no other server, and none can join before the end */
};

/* Instead of store_begin. */
MUST_CHECK enum err_code store_begin_shared(struct store *s, enum store_company company,
                                            struct store_view *ret_view, struct err *err);

/* The last write before a commit: this member did it, is alive for so long, and gives out ids up to the mark.
 * Whether it was refused shows in the commit.  One whose outcome was lost with the connection is looked up by it,
 * inside of store_commit. */
MUST_CHECK enum err_code store_sign(struct store *s, int64_t alive_us, int64_t ids_mark,
                                    struct err *err);

/* Nobody can tell whether the last commit took effect: it must not be repeated. */
bool store_outcome_is_lost(const struct store *s);

/* The server stops: a commit whose outcome is not known is asked after once more, and then given up.  Any thread. */
void store_stop_waiting(struct store *s);

/* The error says that somebody else was faster: roll back, and run again. */
bool store_is_conflict(const struct store *s);

/* The batch itself has found that somebody else was faster, again and again: returns an error that is such a conflict. */
enum err_code store_give_way(struct store *s, struct err *err);

/* The error says that somebody holds a lock for too long: what does not need it may go on. */
bool store_is_busy(const struct store *s);

/* How long transactions from now on wait for a lock; 0: as long as usual. */
void store_set_patience(struct store *s, int patience_ms);

/* How long the database took to answer when the transaction began: a link may be slow. */
int64_t store_round_us(const struct store *s);

/* A queue has changed: raises the number of changes, and tells the new one. */
MUST_CHECK enum err_code store_queues_changed(struct store *s, int64_t *ret_changes,
                                              struct err *err);

/* ---- what members do for each other ---- */

/* What is there to be done, in one look. */
struct store_pulse {
    int64_t now_at;
    int64_t due_at; /* of the next scheduled job; TIME_NEVER: none */
    bool dead;      /* a member's time has passed */
    int64_t
        others_until_at; /* when the next member's time passes, by the store's clock; TIME_NEVER: none */
    bool work;           /* chunked work is unfinished */
    bool unsettled;      /* staged jobs are to be released or dropped */
    bool releases;       /* waits are still to be looked at */
    bool revivals;       /* jobs are still to be brought back */
    bool fanouts;        /* publications or ends are still to be worked off */
    bool ready;          /* some job is ready */
    int64_t changes; /* as in struct store_view */
};

struct seen_worker {
    int64_t id;
    int64_t at;
    bool is_said; /* by the beat: false of those whose rows another server was at */
};

/* Says that this member lives, for so long, and when it has seen these workers; and looks around: one statement,
 * outside of transactions. */
MUST_CHECK enum err_code store_beat(struct store *s, int64_t alive_us, struct seen_worker *workers,
                                    size_t n_workers, struct store_pulse *ret_pulse,
                                    struct err *err);

/* Takes over the claims of members whose time has passed; how many claims came, and from whom: `names` has their
 * addresses with commas between, as many as fit.  In a transaction. */
MUST_CHECK enum err_code store_adopt(struct store *s, int64_t *ret_claims, struct buf *names,
                                     struct err *err);

/* ---- news ---- */

/* Tells all servers, with the commit; at most STORE_NEWS_MAX bytes of UTF-8. */
enum { STORE_NEWS_MAX = 7000 };
MUST_CHECK enum err_code store_tell(struct store *s, struct slice news, struct err *err);

struct store_listener; /* a connection of its own, for a thread of its own */

/* `news` is NULL after the connection was lost and is there again: whatever was told meanwhile was missed. */
typedef void store_news_fn(void *ctx, const char *news);

/* Never fails for want of a connection: it keeps trying while it waits. */
MUST_CHECK enum err_code store_listener_open(const struct store_config *config,
                                             struct store_listener **ret_listener, struct err *err);

/* Waits for news, at most so long, or until `stop_fd` can be read; calls back for all that is there. */
void store_listener_wait(struct store_listener *l, int stop_fd, int timeout_ms,
                         store_news_fn *on_news, void *ctx);
void store_listener_close(struct store_listener *l);

/* ---- rows that are judged, locked against the others ---- */

/* Holds the job where it is, alive or ended, until the transaction ends. */
MUST_CHECK enum err_code store_job_lock(struct store *s, int64_t id, struct err *err);
