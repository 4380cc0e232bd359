/*
 * Values of a queue's definition that no type of core/object covers: commands, variables, exit
 * statuses, destinations, topics, filters.
 *
 * For src/core/queue/keys.c alone. Each reads into a struct queue_def, or writes canonical JSON of
 * one.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/object/object.h"

/* In a stored definition, a command that cannot be run is noted in `fault`, not refused. */
field_fn queue_command_read;
field_fn queue_env_read;
field_fn queue_exits_read; /* replaces the rules; no status may be named twice */
field_fn queue_dests_read;
field_fn queue_lane_read;
field_fn queue_needs_read;
field_fn queue_topics_read;
field_fn queue_filters_read;

field_write_fn queue_json_write; /* a field that is canonical JSON */
field_write_fn queue_exits_write;
field_write_fn queue_dests_write;
field_write_fn queue_lane_write;
field_write_fn queue_needs_write;
field_write_fn queue_topics_write;
field_write_fn queue_filters_write;

field_fn queue_path_check; /* an absolute path */
field_fn queue_user_check; /* the name of a user */

/* Refuses names in the command of a resident program, which starts before there is a job. */
object_check_fn queue_resident_check;
