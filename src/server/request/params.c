/*
 * The path and the query string: checked against the route, read as values.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "core/object/quote.h"
#include "server/request/request.h"

struct param_check {
    const struct route *route;
    unsigned seen; /* bits, by the place in the route's table */
    struct err *err;
};

/* A name that ends in `*` is the beginning of many. */
static bool is_open(const struct route_param *p)
{
    return p->name[strlen(p->name) - 1] == '*';
}

static bool param_is(const struct route_param *p, struct slice name)
{
    size_t size = strlen(p->name);

    if (is_open(p))
        return name.size > size - 1 && memcmp(name.data, p->name, size - 1) == 0;
    return slice_is(name, p->name);
}

static void unknown_param(struct param_check *c, struct slice name)
{
    const char *words[ROUTE_PARAMS_MAX];
    size_t count = 0;
    struct quote quote;

    while (count < ROUTE_PARAMS_MAX && c->route->params[count].name != NULL) {
        words[count] = c->route->params[count].name;
        count++;
    }
    const char *near = nearest_word(name, words, count);

    quote_text(&quote, name);
    if (near != NULL)
        (void)err_set(c->err, E_INVALID, "unknown parameter %s, did you mean '%s'?", quote.text,
                      near);
    else
        (void)err_set(c->err, E_INVALID, "unknown parameter %s", quote.text);
}

static void check_one_param(struct param_check *c, struct slice name, struct slice value)
{
    const struct route_param *params = c->route->params;
    struct quote quote;
    size_t i = 0;

    while (i < ROUTE_PARAMS_MAX && params[i].name != NULL && !param_is(&params[i], name))
        i++;
    if (i == ROUTE_PARAMS_MAX || params[i].name == NULL) {
        unknown_param(c, name);
        return;
    }
    if (!is_open(&params[i]) && (c->seen & 1U << i) != 0)
        (void)err_set(c->err, E_INVALID, "duplicate parameter '%s'", params[i].name);
    else if (!utf8_valid(name) || !utf8_valid(value))
        (void)err_set(c->err, E_BAD_REQUEST, "the parameter %s is not UTF-8",
                      quote_text(&quote, name));
    c->seen |= 1U << i;
}

enum err_code request_check_params(struct request *r, struct err *err)
{
    struct param_check check = {.route = r->route, .err = err};

    for (size_t i = 0; i < r->target.n_params && err->code == E_OK; i++)
        check_one_param(&check, r->target.params[i].name, r->target.params[i].value);
    return err->code;
}

struct slice request_param(struct request *r, const char *name)
{
    const struct param *param = target_find(&r->target, slice_of(name));

    return param == NULL ? slice_make(NULL, 0) : param->value;
}

enum err_code request_wait(struct request *r, int64_t *ret_wait_us, struct err *err)
{
    struct slice text = request_param(r, "wait");
    int64_t wait_us = 0;

    if (text.data != NULL && duration_parse(text, &wait_us, err) != E_OK)
        return err_wrap(err, "wait");
    if (wait_us > WAIT_MAX_US)
        return err_set(err, E_INVALID, "wait: at most %ds; ask again after that",
                       (int)(WAIT_MAX_US / US_PER_S));
    *ret_wait_us = wait_us;
    return E_OK;
}

enum err_code request_flag(struct request *r, const char *name, bool *ret_flag, struct err *err)
{
    struct slice text = request_param(r, name);
    struct quote quote;

    if (text.data == NULL || slice_is(text, "0") || slice_is(text, "false"))
        *ret_flag = false;
    else if (text.size == 0 || slice_is(text, "1") || slice_is(text, "true"))
        *ret_flag = true;
    else
        return err_set(err, E_INVALID, "%s: must be 0 or 1, not %s", name,
                       quote_text(&quote, text));
    return E_OK;
}

enum err_code request_id(struct request *r, const char *what, int64_t *ret_id, struct err *err)
{
    struct quote quote;

    if (!id_parse(r->args[0], ret_id))
        return err_set(err, E_NOT_FOUND, "there is no %s %s: an id has 13 letters and digits", what,
                       quote_text(&quote, r->args[0]));
    return E_OK;
}
