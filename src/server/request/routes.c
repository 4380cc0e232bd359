/* SPDX-License-Identifier: MIT */
#include "server/request/routes.h"

#include <string.h>

#include "core/object/quote.h"
#include "server/api/api.h"

#define TABLE(noun) &noun##_routes,
static const struct route_table *const tables[] = {API_NOUNS(TABLE)};
#undef TABLE

/* {name} matches one segment that is not empty. */
static bool path_matches(const char *pattern, struct slice path, struct slice args[ROUTE_ARGS_MAX])
{
    const char *at = path.data;
    const char *end = path.data + path.size;
    size_t n_args = 0;

    for (const char *p = pattern; *p != '\0';) {
        if (*p != '{') {
            if (at == end || *at++ != *p++)
                return false;
            continue;
        }
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *segment_end = slash == NULL ? end : slash;

        if (segment_end == at || n_args == ROUTE_ARGS_MAX)
            return false;
        args[n_args++] = slice_make(at, (size_t)(segment_end - at));
        at = segment_end;
        p = strchr(p, '}') + 1;
    }
    return at == end;
}

static bool method_is(const struct route *route, struct slice method)
{
    if (slice_is(method, "HEAD"))
        return strcmp(route->method, "GET") == 0 && !route->starts;
    return slice_is(method, route->method);
}

const struct route *routes_get(size_t index)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        if (index < tables[t]->count)
            return &tables[t]->rows[index];
        index -= tables[t]->count;
    }
    return NULL;
}

static const struct route *find_in(const struct route_table *table, struct slice method,
                                   struct slice path, struct route_match *ret_match,
                                   struct buf *allow)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct route *route = &table->rows[i];
        struct slice args[ROUTE_ARGS_MAX] = {{NULL, 0}};

        if (!path_matches(route->path, path, args))
            continue;
        if (method_is(route, method)) {
            ret_match->route = route;
            memcpy(ret_match->args, args, sizeof(args));
            return route;
        }
        if (strstr(buf_text(allow), route->method) == NULL) {
            buf_addf(allow, "%s%s%s", allow->size > 0 ? ", " : "", route->method,
                     strcmp(route->method, "GET") == 0 && !route->starts ? ", HEAD" : "");
        }
    }
    return NULL;
}

enum err_code routes_match(struct slice method, struct slice path, struct route_match *ret_match,
                           struct buf *allow, struct err *err)
{
    struct quote quote;

    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        if (find_in(tables[t], method, path, ret_match, allow) != NULL)
            return E_OK;
    if (allow->size > 0)
        return err_set(err, E_METHOD, "%s takes %s here", quote_text(&quote, path),
                       buf_text(allow));
    return err_set(err, E_NOT_FOUND,
                   "there is nothing at %s: /v1/openapi.json describes what there is",
                   quote_text(&quote, path));
}
