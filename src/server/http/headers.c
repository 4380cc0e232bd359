/* SPDX-License-Identifier: MIT */
#include "server/http/headers.h"

#include <strings.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    size_t size;
    size_t offset; /* of a slice in struct headers */
} kept[] = {
#define KEPT(header, field)                                         \
    {                                                               \
        header, sizeof(header) - 1, offsetof(struct headers, field) \
    }
    KEPT("Host", auth.host),
    KEPT("Content-Length", content_length),
    KEPT("Content-Type", content_type),
    KEPT("Transfer-Encoding", transfer_encoding),
    KEPT("Authorization", auth.authorization),
    KEPT("Origin", auth.origin),
    KEPT("Referer", auth.referer),
    KEPT("Sec-Fetch-Site", auth.fetch_site),
    KEPT("Idempotency-Key", idempotency_key),
    KEPT("Range", range),
    KEPT("Expect", expect),
#undef KEPT
};

static bool is(struct slice text, struct slice word)
{
    return text.size == word.size && strncasecmp(text.data, word.data, word.size) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* A list: "close", "keep-alive, Upgrade". */
static void take_connection(struct headers *h, struct slice list)
{
    const char *end = list.data + list.size;

    for (const char *at = list.data; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *word_end = comma == NULL ? end : comma;
        const char *next = comma == NULL ? end : comma + 1;

        while (at < word_end && is_space(*at))
            at++;
        while (word_end > at && is_space(word_end[-1]))
            word_end--;
        struct slice word = slice_make(at, (size_t)(word_end - at));

        h->close |= is(word, SLICE("close"));
        h->keep_alive |= is(word, SLICE("keep-alive"));
        at = next;
    }
}

enum err_code headers_add(struct headers *h, struct slice name, struct slice value, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (!is(name, slice_make(kept[i].name, kept[i].size)))
            continue;
        struct slice *to = (struct slice *)((char *)h + kept[i].offset);

        if (to->data != NULL)
            return err_set(err, E_BAD_REQUEST, "the header has %s twice", kept[i].name);
        *to = value;
        return E_OK;
    }
    if (is(name, SLICE("Connection")))
        take_connection(h, value);
    return E_OK;
}

static bool parse_length(struct slice text, uint64_t *ret_length)
{
    uint64_t length = 0;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(c - '0'), &length))
            return false;
    }
    *ret_length = length;
    return text.size > 0;
}

enum err_code headers_finish(struct headers *h, struct err *err)
{
    bool has_length = h->content_length.data != NULL;

    if (has_length && !parse_length(h->content_length, &h->length))
        return err_set(err, E_BAD_REQUEST, "Content-Length must be one number of bytes");
    if (h->transfer_encoding.data == NULL)
        return E_OK;
    if (!is(h->transfer_encoding, SLICE("chunked")))
        return err_set(err, E_BAD_REQUEST, "Transfer-Encoding must be chunked, and nothing else");
    if (has_length)
        return err_set(err, E_BAD_REQUEST,
                       "Content-Length and Transfer-Encoding may not come together");
    h->chunked = true;
    return E_OK;
}
