/* SPDX-License-Identifier: MIT */
#include "server/parse/submit.h"

#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/object/quote.h"
#include "core/submit/routing.h"
#include "server/limits.h"

/* ---- the key of the request ---- */

static enum err_code set_key(struct submit_item *item, struct slice key, struct err *err)
{
    if (key.size == 0 || key.size > KEY_BYTES_MAX || !utf8_valid(key))
        return err_set(err, E_INVALID, "Idempotency-Key: must be 1 to %d bytes of UTF-8",
                       KEY_BYTES_MAX);
    if (item->key.size > 0 && !slice_equal(item->key, key))
        return err_set(err, E_INVALID,
                       "the job has a 'key' of its own, which is not the Idempotency-Key");
    item->key = key;
    return E_OK;
}

/* KEY/0, KEY/1, … */
static struct slice numbered_key(struct slice key, size_t index, struct arena *arena)
{
    char number[24];
    int n = snprintf(number, sizeof(number), "/%zu", index);
    char *text = arena_alloc(arena, key.size + (size_t)n);

    memcpy(text, key.data, key.size);
    memcpy(text + key.size, number, (size_t)n);
    return slice_make(text, key.size + (size_t)n);
}

/* ---- a request ---- */

static enum err_code parse_one(struct slice object, const struct submit_source *source,
                               struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct submit_item *item = arena_zalloc(arena, sizeof(*item));

    if (parse_job(object, source, arena, item, err) != E_OK)
        return err->code;
    if (source->key.data != NULL && set_key(item, source->key, err) != E_OK)
        return err->code;
    ret_submit->mode = SUBMIT_ONE;
    ret_submit->items = item;
    ret_submit->n_items = 1;
    return E_OK;
}

static enum err_code parse_of_array(struct slice object, size_t index,
                                    const struct submit_source *source, struct arena *arena,
                                    struct submit_item *item, struct err *err)
{
    if (parse_job(object, source, arena, item, err) != E_OK ||
        (source->key.data != NULL &&
         set_key(item, numbered_key(source->key, index, arena), err) != E_OK)) {
        (void)err_wrap(err, "job %zu of the array (from 0)", index);
        err->item = (unsigned)index + 1;
        return err->code;
    }
    return E_OK;
}

static enum err_code parse_array(struct slice array, const struct submit_source *source,
                                 struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct slice object;
    size_t index = 0;
    size_t count = jtext_count_items(array);

    if (count == 0)
        return err_set(err, E_INVALID, "the array is empty: there is no job in it");
    if (count > OP_ITEMS_MAX)
        return err_set(err, E_TOO_LARGE,
                       "%zu jobs in one array, at most %d are allowed: send application/x-ndjson",
                       count, OP_ITEMS_MAX);
    struct submit_item *items = arena_array(arena, count, sizeof(*items));

    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &object); index++)
        if (parse_of_array(object, index, source, arena, &items[index], err) != E_OK)
            return err->code;
    ret_submit->mode = SUBMIT_ARRAY;
    ret_submit->items = items;
    ret_submit->n_items = count;
    return E_OK;
}

enum err_code parse_jobs(struct object_read *r, struct slice value,
                         const struct submit_item **ret_items, size_t *ret_count)
{
    static const struct object_list how = {.what = "jobs",
                                           .size = sizeof(struct submit_item),
                                           .max = OP_EMIT_MAX,
                                           .beyond = E_TOO_LARGE,
                                           .numbered = true,
                                           .read = job_read};

    return object_read_list(r, &how, value, ret_items, ret_count);
}

enum err_code parse_submit(struct slice text, const struct submit_source *source,
                           struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct routing_sum sum = {.steps = 0};
    struct submit_source own = *source;
    struct slice value;
    struct quote quote;

    own.sum = &sum;
    if (jtext_check(text, &value, err) != E_OK)
        return err->code;
    switch (jtext_type_of(value)) {
    case JTEXT_OBJECT: return parse_one(value, &own, arena, ret_submit, err);
    case JTEXT_ARRAY: return parse_array(value, &own, arena, ret_submit, err);
    case JTEXT_NULL:
    case JTEXT_FALSE:
    case JTEXT_TRUE:
    case JTEXT_INT:
    case JTEXT_REAL:
    case JTEXT_STRING: break;
    }
    return err_set(err, E_INVALID, "the body must be a job (an object) or an array of jobs, not %s",
                   quote_json(&quote, value));
}

/* Lines are committed in chunks: nothing ties those of a request together. */
static enum err_code check_line(const struct submit_item *item, struct err *err)
{
    if (item->ref.size > 0)
        return err_set(err, E_INVALID, "ref: is for the jobs of one array, not for NDJSON");
    for (size_t i = 0; i < item->n_after; i++)
        if (item->after[i].ref.size > 0)
            return err_set(err, E_INVALID,
                           "after[%zu]: is no id; a ref is for the jobs of one array, not for "
                           "NDJSON",
                           i);
    return E_OK;
}

void parse_submit_line(struct slice line, const struct submit_source *source, struct arena *arena,
                       struct submit_item *item)
{
    struct err err = ERR_INIT;
    struct slice value;

    if (jtext_check(line, &value, &err) == E_OK &&
        parse_job(value, source, arena, item, &err) == E_OK && check_line(item, &err) == E_OK)
        return;
    struct err *kept = arena_alloc(arena, sizeof(*kept));

    *kept = err;
    item->parse_err = kept;
}
