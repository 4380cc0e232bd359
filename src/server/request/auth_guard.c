/* SPDX-License-Identifier: MIT */
#include "server/request/auth_guard.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/os/log.h"

enum { FREE_FAILURES = 3, DOUBLINGS_MAX = 6, NETWORK_BYTES = 8 };

#define FIRST_DELAY_US (US_PER_S / 10) /* doubled with each further one, to 6.4 s */
#define FORGET_US (10 * US_PER_MIN)
#define LOG_PAUSE_US (10 * US_PER_S)

/* Its entry, or the one that was used least recently. */
static struct guarded *place_of(struct auth_guard *g,
                                const unsigned char address[static ADDRESS_BYTES])
{
    struct guarded *oldest = &g->table[0];

    for (size_t i = 0; i < GUARD_ADDRESSES_MAX; i++) {
        struct guarded *p = &g->table[i];

        if (p->failures > 0 && memcmp(p->address, address, sizeof(p->address)) == 0)
            return p;
        if (p->failed_at < oldest->failed_at)
            oldest = p;
    }
    *oldest = (struct guarded){.failures = 0};
    memcpy(oldest->address, address, sizeof(oldest->address));
    return oldest;
}

static void tell(struct auth_guard *g, const struct sockaddr *from, int64_t now_at)
{
    char text[INET6_ADDRSTRLEN] = "?";
    unsigned char address[ADDRESS_BYTES];

    g->untold++;
    if (g->told_at != 0 && now_at - g->told_at < LOG_PAUSE_US)
        return;
    if (address_of(from, address))
        address_format(address, text);
    log_warn("refused a request with a wrong token from %s (%" PRIu64 " since the last such line)",
             text, g->untold);
    g->told_at = now_at;
    g->untold = 0;
}

int64_t auth_guard_failed(struct auth_guard *g, const struct sockaddr *from, int64_t now_at)
{
    unsigned char address[ADDRESS_BYTES];

    tell(g, from, now_at);
    /* What failures are counted by: an IPv4 address, or an IPv6 network of 64 bits. */
    memset(address, 0, ADDRESS_BYTES);
    if (address_of(from, address) && !address_is_v4(address))
        memset(address + NETWORK_BYTES, 0, ADDRESS_BYTES - NETWORK_BYTES);
    struct guarded *p = place_of(g, address);

    if (now_at - p->failed_at > FORGET_US)
        p->failures = 0;
    p->failed_at = now_at;
    if (p->failures < FREE_FAILURES + DOUBLINGS_MAX + 1)
        p->failures++;
    return p->failures <= FREE_FAILURES ? 0 : FIRST_DELAY_US << (p->failures - FREE_FAILURES - 1);
}
