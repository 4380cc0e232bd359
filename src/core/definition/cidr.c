/* SPDX-License-Identifier: MIT */
#include "core/definition/cidr.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/object/quote.h"

enum {
    V4_AT = 12,
    V4_BITS = 32,
    V6_BITS = 128
}; /* V4_AT: offset of an IPv4 address in an IPv6 one */

/* The bytes of an address, and the number of bits of its kind. */
static bool parse_address(struct slice text, unsigned char address[static CIDR_BYTES],
                          int *ret_bits)
{
    static const unsigned char mapped[V4_AT] = {[10] = 0xFF, [11] = 0xFF};
    char word[INET6_ADDRSTRLEN];

    if (text.size == 0 || text.size >= sizeof(word) || memchr(text.data, '\0', text.size) != NULL)
        return false;
    memcpy(word, text.data, text.size);
    word[text.size] = '\0';
    memcpy(address, mapped, sizeof(mapped));
    *ret_bits = V4_BITS;
    if (inet_pton(AF_INET, word, address + V4_AT) == 1)
        return true;
    *ret_bits = V6_BITS;
    return inet_pton(AF_INET6, word, address) == 1;
}

static bool bit_of(const unsigned char *address, int i)
{
    return (address[i / 8] >> (7 - i % 8) & 1) != 0;
}

enum err_code cidr_parse(struct slice text, struct cidr *ret_cidr, struct err *err)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    size_t size = slash == NULL ? text.size : (size_t)(slash - text.data);
    struct cidr c;
    struct quote quote;
    int64_t bits;
    int max;

    quote_text(&quote, text);
    if (!parse_address(slice_make(text.data, size), c.address, &max))
        return err_set(err, E_INVALID, "%s is not a network like 10.0.0.0/8, 192.0.2.7 or fd00::/8",
                       quote.text);
    bits = max;
    if (slash != NULL && (!slice_number(slice_make(slash + 1, text.size - size - 1), &bits) ||
                          bits > max || (slash[1] == '0' && text.size - size > 2)))
        return err_set(err, E_INVALID, "%s: the part after the '/' must be a number from 0 to %d",
                       quote.text, max);
    c.bits = V6_BITS - max + (int)bits;
    for (int i = c.bits; i < V6_BITS; i++)
        if (bit_of(c.address, i))
            return err_set(err, E_INVALID,
                           "%s names a host, not a network: it has bits beyond the first %d",
                           quote.text, (int)bits);
    *ret_cidr = c;
    return E_OK;
}

bool cidr_has(const struct cidr *c, const unsigned char address[static CIDR_BYTES])
{
    int whole = c->bits / 8;

    if (memcmp(c->address, address, (size_t)whole) != 0)
        return false;
    for (int i = whole * 8; i < c->bits; i++)
        if (bit_of(c->address, i) != bit_of(address, i))
            return false;
    return true;
}
