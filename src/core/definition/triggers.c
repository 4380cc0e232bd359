/* SPDX-License-Identifier: MIT */
#include "core/definition/read.h"

#include "core/definition/cidr.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"
#include "core/route/dest.h"

static enum err_code at_network(const struct definition_read *r, const struct yaml_value *trigger,
                                const struct yaml_value *v)
{
    struct quote quote;

    (void)err_wrap(r->err, "trigger %s: from", quote_text(&quote, trigger->name));
    return yaml_err_at(r->err, r->source->file, v->line);
}

static enum err_code add_networks(struct definition_read *r, const struct yaml_value *trigger,
                                  const struct yaml_value *v, struct definition_trigger *t)
{
    const struct yaml_value *first = v->type == YAML_T_LIST ? v->first : v;
    size_t count = v->type != YAML_T_LIST;

    for (const struct yaml_value *item = first; item != v && item != NULL; item = item->next)
        count++;
    if (count == 0 || count > DEFINITION_NETWORKS_MAX) {
        (void)err_set(r->err, E_INVALID, "must have 1 to %d networks, not %zu",
                      DEFINITION_NETWORKS_MAX, count);
        return at_network(r, trigger, v);
    }
    t->from = arena_array(&r->d->arena, count, sizeof(*t->from));
    for (const struct yaml_value *item = first; t->n_from < count; item = item->next, t->n_from++)
        if (item->type != YAML_T_TEXT) {
            (void)err_set(r->err, E_INVALID, "must be a network or a list of them, in quotes");
            return at_network(r, trigger, item);
        } else if (cidr_parse(item->text, &t->from[t->n_from], r->err) != E_OK) {
            return at_network(r, trigger, item);
        }
    return E_OK;
}

static enum err_code check_new_trigger(const struct definition_read *r, const struct yaml_value *v)
{
    const struct definition_server *s = &r->d->server;
    struct quote quote;

    if (dest_name_check("trigger", v->name, r->err) != E_OK)
        return r->err->code;
    if (s->triggers.count == DEFINITION_TRIGGERS_MAX)
        return err_set(r->err, E_TOO_LARGE, "more than %d triggers", DEFINITION_TRIGGERS_MAX);
    for (size_t i = 0; i < s->triggers.count; i++)
        if (slice_equal(s->triggers.items[i].name, v->name))
            return definition_twice(r, "trigger", quote_text(&quote, v->name),
                                    s->triggers.items[i].place);
    return E_OK;
}

static enum err_code add_trigger(struct definition_read *r, struct yaml_value *v)
{
    static const char *const words[] = {"from"};
    struct definition_trigger t = {.place = {r->file, v->name_line}};
    struct quote quote;

    if (check_new_trigger(r, v) != E_OK)
        return yaml_err_at(r->err, r->source->file, v->name_line);
    t.name = arena_copy(&r->d->arena, v->name);
    for (const struct yaml_value *m = v->type == YAML_T_MAP ? v->first : NULL; m != NULL;
         m = m->next) {
        if (!slice_is(m->name, words[0]))
            return definition_unknown(r, m, words, ARRAY_LEN(words));
        if (add_networks(r, v, m, &t) != E_OK)
            return r->err->code;
    }
    if (t.n_from == 0) {
        (void)err_set(r->err, E_INVALID,
                      "trigger %s: must say which networks may use it, like {from: [10.0.0.0/8]}",
                      quote_text(&quote, v->name));
        return yaml_err_at(r->err, r->source->file, v->name_line);
    }
    VEC_PUSH(&r->d->server.triggers, t);
    return E_OK;
}

enum err_code definition_triggers_add(struct definition_read *r, struct yaml_value *map)
{
    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP)
        return definition_wrong(r, map, "triggers: must be a map of names and {from: [network…]}");
    for (struct yaml_value *v = map->first; v != NULL; v = v->next)
        if (add_trigger(r, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}
