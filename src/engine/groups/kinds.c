/*
 * Kinds of groups as definitions.  Open groups keep the rules they were opened with: a kind may be
 * changed and removed at any time.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/ids.h"
#include "engine/batch/transaction.h"
#include "engine/queues/define.h"
#include "store/groups/groups.h"

struct kind_loading {
    struct define_set *set;
    struct arena *arena;
};

static void take_kind(void *ctx, const struct stored_kind *kind)
{
    struct kind_loading *l = ctx;
    struct slice definition = arena_copy(l->arena, kind->definition); /* the links borrow it */

    define_set_add(l->set, &(struct defined){.kind = DEFINITION_GROUP,
                                             .name = arena_copy(l->arena, kind->name),
                                             .id = kind->id,
                                             .links = definition_kinds[DEFINITION_GROUP].links(
                                                 definition, l->arena)});
}

static enum err_code load_kinds(struct engine *e, struct define_set *set, struct err *err)
{
    return store_kinds_list(batch_store(e), slice_make(NULL, 0), INT32_MAX, take_kind,
                            &(struct kind_loading){set, batch_arena(e)}, err);
}

static enum err_code check_exists(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err)
{
    struct stored_kind kind;

    if (store_kind_find(batch_store(e), name, batch_arena(e), &kind, err) != E_OK)
        return err->code;
    if (kind.id == 0)
        definition_name_unknown(DEFINITION_GROUP, name, NULL, 0, E_INVALID, refused);
    return E_OK;
}

static enum err_code put_kind(struct engine *e, const struct definition_put *put, bool dry_run,
                              enum define_change *ret_change, struct err *err)
{
    struct stored_kind kind;

    if (store_kind_find(batch_store(e), put->name, batch_arena(e), &kind, err) != E_OK)
        return err->code;
    *ret_change = kind.id == 0                                    ? DEFINE_ADDED
                  : slice_equal(kind.definition, put->definition) ? DEFINE_SAME
                                                                  : DEFINE_CHANGED;
    if (*ret_change == DEFINE_SAME || dry_run)
        return E_OK;
    if (*ret_change == DEFINE_ADDED)
        kind = (struct stored_kind){.id = engine_new_id(e), .name = put->name};
    kind.definition = put->definition;
    return engine_write(e, err) != E_OK ? err->code : store_kind_put(batch_store(e), &kind, err);
}

static enum err_code check_removal(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err)
{
    (void)e;
    (void)d;
    (void)refused;
    (void)err;
    return E_OK;
}

static enum err_code remove_kind(struct engine *e, const struct defined *d, struct err *err)
{
    return engine_write(e, err) != E_OK ? err->code : store_kind_remove(batch_store(e), d->id, err);
}

const struct define_rules group_define_rules = {
    .load = load_kinds,
    .check_exists = check_exists,
    .put = put_kind,
    .check_removal = check_removal,
    .remove = remove_kind,
};
