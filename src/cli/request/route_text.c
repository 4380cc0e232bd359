/* SPDX-License-Identifier: MIT */
#include "cli/request/route_text.h"

#include <string.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "core/queue/def.h"
#include "core/route/dest.h"

#define JOBS_PATH "/v1/jobs/"

/* ---- pieces ---- */

static bool begins_with(struct slice text, const char *head, struct slice *ret_rest)
{
    size_t size = strlen(head);

    if (text.size < size || memcmp(text.data, head, size) != 0)
        return false;
    *ret_rest = slice_make(text.data + size, text.size - size);
    return true;
}

static bool is_number(struct slice text)
{
    int64_t number;

    return slice_number(text, &number) && text.size <= 12 &&
           (text.size == 1 || text.data[0] != '0');
}

/* Cuts off and returns the text after the last ':'; empty: none. */
static struct slice take_tail(struct slice *text)
{
    for (size_t i = text->size; i-- > 0;)
        if (text->data[i] == ':') {
            struct slice tail = slice_make(text->data + i + 1, text->size - i - 1);

            text->size = i;
            return tail;
        }
    return SLICE("");
}

static enum err_code add_object(struct slice given, struct buf *out, struct err *err)
{
    struct slice value;

    if (jtext_check(given, &value, err) != E_OK)
        return E_INVALID;
    for (size_t i = 0; i < value.size; i++) /* line ends in JSON are white space */
        buf_add_char(out, value.data[i] == '\n' || value.data[i] == '\r' ? ' ' : value.data[i]);
    return E_OK;
}

/* NAME or NAME:N */
static enum err_code add_signal(struct slice name, struct buf *out, struct err *err)
{
    struct slice whole = name;
    struct slice count = take_tail(&name);

    if (!is_number(count)) {
        name = whole;
        count = SLICE("");
    }
    if (dest_name_check("signal", name, err) != E_OK)
        return err->code;
    buf_add_char(out, '{');
    jtext_put_string(out, "signal", name);
    if (count.size > 0)
        jtext_put_raw(out, "count", count);
    buf_add_char(out, '}');
    return E_OK;
}

/* ---- after ---- */

static enum err_code not_a_condition(const char *given, struct err *err)
{
    return err_set(err, E_INVALID,
                   "'%s' is nothing to wait for: a job's id, ID:failure, ID:end, ID/STEP, "
                   "signal:NAME or signal:NAME:N",
                   given);
}

static enum err_code add_condition(const char *given, struct slice text, struct buf *out,
                                   struct err *err)
{
    struct slice id = slice_make(text.data, strcspn(text.data, ":/"));
    struct slice rest = slice_make(text.data + id.size, text.size - id.size);
    struct slice on = SLICE("");
    int64_t parsed = 0;

    if (!id_parse(id, &parsed))
        return not_a_condition(given, err);
    if (rest.size > 0) {
        struct slice before = rest;

        on = take_tail(&before);
        if (slice_is(on, "success") || slice_is(on, "failure") || slice_is(on, "end"))
            rest = before;
        else
            on = SLICE("");
    }
    if (rest.size == 1 || (rest.size > 0 && rest.data[0] != '/'))
        return not_a_condition(given, err);
    struct slice step = rest.size > 0 ? slice_make(rest.data + 1, rest.size - 1) : rest;

    buf_add_char(out, '{');
    jtext_put_string(out, "job", id);
    if (is_number(step))
        jtext_put_raw(out, "step", step);
    else if (step.size > 0)
        jtext_put_string(out, "step", step);
    if (on.size > 0)
        jtext_put_string(out, "on", on);
    buf_add_char(out, '}');
    return E_OK;
}

enum err_code condition_to_json(const char *given, struct buf *out, struct err *err)
{
    const char *path = strstr(given, JOBS_PATH);
    struct slice rest;

    if (given[0] == '{')
        return add_object(slice_of(given), out, err);
    if (begins_with(slice_of(given), "signal:", &rest))
        return add_signal(rest, out, err);
    return add_condition(given, slice_of(path != NULL ? path + strlen(JOBS_PATH) : given), out,
                         err);
}

/* ---- destinations ---- */

static enum err_code add_named(const char *what, struct slice name, struct buf *out,
                               struct err *err)
{
    bool queue = strcmp(what, "queue") == 0;

    if ((queue ? queue_name_check(name, err) : dest_name_check(what, name, err)) != E_OK)
        return err->code;
    buf_add_char(out, '{');
    jtext_put_string(out, what, name);
    buf_add_char(out, '}');
    return E_OK;
}

enum err_code dest_to_json(const char *given, struct buf *out, struct err *err)
{
    struct slice text = slice_of(given);
    struct slice rest;

    if (given[0] == '{')
        return add_object(text, out, err);
    if (begins_with(text, "topic:", &rest))
        return add_named("topic", rest, out, err);
    if (begins_with(text, "join:", &rest))
        return add_named("join", rest, out, err);
    if (begins_with(text, "signal:", &rest))
        return add_signal(rest, out, err);
    return add_named("queue", begins_with(text, "queue:", &rest) ? rest : text, out, err);
}

/* ---- options ---- */

typedef enum err_code text_fn(const char *given, struct buf *out, struct err *err);

static enum err_code add_list(const struct args *a, const char *option, const char *member,
                              text_fn *add, struct buf *out, struct err *err)
{
    const struct given_option *given = NULL;

    if (!args_has(a, option))
        return E_OK;
    jtext_add_key(out, member);
    buf_add_char(out, '[');
    for (size_t i = 0; (given = args_next(a, option, &i)) != NULL;) {
        jtext_add_comma(out);
        if (add(given->value, out, err) != E_OK)
            return err_wrap(err, "--%s", option);
    }
    buf_add_char(out, ']');
    return E_OK;
}

enum err_code route_add_json(const struct args *a, struct buf *out, struct err *err)
{
    if (add_list(a, "after", "after", condition_to_json, out, err) != E_OK ||
        add_list(a, "on-success", "on_success", dest_to_json, out, err) != E_OK)
        return err->code;
    return add_list(a, "on-failure", "on_failure", dest_to_json, out, err);
}
