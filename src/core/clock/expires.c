/* SPDX-License-Identifier: MIT */
#include "core/clock/expires.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"

static enum err_code parse(struct slice json, struct expires *ret, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct expires x = {0};
    struct err ignored = ERR_INIT;
    enum jtext_type type = jtext_type_of(json);

    if (type == JTEXT_INT || type == JTEXT_REAL)
        (void)!duration_from_seconds(jtext_number(json), &x.after_us, err);
    else if (type != JTEXT_STRING)
        return err_set(err, E_INVALID, "must be a length like \"2h\" or an instant");
    else if (time_parse(jtext_text(json, &arena), &x.at, &ignored) != E_OK)
        (void)!duration_parse(jtext_text(json, &arena), &x.after_us, err);
    if (err->code != E_OK)
        return err_set(err, E_INVALID,
                       "must be a length like \"2h\" or an instant like "
                       "\"2026-11-15T21:30:00Z\"");
    if (x.at == 0 && x.after_us < US_PER_MS)
        return err_set(err, E_INVALID, "must be at least 1ms");
    *ret = x;
    return E_OK;
}

enum err_code expires_read(struct object_read *r, const struct field *f, struct slice value)
{
    return parse(value, (struct expires *)(void *)((char *)r->to + f->offset), r->err);
}

void expires_write(const void *from, const struct field *f, struct buf *out)
{
    const struct expires *x = (const void *)((const char *)from + f->offset);
    char text[DURATION_TEXT_SIZE];

    if (x->at != 0)
        jtext_add_time(out, x->at);
    else
        jtext_add_string(out, slice_of(duration_format(x->after_us, text)));
}

struct expires expires_parse(struct slice json)
{
    struct err ignored = ERR_INIT;
    struct expires x = {0};

    if (json.size > 0)
        (void)!parse(json, &x, &ignored);
    return x;
}

int64_t expires_at(const struct expires *x, int64_t now_at)
{
    return x->after_us > 0 ? now_at + x->after_us : x->at;
}
