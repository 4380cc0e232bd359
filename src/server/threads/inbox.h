/*
 * The one place where threads meet: a list of items that others put in and the owner takes out.
 *
 * Items are embedded in what they carry and belong to whoever took them.  Order is kept.  Any
 * thread may put; a thread waits with a condition variable, or, when the inbox was made with a
 * descriptor, in its own epoll: the descriptor (an eventfd) becomes readable when the inbox stops
 * being empty.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct inbox_item {
    struct inbox_item *next;
};

/* A list that one thread fills and puts at once. */
struct inbox_list {
    struct inbox_item *first;
    struct inbox_item **end; /* NULL: empty */
};

#define INBOX_LIST_INIT ((struct inbox_list){.first = NULL, .end = NULL})

static inline void inbox_list_add(struct inbox_list *l, struct inbox_item *item)
{
    item->next = NULL;
    if (l->end == NULL)
        l->first = item;
    else
        *l->end = item;
    l->end = &item->next;
}

struct inbox {
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* waits by the monotonic clock */
    struct inbox_list items;
    unsigned waiters;
    bool poked;
    int fd; /* eventfd or -1 */
    bool closed;
};

/* `fd` stays the caller's; -1: takers wait with inbox_take. */
void inbox_init(struct inbox *in, int fd);
void inbox_deinit(struct inbox *in);

void inbox_put(struct inbox *in, struct inbox_item *item);

/* Puts all of the list, in order, and empties it.  One wake-up at most. */
void inbox_put_list(struct inbox *in, struct inbox_list *list);

/* Any thread. */
bool inbox_is_empty(struct inbox *in);

/* Lets one inbox_take return without an item. */
void inbox_poke(struct inbox *in);

/* Nothing is put after this.  Takers get what is there, then INBOX_CLOSED. */
void inbox_close(struct inbox *in);

enum inbox_result { INBOX_ITEMS, INBOX_NOTHING, INBOX_CLOSED };

/* All items, linked by `next`.  Waits until until_mono_at (TIME_NEVER: for ever) for the first. */
enum inbox_result inbox_take(struct inbox *in, int64_t until_mono_at,
                             struct inbox_item **ret_items);

/* The first item alone; waits without limit.  Several threads may share an inbox this way.
 * NULL when it is closed and empty. */
struct inbox_item *inbox_take_one(struct inbox *in);

/* All items now, for the owner of the descriptor, which is no longer readable then. */
struct inbox_item *inbox_take_now(struct inbox *in);
