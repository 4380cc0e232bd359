/* SPDX-License-Identifier: MIT */
#include "each/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define TURNS_MIN 64

void each_order_init(struct each_order *o, bool keeps)
{
    *o = (struct each_order){.keeps = keeps};
}

static struct each_turn *turn_at(const struct each_order *o, size_t i)
{
    return &o->turns[(o->first + i) & (o->capacity - 1)];
}

void each_order_deinit(struct each_order *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(turn_at(o, i)->output);
    free(o->turns);
    *o = (struct each_order){.keeps = o->keeps};
}

static struct each_turn *add(struct each_order *o, int64_t line)
{
    if (o->count == o->capacity) {
        size_t capacity = o->capacity == 0 ? TURNS_MIN : o->capacity * 2;
        struct each_turn *turns = mem_alloc(capacity * sizeof(*turns));

        for (size_t i = 0; i < o->count; i++)
            turns[i] = *turn_at(o, i);
        free(o->turns);
        o->turns = turns;
        o->capacity = capacity;
        o->first = 0;
    }
    struct each_turn *t = turn_at(o, o->count++);

    *t = (struct each_turn){.line = line, .state = EACH_TURN_OPEN};
    return t;
}

void each_order_expect(struct each_order *o, int64_t line)
{
    if (!o->keeps)
        return;
    ASSERT(o->count == 0 || turn_at(o, o->count - 1)->line < line);
    add(o, line);
}

static struct each_turn *find(const struct each_order *o, int64_t line)
{
    size_t low = 0;
    size_t high = o->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (turn_at(o, middle)->line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->count && turn_at(o, low)->line == line ? turn_at(o, low) : NULL;
}

static struct each_turn *turn_of(struct each_order *o, int64_t line)
{
    struct each_turn *t = o->keeps ? find(o, line) : NULL;

    return t != NULL ? t : add(o, line);
}

static void drop_output(struct each_order *o, struct each_turn *t)
{
    free(t->output);
    t->output = NULL;
    o->held -= t->size;
    t->size = t->errors = 0;
}

void each_order_ended(struct each_order *o, int64_t line, int64_t id,
                      const struct each_output *output)
{
    struct each_turn *t = turn_of(o, line);
    size_t size = output->out.size + output->errors.size;

    drop_output(o, t);
    t->id = id;
    t->state = EACH_TURN_LOGGED;
    if (size > EACH_HELD_MAX - o->held)
        return;
    t->state = EACH_TURN_HELD;
    t->size = size;
    t->errors = output->errors.size;
    if (size > 0) {
        t->output = mem_alloc(size);
        if (output->out.size > 0)
            memcpy(t->output, output->out.data, output->out.size);
        if (output->errors.size > 0)
            memcpy(t->output + output->out.size, output->errors.data, output->errors.size);
    }
    o->held += t->size;
}

void each_order_ended_before(struct each_order *o, int64_t line, int64_t id)
{
    struct each_turn *t = turn_of(o, line);

    drop_output(o, t);
    t->id = id;
    t->state = EACH_TURN_LOGGED;
}

const struct each_turn *each_order_next(const struct each_order *o)
{
    if (o->count == 0 || turn_at(o, 0)->state == EACH_TURN_OPEN)
        return NULL;
    return turn_at(o, 0);
}

void each_order_pop(struct each_order *o)
{
    ASSERT(o->count > 0);
    drop_output(o, turn_at(o, 0));
    o->first = (o->first + 1) & (o->capacity - 1);
    o->count--;
}
