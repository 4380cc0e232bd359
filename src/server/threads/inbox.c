/* SPDX-License-Identifier: MIT */
#include "server/threads/inbox.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static void check(int error)
{
    ASSERT(error == 0);
}

void inbox_init(struct inbox *in, int fd)
{
    pthread_condattr_t attr;

    *in = (struct inbox){.fd = fd, .items = INBOX_LIST_INIT};
    check(pthread_mutex_init(&in->mutex, NULL));
    check(pthread_condattr_init(&attr));
    check(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    check(pthread_cond_init(&in->wake, &attr));
    check(pthread_condattr_destroy(&attr));
}

void inbox_deinit(struct inbox *in)
{
    check(pthread_cond_destroy(&in->wake));
    check(pthread_mutex_destroy(&in->mutex));
}

void inbox_put_list(struct inbox *in, struct inbox_list *list)
{
    if (list->end == NULL)
        return;
    bool single = list->first->next == NULL;

    check(pthread_mutex_lock(&in->mutex));
    bool was_empty = in->items.end == NULL;
    unsigned waiters = in->waiters;

    if (was_empty)
        in->items.first = list->first;
    else
        *in->items.end = list->first;
    in->items.end = list->end;
    check(pthread_mutex_unlock(&in->mutex));
    *list = INBOX_LIST_INIT;
    if (waiters == 1 || (waiters > 1 && single))
        check(pthread_cond_signal(&in->wake));
    else if (waiters > 1)
        check(pthread_cond_broadcast(&in->wake));
    if (was_empty && in->fd >= 0) {
        uint64_t one = 1;

        /* The counter of an eventfd is full after 2^64 rings: a write that fails has nothing to
         * add. */
        (void)!write(in->fd, &one, sizeof(one));
    }
}

void inbox_put(struct inbox *in, struct inbox_item *item)
{
    struct inbox_list list = INBOX_LIST_INIT;

    inbox_list_add(&list, item);
    inbox_put_list(in, &list);
}

bool inbox_is_empty(struct inbox *in)
{
    check(pthread_mutex_lock(&in->mutex));
    bool is_empty = in->items.end == NULL;

    check(pthread_mutex_unlock(&in->mutex));
    return is_empty;
}

void inbox_poke(struct inbox *in)
{
    check(pthread_mutex_lock(&in->mutex));
    in->poked = true;
    check(pthread_mutex_unlock(&in->mutex));
    check(pthread_cond_signal(&in->wake));
}

void inbox_close(struct inbox *in)
{
    check(pthread_mutex_lock(&in->mutex));
    in->closed = true;
    check(pthread_mutex_unlock(&in->mutex));
    check(pthread_cond_broadcast(&in->wake));
}

/* False when the time is up. */
static bool wait_until(struct inbox *in, int64_t until_mono_at)
{
    int error;

    in->waiters++;
    if (until_mono_at == TIME_NEVER) {
        error = pthread_cond_wait(&in->wake, &in->mutex);
    } else {
        struct timespec until = {.tv_sec = until_mono_at / US_PER_S,
                                 .tv_nsec = (long)(until_mono_at % US_PER_S) * 1000};

        error = pthread_cond_timedwait(&in->wake, &in->mutex, &until);
    }
    in->waiters--;
    ASSERT(error == 0 || error == ETIMEDOUT);
    return error == 0;
}

static struct inbox_item *take_all(struct inbox *in)
{
    struct inbox_item *first = in->items.first;

    in->items = INBOX_LIST_INIT;
    return first;
}

enum inbox_result inbox_take(struct inbox *in, int64_t until_mono_at, struct inbox_item **ret_items)
{
    enum inbox_result result = INBOX_NOTHING;

    check(pthread_mutex_lock(&in->mutex));
    while (in->items.end == NULL && !in->poked && !in->closed && wait_until(in, until_mono_at))
        ;
    in->poked = false;
    if (in->items.end != NULL) {
        *ret_items = take_all(in);
        result = INBOX_ITEMS;
    } else if (in->closed) {
        result = INBOX_CLOSED;
    }
    check(pthread_mutex_unlock(&in->mutex));
    return result;
}

struct inbox_item *inbox_take_one(struct inbox *in)
{
    check(pthread_mutex_lock(&in->mutex));
    while (in->items.end == NULL && !in->closed)
        (void)wait_until(in, TIME_NEVER);
    struct inbox_item *item = in->items.first;

    if (item != NULL) {
        in->items.first = item->next;
        if (item->next == NULL)
            in->items = INBOX_LIST_INIT;
    }
    check(pthread_mutex_unlock(&in->mutex));
    return item;
}

struct inbox_item *inbox_take_now(struct inbox *in)
{
    uint64_t rings;

    /* Before the list is taken: an item put in between rings again. */
    (void)!read(in->fd, &rings, sizeof(rings));
    check(pthread_mutex_lock(&in->mutex));
    struct inbox_item *items = take_all(in);

    check(pthread_mutex_unlock(&in->mutex));
    return items;
}
