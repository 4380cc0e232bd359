/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "server/api/api.h"
#include "server/process/server_state.h"
#include "server/request/request.h"

#define DIR_BYTES_MAX 4000

/* The request is answered by the chore, or by the stop of the server. */
static void forget(struct request *r)
{
    struct chore *running = r->server->chores.running;

    if (running != NULL && running->request == r)
        running->request = NULL;
}

static enum err_code wait_for(struct request *r, struct chore *c, struct err *err)
{
    if (chores_begin(&r->server->chores, c, err) != E_OK)
        return err->code;
    r->cleanup = forget;
    r->phase = REQUEST_WORKING;
    return E_OK;
}

/* ---- POST /v1/backup ---- */

struct backup_values {
    struct slice dir;
};

static enum err_code check_dir(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    if (((struct backup_values *)r->to)->dir.data[0] == '/')
        return E_OK;
    return object_must_be(r, "an absolute path on the server's machine", value);
}

static const struct field backup_fields[] = {
    FIELD_TEXT("dir", backup_values, dir, .required = true, .min = 1, .max = DIR_BYTES_MAX,
               .check = check_dir, .help = "an absolute path on the server's machine"),
};
static const struct object backup_object = {
    .what = "the body", .schema = "BackupTo", OBJECT_FIELDS(backup_fields), .needs = true};

static void answer_backup(struct chore *c)
{
    struct request *r = c->request;

    if (r == NULL)
        return;
    r->err = c->err;
    buf_add_str(&r->reply, "{\"dir\":");
    jtext_add_string(&r->reply, slice_of(c->dir));
    buf_addf(&r->reply, ",\"bytes\":%lld}", (long long)c->bytes);
    request_answer(r, r->err.code == E_OK ? 200 : 0);
    request_wake(r);
}

static enum err_code backup_make(struct request *r, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct backup_values values = {.dir = {NULL, 0}};

    if (request_body(r, &backup_object, &values, &arena, err) != E_OK)
        return err->code;
    struct chore *c = chore_new(CHORE_BACKUP, r, answer_backup);

    c->dir = mem_strndup(values.dir.data, values.dir.size);
    return wait_for(r, c, err);
}

/* ---- POST /v1/check ---- */

struct check_values {
    bool full;
};

static const struct field check_fields[] = {
    FIELD_BOOL("full", check_values, full, .null = true, .help = "Look at all pages and indexes."),
};
static const struct object check_object = {.what = "the body",
                                           .schema = "CheckHow",
                                           OBJECT_FIELDS(check_fields)};

static void answer_check(struct chore *c)
{
    struct request *r = c->request;

    if (r == NULL)
        return;
    r->err = c->err;
    buf_add_str(&r->reply, "{\"ok\":");
    jtext_add_bool(&r->reply, c->n_findings == 0);
    buf_add_str(&r->reply, ",\"findings\":[");
    buf_add_slice(&r->reply, buf_slice(&c->findings));
    buf_add_str(&r->reply, "]}");
    request_answer(r, r->err.code == E_OK ? 200 : 0);
    request_wake(r);
}

static enum err_code check_run(struct request *r, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct check_values values = {.full = false};

    if (request_body(r, &check_object, &values, &arena, err) != E_OK)
        return err->code;
    struct chore *c = chore_new(CHORE_CHECK, r, answer_check);

    c->how = values.full ? STORE_CHECK_FULL : STORE_CHECK_QUICK;
    return wait_for(r, c, err);
}

/* ---- routes ---- */

static const struct route admin_rows[] = {
    {
        ROUTE("POST", "/v1/backup", RIGHT_ADMIN),
        .handle = backup_make,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .reads = &backup_object,
        .gives = "BackedUp",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Copies the running store into a directory of the server's machine.",
    },
    {
        ROUTE("POST", "/v1/check", RIGHT_ADMIN),
        .handle = check_run,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .reads = &check_object,
        .gives = "Checked",
        .help = "Checks the store; with full also its counts and invariants.",
    },
};

const struct route_table admin_routes = ROUTE_TABLE(admin_rows);
