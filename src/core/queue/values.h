/*
 * Values of a queue's definition, by kind: JSON into the field, and the field into canonical JSON.
 *
 * For src/core/queue_def.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/queue/keys.h"

struct queue_def;

/* One reading of a definition. */
struct queue_read {
    struct arena *arena; /* texts of `def` live there */
    struct queue_def *def;
    const struct queue_key *parent;  /* of the key that is read */
    bool stored;                     /* a command's bad template is noted in `def`, not refused */
    struct queue_def_faults *faults; /* NULL: the first mistake ends the reading */
    const char
        *fault_at; /* after a failure: the value or member name in the JSON, if known closer */
    struct err *err;
};

/* After a mistake: whether the others are wanted, too. */
bool queue_read_goes_on(struct queue_read *r);

/* Likewise after a mistake in one part of the key's value, whose message has no name yet. */
bool queue_read_part_goes_on(struct queue_read *r, const struct queue_key *key);

/* A resident program is started before there is a job to fill names with. */
MUST_CHECK enum err_code queue_value_check_resident(struct queue_read *r);

/* Any kind but QUEUE_KEY_OBJECT.  The error says what is wrong, its caller adds which key it is. */
MUST_CHECK enum err_code queue_value_read(struct queue_read *r, const struct queue_key *key,
                                          struct slice value);

void queue_value_write(const struct queue_def *def, const struct queue_key *key, struct buf *out);

/* What the bounds allow, for messages and documentation: "1 to 10000", "1ms to 10000d". */
void queue_value_bounds(const struct queue_key *key, struct buf *out);
