/* SPDX-License-Identifier: MIT */
#include "store/sqlite/text.h"

#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { START_CHARACTERS = 200, UTF8_MAX = 4 };

static struct slice text_of(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);

    return slice_make(text, (size_t)sqlite3_value_bytes(value));
}

static void strpos(sqlite3_context *ctx, int n, sqlite3_value **args)
{
    struct slice text = text_of(args[0]);
    struct slice part = text_of(args[1]);

    (void)n;
    if (text.data == NULL || part.data == NULL)
        return; /* NULL */
    const char *at = memmem(text.data, text.size, part.data, part.size);

    sqlite3_result_int64(ctx, at == NULL ? 0 : at - text.data + 1);
}

/* NULL when there is no such row, or no text in it. */
static sqlite3_blob *open_stored(sqlite3_context *ctx, sqlite3_value **args)
{
    sqlite3_blob *blob = NULL;

    if (sqlite3_value_type(args[2]) == SQLITE_NULL)
        return NULL;
    int rc = sqlite3_blob_open(sqlite3_context_db_handle(ctx), "main",
                               (const char *)sqlite3_value_text(args[0]),
                               (const char *)sqlite3_value_text(args[1]),
                               sqlite3_value_int64(args[2]), 0, &blob);

    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_ERROR)
        sqlite3_result_error_code(ctx, rc);
    return rc == SQLITE_OK ? blob : NULL;
}

static void stored_size(sqlite3_context *ctx, int n, sqlite3_value **args)
{
    sqlite3_blob *blob = open_stored(ctx, args);

    (void)n;
    if (blob != NULL)
        sqlite3_result_int64(ctx, sqlite3_blob_bytes(blob));
    sqlite3_blob_close(blob);
}

static void stored_start(sqlite3_context *ctx, int n, sqlite3_value **args)
{
    sqlite3_blob *blob = open_stored(ctx, args);
    char start[START_CHARACTERS * UTF8_MAX];
    int size = 0;
    int end = 0;

    (void)n;
    if (blob == NULL)
        return;
    size = sqlite3_blob_bytes(blob) < (int)sizeof(start) ? sqlite3_blob_bytes(blob)
                                                         : (int)sizeof(start);
    int rc = sqlite3_blob_read(blob, start, size, 0);

    for (int seen = 0; end < size; end++)
        if (((unsigned char)start[end] & 0xC0) != 0x80 && seen++ == START_CHARACTERS)
            break;
    if (rc == SQLITE_OK)
        sqlite3_result_text(ctx, start, end, SQLITE_TRANSIENT);
    else
        sqlite3_result_error_code(ctx, rc);
    sqlite3_blob_close(blob);
}

int sqlite_text_register(sqlite3 *handle)
{
    static const struct {
        const char *name;
        int args;
        void (*run)(sqlite3_context *ctx, int n, sqlite3_value **args);
    } functions[] = {{"strpos", 2, strpos},
                     {"stored_size", 3, stored_size},
                     {"stored_start", 3, stored_start}};

    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        int rc = sqlite3_create_function_v2(handle, functions[i].name, functions[i].args,
                                            SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, functions[i].run,
                                            NULL, NULL, NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}
