/* SPDX-License-Identifier: MIT */
#include "each/halt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINES_ENOUGH 1000

static enum err_code bad(const char *text, struct err *err)
{
    const char *more = "";

    if (text[0] >= '0' && text[0] <= '9')
        more = " (GNU parallel's 1 is soon, its 2 is now)";
    else if (strcmp(text, "never") == 0)
        more = " (without --halt all lines are run)";
    else if (strstr(text, "done=") != NULL || strstr(text, "success=") != NULL)
        more = " (only failures can be counted: fail=)";
    return err_set(err, E_INVALID,
                   "--halt: '%.40s' is not of the form now, soon, now,fail=3 or soon,fail=10%%%s",
                   text, more);
}

enum err_code each_halt_parse(const char *text, struct each_halt *ret_halt, struct err *err)
{
    struct each_halt h = {.count = 1};
    size_t word = strcspn(text, ",");
    const char *rest = text + word;
    char *end = NULL;

    if (word == 3 && strncmp(text, "now", word) == 0)
        h.when = EACH_HALT_NOW;
    else if (word == 4 && strncmp(text, "soon", word) == 0)
        h.when = EACH_HALT_SOON;
    else
        return bad(text, err);
    if (*rest == '\0') {
        *ret_halt = h;
        return E_OK;
    }
    if (strncmp(rest, ",fail=", 6) != 0 || rest[6] < '0' || rest[6] > '9')
        return bad(text, err);
    errno = 0;
    long long n = strtoll(rest + 6, &end, 10);
    bool share = *end == '%';

    if (errno != 0 || n < 1 || (share && n > 100) || end[share ? 1 : 0] != '\0')
        return bad(text, err);
    h.count = share ? 0 : n;
    h.percent = share ? n : 0;
    *ret_halt = h;
    return E_OK;
}

bool each_halt_is_due(const struct each_halt *h, const struct each_halt_facts *facts)
{
    if (h->when == EACH_HALT_NEVER || facts->failed == 0)
        return false;
    if (h->count > 0)
        return facts->failed >= h->count;
    if (!facts->all_read && facts->lines < LINES_ENOUGH)
        return false;
    return facts->failed * 100 >= facts->lines * h->percent;
}
