/*
 * Workers for people: the fields of their table and page.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/view/view_field.h"

/* Seen recently and not stopped. */
bool worker_lives(const json_t *worker);

/* A member that `workers show` adds: an array of the jobs that run, those of other workers too. */
#define WORKER_JOBS "running_jobs"

/* Fields of a worker. */
view_field_fn worker_write_running;
view_field_fn worker_write_seen;
view_field_fn worker_write_queues; /* fetch:4 mail:2, and what is broken */
view_field_fn worker_write_instance;
view_field_fn worker_write_seen_at;    /* of a worker that is not stopped */
view_field_fn worker_write_stopped_at; /* of one that is */
view_field_fn worker_write_slots;
view_field_fn worker_write_queue_lines;
view_field_fn worker_write_broken_lines;
view_field_fn worker_write_jobs;
