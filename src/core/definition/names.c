/*
 * Finds names that no definition has, over all files together.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/text/nearest.h"
#include "core/definition/definition.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"

/* The names of all definitions of that kind, the built-in one included. */
static size_t names_of(const struct definitions *d, enum definition_kind kind, struct arena *arena,
                       const char ***ret_names)
{
    size_t n = d->of[kind].count;

    *ret_names = arena_array(arena, n + 1, sizeof(**ret_names));
    for (size_t i = 0; i < n; i++) /* slices of the arena end in NUL */
        (*ret_names)[i] = d->of[kind].items[i].name.data;
    if (definition_kinds[kind].built_in != NULL)
        (*ret_names)[n++] = definition_kinds[kind].built_in;
    return n;
}

/* "queue 'a': on_success[0]" */
static void add_place(const struct definition_ref *ref, struct buf *out)
{
    struct quote owner;

    buf_addf(out, "%s %s: ", definition_kinds[ref->owner_kind].name,
             quote_text(&owner, ref->owner));
    definition_link_place(&ref->link, out);
}

static enum err_code refuse_unknown(const struct definition_ref *ref, const char *const *names,
                                    size_t n, struct err *err)
{
    const char *near = nearest_word(ref->link.name, names, n);
    const char *kind = definition_kinds[ref->link.to].name;
    CLEANUP(buf) struct buf place = BUF_INIT(200);
    struct quote quote;
    struct quote other;

    add_place(ref, &place);
    quote_text(&quote, ref->link.name);
    if (near != NULL)
        (void)err_set(err, E_INVALID, "there is no %s %s, did you mean %s?", kind, quote.text,
                      quote_text(&other, slice_of(near)));
    else
        (void)err_set(err, E_INVALID, "there is no %s %s in these files", kind, quote.text);
    (void)err_wrap(err, "%s", buf_text(&place));
    return yaml_err_at(err, ref->from.file.data, ref->from.line);
}

static enum err_code check_refs(const struct definitions *d, struct arena *arena, struct err *err)
{
    const char **names[DEFINITION_KINDS];
    size_t counts[DEFINITION_KINDS];

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++)
        counts[kind] = names_of(d, kind, arena, &names[kind]);
    for (size_t i = 0; i < d->refs.count; i++) {
        const struct definition_link *link = &d->refs.items[i].link;
        size_t n = counts[link->to];
        size_t k = 0;

        while (k < n && !slice_is(link->name, names[link->to][k]))
            k++;
        if (k == n && refuse_unknown(&d->refs.items[i], names[link->to], n, err) != E_OK &&
            definitions_fault(d, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* "FILE:LINE: start[0]: there is no queue 'x'"; nothing when the name is empty or known. */
static enum err_code check_queue(const struct definitions *d, struct slice queue,
                                 struct definition_place from, const char *where, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char **names = NULL;
    size_t n = names_of(d, DEFINITION_QUEUE, &arena, &names);

    for (size_t k = 0; k < n; k++)
        if (queue.size == 0 || slice_is(queue, names[k]))
            return E_OK;
    (void)definition_name_unknown(DEFINITION_QUEUE, queue, names, n, E_INVALID, err);
    (void)err_wrap(err, "%s", where);
    (void)yaml_err_at(err, from.file.data, from.line);
    return definitions_fault(d, err);
}

/* The queues that `start:` and `finally:` name. */
static enum err_code check_start(const struct definitions *d, struct err *err)
{
    const struct definition_start *s = &d->start;
    char where[40];

    for (size_t i = 0; i < s->jobs.count; i++) {
        snprintf(where, sizeof(where), "start[%zu]: queue", i);
        if (check_queue(d, s->jobs.items[i].queue, s->jobs.items[i].from, where, err) != E_OK)
            return err->code;
    }
    return check_queue(d, s->finally_queue, s->finally_from, "finally: queue", err);
}

/* A definition with a mistake has no JSON here, and names nothing. */
static enum err_code check_all(const struct definitions *d, enum definition_kind kind,
                               struct arena *arena, struct err *err)
{
    size_t n = d->of[kind].count;
    struct definition_node *nodes = arena_array(arena, n + 1, sizeof(*nodes));
    size_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        const struct definition *one = &d->of[kind].items[i];

        nodes[i].name = one->name;
        if (one->json.size > 0)
            nodes[i].links = definition_kinds[kind].links(one->json, arena);
    }
    if (definition_kinds[kind].check_all(nodes, n, arena, &bad, err) == E_OK)
        return E_OK;
    (void)yaml_err_at(err, d->of[kind].items[bad].from.file.data, d->of[kind].items[bad].from.line);
    return definitions_fault(d, err);
}

enum err_code definitions_check_names(const struct definitions *d, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (check_refs(d, &arena, err) != E_OK || check_start(d, err) != E_OK)
        return err->code;
    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++)
        if (definition_kinds[kind].check_all != NULL && check_all(d, kind, &arena, err) != E_OK)
            return err->code;
    return E_OK;
}

void definitions_locate(const struct definitions *d, struct err *err)
{
    for (size_t i = 0; i < d->refs.count; i++) {
        const struct definition_ref *ref = &d->refs.items[i];
        CLEANUP(buf) struct buf place = BUF_INIT(200);

        add_place(ref, &place);
        if (strncmp(err->msg, buf_text(&place), place.size) == 0) {
            (void)yaml_err_at(err, ref->from.file.data, ref->from.line);
            return;
        }
    }
}
