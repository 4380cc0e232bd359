/* SPDX-License-Identifier: MIT */
#include "cli/request/filter.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/table/value.h"
#include "worker/client/url.h"

/* `list` has no --older. */
static const char *older_than(const struct args *a)
{
    const struct option_spec *o = NULL;

    for (unsigned i = 0; (o = command_next_option(a->command, &i)) != NULL;) {
        if (strcmp(o->name, "older") == 0)
            return args_text(a, "older");
    }
    return NULL;
}

/* As the server reads it: how long ago by the server's clock, an instant in UTC. */
static const char *since_text(const struct args *a, char instant[static TIME_TEXT_SIZE])
{
    const char *given = args_text(a, "since");
    struct err err = ERR_INIT;
    int64_t us = 0;
    int64_t at = 0;

    if (given == NULL || duration_parse(slice_of(given), &us, &err) == E_OK)
        return given;
    return value_since(given, clock_wall_us(), &at, &err) == E_OK ? time_format(at, instant)
                                                                  : given;
}

bool filter_given(const struct args *a)
{
    return args_has(a, "queue") || args_has(a, "state") || args_has(a, "label") ||
           args_has(a, "text") || args_has(a, "group") || args_has(a, "since") ||
           older_than(a) != NULL;
}

static void add_query(struct buf *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    buf_addf(out, "&%s=", name);
    client_add_escaped(out, slice_of(value));
}

void filter_add_query(const struct args *a, struct buf *out)
{
    const struct given_option *label = NULL;
    char instant[TIME_TEXT_SIZE];

    add_query(out, "since", since_text(a, instant));
    add_query(out, "queue", args_text(a, "queue"));
    add_query(out, "state", args_text(a, "state"));
    add_query(out, "text", args_text(a, "text"));
    add_query(out, "group", args_text(a, "group"));
    for (size_t i = 0; (label = args_next(a, "label", &i)) != NULL;) {
        struct value_pair pair = value_pair_of(&label->spec->value, label->value);

        buf_add_str(out, "&label.");
        client_add_escaped(out, pair.key);
        buf_add_char(out, '=');
        client_add_escaped(out, pair.value);
    }
}

static void add_text(struct buf *out, const char *name, const char *value)
{
    if (value == NULL)
        return;
    jtext_put_string(out, name, slice_of(value));
}

static void add_states(struct buf *out, const char *states)
{
    if (states == NULL)
        return;
    jtext_add_key(out, "state");
    buf_add_char(out, '[');
    for (;;) {
        size_t size = strcspn(states, ",");

        jtext_add_comma(out);
        jtext_add_string(out, slice_make(states, size));
        if (states[size] == '\0')
            break;
        states += size + 1;
    }
    buf_add_char(out, ']');
}

enum err_code filter_add_json(const struct args *a, const char *states, struct buf *out,
                              struct err *err)
{
    const char *given = args_text(a, "state");
    char instant[TIME_TEXT_SIZE];

    buf_add_char(out, '{');
    add_text(out, "since", since_text(a, instant));
    add_text(out, "queue", args_text(a, "queue"));
    add_states(out, given != NULL ? given : states);
    add_text(out, "text", args_text(a, "text"));
    add_text(out, "group", args_text(a, "group"));
    add_text(out, "older", older_than(a));
    if (args_has(a, "label")) {
        jtext_add_key(out, "labels");
        if (pairs_add_json(a, "label", out, err) != E_OK)
            return err->code;
    }
    buf_add_char(out, '}');
    return E_OK;
}

void filter_add_queue_json(const char *queue, const char *states, struct buf *out)
{
    buf_add_char(out, '{');
    add_text(out, "queue", queue);
    add_states(out, states);
    buf_add_char(out, '}');
}

static bool came_before(const struct args *a, const char *option, const struct given_option *until,
                        struct slice key)
{
    const struct given_option *given = NULL;

    for (size_t i = 0; (given = args_next(a, option, &i)) != until;) {
        if (slice_equal(value_pair_of(&given->spec->value, given->value).key, key))
            return true;
    }
    return false;
}

void pairs_add_one_line(struct buf *out, struct slice json)
{
    for (size_t i = 0; i < json.size; i++)
        buf_add_char(out, json.data[i] == '\n' || json.data[i] == '\r' ? ' ' : json.data[i]);
}

enum err_code pairs_add_json(const struct args *a, const char *option, struct buf *out,
                             struct err *err)
{
    const struct given_option *given = NULL;
    bool first = true;

    buf_add_char(out, '{');
    for (size_t i = 0; (given = args_next(a, option, &i)) != NULL;) {
        struct value_pair pair = value_pair_of(&given->spec->value, given->value);

        if (came_before(a, option, given, pair.key))
            return err_set(err, E_INVALID, "--%s: '%.*s' appears twice", option, (int)pair.key.size,
                           pair.key.data);
        if (!first)
            buf_add_char(out, ',');
        first = false;
        jtext_add_string(out, pair.key);
        buf_add_char(out, ':');
        if (pair.is_json)
            pairs_add_one_line(out, pair.value);
        else
            jtext_add_string(out, pair.value);
    }
    buf_add_char(out, '}');
    return E_OK;
}
