/* SPDX-License-Identifier: MIT */
#include "core/store_url.h"

#include "core/quote.h"

/* A part of a text. */
struct span {
    size_t from, to;
};

static bool begins(struct slice text, struct slice with)
{
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

/* Behind `scheme://`; the whole when there is none. */
static size_t skip_scheme(struct slice url)
{
    const char *mark = url.size == 0 ? NULL : memmem(url.data, url.size, "://", 3);

    return mark == NULL ? 0 : (size_t)(mark - url.data) + 3;
}

/* The first of these characters, from there on; the end when there is none. */
static size_t find_any(struct slice url, size_t from, const char *any)
{
    while (from < url.size && strchr(any, url.data[from]) == NULL)
        from++;
    return from;
}

/* USER:PASSWORD@: a password may have an @ or a / in it that somebody forgot to encode, so the last @ counts. */
static struct span in_authority(struct slice url)
{
    size_t begin = skip_scheme(url);
    size_t at = find_any(url, begin, "?");

    while (at > begin && url.data[at - 1] != '@')
        at--;
    size_t colon = find_any(slice_make(url.data, at), begin, ":");

    if (at == begin || colon + 1 >= at)
        return (struct span){0, 0};
    return (struct span){colon + 1, at - 1};
}

/* Options whose values nobody may see: password, sslpassword. */
static bool is_secret(struct slice name)
{
    static const char word[] = "password";
    size_t size = sizeof(word) - 1;

    return name.size >= size && memcmp(name.data + name.size - size, word, size) == 0;
}

/* The value of the next secret option behind `from`. */
static struct span in_options(struct slice url, size_t from)
{
    while (from < url.size) {
        size_t begin = from + (url.data[from] == '?' || url.data[from] == '&');
        size_t end = find_any(url, begin, "&");
        size_t equals = find_any(slice_make(url.data, end), begin, "=");

        if (equals < end && is_secret(slice_make(url.data + begin, equals - begin)))
            return (struct span){equals + 1, end};
        from = end > from ? end : from + 1;
    }
    return (struct span){0, 0};
}

/* The next password at or behind `from`; empty: there is none. */
static struct span next_secret(struct slice url, size_t from)
{
    struct span s = in_authority(url);

    if (s.to > s.from && s.from >= from)
        return s;
    size_t options = find_any(url, skip_scheme(url), "?");

    return in_options(url, options > from ? options : from);
}

bool store_url_has_password(struct slice url)
{
    struct span s = next_secret(url, 0);

    return s.to > s.from;
}

void store_url_show(struct slice url, struct buf *out)
{
    size_t done = 0;

    for (struct span s; s = next_secret(url, done), s.to > 0; done = s.to) {
        buf_add(out, url.data + done, s.from - done);
        buf_add_str(out, "***");
    }
    buf_add(out, url.data + done, url.size - done);
}

void store_url_hide(char *url)
{
    struct slice text = slice_of(url);
    struct span s = next_secret(text, 0);

    while (s.to > 0) {
        memset(url + s.from, '*', s.to - s.from);
        s = next_secret(text, s.to);
    }
}

enum err_code store_url_check(struct slice url, struct err *err)
{
    CLEANUP(buf) struct buf shown = BUF_INIT(2 * STORE_URL_MAX);
    struct quote quote;

    if (url.size > STORE_URL_MAX)
        return err_set(err, E_INVALID, "the URL of a store has at most %d bytes", STORE_URL_MAX);
    if (begins(url, SLICE("postgresql://")) || begins(url, SLICE("postgres://")))
        return E_OK;
    store_url_show(url, &shown);
    return err_set(err, E_INVALID,
                   "%s is not a store like postgresql://user@host/database; without one it is in "
                   "the data directory",
                   quote_text(&quote, buf_slice(&shown)));
}
