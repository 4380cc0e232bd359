/* SPDX-License-Identifier: MIT */
#include "core/gate/lane_def.h"

#include "base/jtext/jtext.h"
#include "core/object/object.h"

static enum err_code check_key(struct object_read *r, const struct field *f, struct slice value)
{
    struct lane_def *def = r->to;

    (void)f;
    (void)value;
    return template_text_parse(def->key_text, r->arena, &def->key, r->err);
}

static enum err_code read_rate(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    return rates_read(r, value, &((struct lane_def *)r->to)->rates);
}

static const struct field lane_fields[] = {
    FIELD_TEXT("key", lane_def, key_text, .required = true, .min = 1, .max = LANE_TEMPLATE_MAX,
               .check = check_key,
               .help = "jobs with the same key are in one lane; params fill the names in braces"),
    FIELD_INT64("limit", lane_def, limit, .min = 1, .max = GATE_SLOTS_MAX, .absent = "none",
                .help = "Maximum jobs of a lane that run at once."),
    FIELD_CUSTOM("rate", read_rate, .schema = "Rates", .absent = "none",
                 .form = "rate like `1/2s`, or list of at most %MAX%", .max = RATES_MAX,
                 .help = "Maximum starts of a lane in any time of that length."),
};

const struct object lane_object = {.what = "lanes",
                                   .schema = "Lane",
                                   OBJECT_FIELDS(lane_fields),
                                   .needs = true,
                                   .hint = "{key: \"{host}\", limit: 1}"};

enum err_code lane_def_read(struct object_read *r, struct slice value, struct lane_def *ret_def)
{
    struct lane_def def = {.limit = 0};

    if (object_read_in(r, &lane_object, value, &def) != E_OK)
        return r->err->code;
    *ret_def = def;
    return E_OK;
}

void lane_def_json(const struct lane_def *def, struct buf *out)
{
    buf_add_char(out, '{');
    jtext_put_string(out, "key", def->key_text);
    if (def->limit > 0)
        jtext_put_int(out, "limit", def->limit);
    if (def->rates.count > 0) {
        jtext_add_key(out, "rate");
        rates_json(&def->rates, out);
    }
    buf_add_char(out, '}');
}

enum err_code lane_key(const struct lane_def *def, const struct template_values *values,
                       struct arena *arena, struct slice *ret_key, struct err *err)
{
    CLEANUP(buf) struct buf key = BUF_INIT(LANE_KEY_MAX);

    if (template_text_fill(&def->key, values, &key, err) != E_OK)
        return err_wrap(err, "lane.key");
    if (key.overflowed)
        return err_set(err, E_INVALID, "lane.key: a lane's key has at most %d bytes", LANE_KEY_MAX);
    *ret_key = arena_copy(arena, buf_slice(&key));
    return E_OK;
}

struct gate_rules lane_rules(const struct lane_def *def)
{
    return (struct gate_rules){.slots = def->limit, .rates = def->rates};
}
