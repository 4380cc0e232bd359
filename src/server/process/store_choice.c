/* SPDX-License-Identifier: MIT */
#include "server/process/store_choice.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/os/log.h"
#include "core/definition/store_url.h"
#include "server/process/server_id.h"
#include "server/process/server_state.h"

#define EMBEDDED_FILE "waybill.db"

enum err_code store_choice_make(struct server *s, const char *url, struct err *err)
{
    s->store_config = (struct store_config){.url = url, .dir = s->data_dir, .mode = STORE_WRITE};
    if (url == NULL)
        return E_OK;
    CLEANUP(buf) struct buf shown = BUF_INIT(2 * STORE_URL_MAX);

    store_url_show(slice_of(url), &shown);
    s->store_url = arena_strdup(&s->arena, buf_slice(&shown));
    if (faccessat(s->data_fd, EMBEDDED_FILE, F_OK, 0) == 0)
        log_warn("the store is %s: " EMBEDDED_FILE " in the data directory is not used",
                 s->store_url);
    char host[HOST_NAME_MAX + 1] = "";
    char id[ID_TEXT_SIZE];

    if (gethostname(host, sizeof(host) - 1) < 0 || host[0] == '\0')
        snprintf(host, sizeof(host), "localhost");
    if (server_id_get(s->data_fd, host, id, err) != E_OK)
        return err->code;
    s->member = (struct store_member){.name = arena_strdup(&s->arena, slice_of(id)),
                                      .host = arena_strdup(&s->arena, slice_of(host)),
                                      .version = WAYBILL_VERSION,
                                      .url = s->url,
                                      .pid = getpid()};
    return E_OK;
}
