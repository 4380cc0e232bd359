/* SPDX-License-Identifier: MIT */
#include "engine/filters/filters.h"

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/batch/counts.h"
#include "engine/groups/choose.h"
#include "engine/groups/groups.h"
#include "engine/state.h"
#include "store/meta.h"

enum { TEXT_MAX = 400 };

/* ---- names and scopes ---- */

static struct slice params_of(const struct filter_job *j)
{
    return j->params.size == 0 ? SLICE("{}") : j->params;
}

/* Ids and attempts are those of a job; a key that has them in it is never the same twice. */
static enum err_code key_of(struct engine *e, const struct filter_job *j,
                            const struct filter_unique *u, struct slice *ret_key, struct err *err)
{
    char text[ID_TEXT_SIZE];
    struct slice params = params_of(j);
    struct template_values values = {.objects = &params,
                                     .n_objects = 1,
                                     .id = slice_of(id_format(j->id, text)),
                                     .queue = slice_of(j->queue->name),
                                     .attempt = 1,
                                     .now_at = e->now.wall_at};

    if (unique_key(u, &values, &e->batch.arena, ret_key, err) != E_OK)
        return err_wrap(err, "queue '%s'", j->queue->name);
    return E_OK;
}

/* The nearest group of the kind, from the job's own outwards. */
static int64_t group_of_kind(struct engine *e, const struct filter_job *j, struct slice kind)
{
    int64_t id = j->group;

    if (j->opening != NULL && slice_equal(j->opening->group.kind, kind))
        return id;
    if (j->opening != NULL)
        id = j->opening->group.parent;
    while (id > UNIQUE_SCOPE_ROOT) {
        const struct known_group *known = NULL;

        if (groups_find(e, id, &known, &e->batch.filters.fault) != E_OK || known == NULL)
            break;
        if (known->kind == slice_hash(kind))
            return id;
        id = known->parent;
    }
    return UNIQUE_SCOPE_ROOT;
}

static int64_t scope_of(struct engine *e, const struct filter_where *w, const struct filter_job *j)
{
    switch (w->scope) {
    case SCOPE_QUEUE: return unique_scope_queue(j->queue->id);
    case SCOPE_ALL: return UNIQUE_SCOPE_ALL;
    case SCOPE_GROUP: return j->group == 0 ? UNIQUE_SCOPE_ROOT : j->group;
    case SCOPE_GROUP_KIND: return group_of_kind(e, j, w->group_kind);
    }
    return UNIQUE_SCOPE_ROOT;
}

static bool ref_of(struct engine *e, const struct filter_job *j, const struct filter_unique *u,
                   struct unique_ref *ret_ref, struct err *err)
{
    *ret_ref = (struct unique_ref){.filter = u,
                                   .queue = j->queue->id,
                                   .scope = scope_of(e, &u->where, j)};
    return key_of(e, j, u, &ret_ref->key, err) == E_OK;
}

/* ---- limits ---- */

static struct waiting_count *waiting_of(struct engine *e, const struct filter_limit *l,
                                        const struct filter_job *j)
{
    struct filter_batch *b = &e->batch.filters;
    int64_t scope = scope_of(e, &l->where, j);

    for (size_t i = 0; i < b->waiting.count; i++)
        if (b->waiting.items[i].scope == scope)
            return &b->waiting.items[i];
    VEC_PUSH(&b->waiting, ((struct waiting_count){.scope = scope}));
    return &b->waiting.items[b->waiting.count - 1];
}

static enum err_code look_at_waiting(struct engine *e, struct err *err)
{
    struct filter_batch *b = &e->batch.filters;

    for (size_t i = 0; i < b->waiting.count; i++) {
        struct waiting_count *w = &b->waiting.items[i];

        if (w->looked)
            continue;
        if ((w->scope > UNIQUE_SCOPE_ROOT
                 ? store_group_waiting(e->store, w->scope, &w->stored, err)
                 : store_counts_waiting(e->store, w->scope < 0 ? -w->scope : 0, &w->stored, err)) !=
            E_OK)
            return err->code;
        w->looked = true;
    }
    return E_OK;
}

/* ---- looking ---- */

void filters_want(struct engine *e, const struct filter_job *j)
{
    for (size_t i = 0; i < j->queue->def.filters.count; i++) {
        const struct filter *f = &j->queue->def.filters.items[i];
        struct err ignored = ERR_INIT; /* told when the job is judged */
        struct unique_ref ref;

        if (f->kind == FILTER_UNIQUE && ref_of(e, j, &f->unique, &ref, &ignored))
            (void)unique_want(e, &ref);
        else if (f->kind == FILTER_LIMIT)
            (void)waiting_of(e, &f->limit, j);
    }
}

static enum err_code tell_fault(struct engine *e, struct err *err)
{
    if (e->batch.filters.fault.code != E_OK)
        *err = e->batch.filters.fault;
    return e->batch.filters.fault.code;
}

enum err_code filters_look(struct engine *e, struct err *err)
{
    if (tell_fault(e, err) != E_OK)
        return err->code;
    return uniques_look(e, err) != E_OK ? err->code : look_at_waiting(e, err);
}

enum err_code filters_peek(struct engine *e, struct err *err)
{
    if (tell_fault(e, err) != E_OK)
        return err->code;
    return uniques_peek(e, err) != E_OK ? err->code : look_at_waiting(e, err);
}

/* ---- judging ---- */

void filters_begin(struct engine *e)
{
    uniques_begin(e);
    for (size_t i = 0; i < e->batch.filters.waiting.count; i++)
        if (e->batch.filters.waiting.items[i].scope <= UNIQUE_SCOPE_ROOT)
            e->batch.filters.waiting.items[i].kept = 0;
}

void filters_undo(struct engine *e)
{
    uniques_undo(e);
    filters_begin(e);
}

static struct slice keep_text(struct engine *e, struct buf *text)
{
    return arena_copy(&e->batch.arena, buf_slice(text));
}

static void rule_clash(struct engine *e, const struct unique_entry *k, const struct unique_ref *ref,
                       struct filter_ruling *ret)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    char id[ID_TEXT_SIZE];
    struct quote quote;

    buf_addf(&text, "job %s has the key %s already", id_format(k->row.job, id),
             quote_text(&quote, ref->key));
    ret->verdict = VERDICT_DROP;
    ret->drop = (struct filter_drop){FILTER_UNIQUE, keep_text(e, &text), k->row.job};
}

/* What becomes of a job whose key another job has. */
static void judge_clash(struct engine *e, struct unique_entry *k, const struct unique_ref *ref,
                        int64_t id, struct filter_ruling *ret)
{
    const struct filter_unique *u = ref->filter;
    bool waits = job_state_waits(k->holder.state);
    bool lives = !job_state_ended(k->holder.state) && k->holder.state != JOB_NONE;

    rule_clash(e, k, ref, ret);
    switch ((enum filter_clash)u->on_clash) {
    case CLASH_DROP: return;
    case CLASH_REJECT:
        ret->verdict = VERDICT_REFUSE;
        err_set(&ret->refused, E_CONFLICT, "%.*s", (int)ret->drop.text.size, ret->drop.text.data);
        return;
    case CLASH_JOIN: ret->verdict = VERDICT_JOIN; return;
    case CLASH_REPLACE:
        if (!waits)
            break;
        ret->verdict = VERDICT_REPLACE;
        ret->put_off_max_at = u->max_us == 0 ? 0 : id_time(k->row.job) + u->max_us;
        return;
    case CLASH_REUSE:
        if (lives)
            ret->verdict = VERDICT_JOIN;
        if (k->holder.state == JOB_DONE)
            ret->verdict = VERDICT_REUSE;
        if (ret->verdict != VERDICT_DROP)
            return;
        break;
    }
    *ret = (struct filter_ruling){.verdict = VERDICT_KEEP, .held = ret->held};
    unique_take(e, k, ref, id);
}

static void judge_unique(struct engine *e, const struct filter_job *j,
                         const struct filter_unique *u, struct filter_ruling *ret)
{
    struct unique_ref ref;

    if (!ref_of(e, j, u, &ref, &ret->refused)) {
        ret->verdict = VERDICT_REFUSE;
        return;
    }
    struct unique_entry *k = unique_want(e, &ref);

    if (unique_is_held(e, k, u))
        judge_clash(e, k, &ref, j->id, ret);
    else
        unique_take(e, k, &ref, j->id);
}

static int64_t waiting_now(const struct engine *e, const struct waiting_count *w)
{
    int64_t n = w->stored + w->kept;

    if (w->scope > UNIQUE_SCOPE_ROOT)
        return n;
    for (size_t i = 0; i < e->batch.counts.changes.count; i++) {
        const struct store_count *c = &e->batch.counts.changes.items[i];

        if ((w->scope >= 0 || c->queue == -w->scope) &&
            (c->state == JOB_HELD || c->state == JOB_SCHEDULED || c->state == JOB_READY))
            n += c->n;
    }
    return n;
}

static void judge_limit(struct engine *e, const struct filter_job *j, const struct filter_limit *l,
                        struct filter_ruling *ret)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    struct waiting_count *w = waiting_of(e, l, j);
    int64_t n = waiting_now(e, w);

    ASSERT(w->looked);
    if (n < l->pending) {
        w->kept++;
        return;
    }
    buf_addf(&text, "%lld jobs wait %s, at most %lld are allowed", (long long)n,
             w->scope < 0                   ? "in the queue"
             : w->scope > UNIQUE_SCOPE_ROOT ? "in the group"
                                            : "in all queues",
             (long long)l->pending);
    ret->verdict = l->on_clash == CLASH_REJECT ? VERDICT_REFUSE : VERDICT_DROP;
    ret->drop = (struct filter_drop){.filter = FILTER_LIMIT, .text = keep_text(e, &text)};
    if (ret->verdict == VERDICT_REFUSE)
        err_set(&ret->refused, E_TOO_MANY, "queue '%s': %.*s: try again later", j->queue->name,
                (int)ret->drop.text.size, ret->drop.text.data);
}

static void judge_match(struct engine *e, const struct filter_job *j, const struct match *m,
                        struct filter_ruling *ret)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    const struct match_test *failed = match_fails(m, params_of(j));

    if (failed == NULL)
        return;
    match_reason(failed, params_of(j), &text);
    ret->verdict = VERDICT_DROP;
    ret->drop = (struct filter_drop){.filter = FILTER_MATCH, .text = keep_text(e, &text)};
}

/* The job is not kept after all: the limits before the filter that said so do not count it. */
static void uncount(struct engine *e, const struct filter_job *j, size_t judged)
{
    for (size_t i = 0; i + 1 < judged; i++)
        if (j->queue->def.filters.items[i].kind == FILTER_LIMIT)
            waiting_of(e, &j->queue->def.filters.items[i].limit, j)->kept--;
}

/* Filters are judged in their order: one that drops the job leaves the rest untouched.  Keys that
 * were taken before are given back. */
void filters_judge(struct engine *e, const struct filter_job *j, struct filter_ruling *ret)
{
    size_t first = e->batch.filters.uniques.undo.count;
    size_t i = 0;

    *ret = (struct filter_ruling){.verdict = VERDICT_KEEP};
    for (; i < j->queue->def.filters.count && ret->verdict == VERDICT_KEEP; i++) {
        const struct filter *f = &j->queue->def.filters.items[i];

        switch (f->kind) {
        case FILTER_UNIQUE: judge_unique(e, j, &f->unique, ret); break;
        case FILTER_LIMIT: judge_limit(e, j, &f->limit, ret); break;
        case FILTER_MATCH: judge_match(e, j, &f->match, ret); break;
        case FILTER_COMMAND: ret->held = true; break;
        case FILTER_KINDS: break;
        }
    }
    if (ret->verdict == VERDICT_KEEP)
        return;
    uncount(e, j, i);
    if (ret->verdict != VERDICT_REUSE)
        uniques_undo_from(e, first);
}

void filters_preview(struct engine *e, const struct filter_job *j, struct filter_ruling *ret)
{
    *ret = (struct filter_ruling){.verdict = VERDICT_KEEP};
    for (size_t i = 0; i < j->queue->def.filters.count && ret->verdict == VERDICT_KEEP; i++) {
        const struct filter *f = &j->queue->def.filters.items[i];
        struct unique_ref ref;

        if (f->kind == FILTER_MATCH)
            judge_match(e, j, &f->match, ret);
        if (f->kind != FILTER_UNIQUE)
            continue;
        if (!ref_of(e, j, &f->unique, &ref, &ret->refused)) {
            ret->verdict = VERDICT_REFUSE;
            return;
        }
        struct unique_entry *k = unique_want(e, &ref);

        if (f->unique.on_clash == CLASH_DROP && f->unique.counts == COUNTS_ALL &&
            unique_is_held(e, k, &f->unique))
            rule_clash(e, k, &ref, ret);
    }
}

/* ---- the batch ---- */

enum err_code filters_write(struct engine *e, struct err *err)
{
    if (tell_fault(e, err) != E_OK)
        return err->code;
    return uniques_write(e, err) != E_OK ? err->code : drops_write(e, err);
}

void filters_clear(struct engine *e)
{
    struct filter_batch *b = &e->batch.filters;

    uniques_clear(e);
    VEC_CLEAR(&b->drops.drops);
    VEC_CLEAR(&b->drops.counts);
    VEC_CLEAR(&b->waiting);
    VEC_CLEAR(&b->deferred);
    b->fault = ERR_INIT;
}

void filters_deinit(struct engine *e)
{
    struct filter_batch *b = &e->batch.filters;

    uniques_deinit(e);
    VEC_DEINIT(&b->drops.drops);
    VEC_DEINIT(&b->drops.counts);
    VEC_DEINIT(&b->waiting);
    VEC_DEINIT(&b->deferred);
}
