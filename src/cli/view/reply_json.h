/*
 * Reads members of the server's JSON replies, and prints replies as they are.
 *
 * A member that is missing, null or of another type reads as "", 0 or NULL: output for people works
 * with older and newer servers.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/slice.h"

const char *reply_text(const json_t *object, const char *name);
int64_t reply_int(const json_t *object, const char *name);
int64_t reply_time(const json_t *object, const char *name); /* 0: none */
bool reply_is_true(const json_t *object, const char *name);

/* The value as compact JSON (free it), or NULL when it is missing, null, or an empty object or
 * array. */
char *reply_json(const json_t *object, const char *name);

/* Prints a JSON text, as it came but on one line. */
void print_json(struct slice json);

/* Prints each item of the member `name`, an array, on a separate line. */
void print_json_items(struct slice object, const char *name);
