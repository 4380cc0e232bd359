/* SPDX-License-Identifier: MIT */
#include "server/threads/chores.h"

#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "server/threads/threads.h"

#define FINDINGS_MAX ((size_t)1 << 20)

void chores_init(struct chores *cs, const struct store_config *store, struct inbox *home)
{
    *cs = (struct chores){.home = home, .store = *store};
    cs->store.mode = STORE_READ;
}

struct chore *chore_new(enum chore_kind kind, struct request *request, chore_fn *then)
{
    struct chore *c = mem_zalloc(sizeof(*c));

    c->kind = kind;
    c->request = request;
    c->then = then;
    c->findings = BUF_INIT(FINDINGS_MAX);
    return c;
}

static void chore_free(struct chore *c)
{
    buf_deinit(&c->findings);
    free(c->dir);
    free(c);
}

static void add_finding(void *ctx, const char *finding)
{
    struct chore *c = ctx;

    if (c->n_findings++ > 0)
        buf_add_char(&c->findings, ',');
    jtext_add_string(&c->findings, slice_of(finding));
}

static enum err_code work(struct chore *c, struct store *store, struct err *err)
{
    switch (c->kind) {
    case CHORE_BACKUP: return store_backup(store, c->dir, &c->bytes, err);
    case CHORE_CHECK: return store_verify(store, c->how, add_finding, c, err);
    }
    return E_OK;
}

static void *run(void *arg)
{
    struct chore *c = arg;
    struct store *store;

    if (store_open(&c->chores->store, &store, &c->err) == E_OK) {
        (void)work(c, store, &c->err);
        store_close(store);
    }
    inbox_put(c->chores->home, &c->delivery.item);
    return NULL;
}

static void deliver(struct delivery *d)
{
    struct chore *c = (struct chore *)d;

    thread_join(c->chores->thread);
    c->chores->running = NULL;
    c->then(c);
    chore_free(c);
}

enum err_code chores_begin(struct chores *cs, struct chore *c, struct err *err)
{
    enum err_code code = E_OK;

    c->chores = cs;
    c->delivery.deliver = deliver;
    if (cs->running != NULL)
        code = err_set(err, E_UNAVAILABLE, "a %s is running: try again when it is through",
                       cs->running->kind == CHORE_BACKUP ? "backup" : "check");
    else
        code = thread_start(&cs->thread, "chore", run, c, err);
    if (code != E_OK) {
        chore_free(c);
        return code;
    }
    cs->running = c;
    return E_OK;
}
