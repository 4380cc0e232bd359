/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int status;
    const char *name;
} codes[ERR_CODE_COUNT] = {
#define X(code, status, name) [code] = {status, name},
    ERR_CODES(X)
#undef X
};

/* A message cut in the middle of a character would not be UTF-8 any more: drop the torn tail. */
static void trim_torn_utf8(char *msg)
{
    size_t n = strlen(msg);
    size_t tail = 0;

    while (tail < n && tail < 4 && ((unsigned char)msg[n - 1 - tail] & 0xC0) == 0x80)
        tail++;
    if (tail == n)
        return;
    unsigned char lead = (unsigned char)msg[n - 1 - tail];
    size_t want = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;

    if (tail < want)
        msg[n - 1 - tail] = '\0';
}

enum err_code err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    err->code = code;
    err->item = 0;
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
    va_end(ap);
    trim_torn_utf8(err->msg);
    return code;
}

static void put_in_front(struct err *err, const char *fmt, va_list ap)
{
    char rest[sizeof(err->msg)];
    size_t room = sizeof(err->msg);

    memcpy(rest, err->msg, sizeof(rest));
    int n = vsnprintf(err->msg, room, fmt, ap);
    size_t used = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;

    snprintf(err->msg + used, room - used, ": %s", rest);
    trim_torn_utf8(err->msg);
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

    err->code = code;
    err->item = 0;
    snprintf(err->msg, sizeof(err->msg), "%s", strerror_r(errno, why, sizeof(why)));
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
