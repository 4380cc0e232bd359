/*
 * The sync thread: what the engine and the readers send to the HTTP thread passes through it.
 *
 * While more requests wait, the engine commits without waiting for the disk (store_commit_early)
 * and runs its next batch.  Until that commit is synced nothing that depends on it may be told:
 * neither its answers nor what a reader has seen of it.  Such deliveries wait here.  All others go
 * straight on, and no order changes.
 *
 * When a sync fails, all that waits for it gets the error, and the server stops: only a restart can
 * find out what is on the disk.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"
#include "server/threads/delivery.h"
#include "server/threads/inbox.h"

struct store;

struct sync_thread {
    struct inbox inbox; /* of deliveries that wait for a sync */
    struct inbox *home; /* the HTTP thread's */
    struct store *store;
    atomic_size_t waiting;  /* deliveries that were put and are not on their way home */
    struct delivery broken; /* sent once, when a sync has failed, behind all that waited for it */
    struct err err;         /* why; for `broken` */
    pthread_t thread;
};

/* `store` is the engine's.  `on_broken` is called once on the HTTP thread if a sync fails; its
 * argument is `broken`. */
MUST_CHECK enum err_code sync_thread_start(struct sync_thread *t, struct store *store,
                                           struct inbox *home,
                                           void (*on_broken)(struct delivery *d), struct err *err);

/* Delivers all of the list to the HTTP thread, in order, when every commit that has returned by now
 * is durable; empties it.  Any thread. */
void sync_thread_forward(struct sync_thread *t, struct inbox_list *list);

/* Nothing is forwarded after this.  Sends on what is left, then ends. */
void sync_thread_stop(struct sync_thread *t);
