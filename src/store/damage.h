/*
 * Damage of the store: one object for all that have the store open.
 *
 * Any thread may note or ask.  A note stays until a full check finds nothing.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"

#define DAMAGE_TEXT_SIZE 400

struct store_damage {
    atomic_bool found;
    pthread_mutex_t lock;
    char text[DAMAGE_TEXT_SIZE]; /* the first finding; empty: none */
};

#define STORE_DAMAGE_INIT                 \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

/* Keeps and logs the first finding.  d may be NULL. */
void damage_note(struct store_damage *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void damage_clear(struct store_damage *d);

/* False: no damage. */
bool damage_find(struct store_damage *d, char ret_text[static DAMAGE_TEXT_SIZE]);
