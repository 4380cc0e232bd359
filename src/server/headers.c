/* SPDX-License-Identifier: MIT */
#include "server/headers.h"

#include <strings.h>

#include <microhttpd.h>

#include "base/compiler.h"

static uint64_t parse_length(struct slice text)
{
    uint64_t length = 0;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, (uint64_t)(c - '0'), &length))
            return UINT64_MAX;
    }
    return length;
}

static const struct {
    const char *name;
    size_t size;
    size_t offset; /* of a slice in struct headers */
} kept[] = {
/* the first of them must not come twice */
#define KEPT(header, field)                                         \
    {                                                               \
        header, sizeof(header) - 1, offsetof(struct headers, field) \
    }
    KEPT("Host", auth.host),
    KEPT("Content-Type", content_type),
    KEPT("Authorization", auth.authorization),
    KEPT("Origin", auth.origin),
    KEPT("Referer", auth.referer),
    KEPT("Sec-Fetch-Site", auth.fetch_site),
    KEPT("Idempotency-Key", idempotency_key),
    KEPT("Range", range),
#undef KEPT
};

static bool is(struct slice name, const char *other, size_t size)
{
    return name.size == size && strncasecmp(name.data, other, size) == 0;
}

static enum MHD_Result gather(void *ctx, enum MHD_ValueKind kind, const char *key, size_t key_size,
                              const char *value, size_t value_size)
{
    struct headers *h = ctx;
    struct slice name = slice_make(key, key_size);
    struct slice text = slice_make(value, value_size);

    (void)kind;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (is(name, kept[i].name, kept[i].size)) {
            struct slice *to = (struct slice *)((char *)h + kept[i].offset);

            h->ambiguous |= i == 0 && to->data != NULL;
            *to = text;
            return MHD_YES;
        }
    if (is(name, "Content-Length", 14)) {
        h->ambiguous |= h->has_length;
        h->has_length = true;
        h->length = parse_length(text);
    } else if (is(name, "Transfer-Encoding", 17)) {
        h->ambiguous |= h->chunked || !is(text, "chunked", 7);
        h->chunked = true;
    } else if (is(name, "Expect", 6)) {
        h->expects = true;
    }
    return MHD_YES;
}

void headers_gather(struct headers *h, struct MHD_Connection *connection)
{
    *h = (struct headers){.length = 0};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, gather, h);
    h->ambiguous |= h->chunked && h->has_length;
}
