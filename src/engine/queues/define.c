/* SPDX-License-Identifier: MIT */
#include "engine/queues/define.h"

#include "base/jtext/jtext.h"
#include "engine/batch/names.h"

static void add_change(struct op *op, enum definition_kind kind, struct slice name,
                       const char *change)
{
    struct buf *b = &op->reply;

    jtext_add_comma(b);
    buf_addf(b, "{\"kind\":\"%s\",\"name\":", definition_kinds[kind].name);
    jtext_add_string(b, name);
    jtext_put_string(b, "change", slice_of(change));
    buf_add_char(b, '}');
}

static enum err_code put_all(struct engine *e, struct op *op, struct err *err)
{
    static const char *const names[] = {
        [DEFINE_ADDED] = "added", [DEFINE_CHANGED] = "changed", [DEFINE_SAME] = "same"};
    const struct define *o = &op->define;

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++)
        for (size_t i = 0; i < o->puts[kind].count; i++) {
            const struct definition_put *put = &o->puts[kind].items[i];
            enum define_change change;

            if (define_rules_of(kind)->put(e, put, o->dry_run, &change, err) != E_OK)
                return err->code;
            add_change(op, kind, put->name, names[change]);
            if (change == DEFINE_ADDED && !o->dry_run)
                op->status = 201;
        }
    return E_OK;
}

static enum err_code remove_all(struct engine *e, struct op *op, const struct define_set *set,
                                struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct defined *d = set->items[i];

        if (!d->is_removed)
            continue;
        add_change(op, d->kind, d->name, "removed");
        if (!op->define.dry_run && define_rules_of(d->kind)->remove(e, d, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code define_run(struct engine *e, struct op *op, struct err *err)
{
    const struct define *o = &op->define;
    CLEANUP(define_set) struct define_set set = {.engine = e, .asked = o};

    if (define_set_load(&set, err) != E_OK || define_judge(&set, op, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (o->removes) {
        buf_add_str(&op->reply, "{\"name\":");
        jtext_add_string(&op->reply, o->name);
        buf_add_str(&op->reply, ",\"deleted\":true}");
        return define_rules_of(o->kind)->remove(e, names_find(&set.names[o->kind], o->name), err);
    }
    buf_add_str(&op->reply, "{\"changes\":[");
    if (put_all(e, op, err) != E_OK || remove_all(e, op, &set, err) != E_OK)
        return err->code;
    buf_add_str(&op->reply, o->dry_run ? "],\"dry_run\":true}" : "],\"dry_run\":false}");
    return E_OK;
}
