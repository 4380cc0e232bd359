/* SPDX-License-Identifier: MIT */
#include "server/process/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "base/os/own_dir.h"
#include "core/definition/definition.h"
#include "core/definition/store_url.h"
#include "core/definition/yaml.h"
#include "server/http/listeners.h"
#include "server/process/definition_files.h"
#include "server/server.h"

#define TOKEN_MIN 16
#define TOKEN_MAX 1024

/* Sections for `run` may be in a file that a server reads, too. */
static void tell_passed_over(const struct definitions *d)
{
    const struct definition_start *s = &d->start;

    if (s->from.line > 0)
        log_info("%s:%d: the section 'start' is ignored: only 'waybill run' reads it",
                 s->from.file.data, s->from.line);
    if (s->finally_from.line > 0)
        log_info("%s:%d: the section 'finally' is ignored: only 'waybill run' reads it",
                 s->finally_from.file.data, s->finally_from.line);
}

enum err_code settings_read_definitions(const struct server_config *config, struct definitions *d,
                                        struct err *err)
{
    for (size_t i = 0; i < config->n_definitions; i++)
        if (definitions_read(d, config->definitions[i], err) != E_OK)
            return err->code;
    if (settings_check(config, d, err) != E_OK)
        return err->code;
    if (d->faults->items.count == 0) {
        tell_passed_over(d);
        return E_OK;
    }
    if (!d->faults->unread && definitions_check_names(d, err) != E_OK)
        return err->code;
    *err = d->faults->items.items[0];
    return err->code;
}

/* ---- the token ---- */

static struct slice first_line(struct slice text)
{
    size_t end = 0;
    size_t start = 0;

    while (start < text.size && (text.data[start] == ' ' || text.data[start] == '\t'))
        start++;
    for (end = start; end < text.size && text.data[end] > ' '; end++)
        ;
    return slice_make(text.data + start, end - start);
}

static enum err_code check_token(struct slice token, const char *from, struct err *err)
{
    for (size_t i = 0; i < token.size; i++)
        if (token.data[i] <= ' ' || token.data[i] > '~')
            return err_set(err, E_INVALID, "%s: a token has printable ASCII characters only", from);
    if (token.size < TOKEN_MIN || token.size > TOKEN_MAX)
        return err_set(err, E_INVALID,
                       "%s: the token has %zu characters, it must have %d to %d "
                       "(head -c 24 /dev/urandom | base64 makes one)",
                       from, token.size, TOKEN_MIN, TOKEN_MAX);
    return E_OK;
}

static enum err_code read_token_file(const char *path, struct arena *arena, struct slice *ret_token,
                                     struct err *err)
{
    char text[TOKEN_MAX + 64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_errno(err, errno == ENOENT ? E_NOT_FOUND : E_FORBIDDEN, "open the token file %s",
                         path);
    enum err_code code = own_check(fd, "the token file", path, err);
    ssize_t n = code == E_OK ? read(fd, text, sizeof(text)) : -1;

    if (code == E_OK && n < 0)
        code = err_errno(err, E_FORBIDDEN, "read the token file %s", path);
    close(fd);
    if (code != E_OK)
        return code;
    *ret_token = arena_copy(arena, first_line(slice_make(text, (size_t)n)));
    return check_token(*ret_token, path, err);
}

static enum err_code choose_token(const struct server_config *config, const struct definitions *d,
                                  struct arena *arena, struct slice *ret_token, struct err *err)
{
    if (config->token != NULL) {
        *ret_token = slice_of(config->token);
        return check_token(*ret_token, "token", err);
    }
    if (d->server.token_file.size == 0) {
        *ret_token = slice_make(NULL, 0);
        return E_OK;
    }
    return read_token_file(arena_strdup(arena, d->server.token_file), arena, ret_token, err);
}

static enum err_code needs_token(const char *address, struct err *err)
{
    return err_set(err, E_INVALID,
                   "listening on %s, beyond this machine, needs a token: set server.token_file, or "
                   "listen on 127.0.0.1 or [::1]",
                   address);
}

/* ---- checks before serving ---- */

static enum err_code at_place(const struct definitions *d, const char *key,
                              struct definition_place place, struct err *err)
{
    (void)err_wrap(err, "server.%s", key);
    if (place.line > 0)
        (void)yaml_err_at(err, place.file.data, place.line);
    return definitions_fault(d, err);
}

enum err_code settings_check(const struct server_config *config, const struct definitions *d,
                             struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice token = SLICE("?"); /* there is one, though a bad one */

    if (choose_token(config, d, &arena, &token, err) != E_OK &&
        at_place(d, "token_file", d->server.token_file_from, err) != E_OK)
        return err->code;
    if (d->server.listen.size == 0 || config->listen != NULL)
        return E_OK;
    CLEANUP(mem) char *listen = mem_strndup(d->server.listen.data, d->server.listen.size);
    bool loopback = true;

    if (listen_is_loopback(listen, &loopback, err) != E_OK)
        return at_place(d, "listen", d->server.listen_from, err);
    if (loopback || token.size > 0)
        return E_OK;
    (void)needs_token(listen, err);
    return at_place(d, "listen", d->server.listen_from, err);
}

/* ---- all settings ---- */

enum err_code settings_make(const struct server_config *config, const struct definitions *d,
                            struct arena *arena, struct settings *ret_settings, struct err *err)
{
    bool bounded = d->server.subscriptions_from.line > 0;
    struct settings s = {.listen = config->listen,
                         .url = config->url,
                         .subscriptions = bounded ? d->server.subscriptions
                                                  : SUBSCRIPTIONS_DEFAULT};

    if (choose_token(config, d, arena, &s.token, err) != E_OK)
        return err->code;
    /* A value from a definition was checked when it was read. */
    if (config->store_url != NULL && store_url_check(slice_of(config->store_url), err) != E_OK)
        return err_wrap(err, "store");
    s.store = config->store_url;
    if (config->store_url == NULL && d->server.store.size > 0)
        s.store = arena_strdup(arena, d->server.store);
    if (s.listen == NULL)
        s.listen = d->server.listen.size > 0 ? arena_strdup(arena, d->server.listen)
                                             : SERVER_LISTEN_DEFAULT;
    if (s.url == NULL && d->server.url.size > 0)
        s.url = arena_strdup(arena, d->server.url);
    for (size_t i = 0; i < config->n_names; i++)
        VEC_PUSH(&s.names, slice_of(config->names[i]));
    for (size_t i = 0; i < d->server.names.count; i++)
        VEC_PUSH(&s.names, arena_copy(arena, d->server.names.items[i]));
    *ret_settings = s;
    return E_OK;
}

void settings_deinit(struct settings *s)
{
    VEC_DEINIT(&s->names);
}

enum err_code settings_auth(const struct settings *s, const struct listeners *ls,
                            struct auth_settings *ret_auth, struct err *err)
{
    struct auth_settings a = {.url = slice_of(s->url), .token = s->token};

    a.names.items = s->names.items;
    a.names.count = s->names.count;
    for (size_t i = 0; i < ls->count; i++) {
        const struct listener *l = &ls->items[i];

        if (l->local)
            continue;
        if (a.port == 0) {
            a.port = l->port;
            a.listen_host = slice_of(l->host);
        }
        a.any_address |= l->any;
        if (l->loopback)
            continue;
        a.beyond_loopback = true;
        if (s->token.size == 0)
            return needs_token(l->host, err);
    }
    *ret_auth = a;
    return E_OK;
}
