/*
 * Limits on everything that comes from outside.  All such numbers are here, but those of a single
 * job, which workers know as well (core/submit).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/clock.h"

/* ---- connections ---- */

enum {
    /* Fewer where RLIMIT_NOFILE is low: see ports.c. */
    TCP_CONNECTIONS_MAX = 1000,
    UNIX_CONNECTIONS_MAX = 1000,
    DELAYED_SHARE = 8,      /* 1 in 8 may wait for the answer to a wrong token */
    SPARE_CONNECTIONS = 16, /* above the maximum: answered 429 and closed */
    OWN_DESCRIPTORS = 160,  /* kept for the store, the threads, the worker and spools */
    SPOOLS_MAX = 64,
    WAITING_MAX = 900,       /* claims and waits that are not answered yet */
    LOCAL_WAITING_MAX = 100, /* of the Unix socket, when those are used up */
    SUBSCRIBERS_MAX = 100,   /* of events */
    FOLLOWERS_MAX = 200,     /* of logs */
    LISTEN_BACKLOG = 1024,
    READER_THREADS = 3,      /* the last for the Unix socket alone */
    READS_PENDING_MAX = 500, /* of TCP, and as many of the Unix socket */
};

#define HEADER_MAX ((size_t)8 << 10)      /* request line and header fields */
#define PARAMS_JSON_MAX (HEADER_MAX * 16) /* parameters as JSON: a byte may become six */
enum {
    READS_A_TURN = 16, /* of one connection, before others get a turn */
    HEADER_FIELDS_MAX = 100,
    CHUNK_EXTRA_MAX = 1024, /* bytes of chunk extensions in a whole body */
};

/* Maximum bytes that a connection has read and not used: part of a head, or requests behind the
 * current one.  None while it is idle. */
#define READ_BLOCK ((size_t)16 << 10)
#define BODY_BLOCK ((size_t)64 << 10) /* of a body, read at once */

/* ---- replies ---- */

/* Replies that their clients have not taken yet, in all; one has at most OP_REPLY_MAX.  Above
 * it the connection that has moved least recently is cut off. */
#define UNSENT_MAX ((size_t)64 << 20)
#define STREAM_BLOCK ((size_t)16 << 10)     /* of a stream, made at once */
#define STREAM_BLOCK_MAX (3 * STREAM_BLOCK) /* with its head and its frames */

/* ---- bodies ---- */

#define BODY_SMALL_MAX ((size_t)1 << 20)
#define BODY_ARRAY_MAX ((size_t)64 << 20) /* POST /v1/jobs, claim, finish, touch */
#define BODY_LINES_MAX ((size_t)1 << 30)  /* NDJSON, spooled */
#define BODY_LOG_MAX ((size_t)1 << 20)

#define SPOOL_FROM ((size_t)1 << 20) /* an NDJSON body above this goes to a file */
#define SPOOL_TOTAL_MAX ((size_t)4 << 30)

/* When no more than this is left of a refused or unwanted body, it is skipped and the
 * connection stays.  Otherwise the reply is sent at once and the connection closes. */
#define SKIP_MAX ((size_t)64 << 10)

/* Maximum bytes that are read and dropped after a last reply, so that the client can read the
 * reply. */
#define DISCARD_MAX ((size_t)256 << 20)

/* All bodies in memory together; those below BODY_FREE do not count. */
#define BODIES_TOTAL_MAX ((size_t)256 << 20)
#define BODY_FREE ((size_t)64 << 10)

/* A body that was larger than this gives its memory back to the system at once. */
#define BODY_TRIM ((size_t)4 << 20)

/* ---- fields ---- */

enum {
    RAISES_MAX = 1000, /* signals that one finish raises */
    CURSOR_BYTES_MAX = 64 << 10,
    TEXT_BYTES_MAX = 16 << 10, /* a status line */
    UNIT_BYTES_MAX = 40,       /* of done and total */
    WORKER_INSTANCE_MIN = 16,  /* of it 8 are shown */
    WORKER_INSTANCE_MAX = 64,  /* and of the machine's boot */
    WORKER_PREVIOUS_MAX = 16,  /* instances that a worker names as those before it */
    LEASE_TOLD_MAX = 200,      /* longer than any lease that was ever granted */
    WORKER_NAME_MAX = 200,
    BROKEN_BYTES_MAX = 2000, /* why a worker cannot start a queue's program */
    LOG_TIMES_MAX = 4096,    /* with one piece of a log */
    LIST_LIMIT = 50,
    LIST_LIMIT_MAX = 1000,
    QUEUE_LOG_LIMIT = 100,
    LINKS_LIMIT = 100,      /* signals, joins, what has arrived at one */
    START_PARAMS_MAX = 100, /* of GET /job_start */
    LINES_CHUNK = 500,      /* NDJSON lines in one commit */
};

/* Notifications of other servers on their way to the engine.  Above this they are dropped and
 * everything is checked. */
enum { NEWS_PENDING_MAX = 1000, NEWS_ROOM_MS = 100 };

#define LINES_CHUNK_BYTES ((size_t)4 << 20)

/* What of spooled bodies is in memory, in all.  Above it the next chunk waits; one more
 * (JOB_BYTES_MAX and LINES_CHUNK_BYTES) may have been begun before. */
#define WINDOWS_TOTAL_MAX ((size_t)64 << 20)
#define WINDOW_AGAIN_US (US_PER_S / 100) /* between two looks whether there is room */
#define LOG_PIECE ((size_t)1 << 20)      /* of a log, read at once */

/* ---- time ---- */

#define HEADER_US (30 * US_PER_S)     /* from connecting to the end of the first header */
#define KEEP_ALIVE_US (75 * US_PER_S) /* from a reply to the end of the next header */
#define STALL_US (30 * US_PER_S) /* without one byte of a body, or of a reply taken; the default */
#define STALL_MIN_US US_PER_S
#define STALL_MAX_US US_PER_DAY
#define LINGER_US (30 * US_PER_S)      /* for what still comes behind a last answer */
#define LINGER_STALL_US (5 * US_PER_S) /* of that, without one byte */
#define RATE_MIN ((size_t)4 << 10)     /* mean bytes per second of a body or reply: pace.h */
#define READ_LIMIT_US (5 * US_PER_S)   /* one query of a reader */
#define HEARTBEAT_US (25 * US_PER_S)   /* between comment lines of an event stream */
#define FOLLOW_US (1 * US_PER_S)       /* between looks at a followed log without news */
#define LIFETIME_US (7 * US_PER_DAY)   /* a subscribed worker may be away; the default */
#define LIFETIME_MIN_US US_PER_S
#define LIFETIME_MAX_US (10000 * US_PER_DAY)
#define STOP_US (5 * US_PER_S)       /* for running requests, after TERM */
#define STOP_SECONDS_MAX 9           /* then the process exits whatever happens; see serve.c */
#define STOP_SPARE_US (US_PER_S / 2) /* of that, for closing the store */
#define SILENCE_US US_PER_MIN        /* of the local worker, until it counts as hung; the default */
#define SILENCE_MIN_US US_PER_S
#define SILENCE_MAX_US US_PER_DAY
#define WORKER_HAND_BACK_US (US_PER_S * 6 / 10) /* after its grace, for what it still runs */

/* ---- events ---- */

#define SUBSCRIBER_BYTES \
    ((size_t)256 << 10)              /* not yet taken; one more event drops the subscriber */
enum { EVENTS_PENDING_MAX = 20000 }; /* on their way from the engine to the HTTP thread */
