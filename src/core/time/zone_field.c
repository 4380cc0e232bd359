/* SPDX-License-Identifier: MIT */
#include "core/time/zone_field.h"

#include "core/object/quote.h"

enum err_code zone_field_check(struct object_read *r, const struct field *f, struct slice value)
{
    struct quote quote;

    if (zone_name_is_valid(*(struct slice *)(void *)((char *)r->to + f->offset)))
        return E_OK;
    return err_set(r->err, E_INVALID, "%s is not the name of a time zone like Europe/Berlin",
                   quote_json(&quote, value));
}
