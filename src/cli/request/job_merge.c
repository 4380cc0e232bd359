/* SPDX-License-Identifier: MIT */
#include "cli/request/job_merge.h"

#include "base/jtext/jtext.h"
#include "cli/request/job_text.h"
#include "server/limits.h"

static void add_member(struct buf *out, struct slice key, struct slice value)
{
    jtext_add_comma(out);
    buf_add_slice(out, key);
    buf_add_char(out, ':');
    buf_add_slice(out, value);
}

/* `key` as the iterator gave it. */
static bool find_like(struct slice object, struct slice key, struct slice *ret_value)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    return jtext_find(object, arena_strdup(&arena, jtext_text(key, &arena)), ret_value);
}

static void merge(struct slice under, struct slice over, unsigned depth, struct buf *out);

static void add_laid_over(struct slice key, struct slice under, struct slice over, unsigned depth,
                          struct buf *out)
{
    if (depth > 0 || (!jtext_key_is(key, "params") && !jtext_key_is(key, "labels")) ||
        jtext_type_of(under) != JTEXT_OBJECT || jtext_type_of(over) != JTEXT_OBJECT) {
        add_member(out, key, over);
        return;
    }
    jtext_add_comma(out);
    buf_add_slice(out, key);
    buf_add_char(out, ':');
    merge(under, over, depth + 1, out);
}

/* Merges one object into another; params and labels of the top level are merged as well. */
static void merge(struct slice under, struct slice over, unsigned depth, struct buf *out)
{
    struct slice key;
    struct slice value;
    struct slice other;

    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(under); jtext_next_member(&it, &key, &value);) {
        if (find_like(over, key, &other))
            add_laid_over(key, value, other, depth, out);
        else
            add_member(out, key, value);
    }
    for (struct jtext_iter it = jtext_members(over); jtext_next_member(&it, &key, &value);)
        if (!find_like(under, key, &other))
            add_member(out, key, value);
    buf_add_char(out, '}');
}

enum err_code job_merge(const char *given, struct slice line, struct buf *out, bool *ret_many,
                        struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(BODY_ARRAY_MAX);
    struct slice value;

    if (read_given("job", given, &text, err) != E_OK)
        return err->code;
    if (jtext_check(buf_slice(&text), &value, err) != E_OK) {
        err->code = E_INVALID;
        return err_wrap(err, "--job %s", given[0] == '@' ? given + 1 : "");
    }
    enum jtext_type type = jtext_type_of(value);

    if (type != JTEXT_OBJECT && type != JTEXT_ARRAY)
        return err_set(err, E_INVALID, "--job needs a job or an array of jobs, not %s",
                       jtext_type_name(type));
    if (type == JTEXT_ARRAY && jtext_count_members(line) > 0)
        return err_set(err, E_INVALID,
                       "--job: with an array, give no queue and no options that describe "
                       "a job");
    if (type == JTEXT_ARRAY)
        buf_add_slice(out, value);
    else
        merge(value, line, 0, out);
    *ret_many = type == JTEXT_ARRAY;
    return out->overflowed
               ? err_set(err, E_TOO_LARGE, "the jobs are larger than %zu MiB", out->limit >> 20)
               : E_OK;
}
