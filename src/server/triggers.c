/* SPDX-License-Identifier: MIT */
#include "server/triggers.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/cidr.h"
#include "core/definition.h"

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

/* IPv4 as IPv6 writes it: also what comes in by an IPv6 socket. */
static bool address_of(const struct sockaddr *from, unsigned char address[static CIDR_BYTES])
{
    static const unsigned char mapped[] = {[10] = 0xff, [11] = 0xff};

    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;

        memcpy(address, mapped, sizeof(mapped));
        memcpy(address + sizeof(mapped), &v4->sin_addr, sizeof(v4->sin_addr));
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, CIDR_BYTES);
    return true;
}

bool triggers_open(const struct triggers *t, struct slice name, const struct sockaddr *from)
{
    unsigned char address[CIDR_BYTES];

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
