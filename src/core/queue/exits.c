/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/queue/values.h"

static const char *const words[] = {[RETRY_EXIT_LATER] = "later", [RETRY_EXIT_NEVER] = "never"};

/* Reads a status at *at, and moves *at behind it. */
static bool take_status(const struct field *f, struct slice text, size_t *at, int *ret_status)
{
    size_t first = *at;
    int n = 0;

    while (*at < text.size && *at - first < 3 && text.data[*at] >= '0' && text.data[*at] <= '9')
        n = n * 10 + (text.data[(*at)++] - '0');
    if (*at == first || n < f->min || n > f->max)
        return false;
    *ret_status = n;
    return true;
}

static bool parse_range(const struct field *f, struct slice text, struct retry_exit_rule *rule)
{
    size_t at = 0;

    if (!take_status(f, text, &at, &rule->first))
        return false;
    rule->last = rule->first;
    if (at < text.size && text.data[at] == '-') {
        at++;
        if (!take_status(f, text, &at, &rule->last))
            return false;
    }
    return at == text.size && rule->first <= rule->last;
}

static enum err_code read_rule(struct object_read *r, const struct field *f, struct slice name,
                               struct slice value, struct retry_exit_rule *ret_rule)
{
    struct quote range;
    struct quote word;
    unsigned then = 0;

    r->fault_at = name.data;
    if (!parse_range(f, jtext_text(name, r->arena), ret_rule))
        return err_set(r->err, E_INVALID,
                       "%s is not an exit status from 1 to 255 or a range like 64-74",
                       quote_json(&range, name));
    r->fault_at = value.data;
    while (then < ARRAY_LEN(words) && jtext_type_of(value) == JTEXT_STRING &&
           !jtext_key_is(value, words[then]))
        then++;
    if (jtext_type_of(value) != JTEXT_STRING || then == ARRAY_LEN(words))
        return err_set(r->err, E_INVALID, "%s must be 'later' or 'never', not %s",
                       quote_json(&range, name), quote_json(&word, value));
    ret_rule->then = (enum retry_exit)then;
    r->fault_at = name.data;
    return E_OK;
}

/* Inserts the rule before the first one that begins behind it. */
static enum err_code insert_rule(struct retry_policy *p, struct retry_exit_rule rule,
                                 struct err *err)
{
    size_t at = p->n_exits;

    if (at == RETRY_EXIT_RULES_MAX)
        return err_set(err, E_INVALID, "must have at most %d rules", RETRY_EXIT_RULES_MAX);
    while (at > 0 && p->exits[at - 1].first > rule.first) {
        p->exits[at] = p->exits[at - 1];
        at--;
    }
    p->exits[at] = rule;
    p->n_exits++;
    for (size_t i = 1; i < p->n_exits; i++)
        if (p->exits[i].first <= p->exits[i - 1].last)
            return err_set(err, E_INVALID, "exit status %d is named twice", p->exits[i].first);
    return E_OK;
}

enum err_code queue_exits_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct retry_policy *p = &((struct queue_def *)r->to)->retry;
    struct quote quote;
    struct slice name;
    struct slice word;

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return err_set(r->err, E_INVALID,
                       "must be an object like {75: later, 64-74: never}, not %s",
                       quote_json(&quote, value));
    p->n_exits = 0;
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &name, &word);) {
        struct retry_exit_rule rule;

        if (read_rule(r, f, name, word, &rule) != E_OK) {
            if (!object_goes_on(r))
                return r->err->code;
        } else if (insert_rule(p, rule, r->err) != E_OK) {
            return r->err->code;
        }
    }
    r->fault_at = NULL;
    return E_OK;
}

void queue_exits_write(const void *from, const struct field *f, struct buf *out)
{
    const struct retry_policy *p = &((const struct queue_def *)from)->retry;

    (void)f;
    buf_add_char(out, '{');
    for (size_t i = 0; i < p->n_exits; i++) {
        const struct retry_exit_rule *rule = &p->exits[i];

        jtext_add_comma(out);
        if (rule->first == rule->last)
            buf_addf(out, "\"%d\":\"%s\"", rule->first, words[rule->then]);
        else
            buf_addf(out, "\"%d-%d\":\"%s\"", rule->first, rule->last, words[rule->then]);
    }
    buf_add_char(out, '}');
}
