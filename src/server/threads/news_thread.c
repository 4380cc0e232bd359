/* SPDX-License-Identifier: MIT */
#include "server/threads/news_thread.h"

#include <stdlib.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "base/os/log.h"
#include "server/limits.h"
#include "server/threads/threads.h"
#include "store/shared.h"

/* News on their way. */
struct news_request {
    struct engine_request request; /* first */
    struct news_thread *thread;
    char text[];
};

/* On the HTTP thread, which joins this thread before it ends. */
static void deliver(struct delivery *d)
{
    struct news_request *t = (struct news_request *)d;

    atomic_fetch_sub(&t->thread->pending, 1);
    op_deinit(&t->request.op);
    free(t);
}

static void hand_on(struct news_thread *n, struct slice text, struct news news)
{
    struct news_request *t = mem_alloc(sizeof(*t) + text.size);

    engine_request_init(&t->request, n->engine, OP_NEWS, deliver);
    t->thread = n;
    if (text.size > 0)
        memcpy(t->text, text.data, text.size);
    news.text = slice_make(t->text, text.size);
    t->request.op.news = news;
    atomic_fetch_add(&n->pending, 1);
    inbox_list_add(&n->heard, &t->request.delivery.item);
}

static void on_news(void *ctx, const char *news)
{
    struct news_thread *n = ctx;

    if (news == NULL && n->connected) /* not at the first connection */
        log_info("connected to the database again");
    n->connected |= news == NULL;
    if (news == NULL || atomic_load(&n->pending) >= NEWS_PENDING_MAX)
        n->missed = true;
    else
        hand_on(n, slice_of(news), (struct news){.missed = false});
}

static bool is_stopped(const struct news_thread *n)
{
    uint64_t rings;

    return read(n->stop_fd, &rings, sizeof(rings)) == (ssize_t)sizeof(rings);
}

static void *run(void *arg)
{
    struct news_thread *n = arg;

    while (!is_stopped(n)) {
        store_listener_wait(n->listener, n->stop_fd, n->missed ? NEWS_ROOM_MS : -1, on_news, n);
        if (n->missed && atomic_load(&n->pending) < NEWS_PENDING_MAX) {
            n->missed = false;
            hand_on(n, SLICE(""), (struct news){.missed = true});
        }
        engine_thread_put(n->engine, &n->heard);
    }
    return NULL;
}

enum err_code news_thread_start(struct news_thread *n, const struct store_config *config,
                                struct engine_thread *engine, struct err *err)
{
    *n = (struct news_thread){.engine = engine, .heard = INBOX_LIST_INIT};
    n->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (n->stop_fd < 0)
        return err_errno(err, E_INTERNAL, "make an eventfd");
    if (store_listener_open(config, &n->listener, err) == E_OK) {
        if (thread_start(&n->thread, "news", run, n, err) == E_OK)
            return E_OK;
        store_listener_close(n->listener);
    }
    close(n->stop_fd);
    return err->code;
}

void news_thread_stop(struct news_thread *n)
{
    uint64_t one = 1;

    ASSERT(write(n->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one));
    thread_join(n->thread);
    store_listener_close(n->listener);
    close(n->stop_fd);
}
