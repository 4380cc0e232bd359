/*
 * Errors: what went wrong, in terms of what the caller can do about it.
 *
 * A fallible function returns an enum err_code and takes a struct err last, which it writes only on
 * failure.  The finder sets it once; callers handle it or wrap it with what they were doing.  Only
 * boundaries (a request, a command, a loop callback) log or answer.
 *
 * The table below is the single source of codes, HTTP statuses and wire names.  Wire names are part
 * of the public interface: add, never rename.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

#define ERR_CODES(X)                         \
    X(E_OK, 200, "ok")                       \
    X(E_BAD_REQUEST, 400, "bad_request")     \
    X(E_UNAUTHORIZED, 401, "unauthorized")   \
    X(E_FORBIDDEN, 403, "forbidden")         \
    X(E_NOT_FOUND, 404, "not_found")         \
    X(E_METHOD, 405, "method_not_allowed")   \
    X(E_CONFLICT, 409, "conflict")           \
    X(E_STALE_LEASE, 409, "stale_lease")     \
    X(E_PRECONDITION, 412, "precondition")   \
    X(E_TOO_LARGE, 413, "too_large")         \
    X(E_UNSUPPORTED, 415, "unsupported")     \
    X(E_RANGE, 416, "range_not_satisfiable") \
    X(E_INVALID, 422, "invalid")             \
    X(E_TOO_MANY, 429, "too_many")           \
    X(E_INTERNAL, 500, "internal")           \
    X(E_UNAVAILABLE, 503, "unavailable")     \
    X(E_QUEUE_DOWN, 503, "queue_down")       \
    X(E_TOO_SLOW, 503, "too_slow")           \
    X(E_FULL, 507, "full")

enum err_code {
#define X(code, status, name) code,
    ERR_CODES(X)
#undef X
        ERR_CODE_COUNT
};

/* The message is always UTF-8, whatever it quotes. */
struct err {
    enum err_code code;
    unsigned item;      /* 1-based place in the array that was handed in, 0 when there is none */
    bool unknown_queue; /* the cause is a queue that does not exist */
    bool bad_row;       /* … a row of the store that cannot be: others may be sound */
    char msg[240];
};

#define ERR_INIT ((struct err){.code = E_OK})

/* Records the error and returns its code, so that `return err_set(…)` reads well. */
enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts what the caller was doing in front of the message: "finish job X: database is full". */
enum err_code err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Records an error from errno: "open /x: No such file or directory". */
enum err_code err_errno(struct err *err, enum err_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

int err_http_status(enum err_code code);
const char *err_name(enum err_code code);

/* The code with that wire name, E_INTERNAL when there is none. */
enum err_code err_from_name(const char *name);
