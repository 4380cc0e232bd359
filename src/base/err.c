/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

static const struct {
    int status;
    const char *name;
} codes[ERR_CODE_COUNT] = {
#define X(code, status, name) [code] = {status, name},
    ERR_CODES(X)
#undef X
};

/*
 * Messages end up in JSON and on terminals, and they quote what came from outside, perhaps cut in
 * the middle of a character: what is not UTF-8 becomes '?'.  A character torn by the end of the
 * message is left out.
 */
static void keep_utf8(char msg[static sizeof(((struct err *)0)->msg)])
{
    size_t size = strlen(msg);
    bool full = size == sizeof(((struct err *)0)->msg) - 1;

    for (size_t i = 0; i < size;) {
        size_t n = utf8_step(msg + i, msg + size);

        if (n == 0 && full && size - i < 4) {
            msg[i] = '\0';
            return;
        }
        if (n == 0)
            msg[i] = '?';
        i += n == 0 ? 1 : n;
    }
}

enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    char msg[sizeof(err->msg)]; /* the arguments may point into the message that is replaced */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    keep_utf8(msg);
    memcpy(err->msg, msg, strlen(msg) + 1);
    err->code = code;
    err->item = 0;
    err->unknown_queue = err->bad_row = false;
    return code;
}

PRINTF_LIKE(2, 0)
static void put_in_front(struct err *err, const char *fmt, va_list ap)
{
    char msg[sizeof(err->msg)];
    int n = vsnprintf(msg, sizeof(msg), fmt, ap);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof(msg) ? (size_t)n : sizeof(msg) - 1;

    for (const char *p = ": "; *p != '\0' && used < sizeof(msg) - 1; p++)
        msg[used++] = *p;
    for (const char *p = err->msg; *p != '\0' && used < sizeof(msg) - 1; p++)
        msg[used++] = *p;
    msg[used] = '\0';
    keep_utf8(msg);
    memcpy(err->msg, msg, strlen(msg) + 1);
}

enum err_code err_wrap(struct err *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_in_front(err, fmt, ap);
    va_end(ap);
    return err->code;
}

enum err_code err_errno(struct err *err, enum err_code code, const char *fmt, ...)
{
    char why[128];
    va_list ap;

    err_set(err, code, "%s", strerror_r(errno, why, sizeof(why)));
    va_start(ap, fmt);
    put_in_front(err, fmt, ap);
    va_end(ap);
    return code;
}

int err_http_status(enum err_code code)
{
    return codes[code].status;
}

const char *err_name(enum err_code code)
{
    return codes[code].name;
}

enum err_code err_from_name(const char *name)
{
    for (unsigned i = 0; i < ERR_CODE_COUNT; i++)
        if (strcmp(codes[i].name, name) == 0)
            return (enum err_code)i;
    return E_INTERNAL;
}
