/* SPDX-License-Identifier: MIT */
#include "server/request/auth.h"

#include <arpa/inet.h>
#include <strings.h>

#include "core/object/quote.h"

/* HOST[:PORT] of a Host header or an origin; the host of an IPv6 address is without its
 * brackets. */
struct authority {
    struct slice host;
    uint16_t port; /* 0: not said */
};

static bool equal_ignoring_case(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || strncasecmp(a.data, b.data, a.size) == 0);
}

static bool parse_port(struct slice text, uint16_t *ret_port)
{
    int64_t port = 0;

    if (!slice_number(text, &port) || port < 1 || port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

static bool parse_authority(struct slice text, struct authority *ret_authority)
{
    struct authority a = {.host = text};
    const char *colon;

    if (text.size == 0)
        return false;
    if (text.data[0] == '[') {
        const char *end = memchr(text.data, ']', text.size);

        if (end == NULL)
            return false;
        a.host = slice_make(text.data + 1, (size_t)(end - text.data) - 1);
        colon = end + 1 == text.data + text.size ? NULL : end + 1;
        if (colon != NULL && *colon != ':')
            return false;
    } else {
        colon = memchr(text.data, ':', text.size);
        if (colon != NULL)
            a.host.size = (size_t)(colon - text.data);
    }
    size_t port_at = colon == NULL ? 0 : (size_t)(colon + 1 - text.data);

    if (colon != NULL && !parse_port(slice_make(text.data + port_at, text.size - port_at), &a.port))
        return false;
    *ret_authority = a;
    return a.host.size > 0;
}

/* SCHEME://AUTHORITY[/…], with the port of the scheme when none is said.  Not "null". */
static bool parse_origin(struct slice text, struct authority *ret_authority)
{
    const char *colon = memchr(text.data, ':', text.size);

    if (colon == NULL)
        return false;
    struct slice scheme = slice_make(text.data, (size_t)(colon - text.data));
    struct slice rest = slice_make(colon, text.size - scheme.size);

    if (rest.size < 4 || memcmp(rest.data, "://", 3) != 0)
        return false;
    rest = slice_make(rest.data + 3, rest.size - 3);
    for (size_t i = 0; i < rest.size; i++)
        if (memchr("/?#", rest.data[i], 3) != NULL)
            rest.size = i;
    if (!parse_authority(rest, ret_authority))
        return false;
    if (ret_authority->port == 0)
        ret_authority->port = equal_ignoring_case(scheme, SLICE("https")) ? 443 : 80;
    return true;
}

static bool is_address(struct slice host)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[16];

    if (host.size >= sizeof(text))
        return false;
    memcpy(text, host.data, host.size);
    text[host.size] = '\0';
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

bool auth_is_loopback(struct slice host)
{
    static const struct slice below = {".localhost", sizeof(".localhost") - 1};

    if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_make(host.data + 1, host.size - 2);
    if (equal_ignoring_case(host, SLICE("localhost")) || slice_is(host, "::1"))
        return true;
    if (host.size > below.size &&
        equal_ignoring_case(slice_make(host.data + host.size - below.size, below.size), below))
        return true;
    return host.size > 4 && memcmp(host.data, "127.", 4) == 0 && is_address(host);
}

bool auth_token_equal(struct slice given, struct slice token)
{
    size_t difference = given.size ^ token.size;

    if (token.size == 0)
        return false;
    for (size_t i = 0; i < given.size; i++)
        difference |= (size_t)(unsigned char)(given.data[i] ^ token.data[i % token.size]);
    return difference == 0;
}

static bool name_is(struct slice name, const struct authority *a, bool *ret_any_port)
{
    struct authority own;

    if (!parse_authority(name, &own) || !equal_ignoring_case(own.host, a->host))
        return false;
    *ret_any_port |= own.port != 0 && own.port == a->port;
    return true;
}

/* Is the name one of ours?  *ret_any_port: and its port was named with it. */
static bool is_our_host(const struct auth_settings *s, const struct authority *a,
                        bool *ret_any_port)
{
    bool named = false;

    *ret_any_port = false;
    for (size_t i = 0; i < s->names.count && !*ret_any_port; i++)
        named |= name_is(s->names.items[i], a, ret_any_port);
    if (named || auth_is_loopback(a->host))
        return true;
    if (s->any_address && is_address(a->host))
        return true;
    return s->listen_host.size > 0 && equal_ignoring_case(a->host, s->listen_host);
}

/* The page is ours: it came from the address that the request goes to, or from one we answer to. */
static bool is_our_origin(const struct auth_settings *s, const struct auth_request *r,
                          struct slice origin)
{
    struct authority from;
    struct authority to;
    bool any_port;

    if (!parse_origin(origin, &from))
        return false;
    struct authority own;

    if (s->url.size > 0 && parse_origin(s->url, &own) && own.port == from.port &&
        equal_ignoring_case(own.host, from.host))
        return true;
    if (!is_our_host(s, &from, &any_port))
        return false;
    if (any_port || (s->port != 0 && from.port == s->port))
        return true;
    if (r->local || r->host.data == NULL || !parse_authority(r->host, &to))
        return false;
    uint16_t to_port = to.port != 0 ? to.port : 80;

    return to_port == from.port && equal_ignoring_case(to.host, from.host);
}

static enum err_code check_site(const struct auth_settings *s, const struct auth_request *r,
                                struct err *err)
{
    struct quote quote;

    if (r->fetch_site.data != NULL && !slice_is(r->fetch_site, "same-origin") &&
        !slice_is(r->fetch_site, "none"))
        return err_set(err, E_FORBIDDEN,
                       "a web page of another site may not send requests here "
                       "(Sec-Fetch-Site: %s)",
                       quote_text(&quote, r->fetch_site));
    if (r->origin.data != NULL && !is_our_origin(s, r, r->origin))
        return err_set(err, E_FORBIDDEN,
                       "a web page of another site may not send requests here (Origin: %s); "
                       "server.names lists the names of this server",
                       quote_text(&quote, r->origin));
    if (r->referer.data != NULL && !is_our_origin(s, r, r->referer))
        return err_set(err, E_FORBIDDEN,
                       "a web page of another site may not send requests here (Referer: %s); "
                       "server.names lists the names of this server",
                       quote_text(&quote, r->referer));
    return E_OK;
}

/* The Unix socket cannot be reached by a foreign name, so its clients may send any Host. */
static enum err_code check_host(const struct auth_settings *s, const struct auth_request *r,
                                struct err *err)
{
    struct authority to;
    struct quote quote;
    bool any_port;

    if (r->local || r->host.data == NULL)
        return E_OK;
    if (!parse_authority(r->host, &to) || !is_our_host(s, &to, &any_port))
        return err_set(err, E_FORBIDDEN,
                       "this server is not known as %s (Host); add the name to server.names",
                       quote_text(&quote, r->host));
    return E_OK;
}

enum token_seen auth_token_seen(const struct auth_settings *settings,
                                const struct auth_request *request)
{
    static const struct slice scheme = {"Bearer ", sizeof("Bearer ") - 1};
    struct slice given = request->authorization;

    if (given.data == NULL || settings->token.size == 0)
        return TOKEN_NONE;
    if (given.size <= scheme.size ||
        !equal_ignoring_case(slice_make(given.data, scheme.size), scheme))
        return TOKEN_WRONG;
    given = slice_make(given.data + scheme.size, given.size - scheme.size);
    while (given.size > 0 && given.data[0] == ' ')
        given = slice_make(given.data + 1, given.size - 1);
    return auth_token_equal(given, settings->token) ? TOKEN_RIGHT : TOKEN_WRONG;
}

/* Through the Unix socket the token does not matter: the socket is the credential. */
static enum err_code check_token(const struct auth_settings *s, const struct auth_request *r,
                                 struct err *err)
{
    if (r->local || auth_token_seen(s, r) != TOKEN_WRONG)
        return E_OK;
    return err_set(err, E_UNAUTHORIZED,
                   "the Authorization is not this server's: it must be Bearer TOKEN with the token "
                   "of server.token_file, or be left out");
}

static enum err_code refuse(const struct auth_settings *s, enum right right, struct err *err)
{
    if (right == RIGHT_OPEN)
        return err_set(err, E_UNAUTHORIZED,
                       "this server wants its token: Authorization: Bearer TOKEN");
    if (s->token.size == 0)
        return err_set(
            err, E_FORBIDDEN,
            "this is for the administrator: use the Unix socket in the data directory, or "
            "set server.token_file and send Authorization: Bearer TOKEN");
    return err_set(err, E_FORBIDDEN,
                   "this is for the administrator: no token came with it; use the Unix socket in "
                   "the data directory, or send Authorization: Bearer TOKEN");
}

enum err_code auth_judge(const struct auth_settings *settings, const struct auth_request *request,
                         enum right needed, enum right *ret_right, struct err *err)
{
    enum right right = settings->beyond_loopback ? RIGHT_OPEN : RIGHT_USER;

    if (check_token(settings, request, err) != E_OK)
        return err->code;
    if (needed == RIGHT_OPEN) {
        *ret_right = RIGHT_OPEN;
        return E_OK;
    }
    if (check_site(settings, request, err) != E_OK || check_host(settings, request, err) != E_OK)
        return err->code;
    if (request->opened)
        right = RIGHT_USER;
    if (request->local || auth_token_seen(settings, request) == TOKEN_RIGHT)
        right = RIGHT_ADMIN;
    if (right < needed)
        return refuse(settings, right, err);
    *ret_right = right;
    return E_OK;
}
