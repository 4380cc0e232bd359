/* SPDX-License-Identifier: MIT */
#include "server/engine_thread.h"

#include "base/clock.h"
#include "server/threads.h"
#include "store/store.h"

static void task_done(struct op *op)
{
    struct engine_thread *t = op->owner;
    struct task *task = (struct task *)((char *)op - offsetof(struct task, op));

    inbox_list_add(&t->done, &task->message.item);
}

void task_init(struct task *task, struct engine_thread *t, enum op_kind kind,
               void (*deliver)(struct message *m))
{
    op_init(&task->op, kind);
    task->op.done = task_done;
    task->op.owner = t;
    task->message.deliver = deliver;
}

void engine_thread_send(struct engine_thread *t, struct message *m)
{
    inbox_list_add(&t->done, &m->item);
}

static struct op *link_ops(struct inbox_item *items)
{
    struct op *first = NULL;
    struct op **end = &first;

    for (struct inbox_item *item = items; item != NULL; item = item->next) {
        struct task *task = (struct task *)item;

        task->op.next = NULL;
        *end = &task->op;
        end = &task->op.next;
    }
    return first;
}

static int64_t next_mono_at(const struct engine_thread *t)
{
    int64_t left_us = engine_next_us(t->engine, clock_now());

    return left_us == TIME_NEVER ? TIME_NEVER : clock_mono_us() + left_us;
}

static void *run(void *arg)
{
    struct engine_thread *t = arg;

    for (;;) {
        struct inbox_item *items = NULL;

        if (inbox_take(&t->inbox, next_mono_at(t), &items) == INBOX_CLOSED)
            break;
        if (atomic_exchange(&t->look_for_gone, false))
            engine_look_for_gone(t->engine);
        engine_run(t->engine, link_ops(items), clock_now());
        inbox_put_list(t->home, &t->done);
    }
    engine_close(t->engine);
    inbox_put_list(t->home, &t->done);
    return NULL;
}

enum err_code engine_thread_start(struct engine_thread *t, struct engine *engine,
                                  struct inbox *home, struct err *err)
{
    inbox_init(&t->inbox, -1);
    t->done = INBOX_LIST_INIT;
    t->home = home;
    t->engine = engine;
    t->stats = engine_get_stats(engine);
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
