/* SPDX-License-Identifier: MIT */
#include "core/filter/filter_def.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/queue/def.h"

#define LONGEST_US (10000 * US_PER_DAY)
#define COMMAND_TIMEOUT_US (5 * US_PER_S)

static const char *const kind_names[] = {[FILTER_UNIQUE] = "unique",
                                         [FILTER_LIMIT] = "limit",
                                         [FILTER_MATCH] = "match",
                                         [FILTER_COMMAND] = "command"};

static const char *const counts_words[] = {[COUNTS_ALL] = "all", [COUNTS_LIVING] = "living"};

static const char *const clash_words[] = {[CLASH_DROP] = "drop",
                                          [CLASH_REJECT] = "reject",
                                          [CLASH_JOIN] = "join",
                                          [CLASH_REPLACE] = "replace",
                                          [CLASH_REUSE] = "reuse"};

const char *filter_kind_name(enum filter_kind kind)
{
    return kind_names[kind];
}

/* ---- scopes ---- */

static const struct {
    const char *word;
    enum filter_scope scope;
} scopes[] = {{"group", SCOPE_GROUP}, {"queue", SCOPE_QUEUE}, {"all", SCOPE_ALL}};

static enum err_code read_group_kind(struct object_read *r, struct slice value,
                                     struct filter_where *w)
{
    struct slice kind;

    if (jtext_count_members(value) != 1 || !jtext_find(value, "group", &kind) ||
        jtext_type_of(kind) != JTEXT_STRING)
        return err_set(r->err, E_INVALID,
                       "must be group, queue, all or {group: KIND}, not another object");
    w->scope = SCOPE_GROUP_KIND;
    w->group_kind = arena_copy(r->arena, jtext_text(kind, r->arena));
    return dest_name_check("group kind", w->group_kind, r->err);
}

/* The place of the scope is the field's. */
static enum err_code read_scope(struct object_read *r, const struct field *f, struct slice value)
{
    struct filter_where *w = (struct filter_where *)(void *)((char *)r->to + f->offset);

    if (jtext_type_of(value) == JTEXT_OBJECT)
        return read_group_kind(r, value, w);
    for (size_t i = 0; i < ARRAY_LEN(scopes) && jtext_type_of(value) == JTEXT_STRING; i++)
        if (slice_is(jtext_text(value, r->arena), scopes[i].word)) {
            *w = (struct filter_where){.scope = scopes[i].scope};
            return E_OK;
        }
    return object_must_be(r, "group, queue, all or {group: KIND}", value);
}

static void put_scope(const struct filter_where *w, enum filter_scope standard, struct buf *out)
{
    if (w->scope == standard)
        return;
    if (w->scope == SCOPE_GROUP_KIND) {
        jtext_add_key(out, "scope");
        buf_add_char(out, '{');
        jtext_put_string(out, "group", w->group_kind);
        buf_add_char(out, '}');
    }
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
        if (scopes[i].scope == w->scope)
            jtext_put_string(out, "scope", slice_of(scopes[i].word));
}

/* ---- unique ---- */

static enum err_code check_key(struct object_read *r, const struct field *f, struct slice value)
{
    struct filter_unique *u = r->to;

    (void)f;
    (void)value;
    return template_text_parse(u->key_text, r->arena, &u->key, r->err);
}

static const struct field unique_fields[] = {
    FIELD_TEXT("key", filter_unique, key_text, .required = true, .min = 1,
               .max = UNIQUE_TEMPLATE_MAX, .check = check_key,
               .help = "jobs with the same key clash; params fill the names in braces"),
    FIELD_CUSTOM("scope", read_scope, FIELD_OFFSET(struct filter_where, filter_unique, where),
                 .form = "`group`, `queue`, `all` or `{group: KIND}`", .schema = "{}",
                 .absent = "group",
                 .help = "Where a key is known: the innermost group, the nearest group of a kind, "
                         "the queue, or everywhere."),
    FIELD_LENGTH("for", filter_unique, for_us, .min = US_PER_MS, .max = LONGEST_US,
                 .absent = "for ever", .help = "How long a key is known."),
    FIELD_WORD("counts", filter_unique, counts, .words = counts_words, .min = COUNTS_ALL,
               .max = COUNTS_LIVING, .absent = "all",
               .help = "Which jobs clash: `all`, or only those `living`."),
    FIELD_WORD("on_clash", filter_unique, on_clash, .words = clash_words, .min = CLASH_DROP,
               .max = CLASH_REUSE, .absent = "drop",
               .help = "`drop` the new job, `reject` the request, `join` the other job, `replace` "
                       "the params and due time of a waiting one, `reuse` the result of a done "
                       "one."),
    FIELD_LENGTH("max", filter_unique, max_us, .min = US_PER_MS, .max = LONGEST_US,
                 .absent = "no limit", .help = "How long `replace` may put a job off."),
};

static enum err_code check_unique(struct object_read *r, struct slice value)
{
    const struct filter_unique *u = r->to;

    (void)value;
    if (u->max_us > 0 && u->on_clash != CLASH_REPLACE) {
        r->key = "max";
        return err_set(r->err, E_INVALID, "is for on_clash: replace, not for %s",
                       clash_words[u->on_clash]);
    }
    if (u->on_clash == CLASH_REUSE && u->counts == COUNTS_LIVING) {
        r->key = "counts";
        return err_set(r->err, E_INVALID,
                       "must be all with on_clash: reuse, which takes the result of a job that is "
                       "done");
    }
    if (u->for_us > 0 && u->counts == COUNTS_LIVING) {
        r->key = "for";
        return err_set(r->err, E_INVALID,
                       "is for counts: all; living jobs clash as long as they live");
    }
    return E_OK;
}

static const struct object unique_object = {.what = "unique",
                                            .schema = "UniqueFilter",
                                            OBJECT_FIELDS(unique_fields),
                                            .needs = true,
                                            .check = check_unique,
                                            .hint = "{key: \"{url}\"}"};

static void put_length(struct buf *out, const char *key, int64_t us)
{
    char text[DURATION_TEXT_SIZE];

    if (us > 0)
        jtext_put_string(out, key, slice_of(duration_format(us, text)));
}

static void put_word(struct buf *out, const char *key, const char *const *words, unsigned word)
{
    if (word != 0)
        jtext_put_string(out, key, slice_of(words[word]));
}

static void unique_json(const struct filter_unique *u, struct buf *out)
{
    buf_add_char(out, '{');
    jtext_put_string(out, "key", u->key_text);
    put_scope(&u->where, SCOPE_GROUP, out);
    put_length(out, "for", u->for_us);
    put_word(out, "counts", counts_words, u->counts);
    put_word(out, "on_clash", clash_words, u->on_clash);
    put_length(out, "max", u->max_us);
    buf_add_char(out, '}');
}

enum err_code unique_key(const struct filter_unique *u, const struct template_values *values,
                         struct arena *arena, struct slice *ret_key, struct err *err)
{
    CLEANUP(buf) struct buf key = BUF_INIT(UNIQUE_KEY_MAX);

    if (template_text_fill(&u->key, values, &key, err) != E_OK)
        return err_wrap(err, "unique.key");
    if (key.overflowed)
        return err_set(err, E_INVALID, "unique.key: a key has at most %d bytes", UNIQUE_KEY_MAX);
    *ret_key = arena_copy(arena, buf_slice(&key));
    return E_OK;
}

/* ---- limit ---- */

static const struct field limit_fields[] = {
    FIELD_INT64("pending", filter_limit, pending, .required = true, .min = 1, .max = 1000000000,
                .help = "maximum jobs that wait"),
    FIELD_CUSTOM("scope", read_scope, FIELD_OFFSET(struct filter_where, filter_limit, where),
                 .form = "`queue`, `group`, `all` or `{group: KIND}`", .schema = "{}",
                 .absent = "queue", .help = "Which jobs are counted."),
    FIELD_WORD("on_clash", filter_limit, on_clash, .words = clash_words, .min = CLASH_DROP,
               .max = CLASH_REJECT, .absent = "drop",
               .help = "`drop` the new job, or `reject` the request."),
};

static const struct object limit_object = {.what = "limit",
                                           .schema = "LimitFilter",
                                           OBJECT_FIELDS(limit_fields),
                                           .needs = true,
                                           .hint = "{pending: 100000}",
                                           .alone = "pending"};

static void limit_json(const struct filter_limit *l, struct buf *out)
{
    buf_add_char(out, '{');
    jtext_put_int(out, "pending", l->pending);
    put_scope(&l->where, SCOPE_QUEUE, out);
    put_word(out, "on_clash", clash_words, l->on_clash);
    buf_add_char(out, '}');
}

/* ---- one filter ---- */

struct filter_read {
    struct filter filter;
    int kinds; /* members that are a filter */
    int64_t timeout_us;
};

/* A resident program is started before there is a job. */
static enum err_code read_command(struct object_read *r, struct slice value,
                                  struct filter_command *c)
{
    struct template_command *t = arena_zalloc(r->arena, sizeof(*t));

    if (queue_def_value(r, "command", value, &c->command) != E_OK ||
        template_command_parse(value, r->arena, t, NULL, r->err) != E_OK)
        return r->err->code;
    struct slice name = template_command_name(t, "queue");

    if (name.size > 0)
        return err_set(r->err, E_INVALID,
                       "{%.*s} cannot be filled in: the filter is started before it gets a job, "
                       "which comes on its standard input",
                       (int)name.size, name.data);
    c->template = t;
    return E_OK;
}

static enum err_code read_kind(struct object_read *r, const struct field *f, struct slice value);

static const struct field filter_fields[] = {
    [FILTER_UNIQUE] = FIELD_CUSTOM("unique", read_kind, .schema = "UniqueFilter",
                                   .help = "Keeps one job of those with the same key."),
    [FILTER_LIMIT] = FIELD_CUSTOM("limit", read_kind, .schema = "LimitFilter",
                                  .help = "Keeps jobs while fewer than that wait."),
    [FILTER_MATCH] = FIELD_CUSTOM("match", read_kind, .schema = "{'type':'object'}",
                                  .help = "Keeps jobs whose params meet all conditions."),
    [FILTER_COMMAND] = FIELD_CUSTOM(
        "command", read_kind, .schema = "Command",
        .help = "Resident program that gets one job a line and answers `keep`, `keep JSON` or "
                "`drop WHY`."),
    FIELD_LENGTH("timeout", filter_read, timeout_us, .min = US_PER_MS, .max = US_PER_DAY,
                 .absent = "5s", .help = "For a command: time limit of one answer."),
};

static enum err_code read_kind(struct object_read *r, const struct field *f, struct slice value)
{
    struct filter_read *to = r->to;
    struct filter filter = {.kind = (enum filter_kind)(f - filter_fields)};
    enum err_code code = E_OK;

    switch (filter.kind) {
    case FILTER_UNIQUE: code = object_read_in(r, &unique_object, value, &filter.unique); break;
    case FILTER_LIMIT:
        filter.limit.where.scope = SCOPE_QUEUE;
        code = object_read_in(r, &limit_object, value, &filter.limit);
        break;
    case FILTER_MATCH: code = match_read(r, value, &filter.match); break;
    case FILTER_COMMAND: code = read_command(r, value, &filter.command); break;
    case FILTER_KINDS: break;
    }
    to->filter = filter;
    to->kinds++;
    return code;
}

static enum err_code check_filter(struct object_read *r, struct slice value)
{
    struct filter_read *read = r->to;

    (void)value;
    if (read->kinds != 1)
        return err_set(r->err, E_INVALID, "must have one of unique, limit, match and command");
    if (read->filter.kind == FILTER_COMMAND) {
        read->filter.command.timeout_us = read->timeout_us == 0 ? COMMAND_TIMEOUT_US
                                                                : read->timeout_us;
        return E_OK;
    }
    if (read->timeout_us == 0)
        return E_OK;
    r->key = "timeout";
    return err_set(r->err, E_INVALID, "is for a command, not for %s",
                   kind_names[read->filter.kind]);
}

static const struct object filter_object = {.what = "a filter",
                                            .schema = "Filter",
                                            OBJECT_FIELDS(filter_fields),
                                            .check = check_filter,
                                            .hint = "{unique: {key: \"{url}\"}}"};

static enum err_code read_filter(struct object_read *r, void *to, struct slice value)
{
    struct filter_read read = {.kinds = 0};
    void *outer = r->to;

    r->to = &read;
    enum err_code code = object_read(r, &filter_object, value);

    r->to = outer;
    *(struct filter *)to = read.filter;
    return code;
}

enum err_code filters_read(struct object_read *r, struct slice value, struct filters *ret_filters)
{
    static const struct object_list how = {
        .what = "filters", .size = sizeof(struct filter), .max = FILTERS_MAX, .read = read_filter};

    return object_read_list(r, &how, value, &ret_filters->items, &ret_filters->count);
}

/* ---- all of them ---- */

static void filter_json(const struct filter *f, struct buf *out)
{
    buf_add_char(out, '{');
    jtext_add_key(out, kind_names[f->kind]);
    switch (f->kind) {
    case FILTER_UNIQUE: unique_json(&f->unique, out); break;
    case FILTER_LIMIT: limit_json(&f->limit, out); break;
    case FILTER_MATCH: match_json(&f->match, out); break;
    case FILTER_COMMAND:
        buf_add_slice(out, f->command.command);
        if (f->command.timeout_us != COMMAND_TIMEOUT_US)
            put_length(out, "timeout", f->command.timeout_us);
        break;
    case FILTER_KINDS: break;
    }
    buf_add_char(out, '}');
}

void filters_json(const struct filters *filters, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < filters->count; i++) {
        jtext_add_comma(out);
        filter_json(&filters->items[i], out);
    }
    buf_add_char(out, ']');
}

struct slice filter_group_kind(const struct filter *f)
{
    if (f->kind == FILTER_UNIQUE)
        return f->unique.where.group_kind;
    return f->kind == FILTER_LIMIT ? f->limit.where.group_kind : slice_make(NULL, 0);
}

bool filters_run_program(const struct filters *filters)
{
    for (size_t i = 0; i < filters->count; i++)
        if (filters->items[i].kind == FILTER_COMMAND)
            return true;
    return false;
}
