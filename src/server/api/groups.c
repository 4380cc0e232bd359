/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/group/choice.h"
#include "core/group/row.h"
#include "core/object/object.h"
#include "core/submit/content_hash.h"
#include "core/submit/job.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/job_filter.h"
#include "server/process/server_state.h"
#include "server/request/reply.h"
#include "server/request/request.h"

static enum err_code group_id(struct request *r, int64_t *ret_id, struct err *err)
{
    struct err ignored = ERR_INIT;

    if (group_id_parse(r->args[0], ret_id, &ignored) == E_OK)
        return E_OK;
    return err_set(err, E_NOT_FOUND, "'%.*s' is not the id of a group",
                   (int)(r->args[0].size > 60 ? 60 : r->args[0].size), r->args[0].data);
}

/* ---- POST /v1/groups ---- */

struct open_body {
    struct group_choice choice; /* first: the checks of its fields want it there */
    struct slice key;
    int64_t parent;
    bool sealed;
};

static enum err_code read_parent(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the id of a group", value);
    return group_id_parse(jtext_text(value, r->arena), &((struct open_body *)r->to)->parent,
                          r->err);
}

static const struct field open_fields[] = {
    FIELD_TEXT("open", open_body, choice.kind, .null = true, .min = 1, .max = GROUP_NAME_MAX,
               .check = group_check_kind, .help = "Its kind, one of `groups:`."),
    FIELD_TEXT("name", open_body, choice.name, .null = true, .max = GROUP_NAME_MAX),
    FIELD_CUSTOM("parent", read_parent, .null = true, .schema = "Text",
                 .help = "The group it is in (default root)."),
    FIELD_OBJECT("data", open_body, choice.data, .null = true, .check = group_check_data,
                 .schema = "Params", .help = "What its members share."),
    FIELD_BOOL("sealed", open_body, sealed, .null = true,
               .help = "true: it ends as soon as nothing in it lives (default false)."),
    FIELD_CUSTOM("finally", group_read_finally, .null = true, .schema = "Finally",
                 .help = "Instead of the kind's."),
    FIELD_TEXT("key", open_body, key, .null = true, .min = 1, .max = KEY_BYTES_MAX,
               .help = "The same key with the same content is the same group."),
};
static const struct object open_object = {.what = "the body",
                                          .schema = "GroupToAdd",
                                          OBJECT_FIELDS(open_fields)};

static enum err_code group_create(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_GROUP);
    struct open_body body = {.sealed = false};
    struct slice object;

    if (request_object(r, &object, err) != E_OK ||
        request_body(r, &open_object, &body, &op->arena, err) != E_OK)
        return err->code;
    op->group = (struct group_op){.kind = GROUP_OP_OPEN,
                                  .choice = body.choice,
                                  .parent = body.parent,
                                  .key = body.key,
                                  .content = content_hash(object)};
    op->group.choice.unsealed = !body.sealed;
    request_run(r, NULL);
    return E_OK;
}

/* ---- POST /v1/groups/ID/ACTION, PATCH ---- */

static enum err_code group_act(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_GROUP);

    op->group = (struct group_op){.kind = (enum group_op_kind)r->route->what};
    if (group_id(r, &op->group.id, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static const struct field patch_fields[] = {
    FIELD_OBJECT("data", group_op, data, .required = true, .check = group_check_data,
                 .schema = "Params", .help = "merge patch: null removes a member"),
    FIELD_INT64("if_version", group_op, if_version, FIELD_GIVEN(group_op, has_version),
                .null = true, .min = 0, .max = INT64_MAX,
                .help = "Only while the data has this version."),
};
static const struct object patch_object = {
    .what = "the body", .schema = "GroupPatch", OBJECT_FIELDS(patch_fields), .needs = true};

static enum err_code group_patch(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_GROUP);

    op->group = (struct group_op){.kind = GROUP_OP_PATCH};
    if (group_id(r, &op->group.id, err) != E_OK ||
        request_body(r, &patch_object, &op->group, &op->arena, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

/* ---- lists and views ---- */

static enum err_code filter_from_params(struct request *r, struct groups_wanted *f, struct err *err)
{
    struct slice parent = request_param(r, "parent");
    struct slice state = request_param(r, "state");

    f->kind = request_param(r, "kind");
    if (parent.data != NULL && group_id_parse(parent, &f->parent, err) != E_OK)
        return err_wrap(err, "parent");
    if (state.data == NULL)
        return E_OK;
    f->state = group_state_parse(state);
    return f->state != 0 ? E_OK
                         : err_set(err, E_INVALID,
                                   "state: must be open, finishing, done, failed or cancelled");
}

static enum err_code groups_list(struct request *r, struct err *err)
{
    struct query *q = request_query(r, QUERY_GROUPS);

    q->cursor = request_param(r, "cursor");
    if (limit_from_params(r, LINKS_LIMIT, &q->limit, err) != E_OK ||
        filter_from_params(r, &q->groups, err) != E_OK)
        return err->code;
    request_read(r, NULL, NULL);
    return E_OK;
}

static enum err_code group_show(struct request *r, struct err *err)
{
    int64_t id;

    if (group_id(r, &id, err) != E_OK)
        return err->code;
    request_query(r, QUERY_GROUP)->id = id;
    request_read(r, NULL, NULL);
    return E_OK;
}

/* ---- routes ---- */

#define ACTION(name, kind, text)                                                   \
    {                                                                              \
        ROUTE("POST", "/v1/groups/{id}/" name, RIGHT_USER),                        \
            .handle = group_act, .what = (kind), .body = BODY_OPTIONAL,            \
            .max_body = BODY_SMALL_MAX, .takes = "Nothing", .gives = "GroupActed", \
            .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL}, .help = (text)            \
    }

static const struct route groups_rows[] = {
    {
        ROUTE("POST", "/v1/groups", RIGHT_USER),
        .handle = group_create,
        .body = BODY_OPTIONAL,
        .max_body = 2 * GROUP_DATA_MAX,
        .status = 201,
        .reads = &open_object,
        .gives = "GroupAdded",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Opens a group, which is filled by hand and ends after `seal`.",
    },
    {
        ROUTE("GET", "/v1/groups", RIGHT_USER),
        .handle = groups_list,
        .gives = "Groups",
        .params = {{"kind", "string", "Only this kind."},
                   {"parent", "string", "Only groups in this one."},
                   {"state", "string", "Only groups in this state."},
                   LIMIT_PARAM,
                   CURSOR_PARAM},
        .help = "Lists groups, newest first.",
    },
    {
        ROUTE("GET", "/v1/groups/{id}", RIGHT_USER),
        .handle = group_show,
        .gives = "Group",
        .errors = {E_NOT_FOUND},
        .help = "Shows a group; `root` is the one that holds everything.",
    },
    {
        ROUTE("PATCH", "/v1/groups/{id}", RIGHT_USER),
        .handle = group_patch,
        .body = BODY_JSON,
        .max_body = 2 * GROUP_DATA_MAX,
        .reads = &patch_object,
        .gives = "GroupVersion",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Changes the data of a group.",
    },
    {
        ROUTE("GET", "/v1/groups/{id}/results", RIGHT_USER),
        .handle = group_results,
        .type = "application/x-ndjson",
        .params = {{"cursor", "string", "Continues after the member with this id."}},
        .errors = {E_NOT_FOUND},
        .help = "Streams the ended members of a group, a line each, in the order of their ids.",
    },
    ACTION("seal", GROUP_OP_SEAL, "Seals a group: it ends when nothing in it lives."),
    ACTION("cancel", GROUP_OP_CANCEL, "Cancels a group and everything below it."),
    ACTION("pause", GROUP_OP_PAUSE, "Starts nothing of a group and of what is below it."),
    ACTION("resume", GROUP_OP_RESUME, "Resumes a paused group."),
};

const struct route_table groups_routes = ROUTE_TABLE(groups_rows);
