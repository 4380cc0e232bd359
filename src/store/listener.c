/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "store/db/module.h"
#include "store/shared.h"

struct store_listener {
    const struct db_module *module;
    struct db_listener *listener;
};

enum err_code store_listener_open(const struct store_config *config,
                                  struct store_listener **ret_listener, struct err *err)
{
    struct db_config db = {.host = &db_host, .url = config->url};
    struct store_listener opened = {0};

    ASSERT(config->url != NULL); /* the embedded store has no news: it has one server */
    if (db_module_for(config->url, &opened.module, err) != E_OK ||
        opened.module->listener_open(&db, &opened.listener, err) != E_OK)
        return err->code;
    *ret_listener = mem_alloc(sizeof(opened));
    **ret_listener = opened;
    return E_OK;
}

void store_listener_wait(struct store_listener *l, int stop_fd, int timeout_ms,
                         store_news_fn *on_news, void *ctx)
{
    struct db_wait wait = {
        .stop_fd = stop_fd, .timeout_ms = timeout_ms, .on_news = on_news, .ctx = ctx};

    l->module->listener_wait(l->listener, &wait);
}

void store_listener_close(struct store_listener *l)
{
    if (l == NULL)
        return;
    l->module->listener_close(l->listener);
    free(l);
}
