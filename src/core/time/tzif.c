/* SPDX-License-Identifier: MIT */
#include "core/time/tzif.h"

#include <stdlib.h>

#include "base/compiler.h"

enum {
    HEAD_SIZE = 44,
    TYPE_SIZE = 6,
    TYPES_MAX = 256,
    OFFSET_MIN_S = -25 * 3600 + 1, /* of RFC 9636 */
    OFFSET_MAX_S = 26 * 3600 - 1,
};

/* The head of a block, and where its parts begin. */
struct block {
    int version;
    uint32_t n_ut, n_standard, n_leaps, n_changes, n_types, n_chars;
    const unsigned char *times, *indexes, *types, *end;
};

static uint64_t big_endian(const unsigned char *at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[i];
    return value;
}

static int64_t read_time(const unsigned char *at, size_t size)
{
    uint64_t value = big_endian(at, size);

    return size == 4 ? (int32_t)value : (int64_t)value;
}

static enum err_code no_zone(struct err *err, const char *why)
{
    return err_set(err, E_INVALID, "the file of the time zone is damaged: %s", why);
}

/* Times have 4 bytes in the first block and 8 in the second.  The counts have at most 32 bits, so
 * that their sum does not overflow. */
static enum err_code read_block(struct slice bytes, size_t time_size, struct block *ret,
                                struct err *err)
{
    const unsigned char *head = (const unsigned char *)bytes.data;
    struct block b;

    if (bytes.size < HEAD_SIZE || memcmp(head, "TZif", 4) != 0)
        return no_zone(err, "it does not begin with TZif");
    b.version = head[4] == 0 ? 1 : head[4] - '0';
    b.n_ut = (uint32_t)big_endian(head + 20, 4);
    b.n_standard = (uint32_t)big_endian(head + 24, 4);
    b.n_leaps = (uint32_t)big_endian(head + 28, 4);
    b.n_changes = (uint32_t)big_endian(head + 32, 4);
    b.n_types = (uint32_t)big_endian(head + 36, 4);
    b.n_chars = (uint32_t)big_endian(head + 40, 4);
    if (b.version < 1 || b.version > 4)
        return no_zone(err, "its version is unknown");
    uint64_t size = (uint64_t)b.n_changes * (time_size + 1) + (uint64_t)b.n_types * TYPE_SIZE +
                    b.n_chars + (uint64_t)b.n_leaps * (time_size + 4) + b.n_standard + b.n_ut;

    if (size > bytes.size - HEAD_SIZE)
        return no_zone(err, "it is cut off");
    b.times = head + HEAD_SIZE;
    b.indexes = b.times + b.n_changes * time_size;
    b.types = b.indexes + b.n_changes;
    b.end = b.times + size;
    *ret = b;
    return E_OK;
}

static enum err_code read_offset(const struct block *b, uint32_t type, int32_t *ret_s,
                                 struct err *err)
{
    if (type >= b->n_types)
        return no_zone(err, "a change leads to a type that is not there");
    int32_t offset = (int32_t)big_endian(b->types + (size_t)type * TYPE_SIZE, 4);

    if (offset < OFFSET_MIN_S || offset > OFFSET_MAX_S)
        return no_zone(err, "clocks are more than a day away from UTC");
    *ret_s = offset;
    return E_OK;
}

static enum err_code read_changes(const struct block *b, size_t time_size, struct zone *z,
                                  struct err *err)
{
    if (b->n_leaps > 0)
        return err_set(err, E_INVALID, "time zones that count leap seconds are unsupported");
    if (b->n_types == 0 || b->n_types > TYPES_MAX || b->n_changes > TZIF_CHANGES_MAX)
        return no_zone(err, "it has no types, or too many of them or of changes");
    if (read_offset(b, 0, &z->first_s, err) != E_OK)
        return err->code;
    z->changes = mem_alloc((b->n_changes + 1) * sizeof(z->changes[0]));
    for (; z->n_changes < b->n_changes; z->n_changes++) {
        struct zone_change *c = &z->changes[z->n_changes];

        c->at_s = read_time(b->times + z->n_changes * time_size, time_size);
        if (z->n_changes > 0 && c->at_s <= c[-1].at_s)
            return no_zone(err, "its changes are not in order");
        if (read_offset(b, b->indexes[z->n_changes], &c->offset_s, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* A line between two line ends; an empty one means that nothing is known. */
static enum err_code read_footer(struct slice rest, struct zone *z, struct err *err)
{
    const char *end = rest.size < 2 || rest.data[0] != '\n'
                          ? NULL
                          : memchr(rest.data + 1, '\n', rest.size - 1);

    if (end == NULL)
        return no_zone(err, "the rule at its end is missing");
    struct slice text = slice_make(rest.data + 1, (size_t)(end - rest.data - 1));

    z->has_rule = text.size > 0;
    if (z->has_rule && !posix_tz_parse(text, &z->rule))
        return no_zone(err, "the rule at its end cannot be read");
    return E_OK;
}

/* What follows a block. */
static struct slice after(struct slice bytes, const struct block *b)
{
    size_t used = (size_t)((const char *)b->end - bytes.data);

    return slice_make(bytes.data + used, bytes.size - used);
}

enum err_code tzif_parse(struct slice bytes, struct zone *ret_zone, struct err *err)
{
    CLEANUP(zone) struct zone z = ZONE_UTC;
    size_t time_size = 4;
    struct block b;

    if (read_block(bytes, time_size, &b, err) != E_OK)
        return err->code;
    if (b.version > 1) {
        bytes = after(bytes, &b);
        time_size = 8;
        if (read_block(bytes, time_size, &b, err) != E_OK)
            return err->code;
    }
    if (read_changes(&b, time_size, &z, err) != E_OK)
        return err->code;
    if (b.version > 1 && read_footer(after(bytes, &b), &z, err) != E_OK)
        return err->code;
    *ret_zone = z;
    z = ZONE_UTC;
    return E_OK;
}
