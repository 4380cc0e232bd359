/* SPDX-License-Identifier: MIT */
#include "server/request/address.h"

#include <string.h>

#include <arpa/inet.h>

static const unsigned char mapped[] = {[10] = 0xff, [11] = 0xff};

bool address_of(const struct sockaddr *from, unsigned char ret_address[static ADDRESS_BYTES])
{
    if (from->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;

        memcpy(ret_address, mapped, sizeof(mapped));
        memcpy(ret_address + sizeof(mapped), &v4->sin_addr, sizeof(v4->sin_addr));
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(ret_address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
           ADDRESS_BYTES);
    return true;
}

bool address_is_v4(const unsigned char address[static ADDRESS_BYTES])
{
    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

void address_format(const unsigned char address[static ADDRESS_BYTES],
                    char ret_text[static INET6_ADDRSTRLEN])
{
    if (address_is_v4(address))
        inet_ntop(AF_INET, address + sizeof(mapped), ret_text, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, address, ret_text, INET6_ADDRSTRLEN);
}
