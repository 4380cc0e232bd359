/* SPDX-License-Identifier: MIT */
#include "worker/client/url.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#define URL_MAX 4096

void client_url_deinit(struct client_url *u)
{
    free(u->text);
    free(u->base);
    free(u->socket);
    *u = (struct client_url){.text = NULL};
}

static enum err_code parse_socket(const char *text, struct client_url *ret_url, struct err *err)
{
    const char *path = text + strlen("unix:");

    if (strncmp(path, "//", 2) == 0) /* unix:///x/y */
        path += 2;
    if (*path == '\0')
        return err_set(err, E_INVALID, "server '%s': unix: needs the path of a socket", text);
    *ret_url = (struct client_url){
        .text = mem_strdup(text),
        .base = mem_strdup("http://localhost"),
        .socket = mem_strdup(path),
        .nearby = true,
        .secret = true,
    };
    return E_OK;
}

static void curl_url_free(CURLU **u)
{
    curl_url_cleanup(*u);
}

static bool has_part(CURLU *u, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(u, part, &text, 0) == CURLUE_OK && text != NULL && *text != '\0';

    curl_free(text);
    return has;
}

static enum err_code check_parts(CURLU *u, const char *text, struct err *err)
{
    if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
        return err_set(err, E_INVALID,
                       "the server's URL carries a user or a password: put the token into "
                       "WAYBILL_TOKEN instead");
    if (has_part(u, CURLUPART_QUERY) || has_part(u, CURLUPART_FRAGMENT))
        return err_set(err, E_INVALID, "server '%s': a server's URL has no ? and no # in it", text);
    return E_OK;
}

static enum err_code parse_http(const char *text, struct client_url *ret_url, struct err *err)
{
    __attribute__((cleanup(curl_url_free))) CURLU *u = curl_url();
    char *whole = NULL;

    ASSERT(u != NULL);
    CURLUcode code = curl_url_set(u, CURLUPART_URL, text, 0);

    if (code != CURLUE_OK)
        return err_set(err, E_INVALID, "server '%s': %s", text, curl_url_strerror(code));
    if (check_parts(u, text, err) != E_OK)
        return err->code;
    if (curl_url_get(u, CURLUPART_URL, &whole, 0) != CURLUE_OK)
        return err_set(err, E_INVALID, "server '%s' is not a URL", text);

    size_t size = strlen(whole);

    while (size > 0 && whole[size - 1] == '/')
        size--;
    char *host = NULL;
    bool loopback = curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                    (strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0 ||
                     strcmp(host, "[::1]") == 0);

    curl_free(host);
    *ret_url = (struct client_url){
        .text = mem_strdup(text),
        .base = mem_strndup(whole, size),
        .nearby = loopback,
    };
    ret_url->secret = ret_url->nearby || strncmp(whole, "https:", 6) == 0;
    curl_free(whole);
    return E_OK;
}

enum err_code client_url_parse(const char *text, struct client_url *ret_url, struct err *err)
{
    if (strlen(text) > URL_MAX)
        return err_set(err, E_INVALID, "the server's URL is longer than %d bytes", URL_MAX);
    if (strncmp(text, "unix:", 5) == 0)
        return parse_socket(text, ret_url, err);
    if (strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0)
        return parse_http(text, ret_url, err);
    return err_set(err, E_INVALID,
                   "server '%s': write http://HOST:PORT, https://HOST:PORT or unix:PATH", text);
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    return value != NULL && *value != '\0' ? value : NULL;
}

enum err_code client_default_data_dir(char **ret_dir, struct err *err)
{
    const char *home = from_environment("HOME");
    const char *share = from_environment("XDG_DATA_HOME");
    CLEANUP(buf) struct buf dir = BUF_INIT(URL_MAX);

    if (share != NULL && *share != '/')
        share = NULL; /* the XDG specification says to ignore it */
    if (geteuid() != 0 && home == NULL && share == NULL)
        return err_set(err, E_INVALID,
                       "no data directory: HOME is not set; say --data DIR or set WAYBILL_DATA");
    if (geteuid() == 0)
        buf_add_str(&dir, "/var/lib/waybill");
    else if (share != NULL)
        buf_addf(&dir, "%s/waybill", share);
    else
        buf_addf(&dir, "%s/.local/share/waybill", home);
    *ret_dir = buf_take(&dir);
    return E_OK;
}

enum err_code client_data_dir(const char *given, char **ret_dir, struct err *err)
{
    const char *dir = given != NULL ? given : from_environment("WAYBILL_DATA");

    if (dir == NULL)
        return client_default_data_dir(ret_dir, err);
    *ret_dir = mem_strdup(dir);
    return E_OK;
}

static bool is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

enum err_code client_url_choose(const char *url, const char *data_dir, struct client_url *ret_url,
                                struct err *err)
{
    CLEANUP(mem) char *dir = NULL;
    CLEANUP(buf) struct buf socket = BUF_INIT(URL_MAX);
    const size_t scheme = strlen("unix:");

    /* A data directory that was given overrides WAYBILL_URL. */
    if (url == NULL && data_dir == NULL)
        url = from_environment("WAYBILL_URL");
    if (url != NULL)
        return client_url_parse(url, ret_url, err);
    if (client_data_dir(data_dir, &dir, err) != E_OK)
        return err->code;
    buf_addf(&socket, "unix:%s/" CLIENT_SOCKET_NAME, dir);
    if (socket.overflowed)
        return err_set(err, E_INVALID, "the path of the data directory is too long");
    /* A given directory means the server there, even if only another one runs. */
    if (data_dir != NULL || from_environment("WAYBILL_DATA") != NULL ||
        is_socket(buf_text(&socket) + scheme))
        return client_url_parse(buf_text(&socket), ret_url, err);
    return client_url_parse(CLIENT_URL_DEFAULT, ret_url, err);
}

void client_add_escaped(struct buf *b, struct slice piece)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < piece.size; i++) {
        unsigned char c = (unsigned char)piece.data[i];

        if (isascii(c) && (isalnum(c) || (c != '\0' && strchr("-._~", c) != NULL))) {
            buf_add_char(b, (char)c);
        } else {
            buf_add_char(b, '%');
            buf_add_char(b, hex[c >> 4]);
            buf_add_char(b, hex[c & 15]);
        }
    }
}
