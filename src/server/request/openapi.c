/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "server/limits.h"
#include "server/request/routes.h"

/* What any request can be answered with. */
static const enum err_code common_errors[] = {E_BAD_REQUEST, E_UNAUTHORIZED, E_FORBIDDEN,
                                              E_TOO_LARGE,   E_INVALID,      E_INTERNAL,
                                              E_UNAVAILABLE};

static void add_text(struct buf *out, const char *name, const char *text)
{
    jtext_put_string(out, name, slice_of(text));
}

static void add_param(struct buf *out, const char *name, const char *in, const char *type,
                      const char *help)
{
    bool in_path = strcmp(in, "path") == 0;

    jtext_add_comma(out);
    buf_add_char(out, '{');
    add_text(out, "name", name);
    add_text(out, "in", in);
    jtext_put_bool(out, "required", in_path);
    if (help != NULL)
        add_text(out, "description", help);
    buf_addf(out, ",\"schema\":{\"type\":\"%s\"}}", type);
}

static void add_content(struct buf *out, const char *type, const char *schema)
{
    buf_add_str(out, "\"content\":{");
    jtext_add_string(out, slice_of(type));
    if (schema != NULL)
        buf_addf(out, ":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}", schema);
    else
        buf_add_str(out, ":{\"schema\":{\"type\":\"string\"}}");
}

static void add_request_body(struct buf *out, const struct route *r)
{
    if (r->body == BODY_NONE)
        return;
    buf_addf(out, ",\"requestBody\":{\"required\":%s,\"x-max-bytes\":%zu,",
             r->body == BODY_OPTIONAL ? "false" : "true",
             r->body == BODY_JOBS ? BODY_LINES_MAX : r->max_body);
    if (r->body == BODY_RAW)
        add_content(out, "application/octet-stream", NULL);
    else
        add_content(out, "application/json", r->reads != NULL ? r->reads->schema : r->takes);
    if (r->body == BODY_JOBS)
        buf_add_str(out, ",\"application/x-ndjson\":{\"schema\":{\"type\":\"string\"}}");
    buf_add_str(out, "}}");
}

/* Several codes share a status: they share a response. */
static void add_errors(struct buf *out, const bool codes[ERR_CODE_COUNT])
{
    bool done[ERR_CODE_COUNT] = {false};

    for (unsigned c = E_OK + 1; c < ERR_CODE_COUNT; c++) {
        int status = err_http_status((enum err_code)c);
        bool first = true;

        if (!codes[c] || done[c])
            continue;
        buf_addf(out, ",\"%d\":{\"description\":\"", status);
        for (unsigned other = c; other < ERR_CODE_COUNT; other++)
            if (codes[other] && err_http_status((enum err_code)other) == status) {
                buf_addf(out, "%s%s", first ? "" : ", ", err_name((enum err_code)other));
                first = false;
                done[other] = true;
            }
        buf_add_str(out, "\",");
        add_content(out, "application/json", "Error");
        buf_add_str(out, "}}");
    }
}

static void add_responses(struct buf *out, const struct route *r)
{
    bool codes[ERR_CODE_COUNT] = {false};

    for (size_t i = 0; i < ARRAY_LEN(common_errors); i++)
        codes[common_errors[i]] = true;
    for (size_t i = 0; i < ROUTE_ERRORS_MAX && r->errors[i] != E_OK; i++)
        codes[r->errors[i]] = true;
    buf_addf(out, ",\"responses\":{\"%d\":{\"description\":\"Done.\",",
             r->status == 0 ? 200 : r->status);
    add_content(out, r->type != NULL ? r->type : "application/json", r->gives);
    buf_add_str(out, "}}");
    add_errors(out, codes);
    buf_add_char(out, '}');
}

static const char *right_name(enum right right)
{
    switch (right) {
    case RIGHT_OPEN: return "anybody";
    case RIGHT_USER: return "user";
    case RIGHT_ADMIN: return "admin";
    }
    return "";
}

static void add_operation(struct buf *out, const struct route *r)
{
    jtext_add_comma(out);
    buf_add_char(out, '"');
    for (const char *p = r->method; *p != '\0'; p++)
        buf_add_char(out, (char)(*p | 0x20));
    buf_add_str(out, "\":{");
    add_text(out, "summary", r->help);
    add_text(out, "x-right", right_name(r->right));
    if (r->right == RIGHT_ADMIN)
        buf_add_str(out, ",\"security\":[{\"token\":[]}]");
    buf_add_str(out, ",\"parameters\":[");
    const char *open = strchr(r->path, '{');
    char name[32];

    if (open != NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)(strchr(open, '}') - open - 1), open + 1);
        add_param(out, name, "path", "string", NULL);
    }
    for (size_t i = 0; i < ROUTE_PARAMS_MAX && r->params[i].name != NULL; i++)
        add_param(out, r->params[i].name, "query", r->params[i].type, r->params[i].help);
    buf_add_char(out, ']');
    add_request_body(out, r);
    add_responses(out, r);
    buf_add_char(out, '}');
}

/* All methods of a path stand together, at its first route. */
static bool is_first_of_path(size_t index)
{
    const char *path = routes_get(index)->path;

    for (size_t i = 0; i < index; i++)
        if (strcmp(routes_get(i)->path, path) == 0)
            return false;
    return true;
}

void openapi_write(struct buf *out, struct slice url)
{
    buf_add_str(
        out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Waybill\",\"version\":\"" WAYBILL_VERSION
             "\",\"description\":\"A durable work queue.\"},\"servers\":[{\"url\":");
    jtext_add_string(out, url);
    buf_add_str(out, "}],\"paths\":{");
    const struct route *first;
    const struct route *route;

    for (size_t i = 0; (first = routes_get(i)) != NULL; i++) {
        if (!is_first_of_path(i))
            continue;
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(first->path));
        buf_add_str(out, ":{");
        for (size_t j = i; (route = routes_get(j)) != NULL; j++)
            if (strcmp(route->path, first->path) == 0)
                add_operation(out, route);
        buf_add_char(out, '}');
    }
    buf_add_str(out, "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\","
                     "\"scheme\":\"bearer\"}},\"schemas\":");
    schemas_write(out);
    buf_add_str(out, "}}");
}
