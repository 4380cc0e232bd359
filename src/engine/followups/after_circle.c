/*
 * One depth-first walk over the array, with an explicit stack: a chain may be as long as the array.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/after_targets.h"

enum mark { UNSEEN, ON_PATH, CLEARED };

struct frame {
    size_t item;
    size_t next; /* condition to follow */
};

struct walk {
    const struct submit_item *items;
    struct after_target *const *targets;
    struct frame *stack;
    size_t depth;
    unsigned char *marks; /* enum mark */
};

static void enter(struct walk *w, size_t item)
{
    w->marks[item] = ON_PATH;
    w->stack[w->depth++] = (struct frame){.item = item};
}

/* Enters the next item that is not cleared; true when that is on the path already: a circle. */
static bool step_closes(struct walk *w)
{
    struct frame *top = &w->stack[w->depth - 1];
    const struct after_target *targets = w->targets[top->item];

    while (targets != NULL && top->next < w->items[top->item].n_after) {
        size_t place = targets[top->next++].place;

        if (place == 0 || w->marks[place - 1] == CLEARED)
            continue;
        if (w->marks[place - 1] == ON_PATH)
            return true;
        enter(w, place - 1);
        return false;
    }
    w->marks[top->item] = CLEARED;
    w->depth--;
    return false;
}

void after_refuse_circles(const struct submit_item *items, size_t n, struct plan *plans,
                          struct after_target *const *targets, struct arena *arena)
{
    struct walk w = {.items = items,
                     .targets = targets,
                     .stack = arena_array(arena, n, sizeof(struct frame)),
                     .marks = arena_array(arena, n, 1)};

    for (size_t i = 0; i < n; i++) {
        if (w.marks[i] == UNSEEN)
            enter(&w, i);
        while (w.depth > 0)
            if (step_closes(&w)) {
                const struct frame *top = &w.stack[w.depth - 1];

                err_set(
                    &plans[top->item].refused, E_INVALID,
                    "after[%zu]: it would wait for itself, by way of other jobs of this request",
                    top->next - 1);
                return;
            }
    }
}
