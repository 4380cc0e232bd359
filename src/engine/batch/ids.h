/*
 * Ids: where they begin at start, and the clock they are made by.
 *
 * They only grow.  The store holds a mark: ids below it may have been handed out.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/id_clock.h"

struct engine;

struct ids {
    struct id_gen gen;
    struct id_clock clock;
    int64_t at;   /* the instant new ids are made for */
    int64_t mark; /* in the store: ids below it may have been handed out */
    int64_t end;  /* ids from here on were made by a clock that was wrong */
};

int64_t engine_new_id(struct engine *e);

/* Ids begin above `floor`, below which this server may have handed some out; `newest` is the
 * highest mark of all servers.  E_UNAVAILABLE when the clock cannot be right. */
MUST_CHECK enum err_code ids_open(struct engine *e, int64_t floor, int64_t newest, struct err *err);

/* The clock was read: sets the time of new ids. */
void ids_tick(struct engine *e);

/* E_UNAVAILABLE when a batch might run out of ids. */
MUST_CHECK enum err_code ids_require_room(struct engine *e, struct err *err);

/* Before the commit: moves the mark when ids have come near it; *ret_mark is the new one. */
MUST_CHECK enum err_code ids_write_mark(struct engine *e, int64_t *ret_mark, struct err *err);
