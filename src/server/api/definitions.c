/*
 * Definitions of all kinds: the same handlers serve every row of core/definition/kinds.h.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/definition/kinds.h"
#include "core/object/quote.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"

/* Checks the name and makes the definition canonical. */
static enum err_code read_put(enum definition_kind kind, struct slice name, struct slice definition,
                              struct arena *arena, struct definition_put *ret_put, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(BODY_SMALL_MAX);

    if (definition_kinds[kind].check_name(name, err) != E_OK ||
        definition_kinds[kind].canonical(definition, &text, err) != E_OK)
        return err->code;
    *ret_put = (struct definition_put){name, arena_copy(arena, buf_slice(&text))};
    return E_OK;
}

enum err_code definition_put(struct request *r, struct err *err)
{
    enum definition_kind kind = (enum definition_kind)r->route->what;
    struct op *op = request_op(r, OP_DEFINE);
    struct definition_put *put = arena_zalloc(&op->arena, sizeof(*put));
    struct slice object;

    if (request_object(r, &object, err) != E_OK ||
        read_put(kind, r->args[0], object, &op->arena, put, err) != E_OK)
        return err->code;
    op->define.puts[kind] = (struct definition_puts){put, 1};
    request_run(r, NULL);
    return E_OK;
}

enum err_code definition_remove(struct request *r, struct err *err)
{
    (void)err;
    request_op(r, OP_DEFINE)->define = (struct define){.removes = true,
                                                       .kind = r->route->what,
                                                       .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

/* An object of definitions by name. */
static enum err_code read_puts(struct slice value, enum definition_kind kind, struct arena *arena,
                               struct definition_puts *ret_puts, struct err *err)
{
    struct definition_put *puts = arena_array(arena, jtext_count_members(value) + 1, sizeof(*puts));
    struct slice key;
    struct slice definition;
    struct quote quote;
    size_t n = 0;

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &definition);) {
        struct slice name = jtext_text(key, arena);

        if (read_put(kind, name, definition, arena, &puts[n++], err) != E_OK)
            return err_wrap(err, "%s %s", definition_kinds[kind].name, quote_text(&quote, name));
    }
    *ret_puts = (struct definition_puts){puts, n};
    return E_OK;
}

static enum err_code read_section(struct slice key, struct slice value, struct op *op,
                                  struct err *err)
{
    const char *words[DEFINITION_KINDS];
    struct quote quote;

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++) {
        const char *section = definition_kinds[kind].section;

        words[kind] = section;
        if (!jtext_key_is(key, section))
            continue;
        if (jtext_type_of(value) == JTEXT_NULL)
            return E_OK;
        if (jtext_type_of(value) != JTEXT_OBJECT)
            return err_set(err, E_INVALID, "%s: must be an object of definitions by name, not %s",
                           section, quote_json(&quote, value));
        return read_puts(value, kind, &op->arena, &op->define.puts[kind], err);
    }
    return unknown_key(jtext_text(key, &op->arena), words, DEFINITION_KINDS, DEFINITION_KINDS, err);
}

static enum err_code read_sections(struct slice object, struct op *op, struct err *err)
{
    CLEANUP(buf) struct buf sections = BUF_INIT(200);
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);)
        if (read_section(key, value, op, err) != E_OK)
            return err->code;
    for (size_t kind = 0; kind < DEFINITION_KINDS; kind++) {
        if (op->define.puts[kind].items != NULL)
            return E_OK;
        buf_addf(&sections, "%s'%s'", kind == 0 ? "" : " or ", definition_kinds[kind].section);
    }
    return err_set(err, E_INVALID, "the body needs %s: {NAME: {…}}", buf_text(&sections));
}

/* The reply lists the changes: that some are new is not its status. */
static void answer_changes(struct request *r)
{
    request_answer_op(r);
    if (r->err.code == E_OK)
        r->status = 200;
}

static enum err_code definitions_apply(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_DEFINE);
    struct slice object;

    if (request_flag(r, "prune", &op->define.prune, err) != E_OK ||
        request_flag(r, "dry_run", &op->define.dry_run, err) != E_OK ||
        request_object(r, &object, err) != E_OK || read_sections(object, op, err) != E_OK)
        return err->code;
    request_run(r, answer_changes);
    return E_OK;
}

/* ---- routes ---- */

static const struct route definitions_rows[] = {
    {
        ROUTE("POST", "/v1/definitions", RIGHT_ADMIN),
        .handle = definitions_apply,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .takes = "Definitions",
        .gives = "Changes",
        .params = {{"prune", "boolean",
                    "Remove joins that are not in it, and queues that have no jobs."},
                   {"dry_run", "boolean", "Tell what would change, change nothing."}},
        .errors = {E_FULL},
        .help = "Puts definitions into the store.",
    },
};

const struct route_table definitions_routes = ROUTE_TABLE(definitions_rows);
