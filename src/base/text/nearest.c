/* SPDX-License-Identifier: MIT */
#include "base/text/nearest.h"

enum { WORD_MAX = 64 }; /* longer words get no suggestion */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * Edits that turn one word into the other: a letter added, left out, replaced, or two neighbours
 * swapped.  Row by row; a swap looks two rows back.
 */
static size_t distance(struct slice a, struct slice b)
{
    size_t rows[3][WORD_MAX + 1];

    for (size_t j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            char x = lower(a.data[i - 1]);
            char y = lower(b.data[j - 1]);

            row[j] = min(min(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b.data[j - 2]) && y == lower(a.data[i - 2]))
                row[j] = min(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a.size % 3][b.size];
}

const char *nearest_word(struct slice word, const char *const *words, size_t count)
{
    size_t best = word.size < 6 ? 1 : word.size / 3;
    const char *found = NULL;

    if (word.size == 0 || word.size > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct slice other = slice_of(words[i]);

        if (other.size > WORD_MAX)
            continue;
        size_t edits = distance(word, other);

        if (edits > 0 && edits >= word.size && edits >= other.size)
            continue;
        if (edits < best || (edits == best && found == NULL)) {
            best = edits;
            found = words[i];
        }
    }
    return found;
}
