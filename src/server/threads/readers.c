/* SPDX-License-Identifier: MIT */
#include "server/threads/readers.h"

#include "server/threads/threads.h"
#include "store/store.h"

static void *run(void *arg)
{
    struct reader *reader = arg;
    struct inbox_item *item;

    while ((item = inbox_take_one(reader->inbox)) != NULL) {
        struct reading *r = (struct reading *)item;

        r->run(r, reader->store);
        struct inbox_list done = INBOX_LIST_INIT;

        inbox_list_add(&done, &r->delivery.item);
        sync_thread_forward(reader->sync, &done);
    }
    store_close(reader->store);
    return NULL;
}

enum { SHARED_THREADS = READER_THREADS - 1 };

static enum err_code start_one(struct readers *rs, const struct store_config *config,
                               struct sync_thread *sync, struct err *err)
{
    struct reader *reader = &rs->threads[rs->count];
    struct store_config reading = *config;

    reading.mode = STORE_READ;
    reading.read_limit_us = READ_LIMIT_US;
    reader->inbox = rs->count < SHARED_THREADS ? &rs->shared : &rs->reserved;
    reader->sync = sync;
    if (store_open(&reading, &reader->store, err) != E_OK)
        return err->code;
    if (thread_start(&reader->thread, "reader", run, reader, err) != E_OK) {
        store_close(reader->store);
        return err->code;
    }
    rs->count++;
    return E_OK;
}

enum err_code readers_start(struct readers *rs, const struct store_config *config,
                            struct sync_thread *sync, struct err *err)
{
    *rs = (struct readers){.count = 0};
    inbox_init(&rs->shared, -1);
    inbox_init(&rs->reserved, -1);
    while (rs->count < READER_THREADS)
        if (start_one(rs, config, sync, err) != E_OK) {
            readers_stop(rs);
            return err->code;
        }
    return E_OK;
}

enum err_code readers_check(const struct readers *rs, enum way_in way_in, struct err *err)
{
    if (rs->pending[way_in] < READS_PENDING_MAX)
        return E_OK;
    return err_set(err, E_UNAVAILABLE, "%u reads over %s are waiting already: try again",
                   rs->pending[way_in], way_in == WAY_TCP ? "TCP" : "the Unix socket");
}

void readers_put(struct readers *rs, struct reading *r, enum way_in way_in)
{
    bool is_idle = rs->in_shared < SHARED_THREADS;

    r->is_counted = true;
    r->way_in = way_in;
    r->is_reserved = way_in == WAY_UNIX && (rs->in_reserved == 0 || !is_idle);
    rs->pending[way_in]++;
    if (r->is_reserved)
        rs->in_reserved++;
    else
        rs->in_shared++;
    inbox_put(r->is_reserved ? &rs->reserved : &rs->shared, &r->delivery.item);
}

void readers_got_back(struct readers *rs, struct reading *r)
{
    if (!r->is_counted)
        return;
    r->is_counted = false;
    rs->pending[r->way_in]--;
    if (r->is_reserved)
        rs->in_reserved--;
    else
        rs->in_shared--;
}

void readers_stop(struct readers *rs)
{
    inbox_close(&rs->shared);
    inbox_close(&rs->reserved);
    for (size_t i = 0; i < rs->count; i++)
        thread_join(rs->threads[i].thread);
    rs->count = 0;
    inbox_deinit(&rs->shared);
    inbox_deinit(&rs->reserved);
}
