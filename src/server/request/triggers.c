/* SPDX-License-Identifier: MIT */
#include "server/request/triggers.h"

#include <string.h>

#include "core/definition/cidr.h"
#include "core/definition/definition.h"
#include "server/request/address.h"

_Static_assert((int)ADDRESS_BYTES == (int)CIDR_BYTES, "addresses are compared with networks");

void triggers_init(struct triggers *t)
{
    *t = (struct triggers){.arena = ARENA_INIT};
}

void triggers_deinit(struct triggers *t)
{
    VEC_DEINIT(&t->items);
    arena_deinit(&t->arena);
}

void triggers_add(struct triggers *t, const struct definitions *d)
{
    for (size_t i = 0; i < d->server.triggers.count; i++) {
        const struct definition_trigger *from = &d->server.triggers.items[i];
        struct trigger trigger = {.name = arena_copy(&t->arena, from->name),
                                  .n_nets = from->n_from};

        trigger.nets = arena_array(&t->arena, from->n_from + 1, sizeof(*trigger.nets));
        if (from->n_from > 0)
            memcpy(trigger.nets, from->from, from->n_from * sizeof(*trigger.nets));
        VEC_PUSH(&t->items, trigger);
    }
}

bool triggers_open(const struct triggers *t, struct slice name, const struct sockaddr *from)
{
    unsigned char address[ADDRESS_BYTES];

    if (from == NULL || !address_of(from, address))
        return false;
    for (size_t i = 0; i < t->items.count; i++) {
        const struct trigger *trigger = &t->items.items[i];

        if (!slice_equal(trigger->name, name))
            continue;
        for (size_t j = 0; j < trigger->n_nets; j++)
            if (cidr_has(&trigger->nets[j], address))
                return true;
    }
    return false;
}
