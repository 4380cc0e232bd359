/* SPDX-License-Identifier: MIT */
#include "core/definition/read.h"

#include "core/definition/store_url.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"

enum { PATH_BYTES_MAX = 4096, URL_BYTES_MAX = 1024, NAME_BYTES_MAX = 253 };

static bool has_only(struct slice s, const char *set)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] == '\0' || strchr(set, s.data[i]) == NULL)
            return false;
    return true;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

/* A name, an IPv4 address, or an IPv6 address in brackets. */
static bool is_host(struct slice s)
{
    if (s.size > 2 && s.data[0] == '[' && s.data[s.size - 1] == ']')
        return has_only(slice_make(s.data + 1, s.size - 2), DIGITS "abcdefABCDEF:.%");
    return s.size > 0 && s.size <= NAME_BYTES_MAX && has_only(s, LETTERS DIGITS "-._");
}

/* ---- one function a key; each sets an error without a place ---- */

static enum err_code read_listen(struct definition_read *r, struct slice text)
{
    const char *colon = text.size == 0 ? NULL : memrchr(text.data, ':', text.size);
    struct quote quote;
    int64_t port;

    if (colon == NULL || !is_host(slice_make(text.data, (size_t)(colon - text.data))) ||
        slice_end(text) - colon > 6 ||
        !slice_number(slice_make(colon + 1, (size_t)(slice_end(text) - colon - 1)), &port) ||
        port > UINT16_MAX)
        return err_set(r->err, E_INVALID, "%s is not an address like 127.0.0.1:6769 or [::1]:6769",
                       quote_text(&quote, text));
    r->d->server.listen = arena_copy(&r->d->arena, text);
    return E_OK;
}

static enum err_code read_url(struct definition_read *r, struct slice text)
{
    struct quote quote;

    while (text.size > 0 && text.data[text.size - 1] == '/')
        text.size--;
    size_t scheme = slice_begins(text, SLICE("http://"))    ? strlen("http://")
                    : slice_begins(text, SLICE("https://")) ? strlen("https://")
                                                            : 0;
    struct slice rest = slice_make(text.data + scheme, text.size - scheme);

    if (text.size > URL_BYTES_MAX || scheme == 0 || rest.size == 0 || rest.data[0] == '/' ||
        !has_only(rest, LETTERS DIGITS "-._~:/[]@!$&'()*+,;=%"))
        return err_set(r->err, E_INVALID, "%s is not a URL like http://host:6769",
                       quote_text(&quote, text));
    r->d->server.url = arena_copy(&r->d->arena, text);
    return E_OK;
}

static enum err_code read_token_file(struct definition_read *r, struct slice text)
{
    struct arena *arena = &r->d->arena;
    const char *dir = r->source->dir;

    if (text.size == 0 || text.size > PATH_BYTES_MAX)
        return err_set(r->err, E_INVALID, "must be a path of 1 to %d bytes", PATH_BYTES_MAX);
    if (text.data[0] == '/' || dir == NULL) {
        r->d->server.token_file = arena_copy(arena, text);
        return E_OK;
    }
    CLEANUP(buf) struct buf path = BUF_INIT(2 * PATH_BYTES_MAX);

    buf_add_str(&path, dir);
    buf_add_char(&path, '/');
    buf_add_slice(&path, text);
    if (path.overflowed)
        return err_set(r->err, E_INVALID, "the path is too long");
    r->d->server.token_file = arena_copy(arena, buf_slice(&path));
    return E_OK;
}

static enum err_code read_store(struct definition_read *r, struct slice text)
{
    if (store_url_check(text, r->err) != E_OK)
        return r->err->code;
    r->d->server.store = arena_copy(&r->d->arena, text);
    return E_OK;
}

static enum err_code read_name(struct definition_read *r, struct slice text)
{
    struct quote quote;

    if (!is_host(text))
        return err_set(r->err, E_INVALID, "%s is not a host name (without a port)",
                       quote_text(&quote, text));
    if (r->d->server.names.count == DEFINITION_NAMES_MAX)
        return err_set(r->err, E_INVALID, "more than %d names", DEFINITION_NAMES_MAX);
    VEC_PUSH(&r->d->server.names, arena_copy(&r->d->arena, text));
    return E_OK;
}

static enum err_code read_subscriptions(struct definition_read *r, struct slice text)
{
    int64_t n;

    if (!slice_number(text, &n) || n > SUBSCRIPTIONS_MAX)
        return err_set(r->err, E_INVALID, "must be a whole number from 0 to %d", SUBSCRIPTIONS_MAX);
    r->d->server.subscriptions = (int)n;
    return E_OK;
}

/* ---- the section ---- */

enum form {
    FORM_TEXT,
    FORM_TEXTS, /* `read` takes one item; a single text is a list of one */
    FORM_NUMBER,
};

static const char *const forms[] = {"a text", "a list of texts", "a whole number"};

static const struct server_key {
    const char *name;
    enum form form;
    enum err_code (*read)(struct definition_read *r, struct slice text);
    size_t from; /* offset of its place in struct definition_server */
} keys[] = {
    {"listen", FORM_TEXT, read_listen, offsetof(struct definition_server, listen_from)},
    {"url", FORM_TEXT, read_url, offsetof(struct definition_server, url_from)},
    {"names", FORM_TEXTS, read_name, offsetof(struct definition_server, names_from)},
    {"token_file", FORM_TEXT, read_token_file, offsetof(struct definition_server, token_file_from)},
    {"store", FORM_TEXT, read_store, offsetof(struct definition_server, store_from)},
    {"subscriptions", FORM_NUMBER, read_subscriptions,
     offsetof(struct definition_server, subscriptions_from)},
};

static enum err_code at_value(const struct definition_read *r, const struct server_key *key,
                              const struct yaml_value *v)
{
    (void)err_wrap(r->err, "server.%s", key->name);
    return yaml_err_at(r->err, r->source->file, v->line);
}

static enum err_code read_text(struct definition_read *r, const struct server_key *key,
                               const struct yaml_value *v)
{
    if (v->type != (key->form == FORM_NUMBER ? YAML_T_PLAIN : YAML_T_TEXT)) {
        (void)err_set(r->err, E_INVALID, "must be %s", forms[key->form]);
        return at_value(r, key, v);
    }
    return key->read(r, v->text) == E_OK ? E_OK : at_value(r, key, v);
}

static enum err_code read_key(struct definition_read *r, const struct server_key *key,
                              const struct yaml_value *v)
{
    struct definition_place *from = (struct definition_place *)(void *)((char *)&r->d->server +
                                                                        key->from);

    if (from->line > 0) {
        char before[YAML_PLACE_SIZE];

        (void)err_set(r->err, E_INVALID, "server.%s is defined twice, first in %s", key->name,
                      yaml_place_format(from->file.data, from->line, before));
        return yaml_err_at(r->err, r->source->file, v->name_line);
    }
    *from = (struct definition_place){r->file, v->name_line};
    if (key->form != FORM_TEXTS || v->type != YAML_T_LIST)
        return read_text(r, key, v);
    for (const struct yaml_value *item = v->first; item != NULL; item = item->next)
        if (read_text(r, key, item) != E_OK)
            return r->err->code;
    return E_OK;
}

enum err_code definition_server_add(struct definition_read *r, struct yaml_value *map)
{
    const char *words[ARRAY_LEN(keys)];

    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP)
        return definition_wrong(r, map, "server: must be a map");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        words[i] = keys[i].name;
    for (const struct yaml_value *v = map->first; v != NULL; v = v->next) {
        size_t i = 0;

        while (i < ARRAY_LEN(keys) && !slice_is(v->name, keys[i].name))
            i++;
        enum err_code code = i == ARRAY_LEN(keys)
                                 ? definition_unknown(r, v, words, ARRAY_LEN(words))
                                 : read_key(r, &keys[i], v);

        if (code != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    }
    return E_OK;
}
