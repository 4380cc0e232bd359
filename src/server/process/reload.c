/* SPDX-License-Identifier: MIT */
#include "server/process/reload.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/definition/definition.h"
#include "server/process/notify.h"
#include "server/process/server_state.h"
#include "server/process/settings.h"

static void fill(struct op *op, const struct definitions *d)
{
    struct arena *arena = &op->arena;

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++) {
        size_t n = d->of[kind].count;
        struct definition_put *puts = arena_array(arena, n + 1, sizeof(*puts));

        for (size_t i = 0; i < n; i++)
            puts[i] = (struct definition_put){arena_copy(arena, d->of[kind].items[i].name),
                                              arena_copy(arena, d->of[kind].items[i].json)};
        op->define.puts[kind] = (struct definition_puts){puts, n};
    }
}

/* A refusal of the engine is reported like a mistake in the files, with its place. */
static void gather_refusals(const struct op *op, const struct definitions *d)
{
    size_t n = op->define.n_refusals > 0 ? op->define.n_refusals : 1;

    for (size_t i = 0; i < n; i++) {
        struct err err = op->define.n_refusals > 0 ? op->define.refusals[i] : op->err;

        definitions_locate(d, &err);
        VEC_PUSH(&d->faults->items, err);
    }
}

/* ---- at start ---- */

static void nothing(struct op *op)
{
    (void)op;
}

enum err_code definitions_apply_now(struct engine *engine, const struct definitions *d,
                                    struct err *err)
{
    struct op op;

    if (definitions_count(d) == 0)
        return E_OK;
    op_init(&op, OP_DEFINE);
    op.done = nothing;
    fill(&op, d);
    engine_run(engine, &op, clock_now());
    enum err_code code = op.err.code;

    if (op.define.n_refusals > 0)
        gather_refusals(&op, d);
    if (code != E_OK) {
        *err = op.err;
        definitions_locate(d, err);
    }

    op_deinit(&op);
    return code;
}

/* ---- on HUP ---- */

/* The triggers change together with the rest, or not at all. */
struct reload {
    struct engine_request change; /* first */
    struct server *server;
    struct definitions definitions;
    struct definition_faults faults;
    struct triggers triggers;
};

static void reload_free(struct reload *reload)
{
    triggers_deinit(&reload->triggers);
    definitions_deinit(&reload->definitions);
    definition_faults_deinit(&reload->faults);
    free(reload);
}

static void log_faults(const struct reload *reload)
{
    size_t n = reload->faults.items.count;

    for (size_t i = 0; i < n; i++)
        log_error("definitions: %s%s", reload->faults.items.items[i].msg,
                  i + 1 == n ? "; the old ones stay" : "");
}

static size_t count_changes(struct slice reply)
{
    struct slice changes;
    struct slice change;
    struct slice word;
    size_t count = 0;

    if (!jtext_find(reply, "changes", &changes))
        return 0;
    for (struct jtext_iter it = jtext_items(changes); jtext_next_item(&it, &change);)
        if (jtext_find(change, "change", &word) && !slice_is(word, "\"same\""))
            count++;
    return count;
}

static void deliver(struct delivery *d)
{
    struct reload *reload = (struct reload *)d;
    struct op *op = &reload->change.op;

    if (op->err.code != E_OK) {
        gather_refusals(op, &reload->definitions);
        log_faults(reload);
    } else {
        struct triggers old = reload->server->triggers;

        reload->server->triggers = reload->triggers;
        reload->triggers = old;
        log_info("definitions: read again, %zu of %zu changed",
                 count_changes(buf_slice(&op->reply)), definitions_count(&reload->definitions));
    }
    notify_send("READY=1");
    op_deinit(op);
    reload_free(reload);
}

void definitions_reload(struct server *server)
{
    struct reload *reload = mem_zalloc(sizeof(*reload));
    struct err err = ERR_INIT;

    reload->server = server;
    triggers_init(&reload->triggers);
    definitions_init(&reload->definitions);
    reload->definitions.faults = &reload->faults;
    notify_reloading();
    if (settings_read_definitions(server->config, &reload->definitions, &err) != E_OK) {
        log_faults(reload);
        notify_send("READY=1");
        reload_free(reload);
        return;
    }
    triggers_add(&reload->triggers, &reload->definitions);
    engine_request_init(&reload->change, &server->engine, OP_DEFINE, deliver);
    fill(&reload->change.op, &reload->definitions);
    inbox_list_add(&server->http.changes, &reload->change.delivery.item);
}
