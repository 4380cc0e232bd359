/* SPDX-License-Identifier: MIT */
#include "server/http/target.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/text/hex.h"
#include "core/object/quote.h"

/* The byte of an escape; 0 when it is malformed or a NUL. */
static char escaped(const char *at, const char *end)
{
    int high = end - at > 2 ? hex_value(at[1]) : -1;
    int low = high < 0 ? -1 : hex_value(at[2]);

    if (low < 0)
        return '\0';
    return (char)(high << 4 | low);
}

/* Decodes in place; `space` stands for a space (NUL: none does).  False for a NUL or a
 * malformed escape. */
static bool decode(char *text, size_t size, char space, struct slice *ret_text)
{
    const char *end = text + size;
    const char *at = text;
    char *to = text;

    while (at < end) {
        if (*at != '%') {
            *to++ = *at == space ? ' ' : *at;
            at++;
            continue;
        }
        *to = escaped(at, end);
        if (*to++ == '\0')
            return false;
        at += 3;
    }
    *ret_text = slice_make(text, (size_t)(to - text));
    return true;
}

static enum err_code refuse(const char *what, const char *which, struct err *err)
{
    return err_set(err, E_BAD_REQUEST,
                   "%s%s has a NUL in it, or a %% that is no escape (%%25 is a percent sign)", what,
                   which);
}

static enum err_code parse_param(char *text, size_t size, struct param *ret_param, struct err *err)
{
    char *equal = memchr(text, '=', size);
    size_t name_size = equal == NULL ? size : (size_t)(equal - text);
    struct quote quote;

    ret_param->value = SLICE("");
    if (!decode(text, name_size, '+', &ret_param->name))
        return refuse("the name of a parameter", "", err);
    if (equal != NULL && !decode(equal + 1, size - name_size - 1, '+', &ret_param->value))
        return refuse("the parameter ", quote_text(&quote, ret_param->name), err);
    return E_OK;
}

static enum err_code parse_params(char *text, size_t size, struct target *t, struct err *err)
{
    char *end = text + size;
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += text[i] == '&';
    t->params = mem_alloc((n + 1) * sizeof(*t->params));
    for (char *at = text; at < end;) {
        char *ampersand = memchr(at, '&', (size_t)(end - at));
        char *param_end = ampersand == NULL ? end : ampersand;

        if (param_end > at &&
            parse_param(at, (size_t)(param_end - at), &t->params[t->n_params++], err) != E_OK)
            return err->code;
        at = ampersand == NULL ? end : ampersand + 1;
    }
    return E_OK;
}

enum err_code target_parse(char *text, size_t size, struct target *ret_target, struct err *err)
{
    struct target t = {.params = NULL};
    char *question = memchr(text, '?', size);
    size_t path_size = question == NULL ? size : (size_t)(question - text);

    if (!decode(text, path_size, '\0', &t.path))
        return refuse("the path", "", err);
    if (question != NULL && parse_params(question + 1, size - path_size - 1, &t, err) != E_OK) {
        target_deinit(&t);
        return err->code;
    }
    *ret_target = t;
    return E_OK;
}

void target_deinit(struct target *t)
{
    free(t->params);
    *t = (struct target){.params = NULL};
}

const struct param *target_find(const struct target *t, struct slice name)
{
    for (size_t i = 0; i < t->n_params; i++)
        if (slice_equal(t->params[i].name, name))
            return &t->params[i];
    return NULL;
}
