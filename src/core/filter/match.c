/* SPDX-License-Identifier: MIT */
#include "core/filter/match.h"

#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/filter/regex.h"
#include "core/object/object.h"
#include "core/object/quote.h"

/* ---- globs ---- */

static size_t char_size(struct slice text, size_t at)
{
    size_t size = utf8_step(text.data + at, slice_end(text));

    return size == 0 ? 1 : size;
}

/* Goes back to the last star only: what an earlier one could take, the last can take, too. */
bool glob_matches(struct slice glob, struct slice text)
{
    size_t g = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* behind the last star */
    size_t star_t = 0;      /* what it has taken ends here */

    for (;;) {
        if (g < glob.size && glob.data[g] == '*') {
            star = ++g;
            star_t = t;
            continue;
        }
        if (t == text.size && g == glob.size)
            return true;
        bool escaped = g + 1 < glob.size && glob.data[g] == '\\';
        size_t literal = g + escaped;

        if (t < text.size && literal < glob.size &&
            ((!escaped && glob.data[g] == '?') || glob.data[literal] == text.data[t])) {
            t += !escaped && glob.data[g] == '?' ? char_size(text, t) : 1;
            g = literal + 1;
            continue;
        }
        if (star == SIZE_MAX || star_t >= text.size)
            return false;
        g = star;
        t = star_t += char_size(text, star_t);
    }
}

/* ---- reading ---- */

static const char *const op_names[] = {
    [MATCH_EQ] = "eq",   [MATCH_NE] = "ne",     [MATCH_IN] = "in",       [MATCH_MIN] = "min",
    [MATCH_MAX] = "max", [MATCH_GLOB] = "glob", [MATCH_REGEX] = "regex", [MATCH_EXISTS] = "exists",
};

struct ops_read {
    struct match_test tests[MATCH_OPS];
    bool given[MATCH_OPS];
};

static bool is_number(enum jtext_type type)
{
    return type == JTEXT_INT || type == JTEXT_REAL;
}

static enum err_code check_text(struct object_read *r, struct slice value, struct slice *ret_text)
{
    struct slice text = jtext_text(value, r->arena);

    if (text.size > MATCH_TEXT_MAX)
        return err_set(r->err, E_INVALID, "must have at most %d bytes, not %zu", MATCH_TEXT_MAX,
                       text.size);
    *ret_text = arena_copy(r->arena, text);
    return E_OK;
}

static enum err_code read_scalar(struct object_read *r, struct slice value, struct slice *ret_text)
{
    enum jtext_type type = jtext_type_of(value);

    if (type == JTEXT_OBJECT || type == JTEXT_ARRAY)
        return object_must_be(r, "a text, a number, true, false or null", value);
    return type == JTEXT_STRING ? check_text(r, value, ret_text) : E_OK;
}

static enum err_code read_in_item(struct object_read *r, void *to, struct slice value)
{
    return read_scalar(r, value, to);
}

static enum err_code read_in(struct object_read *r, struct slice value)
{
    static const struct object_list how = {
        .what = "values", .size = sizeof(struct slice), .max = MATCH_IN_MAX, .read = read_in_item};
    struct slice *items;
    size_t n;

    if (object_read_list(r, &how, value, &items, &n) != E_OK)
        return r->err->code;
    return n > 0 ? E_OK : err_set(r->err, E_INVALID, "must not be empty: no job would be kept");
}

static enum err_code read_bound(struct object_read *r, struct slice value, struct slice *ret_text)
{
    if (jtext_type_of(value) == JTEXT_STRING)
        return check_text(r, value, ret_text);
    return is_number(jtext_type_of(value)) ? E_OK : object_must_be(r, "a number or a text", value);
}

static enum err_code read_pattern(struct object_read *r, struct slice value,
                                  struct match_test *test)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "text", value);
    if (check_text(r, value, &test->text) != E_OK)
        return r->err->code;
    return test->op == MATCH_GLOB ? E_OK : regex_parse(test->text, r->arena, &test->regex, r->err);
}

static enum err_code read_op(struct object_read *r, const struct field *f, struct slice value);

static const struct field op_fields[] = {
    [MATCH_EQ] = FIELD_CUSTOM("eq", read_op, .schema = "{}", .help = "It is this value."),
    [MATCH_NE] = FIELD_CUSTOM("ne", read_op, .schema = "{}",
                              .help = "It is another value, or missing."),
    [MATCH_IN] = FIELD_CUSTOM("in", read_op, .schema = "{'type':'array'}",
                              .help = "It is one of these values."),
    [MATCH_MIN] = FIELD_CUSTOM("min", read_op, .schema = "{'type':['number','string']}",
                               .help = "It is this or more."),
    [MATCH_MAX] = FIELD_CUSTOM("max", read_op, .schema = "{'type':['number','string']}",
                               .help = "It is this or less."),
    [MATCH_GLOB] = FIELD_CUSTOM("glob", read_op, .schema = "Text",
                                .help = "It is a text that matches the pattern with `*` and `?`."),
    [MATCH_REGEX] = FIELD_CUSTOM(
        "regex", read_op, .schema = "Text",
        .help = "It is a text in which the POSIX extended regular expression is found."),
    [MATCH_EXISTS] = FIELD_CUSTOM("exists", read_op, .schema = "{'type':'boolean'}",
                                  .help = "It is there, or is not."),
};

static enum err_code read_value(struct object_read *r, struct slice value, struct match_test *test)
{
    enum jtext_type type = jtext_type_of(value);

    switch (test->op) {
    case MATCH_EQ:
    case MATCH_NE: return read_scalar(r, value, &test->text);
    case MATCH_IN: return read_in(r, value);
    case MATCH_MIN:
    case MATCH_MAX: return read_bound(r, value, &test->text);
    case MATCH_GLOB:
    case MATCH_REGEX: return read_pattern(r, value, test);
    case MATCH_EXISTS:
        return type == JTEXT_TRUE || type == JTEXT_FALSE
                   ? E_OK
                   : object_must_be(r, "true or false", value);
    case MATCH_OPS: break;
    }
    return E_INVALID;
}

static enum err_code read_op(struct object_read *r, const struct field *f, struct slice value)
{
    struct ops_read *ops = r->to;
    enum match_op op = (enum match_op)(f - op_fields);
    struct match_test *test = &ops->tests[op];

    test->op = op;
    if (read_value(r, value, test) != E_OK)
        return r->err->code;
    test->value = jtext_compact(value, r->arena);
    ops->given[op] = true;
    return E_OK;
}

static enum err_code check_ops(struct object_read *r, struct slice value)
{
    const struct ops_read *ops = r->to;

    (void)value;
    for (size_t i = 0; i < MATCH_OPS; i++)
        if (ops->given[i])
            return E_OK;
    return err_set(r->err, E_INVALID, "must say what to test, like {max: 5}");
}

static const struct object ops_object = {.what = "a condition",
                                         OBJECT_FIELDS(op_fields),
                                         .check = check_ops,
                                         .hint = "{max: 5}",
                                         .alone = "eq"};

static int by_name(const void *a, const void *b)
{
    const struct match_test *x = a;
    const struct match_test *y = b;
    int order = memcmp(x->name.data, y->name.data,
                       x->name.size < y->name.size ? x->name.size : y->name.size);

    if (order == 0)
        order = (x->name.size > y->name.size) - (x->name.size < y->name.size);
    return order != 0 ? order : (x->op > y->op) - (x->op < y->op);
}

static enum err_code read_name(struct object_read *r, struct slice key, struct slice value,
                               struct match *m)
{
    struct slice name = arena_copy(r->arena, jtext_text(key, r->arena));
    struct ops_read ops = {.given = {false}};

    r->key = NULL;
    r->fault_at = key.data;
    if (name.size == 0 || name.size > MATCH_NAME_MAX)
        return err_set(r->err, E_INVALID, "the name of a param has 1 to %d bytes", MATCH_NAME_MAX);
    r->key = name.data;
    r->fault_at = NULL;
    if (object_read_in(r, &ops_object, value, &ops) != E_OK)
        return r->err->code;
    for (size_t i = 0; i < MATCH_OPS; i++) {
        if (!ops.given[i])
            continue;
        if (m->count == MATCH_TESTS_MAX) {
            r->key = NULL;
            return err_set(r->err, E_INVALID, "must have at most %d conditions", MATCH_TESTS_MAX);
        }
        m->tests[m->count] = ops.tests[i];
        m->tests[m->count++].name = name;
    }
    return E_OK;
}

static enum err_code read_names(struct object_read *r, struct slice value, struct match *m)
{
    struct slice key;
    struct slice member;

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &member);)
        if (read_name(r, key, member, m) != E_OK) {
            if (r->fault_at == NULL)
                r->fault_at = member.data;
            return object_blame(r);
        }
    return E_OK;
}

enum err_code match_read(struct object_read *r, struct slice value, struct match *ret_match)
{
    const struct object_place place = {.outer = r->place, .name = r->key};
    struct match m = {.count = 0};

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object like {depth: {max: 5}}", value);
    if (jtext_count_members(value) == 0)
        return err_set(r->err, E_INVALID, "must have a condition like {depth: {max: 5}}");
    m.tests = arena_array(r->arena, MATCH_TESTS_MAX, sizeof(*m.tests));
    r->place = &place;
    enum err_code code = read_names(r, value, &m);

    r->place = place.outer;
    r->key = place.name;
    if (code != E_OK)
        return code;
    qsort(m.tests, m.count, sizeof(*m.tests), by_name);
    *ret_match = m;
    return E_OK;
}

void match_json(const struct match *m, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < m->count; i++) {
        const struct match_test *t = &m->tests[i];

        if (i == 0 || !slice_equal(t->name, m->tests[i - 1].name)) {
            buf_add_str(out, i == 0 ? "" : "},");
            jtext_add_string(out, t->name);
            buf_add_str(out, ":{");
        }
        jtext_put_raw(out, op_names[t->op], t->value);
    }
    buf_add_str(out, m->count == 0 ? "}" : "}}");
}

/* ---- judging ---- */

static bool find(struct slice params, struct slice name, struct slice *ret_value)
{
    char text[MATCH_NAME_MAX + 1];

    memcpy(text, name.data, name.size);
    text[name.size] = '\0';
    return jtext_find(params, text, ret_value);
}

static int compare_numbers(struct slice a, struct slice b)
{
    if (jtext_type_of(a) == JTEXT_INT && jtext_type_of(b) == JTEXT_INT)
        return (jtext_int(a) > jtext_int(b)) - (jtext_int(a) < jtext_int(b));
    return (jtext_number(a) > jtext_number(b)) - (jtext_number(a) < jtext_number(b));
}

static int compare_texts(struct slice a, struct slice b)
{
    size_t both = a.size < b.size ? a.size : b.size;
    int order = both == 0 ? 0 : memcmp(a.data, b.data, both);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static bool equal(struct slice a, struct slice b, struct arena *arena)
{
    enum jtext_type type = jtext_type_of(a);

    if (is_number(type) && is_number(jtext_type_of(b)))
        return compare_numbers(a, b) == 0;
    if (type != jtext_type_of(b) || type == JTEXT_OBJECT || type == JTEXT_ARRAY)
        return false;
    return type != JTEXT_STRING || slice_equal(jtext_text(a, arena), jtext_text(b, arena));
}

static bool is_in(struct slice value, struct slice list, struct arena *arena)
{
    struct slice item;

    for (struct jtext_iter it = jtext_items(list); jtext_next_item(&it, &item);)
        if (equal(value, item, arena))
            return true;
    return false;
}

/* False when they cannot be compared. */
static bool order_of(struct slice value, const struct match_test *t, struct arena *arena,
                     int *ret_order)
{
    enum jtext_type type = jtext_type_of(value);

    if (is_number(type) && is_number(jtext_type_of(t->value))) {
        *ret_order = compare_numbers(value, t->value);
        return true;
    }
    if (type != JTEXT_STRING || jtext_type_of(t->value) != JTEXT_STRING)
        return false;
    *ret_order = compare_texts(jtext_text(value, arena), t->text);
    return true;
}

static bool holds(const struct match_test *t, struct slice value, struct arena *arena)
{
    bool is_text = jtext_type_of(value) == JTEXT_STRING;
    struct slice text = is_text ? jtext_text(value, arena) : slice_make(NULL, 0);
    int order;

    switch (t->op) {
    case MATCH_EQ: return equal(value, t->value, arena);
    case MATCH_NE: return !equal(value, t->value, arena);
    case MATCH_IN: return is_in(value, t->value, arena);
    case MATCH_MIN: return order_of(value, t, arena, &order) && order >= 0;
    case MATCH_MAX: return order_of(value, t, arena, &order) && order <= 0;
    case MATCH_GLOB: return is_text && glob_matches(t->text, text);
    case MATCH_REGEX:
        return is_text && text.size <= REGEX_SUBJECT_MAX && regex_matches(t->regex, text);
    case MATCH_EXISTS: return jtext_type_of(t->value) == JTEXT_TRUE;
    case MATCH_OPS: break;
    }
    return false;
}

const struct match_test *match_fails(const struct match *m, struct slice params)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < m->count; i++) {
        const struct match_test *t = &m->tests[i];
        struct slice value;
        bool missing_ok = t->op == MATCH_NE ||
                          (t->op == MATCH_EXISTS && jtext_type_of(t->value) == JTEXT_FALSE);

        if (find(params, t->name, &value) ? !holds(t, value, &arena) : !missing_ok)
            return t;
    }
    return NULL;
}

/* ---- telling ---- */

static void add_list(struct slice list, struct buf *out)
{
    struct slice item;
    struct quote quote;
    int n = 0;

    for (struct jtext_iter it = jtext_items(list); jtext_next_item(&it, &item); n++) {
        if (n == 5) {
            buf_add_str(out, ", …");
            return;
        }
        buf_addf(out, "%s%s", n == 0 ? "" : ", ", quote_json(&quote, item));
    }
}

void match_reason(const struct match_test *t, struct slice params, struct buf *out)
{
    struct quote quote;
    struct quote wanted;
    struct slice value;

    buf_add_slice(out, t->name);
    if (!find(params, t->name, &value)) {
        buf_add_str(out, " is missing");
        return;
    }
    buf_addf(out, " is %s", quote_json(&quote, value));
    quote_json(&wanted, t->value);
    switch (t->op) {
    case MATCH_EQ: buf_addf(out, ", not %s", wanted.text); break;
    case MATCH_IN:
        buf_add_str(out, ", which is none of ");
        add_list(t->value, out);
        break;
    case MATCH_MIN: buf_addf(out, ", which is not %s or more", wanted.text); break;
    case MATCH_MAX: buf_addf(out, ", which is not %s or less", wanted.text); break;
    case MATCH_GLOB: buf_addf(out, ", which does not match the glob %s", wanted.text); break;
    case MATCH_REGEX: buf_addf(out, ", which does not match the regex %s", wanted.text); break;
    case MATCH_NE:
    case MATCH_EXISTS: buf_add_str(out, ", which is excluded"); break;
    case MATCH_OPS: break;
    }
}
