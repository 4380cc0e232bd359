/*
 * The handlers of the routes: each turns a request into an op or a query, or answers at once.
 *
 * HTTP thread only.  See routes.c for which is which.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "server/request/routes.h"

handler_fn jobs_create, jobs_list, job_show, job_act, job_patch, job_delete, job_commit;
handler_fn jobs_create_lines; /* jobs_create with an NDJSON body */
handler_fn worker_exchange;   /* what: enum exchange_kind */
handler_fn worker_emit;
handler_fn bulk_create, bulk_list, bulk_show;
handler_fn definition_put, definition_remove; /* what: enum definition_kind */
handler_fn queues_list, queue_show;
handler_fn queue_put_state; /* what: enum queue_state */
handler_fn queue_restart, queue_log;
handler_fn definitions_apply;
handler_fn topics_list, topic_show, topic_publish_to, topic_subscribe, job_start;
handler_fn signals_list, signal_show, signal_add, signal_clear;
handler_fn joins_list, join_show, join_add, join_clear;
handler_fn log_show, log_append;
handler_fn workers_list, counts_show, server_show, health_show, ready_show, openapi_show;
handler_fn events_subscribe, metrics_show;
handler_fn backup_make, check_run;
