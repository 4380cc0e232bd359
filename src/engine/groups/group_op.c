/* SPDX-License-Identifier: MIT */
#include "engine/groups/group_op.h"

#include "base/jtext/jtext.h"
#include "core/group/merge_patch.h"
#include "engine/batch/ids.h"
#include "engine/batch/transaction.h"
#include "engine/groups/choose.h"
#include "engine/groups/groups.h"
#include "engine/reads/job_json.h"
#include "store/shared.h"

bool group_op_is_alone(const struct op *op)
{
    return op->kind == OP_GROUP &&
           (op->group.kind == GROUP_OP_CANCEL || op->group.kind == GROUP_OP_PAUSE ||
            op->group.kind == GROUP_OP_RESUME);
}

/* ---- opening ---- */

static void add_id(struct op *op, int64_t id, int status)
{
    buf_add_char(&op->reply, '{');
    jtext_add_id(&op->reply, "id", id);
    buf_add_char(&op->reply, '}');
    op->status = status;
}

/* *ret_known: a group has the key already, and the request is answered. */
static enum err_code judge_key(struct engine *e, struct op *op, bool *ret_known, struct err *err)
{
    const struct group_op *o = &op->group;
    struct stored_group known = {.id = 0};
    char id[ID_TEXT_SIZE];

    if (o->key.size > 0 &&
        store_group_of_key(batch_store(e), o->key, batch_arena(e), &known, err) != E_OK)
        return err->code;
    *ret_known = known.id != 0;
    if (*ret_known && (uint64_t)known.content != o->content)
        err_set(&op->err, E_CONFLICT, "the key '%.*s' belongs to group %s, which has other content",
                (int)(o->key.size > 60 ? 60 : o->key.size), o->key.data, id_format(known.id, id));
    else if (*ret_known)
        add_id(op, known.id, 200);
    return E_OK;
}

static enum err_code judge_parent(struct engine *e, struct op *op, struct err *err)
{
    struct stored_group parent;
    char id[ID_TEXT_SIZE];

    if (op->group.parent <= GROUP_ROOT)
        return E_OK;
    if (store_group_bare(batch_store(e), op->group.parent, batch_arena(e), &parent, err) != E_OK)
        return err->code;
    if (parent.id == 0)
        err_set(&op->err, E_INVALID, "parent: there is no group %s (any more)",
                id_format(op->group.parent, id));
    else
        group_refuse_closed(&parent, &op->err);
    return E_OK;
}

static enum err_code open_group(struct engine *e, struct op *op, struct err *err)
{
    const struct group_op *o = &op->group;
    struct stored_group group = {.id = 0};
    bool known = false;
    bool added = false;

    if (judge_key(e, op, &known, err) != E_OK)
        return err->code;
    if (known)
        return E_OK;
    if (judge_parent(e, op, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (group_judge_new(e, &o->choice, o->parent > GROUP_ROOT ? o->parent : 0, &group, &op->err,
                        err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    group.id = group.opener = engine_new_id(e);
    group.key = o->key;
    group.content = (int64_t)o->content;
    if (group_add(e, &group, &added, err) != E_OK)
        return err->code;
    if (!added)
        return store_give_way(batch_store(e), err);
    if (o->parent > GROUP_ROOT)
        groups_delta(e, o->parent)->joined = true;
    add_id(op, group.id, 201);
    return E_OK;
}

/* ---- groups that exist ---- */

static void add_group(struct op *op, const struct stored_group *g)
{
    struct buf *b = &op->reply;

    buf_add_char(b, '{');
    jtext_add_id(b, "id", g->id);
    jtext_put_string(b, "state", slice_of(group_state_name(g->state)));
    jtext_put_bool(b, "sealed", (g->flags & GROUP_IS_SEALED) != 0);
    jtext_put_bool(b, "paused", (g->flags & GROUP_IS_PAUSED) != 0);
    if (g->state == GROUP_OPEN && (g->flags & GROUP_IS_CANCELLED) != 0)
        jtext_put_bool(b, "cancelling", true);
    buf_add_char(b, '}');
}

/* Its members are looked at by later batches; nothing of it starts from this commit on. */
static enum err_code change_tree(struct engine *e, struct stored_group *g, unsigned flags,
                                 const char *what, struct err *err)
{
    if (flags == g->flags)
        return E_OK;
    g->flags = flags;
    g->work = GROUP_WORK_MEMBERS;
    g->place = 0;
    groups_hold_tree(e, g->id, flags);
    group_event(e, g, what);
    return engine_write(e, err) != E_OK ? err->code : store_group_set(batch_store(e), g, err);
}

static enum err_code act(struct engine *e, struct op *op, struct stored_group *g, struct err *err)
{
    if (g->state != GROUP_OPEN) {
        if (op->group.kind == GROUP_OP_PAUSE)
            group_refuse_closed(g, &op->err);
        return E_OK; /* otherwise it is as it shall be */
    }
    switch (op->group.kind) {
    case GROUP_OP_SEAL:
        groups_delta(e, g->id)->set |= GROUP_IS_SEALED;
        if ((g->flags & GROUP_IS_SEALED) == 0)
            group_event(e, g, "sealed");
        g->flags |= GROUP_IS_SEALED;
        break;
    case GROUP_OP_CANCEL:
        return change_tree(e, g, g->flags | GROUP_IS_CANCELLED | GROUP_IS_SEALED, "cancelling",
                           err);
    case GROUP_OP_PAUSE: return change_tree(e, g, g->flags | GROUP_IS_PAUSED, "paused", err);
    case GROUP_OP_RESUME:
        return change_tree(e, g, g->flags & ~(unsigned)GROUP_IS_PAUSED, "resumed", err);
    case GROUP_OP_OPEN:
    case GROUP_OP_PATCH: break;
    }
    return E_OK;
}

static enum err_code patch(struct engine *e, struct op *op, struct stored_group *g, struct err *err)
{
    const struct group_op *o = &op->group;
    CLEANUP(buf) struct buf b = BUF_INIT(2 * GROUP_DATA_MAX);

    if (o->has_version && o->if_version != g->version) {
        err_set(&op->err, E_CONFLICT,
                "if_version: the data has version %lld, not %lld: read it again",
                (long long)g->version, (long long)o->if_version);
        return E_OK;
    }
    merge_patch_add(&b, g->data, o->data);
    if (b.overflowed || b.size > GROUP_DATA_MAX) {
        err_set(&op->err, E_TOO_LARGE, "data: would have more than %d bytes", GROUP_DATA_MAX);
        return E_OK;
    }
    buf_add_char(&op->reply, '{');
    jtext_put_int(&op->reply, "version", g->version + 1);
    buf_add_char(&op->reply, '}');
    group_event(e, g, "changed");
    if (engine_write(e, err) != E_OK)
        return err->code;
    return store_group_set_data(batch_store(e), g->id, buf_slice(&b), g->version + 1, err);
}

enum err_code group_op_run(struct engine *e, struct op *op, struct err *err)
{
    struct stored_group g;
    char id[ID_TEXT_SIZE];

    if (op->group.kind == GROUP_OP_OPEN)
        return open_group(e, op, err);
    if (store_group_hold(batch_store(e), op->group.id, batch_arena(e), &g, err) != E_OK)
        return err->code;
    if (g.id == 0) {
        err_set(&op->err, E_NOT_FOUND, "there is no group %s (any more)",
                id_format(op->group.id, id));
        return E_OK;
    }
    if (op->group.kind == GROUP_OP_PATCH)
        return patch(e, op, &g, err);
    if (g.id == GROUP_ROOT) {
        err_set(&op->err, E_CONFLICT,
                "the root holds everything and never ends: pause queues instead");
        return E_OK;
    }
    groups_know(e, &g);
    if (act(e, op, &g, err) != E_OK)
        return err->code;
    if (op->err.code == E_OK)
        add_group(op, &g);
    return E_OK;
}
