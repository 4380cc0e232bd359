/* SPDX-License-Identifier: MIT */
#include "server/readers.h"

#include "server/threads.h"
#include "store/store.h"

static void *run(void *arg)
{
    struct reader *reader = arg;
    struct readers *rs = reader->readers;
    struct inbox_item *item;

    while ((item = inbox_take_one(&rs->inbox)) != NULL) {
        struct reading *r = (struct reading *)item;

        r->run(r, reader->store);
        inbox_put(rs->home, &r->message.item);
    }
    store_close(reader->store);
    return NULL;
}

static enum err_code start_one(struct readers *rs, const struct store_config *config,
                               struct err *err)
{
    struct reader *reader = &rs->threads[rs->count];
    struct store_config reading = *config;

    reading.mode = STORE_READ;
    reading.read_limit_us = READ_LIMIT_US;
    reader->readers = rs;
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
                            struct inbox *home, struct err *err)
{
    inbox_init(&rs->inbox, -1);
    rs->home = home;
    rs->count = 0;
    while (rs->count < READER_THREADS)
        if (start_one(rs, config, err) != E_OK) {
            readers_stop(rs);
            return err->code;
        }
    return E_OK;
}

void readers_put(struct readers *rs, struct reading *r)
{
    inbox_put(&rs->inbox, &r->message.item);
}

void readers_stop(struct readers *rs)
{
    inbox_close(&rs->inbox);
    for (size_t i = 0; i < rs->count; i++)
        thread_join(rs->threads[i].thread);
    rs->count = 0;
    inbox_deinit(&rs->inbox);
}
