/*
 * That the store is not what was written to it, for whoever must tell: one object for all that have the store open.
 *
 * Any thread may note or ask.  What was noted stays until a full check has found nothing.
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
    char text[DAMAGE_TEXT_SIZE]; /* of the first one; empty: none */
};

#define STORE_DAMAGE_INIT                 \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

/* Keeps and logs the first one.  NULL is fine. */
void damage_note(struct store_damage *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
void damage_clear(struct store_damage *d);

/* False: there is none. */
bool damage_find(struct store_damage *d, char ret_text[static DAMAGE_TEXT_SIZE]);
