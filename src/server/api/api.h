/*
 * The routes of each noun, and handlers that several files need.
 *
 * A handler turns a request into an op or a query, or answers at once.  HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "server/request/routes.h"

struct object;

/* One table a noun: NOUN_routes of api/NOUN.c.  They are searched in this order: requests of
 * workers and for jobs are the most frequent. */
#define API_NOUNS(X) \
    X(exchange)      \
    X(jobs)          \
    X(bulk)          \
    X(queues)        \
    X(definitions)   \
    X(topics)        \
    X(signals)       \
    X(joins)         \
    X(resources)     \
    X(schedules)     \
    X(groups)        \
    X(server)        \
    X(admin)

#define API_TABLE(noun) extern const struct route_table noun##_routes;
API_NOUNS(API_TABLE)
#undef API_TABLE

handler_fn jobs_create_lines;    /* streams/lines.c: POST /v1/jobs with an NDJSON body */
handler_fn log_show, log_append; /* streams/logs.c */
handler_fn group_results;        /* streams/results.c */
handler_fn events_subscribe;     /* streams/events.c */

/* Definitions of any kind; what: enum definition_kind. */
handler_fn definition_put, definition_remove;

/* Any route with a `view`: answers with what its query finds. */
handler_fn view_show;

/* Answers with the route's view of that id when it has ended, or after that time. */
void view_show_ended(struct request *r, int64_t id, int64_t wait_us);
