/* SPDX-License-Identifier: MIT */
#include "mutate.h"

#include <string.h>

struct change {
    const struct fuzz_target *target;
    struct rng *rng;
    struct fuzz_input *in;
};

static size_t below(struct change *c, size_t bound)
{
    return bound == 0 ? 0 : (size_t)rng_below(c->rng, bound);
}

/* Short lengths mostly, sometimes a long one. */
static size_t some_length(struct change *c, size_t most)
{
    size_t n = below(c, 8) == 0 ? below(c, most + 1) : 1 + below(c, 8);

    return n < most ? n : most;
}

static void insert(struct change *c, size_t at, struct slice what)
{
    struct fuzz_input *in = c->in;
    size_t n = what.size < FUZZ_INPUT_MAX - in->size ? what.size : FUZZ_INPUT_MAX - in->size;
    char copy[FUZZ_INPUT_MAX]; /* `what` may be a part of what moves */

    memcpy(copy, what.data, n);
    memmove(in->data + at + n, in->data + at, in->size - at);
    memcpy(in->data + at, copy, n);
    in->size += n;
}

static void flip_a_bit(struct change *c)
{
    if (c->in->size > 0)
        c->in->data[below(c, c->in->size)] ^= (char)(1 << below(c, 8));
}

static void set_a_byte(struct change *c)
{
    if (c->in->size > 0)
        c->in->data[below(c, c->in->size)] = (char)below(c, 256);
}

static void insert_a_byte(struct change *c)
{
    char byte = (char)below(c, 256);

    insert(c, below(c, c->in->size + 1), slice_make(&byte, 1));
}

static void remove_a_run(struct change *c)
{
    size_t at = below(c, c->in->size + 1);
    size_t n = some_length(c, c->in->size - at);

    memmove(c->in->data + at, c->in->data + at + n, c->in->size - at - n);
    c->in->size -= n;
}

static void copy_a_run(struct change *c)
{
    size_t from = below(c, c->in->size + 1);
    size_t n = some_length(c, c->in->size - from);

    insert(c, below(c, c->in->size + 1), slice_make(c->in->data + from, n));
}

/* Depth and length: the same few bytes many times over. */
static void repeat_a_run(struct change *c)
{
    size_t at = below(c, c->in->size + 1);
    size_t n = some_length(c, c->in->size - at);
    size_t times = below(c, 4) == 0 ? below(c, 200) : below(c, 5);

    for (size_t i = 0; i < times && n < 64; i++)
        insert(c, at, slice_make(c->in->data + at, n));
}

static void cut_the_end(struct change *c)
{
    c->in->size = below(c, c->in->size + 1);
}

static void insert_a_word(struct change *c)
{
    if (c->target->word_count > 0)
        insert(c, below(c, c->in->size + 1), c->target->words[below(c, c->target->word_count)]);
}

static void write_a_word(struct change *c)
{
    if (c->target->word_count == 0)
        return;
    struct slice word = c->target->words[below(c, c->target->word_count)];

    if (word.size <= c->in->size)
        memcpy(c->in->data + below(c, c->in->size - word.size + 1), word.data, word.size);
}

static void splice_another_seed(struct change *c)
{
    struct slice other = c->target->seeds[below(c, c->target->seed_count)];
    size_t from = below(c, other.size + 1);
    size_t n = below(c, other.size - from + 1);

    insert(c, below(c, c->in->size + 1), slice_make(other.data + from, n));
}

static void (*const changes[])(struct change *) = {
    flip_a_bit,  set_a_byte,    insert_a_byte, remove_a_run, copy_a_run,          repeat_a_run,
    cut_the_end, insert_a_word, insert_a_word, write_a_word, splice_another_seed,
};

void fuzz_make_input(const struct fuzz_target *target, struct rng *rng,
                     struct fuzz_input *ret_input)
{
    struct change c = {.target = target, .rng = rng, .in = ret_input};
    size_t count = below(&c, 3) == 0 ? below(&c, 12) : below(&c, 3);

    ret_input->size = 0;
    insert(&c, 0, target->seeds[below(&c, target->seed_count)]);
    for (size_t i = 0; i < count; i++)
        changes[below(&c, ARRAY_LEN(changes))](&c);
}
