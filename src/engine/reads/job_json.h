/*
 * Jobs as JSON, for workers and for people.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/job/job.h"

/* "id":"…" of an id, with its key. */
void jtext_add_id(struct buf *b, const char *key, int64_t id);

/* {"id","lease"}, with a comma before it where one is needed. */
void jtext_add_lease(struct buf *b, int64_t id, struct slice lease);

/* {"code","message"}; no detail. */
void jtext_add_error(struct buf *b, const struct err *err);

/* "body":"…", or "body_base64" when it is not UTF-8, has NUL or too much to escape; nothing when
 * there is none.  At most 2.5 times as long as the body. */
void jtext_add_body(struct buf *b, struct slice body);

/* The members of `over` replace those of `base`; both are checked objects, or empty. */
void jtext_add_merged(struct buf *b, struct slice base, struct slice over);

/* "url": the job's full id; nothing when url, the base of it, is NULL. */
void jtext_add_job_url(struct buf *b, const char *url, int64_t id);

/* Adds the object with only the members whose keys, as written in it, `keeps` accepts. */
typedef bool jtext_keeps_fn(void *ctx, struct slice key);
void jtext_add_kept(struct buf *b, struct slice object, jtext_keeps_fn *keeps, void *ctx);

/* What all jobs of one queue and one claim have in common: "queue","lease_until". */
void jtext_add_grant(struct buf *b, const struct job *j, struct slice queue);

/* What a worker gets besides the job itself. */
struct claimed_texts {
    struct slice lease;
    struct slice grant; /* what jtext_add_grant wrote */
    struct slice group; /* members about its group; or empty */
    struct slice more;  /* members that its routing adds; or empty */
    const char *url;    /* the base of full ids; NULL: none */
};

void jtext_add_claimed(struct buf *b, const struct job *j, const struct claimed_texts *texts);

/* The job's own fields as people see them, without the braces: the caller may add more. */
void jtext_add_job_fields(struct buf *b, const struct job *j, struct slice queue);

/* The routing, whole or in short: step, parent and topic. */
void jtext_add_routing(struct buf *b, const struct job *j, bool whole);

/* One entry of the record; `name` is the step's, the queue's of a job without steps. */
void jtext_add_progress(struct buf *b, const struct progress_entry *e, struct slice name,
                        struct slice queue, struct slice worker);
