/* SPDX-License-Identifier: MIT */
#include "base/id.h"

#include "base/clock.h"
#include "base/compiler.h"

enum { SEQUENCE_BITS = 12, NODE_BITS = 10, TEXT_DIGITS = 13 };

#define MS_MAX ((INT64_C(1) << 41) - 1)
#define SEQUENCE_MASK ((INT64_C(1) << SEQUENCE_BITS) - 1)

static int64_t compose(int64_t ms, uint32_t node, int64_t sequence)
{
    return ms << (NODE_BITS + SEQUENCE_BITS) | (int64_t)node << SEQUENCE_BITS | sequence;
}

static int64_t ms_of(int64_t id)
{
    return id >> (NODE_BITS + SEQUENCE_BITS);
}

/* Instants before 2024 and after 2093 count as the nearest one that fits. */
static int64_t ms_since_2024(int64_t at)
{
    int64_t ms = at <= ID_FIRST_AT ? 0 : (at - ID_FIRST_AT) / US_PER_MS;

    return ms > MS_MAX ? MS_MAX : ms;
}

void id_gen_init(struct id_gen *g, uint32_t node, int64_t floor)
{
    ASSERT(node <= ID_NODE_MAX);
    g->node = node;
    g->last = floor;
}

int64_t id_gen_next(struct id_gen *g, int64_t now_at)
{
    int64_t id = compose(ms_since_2024(now_at), g->node, 0);

    if (id <= g->last) {
        int64_t sequence = (g->last & SEQUENCE_MASK) + 1;
        int64_t ms = ms_of(g->last);

        id = sequence <= SEQUENCE_MASK ? compose(ms, g->node, sequence) : 0;
        if (id <= g->last) {
            ASSERT(ms < MS_MAX);
            id = compose(ms + 1, g->node, 0);
        }
    }
    g->last = id;
    return id;
}

bool id_gen_has_room(const struct id_gen *g)
{
    return id_time(g->last) < ID_LAST_AT;
}

int64_t id_time(int64_t id)
{
    return ID_FIRST_AT + ms_of(id) * US_PER_MS;
}

int64_t id_at_time(int64_t at)
{
    return compose(ms_since_2024(at), 0, 0);
}

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#define BOTH_CASES(letter, value) [letter] = (value) + 1, [(letter) + 32] = (value) + 1

/* One more than the value of a digit, 0 for what is none.  Crockford reads O as 0, I and L as 1. */
static const unsigned char values[256] = {
    ['0'] = 1,           ['1'] = 2,           ['2'] = 3,           ['3'] = 4,
    ['4'] = 5,           ['5'] = 6,           ['6'] = 7,           ['7'] = 8,
    ['8'] = 9,           ['9'] = 10,          BOTH_CASES('O', 0),  BOTH_CASES('I', 1),
    BOTH_CASES('L', 1),  BOTH_CASES('A', 10), BOTH_CASES('B', 11), BOTH_CASES('C', 12),
    BOTH_CASES('D', 13), BOTH_CASES('E', 14), BOTH_CASES('F', 15), BOTH_CASES('G', 16),
    BOTH_CASES('H', 17), BOTH_CASES('J', 18), BOTH_CASES('K', 19), BOTH_CASES('M', 20),
    BOTH_CASES('N', 21), BOTH_CASES('P', 22), BOTH_CASES('Q', 23), BOTH_CASES('R', 24),
    BOTH_CASES('S', 25), BOTH_CASES('T', 26), BOTH_CASES('V', 27), BOTH_CASES('W', 28),
    BOTH_CASES('X', 29), BOTH_CASES('Y', 30), BOTH_CASES('Z', 31),
};

const char *id_format(int64_t id, char text[static ID_TEXT_SIZE])
{
    uint64_t rest = (uint64_t)id;

    for (int i = TEXT_DIGITS - 1; i >= 0; i--) {
        text[i] = digits[rest & 31];
        rest >>= 5;
    }
    text[TEXT_DIGITS] = '\0';
    return text;
}

bool id_parse(struct slice text, int64_t *ret_id)
{
    uint64_t id = 0;

    if (text.size != TEXT_DIGITS)
        return false;
    for (size_t i = 0; i < TEXT_DIGITS; i++) {
        int value = values[(unsigned char)text.data[i]] - 1;

        if (value < 0 || (i == 0 && value > 7))
            return false;
        id = id << 5 | (uint64_t)value;
    }
    *ret_id = (int64_t)id;
    return true;
}

bool id_prefix(struct slice text, int64_t *ret_first, int64_t *ret_last)
{
    char first[TEXT_DIGITS];
    char last[TEXT_DIGITS];

    if (text.size == 0 || text.size > TEXT_DIGITS)
        return false;
    memset(first, digits[0], sizeof(first));
    memset(last, digits[31], sizeof(last));
    memcpy(first, text.data, text.size);
    memcpy(last, text.data, text.size);
    return id_parse(slice_make(first, sizeof(first)), ret_first) &&
           id_parse(slice_make(last, sizeof(last)), ret_last);
}
