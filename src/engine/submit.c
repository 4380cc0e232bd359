/*
 * Submit: new jobs, one, an array as a whole, or line by line.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/submit.h"

#include "base/json.h"
#include "engine/engine_internal.h"
#include "engine/job_json.h"
#include "store/store_record.h"

enum err_code submit_judge_key(struct engine *e, const struct submit_item *item, struct plan *p,
                               struct err *err)
{
    uint64_t content = 0;

    if (store_key_find(e->store, item->key, &p->id, &content, err) != E_OK)
        return err->code;
    p->known = p->id != 0;
    if (p->known && content != item->content) {
        char text[ID_TEXT_SIZE];

        err_set(&p->refused, E_CONFLICT,
                "the key '%.*s' belongs to job %s, which has other content",
                (int)(item->key.size > 60 ? 60 : item->key.size), item->key.data,
                id_format(p->id, text));
    }
    return E_OK;
}

enum err_code submit_judge(struct engine *e, const struct submit_item *item, enum submit_keys keys,
                           struct plan *p, struct err *err)
{
    *p = (struct plan){.refused = item->parse_err};
    if (p->refused.code != E_OK)
        return E_OK;
    p->queue = queue_find(e, item->queue);
    if (p->queue == NULL) {
        queue_unknown(e, item->queue, E_INVALID, &p->refused);
        return E_OK;
    }
    if (keys == SUBMIT_KEYS_NOW && item->key.size > 0 && submit_judge_key(e, item, p, err) != E_OK)
        return err->code;
    if (!p->known && p->refused.code == E_OK)
        (void)queue_takes(p->queue, item->params, item->options, &p->refused);
    return E_OK;
}

struct job submit_make_job(struct engine *e, const struct submit_item *item, const struct plan *p)
{
    int64_t due_at = item->delay_us > 0 ? e->now.wall_at + item->delay_us : item->due_at;
    bool later = due_at > e->now.wall_at;

    return (struct job){
        .id = {p->id},
        .queue = p->queue->id,
        .state = later ? JOB_SCHEDULED : JOB_READY,
        .priority = item->priority,
        .due_at = later ? due_at : 0,
        .key = item->key,
        .params = item->params,
        .body = item->body,
        .labels = item->labels,
        .options = item->options,
    };
}

enum err_code submit_create(struct engine *e, const struct submit_item *item, struct plan *p,
                            struct err *err)
{
    p->id = engine_new_id(e);
    struct job j = submit_make_job(e, item, p);

    if (engine_write(e, err) != E_OK)
        return err->code;
    VEC_PUSH(&e->new_jobs, j);
    if (item->key.size > 0 && store_key_add(e->store, item->key, p->id, item->content, err) != E_OK)
        return err->code;
    note_move(e, &j, JOB_NONE, NULL, "submitted");
    e->tally.submitted++;
    return E_OK;
}

size_t submit_first_refused(const struct submit_item *items, size_t n, struct plan *plans,
                            struct err *ret_refused)
{
    CLEANUP(names) struct names keys = NAMES_INIT;

    for (size_t i = 0; i < n; i++) {
        const struct submit_item *item = &items[i];

        if (plans[i].refused.code == E_OK && item->key.size > 0) {
            const struct submit_item *other = names_find(&keys, item->key);

            if (other == NULL)
                names_add(&keys, item->key, (void *)(uintptr_t)item);
            else if (other->content != item->content)
                err_set(&plans[i].refused, E_CONFLICT,
                        "the key '%.*s' stands twice in this request, with different content",
                        (int)(item->key.size > 60 ? 60 : item->key.size), item->key.data);
        }
        if (plans[i].refused.code != E_OK) {
            *ret_refused = plans[i].refused;
            return i;
        }
    }
    return n;
}

static void add_line(struct buf *b, size_t line, const struct plan *p)
{
    buf_add_char(b, '{');
    if (p->refused.code == E_OK) {
        json_add_id(b, "id", p->id);
    } else {
        json_put_int(b, "line", (int64_t)line);
        json_add_key(b, "error");
        json_add_error(b, &p->refused);
    }
    buf_add_str(b, "}\n");
}

void submit_add_id(struct buf *b, int64_t id)
{
    char text[ID_TEXT_SIZE];

    json_add_comma(b);
    buf_add_char(b, '"');
    buf_add_str(b, id_format(id, text));
    buf_add_char(b, '"');
}

static void add_reply(struct op *op, const struct plan *plans)
{
    const struct submit *s = &op->submit;
    struct buf *b = &op->reply;
    bool all_known = true;

    for (size_t i = 0; i < s->n_items; i++)
        all_known = all_known && plans[i].known;
    op->status = all_known ? 200 : 201;
    if (s->mode == SUBMIT_ONE) {
        buf_add_char(b, '{');
        json_add_id(b, "id", plans[0].id);
        buf_add_char(b, '}');
        return;
    }
    buf_add_str(b, "{\"ids\":[");
    for (size_t i = 0; i < s->n_items; i++)
        submit_add_id(b, plans[i].id);
    buf_add_str(b, "]}");
}

static enum err_code run_lines(struct engine *e, struct op *op, struct plan *plans, struct err *err)
{
    const struct submit *s = &op->submit;

    for (size_t i = 0; i < s->n_items; i++) {
        struct plan *p = &plans[i];

        if (submit_judge(e, &s->items[i], SUBMIT_KEYS_NOW, p, err) != E_OK)
            return err->code;
        if (p->refused.code == E_OK && !p->known && submit_create(e, &s->items[i], p, err) != E_OK)
            return err->code;
        add_line(&op->reply, s->first_line + i, p);
    }
    return E_OK;
}

enum err_code submit_create_all(struct engine *e, const struct submit_item *items, size_t n,
                                struct plan *plans, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct plan *p = &plans[i];

        /* The key may have come up earlier in this very array. */
        if (!p->known && items[i].key.size > 0 && submit_judge_key(e, &items[i], p, err) != E_OK)
            return err->code;
        if (!p->known && submit_create(e, &items[i], p, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code run_whole(struct engine *e, struct op *op, struct plan *plans, struct err *err)
{
    struct submit *s = &op->submit;

    for (size_t i = 0; i < s->n_items; i++)
        if (submit_judge(e, &s->items[i], SUBMIT_KEYS_NOW, &plans[i], err) != E_OK)
            return err->code;
    size_t bad = submit_first_refused(s->items, s->n_items, plans, &op->err);

    if (bad < s->n_items) {
        op->err.item = s->mode == SUBMIT_ARRAY ? (unsigned)bad + 1 : 0;
        return E_OK;
    }
    if (submit_create_all(e, s->items, s->n_items, plans, err) != E_OK)
        return err->code;
    s->first_id = s->n_items > 0 ? plans[0].id : 0;
    add_reply(op, plans);
    return E_OK;
}

enum err_code submit_flush(struct engine *e, struct err *err)
{
    if (store_jobs_insert(e->store, e->new_jobs.items, e->new_jobs.count, err) != E_OK)
        return err->code;
    e->new_jobs.count = 0;
    return E_OK;
}

enum err_code submit_run(struct engine *e, struct op *op, struct err *err)
{
    struct plan *plans = arena_array(&e->arena, op->submit.n_items, sizeof(struct plan));

    ASSERT(op->submit.n_items <= OP_ITEMS_MAX);
    return op->submit.mode == SUBMIT_LINES ? run_lines(e, op, plans, err)
                                           : run_whole(e, op, plans, err);
}
