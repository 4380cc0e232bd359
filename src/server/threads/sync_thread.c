/* SPDX-License-Identifier: MIT */
#include "server/threads/sync_thread.h"

#include "base/clock.h"
#include "server/threads/threads.h"
#include "store/store.h"

static size_t count(const struct inbox_item *items)
{
    size_t n = 0;

    for (; items != NULL; items = items->next)
        n++;
    return n;
}

void sync_thread_forward(struct sync_thread *t, struct inbox_list *list)
{
    if (list->end == NULL)
        return;
    if (atomic_load(&t->waiting) == 0 && !store_owes_sync(t->store)) {
        inbox_put_list(t->home, list);
        return;
    }
    atomic_fetch_add(&t->waiting, count(list->first));
    inbox_put_list(&t->inbox, list);
}

static void fail_all(struct inbox_item *items, const struct err *err)
{
    for (struct inbox_item *item = items; item != NULL; item = item->next) {
        struct delivery *d = (struct delivery *)item;

        if (d->fail != NULL)
            d->fail(d, err);
    }
}

static void send_home(struct sync_thread *t, struct inbox_item *items)
{
    struct inbox_list list = INBOX_LIST_INIT;

    for (struct inbox_item *next = NULL; items != NULL; items = next) {
        next = items->next;
        inbox_list_add(&list, items);
    }
    inbox_put_list(t->home, &list);
}

static void *run(void *arg)
{
    struct sync_thread *t = arg;
    struct inbox_item *items = NULL;
    enum inbox_result got;

    while ((got = inbox_take(&t->inbox, TIME_NEVER, &items)) != INBOX_CLOSED) {
        struct err err = ERR_INIT;
        size_t n = got == INBOX_ITEMS ? count(items) : 0;

        if (n == 0)
            continue;
        bool is_lost = store_sync(t->store, &err) != E_OK;

        if (is_lost)
            fail_all(items, &err);
        send_home(t, items);
        if (is_lost && t->err.code == E_OK) {
            t->err = err;
            inbox_put(t->home, &t->broken.item);
        }
        atomic_fetch_sub(&t->waiting, n);
    }
    return NULL;
}

enum err_code sync_thread_start(struct sync_thread *t, struct store *store, struct inbox *home,
                                void (*on_broken)(struct delivery *d), struct err *err)
{
    *t = (struct sync_thread){.home = home, .store = store, .broken.deliver = on_broken};
    inbox_init(&t->inbox, -1);
    return thread_start(&t->thread, "sync", run, t, err);
}

void sync_thread_stop(struct sync_thread *t)
{
    inbox_close(&t->inbox);
    thread_join(t->thread);
    inbox_deinit(&t->inbox);
}
