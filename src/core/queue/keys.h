/*
 * The keys of a queue's definition: one table, the single source of their names, types, bounds,
 * defaults and meaning. Reading, writing, error messages, docs/definitions.md and the OpenAPI
 * document follow it.
 *
 * The order of the table is the order of canonical JSON, which is kept in stores: add new keys
 * where they read well, never reorder old ones.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/object/object.h"

/* All fill a struct queue_def. */
extern const struct object queue_object;
extern const struct object retry_object; /* `retry`: also of a job */
extern const struct object limits_object;
