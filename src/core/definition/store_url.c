/* SPDX-License-Identifier: MIT */
#include "core/definition/store_url.h"

#include "core/object/quote.h"

/* Marks USER:PASSWORD@.  libpq accepts / ? and @ unencoded in some places, and people forget to
 * encode them in others: so everything from the first colon to the last @ is hidden.  An @ in an
 * option hides more than needed. */
static void mark_authority(struct slice url, char *marks)
{
    const char *scheme = memchr(url.data, ':', url.size); /* its end */
    size_t before = scheme == NULL ? 0 : (size_t)(scheme - url.data);
    struct slice rest = slice_make(url.data + before, url.size - before);
    size_t begin = slice_begins(rest, SLICE("://")) ? before + 3 : 0;
    const char *at = memrchr(url.data + begin, '@', url.size - begin);
    size_t end = at == NULL ? begin : (size_t)(at - url.data);
    const char *colon = memchr(url.data + begin, ':', end - begin);

    if (colon != NULL)
        memset(marks + (colon + 1 - url.data), 1, (size_t)(at - colon) - 1);
}

/* Marks the values of secret options: password, sslpassword. */
static void mark_options(struct slice url, char *marks)
{
    struct slice word = SLICE("password=");

    for (size_t i = 0; i < url.size; i++) {
        size_t value = i + word.size;

        if (!slice_begins(slice_make(url.data + i, url.size - i), word))
            continue;
        while (value < url.size && url.data[value] != '&')
            marks[value++] = 1;
    }
}

/* A byte for each of the URL's: 1 where a password is. */
static char *mark_secrets(struct slice url)
{
    char *marks = mem_zalloc(url.size + 1);

    if (url.size > 0) {
        mark_authority(url, marks);
        mark_options(url, marks);
    }
    return marks;
}

void store_url_show(struct slice url, struct buf *out)
{
    CLEANUP(mem) char *marks = mark_secrets(url);

    for (size_t i = 0; i < url.size; i++) {
        if (!marks[i])
            buf_add_char(out, url.data[i]);
        else if (!marks[i + 1])
            buf_add_str(out, "***");
    }
}

void store_url_hide(char *url)
{
    CLEANUP(mem) char *marks = mark_secrets(slice_of(url));

    for (size_t i = 0; url[i] != '\0'; i++)
        if (marks[i])
            url[i] = '*';
}

enum err_code store_url_check(struct slice url, struct err *err)
{
    CLEANUP(buf) struct buf shown = BUF_INIT(2 * STORE_URL_MAX);
    struct quote quote;

    if (url.size > STORE_URL_MAX)
        return err_set(err, E_INVALID, "the URL of a store has at most %d bytes", STORE_URL_MAX);
    if (slice_begins(url, SLICE("postgresql://")) || slice_begins(url, SLICE("postgres://")))
        return E_OK;
    store_url_show(url, &shown);
    return err_set(err, E_INVALID,
                   "%s is not a store like postgresql://user@host/database; leave it out to use "
                   "the data directory",
                   quote_text(&quote, buf_slice(&shown)));
}
