/* SPDX-License-Identifier: MIT */
#include "server/threads/engine_thread.h"

#include "base/clock.h"
#include "server/threads/threads.h"
#include "store/store.h"

static void engine_request_done(struct op *op)
{
    struct engine_thread *t = op->owner;
    struct engine_request *request = (struct engine_request *)((char *)op -
                                                               offsetof(struct engine_request, op));

    inbox_list_add(&t->done, &request->delivery.item);
}

static void engine_request_fail(struct delivery *d, const struct err *err)
{
    ((struct engine_request *)d)->op.err = *err;
}

void engine_request_init(struct engine_request *request, struct engine_thread *t, enum op_kind kind,
                         void (*deliver)(struct delivery *d))
{
    op_init(&request->op, kind);
    request->op.done = engine_request_done;
    request->op.owner = t;
    request->delivery.deliver = deliver;
    request->delivery.fail = engine_request_fail;
}

void engine_thread_send(struct engine_thread *t, struct delivery *d)
{
    inbox_list_add(&t->done, &d->item);
}

static struct op *link_ops(struct inbox_item *items)
{
    struct op *first = NULL;
    struct op **end = &first;

    for (struct inbox_item *item = items; item != NULL; item = item->next) {
        struct engine_request *request = (struct engine_request *)item;

        request->op.next = NULL;
        *end = &request->op;
        end = &request->op.next;
    }
    return first;
}

/* The longest sleep while leases are held, so that a stopped process is noticed. */
#define LOOK_US US_PER_S

/* How long no request was processed: during a long pass, a sleep that took longer than planned,
 * or a suspended machine. */
static int64_t away_us(struct now began, struct now slept, int64_t planned_us, struct now now)
{
    int64_t pass_us = slept.steady_at - began.steady_at;
    int64_t late_us = planned_us == TIME_NEVER ? 0 : now.steady_at - slept.steady_at - planned_us;
    int64_t asleep_us = now.asleep_us - began.asleep_us;
    int64_t most_us = pass_us > late_us ? pass_us : late_us;

    return most_us > asleep_us ? most_us : asleep_us;
}

static void *run(void *arg)
{
    struct engine_thread *t = arg;
    struct now now = clock_now();

    for (;;) {
        struct inbox_item *items = NULL;
        struct now slept = clock_now();
        int64_t us = engine_next_us(t->engine, slept);

        if (engine_has_leases(t->engine) && us > LOOK_US)
            us = LOOK_US;
        int64_t wake_at = us == TIME_NEVER ? TIME_NEVER : clock_mono_us() + us;

        if (inbox_take(&t->inbox, wake_at, &items) == INBOX_CLOSED)
            break;
        struct now began = now;

        now = clock_now();
        engine_was_away(t->engine, away_us(began, slept, us, now));
        if (atomic_exchange(&t->look_for_gone, false))
            engine_look_for_gone(t->engine);
        engine_run(t->engine, link_ops(items), now);
        sync_thread_forward(t->sync, &t->done);
    }
    engine_close(t->engine);
    sync_thread_forward(t->sync, &t->done);
    return NULL;
}

/* With nobody else waiting there is nothing to run meanwhile. */
static bool may_sync_later(void *ctx)
{
    struct engine_thread *t = ctx;

    return !inbox_is_empty(&t->inbox);
}

enum err_code engine_thread_start(struct engine_thread *t, struct engine *engine,
                                  struct sync_thread *sync, struct err *err)
{
    inbox_init(&t->inbox, -1);
    t->done = INBOX_LIST_INIT;
    t->sync = sync;
    t->engine = engine;
    t->stats = engine_get_stats(engine);
    engine_set_sync(engine, may_sync_later, t);
    atomic_init(&t->look_for_gone, false);
    return thread_start(&t->thread, "engine", run, t, err);
}

void engine_thread_look_for_gone(struct engine_thread *t)
{
    atomic_store(&t->look_for_gone, true);
    inbox_poke(&t->inbox);
}

void engine_thread_stop(struct engine_thread *t)
{
    inbox_close(&t->inbox);
}

void engine_thread_join(struct engine_thread *t)
{
    thread_join(t->thread);
    inbox_deinit(&t->inbox);
}
