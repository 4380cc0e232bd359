/*
 * What ties jobs together: requests about it, and what a batch does when it has done all else.
 *
 * What is owed by the end of a job must be in the store once.  Who is let go, and when, is taken
 * from the store and held to the rules: nobody too early, nobody left behind, unless the store says
 * that it has more to do.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

/* ---- what a job brings ---- */

enum err_code judge_routing(const struct sim *s, const struct model_sub *sub)
{
    bool sound = model_leads(&s->model, sub->routing.on_success) &&
                 model_leads(&s->model, sub->routing.on_failure);

    for (int i = 0; i < sub->routing.n_steps; i++) {
        const struct model_step *step = &sub->routing.steps[i];

        sound = sound && s->model.queues[step->queue].there &&
                model_leads(&s->model, step->on_success) &&
                model_leads(&s->model, step->on_failure);
    }
    return sound ? E_OK : E_INVALID;
}

/* The item that makes the job of item i: the first of its key. */
static const struct model_sub *maker_of(const struct req *r, size_t i)
{
    for (size_t k = 0; k < i && r->subs[i].key >= 0; k++)
        if (r->subs[k].key == r->subs[i].key)
            return &r->subs[k];
    return &r->subs[i];
}

enum err_code judge_conds(struct sim *s, const struct req *r, size_t i, const int64_t *ids)
{
    for (int k = 0; k < r->subs[i].routing.n_conds; k++) {
        struct model_cond c = r->subs[i].routing.conds[k];
        bool made_here = c.ref > 0 && ids[c.ref - 1] == 0;

        if (c.ref == (int)i + 1)
            return E_INVALID;
        if (c.ref > 0)
            c.job = ids[c.ref - 1];
        if (made_here ? c.step > 0 && model_step_find(&maker_of(r, (size_t)c.ref - 1)->routing,
                                                      c.step) == NULL
                      : !model_cond_is_sound(&s->model, &c))
            return E_INVALID;
    }
    return E_OK;
}

static void begin_route(const struct model_sub *sub, struct model_job *j)
{
    for (int i = 0; i < sub->n_progress; i++) {
        char set[MODEL_SET];

        j->record[j->n_record++] = sub->progress[i];
        if (sub->progress[i].set.value == 0)
            continue;
        snprintf(set, sizeof(set), "{\"s%d\":%lld}", sub->progress[i].set.which,
                 (long long)sub->progress[i].set.value);
        model_lay(j->assigned, sizeof(j->assigned), j->assigned, set);
    }
    if (sub->step > 0) {
        int64_t due_at = j->due_at;
        int64_t delay_us = j->delay_us;

        model_step_begin(j, model_step_find(&j->routing, sub->step));
        j->due_at = j->due_max = due_at;
        j->delay_us = delay_us;
    }
}

static bool is_of(const int64_t *ids, int64_t id)
{
    for (size_t i = 0; i < SIM_ITEMS; i++)
        if (ids[i] == id)
            return true;
    return false;
}

void judge_add_routing(struct sim *s, const struct req *r, size_t i, struct model_job *j,
                       const int64_t *ids, enum judge_new how)
{
    const struct model_sub *sub = &r->subs[i];
    bool never = false;

    j->routing = sub->routing;
    begin_route(sub, j);
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].ref > 0)
            j->routing.conds[k].job = ids[j->routing.conds[k].ref - 1];
    if (how == JUDGE_STAGED) { /* what it waits for is judged when it is released */
        j->waiting = j->routing.n_conds > 0;
        return;
    }
    for (int k = 0; k < j->routing.n_conds; k++) {
        struct model_cond *c = &j->routing.conds[k];

        if (c->kind == AFTER_JOB)
            c->now = model_cond_judge(&s->model, c);
        /* What ends with the array itself is told when all of it is made. */
        never = never || (c->now == COND_NEVER && !is_of(ids, c->job));
        if (c->kind == AFTER_SIGNAL || c->now != COND_HOLDS)
            j->waiting = true;
    }
    if (j->waiting)
        j->state = JOB_HELD;
    if (never)
        model_doom(&s->model, j, s->now.wall_at);
}

/* ---- requests ---- */

void judge_signal(struct sim *s, struct req *r)
{
    int64_t *level = &s->model.links.signals[r->link];
    struct slice count;

    expect_code(s, r, E_OK);
    *level = r->op.signal.kind == SIGNAL_OP_CLEAR ? 0 : *level + r->op.signal.count;
    if (is_known(r) &&
        (!jtext_find(buf_slice(&r->op.reply), "count", &count) || jtext_int(count) != *level))
        sim_fail(s, "signal %s has level %lld: %s", model_signal_names[r->link], (long long)*level,
                 buf_text(&r->op.reply));
}

static void check_arrival(const struct sim *s, const struct req *r, int key, int64_t want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice reply = buf_slice(&r->op.reply), text, count, fired;

    if (!jtext_find(reply, "key", &text) || !jtext_find(reply, "count", &count) ||
        !jtext_find(reply, "fired", &fired) ||
        !slice_is(jtext_text(text, &arena), model_join_keys[key]) || jtext_int(count) != want ||
        (jtext_type_of(fired) == JTEXT_TRUE) != (want == 0))
        sim_fail(s, "join %s has %lld arrivals under '%s': %s", model_join_names[r->link],
                 (long long)want, model_join_keys[key], buf_text(&r->op.reply));
}

void judge_join(struct sim *s, struct req *r)
{
    struct model_join *j = &s->model.links.joins[r->link];
    struct model_source source = {.depth = 1, .label = -1};
    int64_t count = 0;
    int key = 0;

    if (!j->there) {
        expect_code(s, r, E_NOT_FOUND);
    } else if (r->op.join.kind == JOIN_OP_CLEAR) {
        expect_code(s, r, E_OK);
        for (int k = 0; k < MODEL_JOIN_KEYS; k++)
            if (!r->op.join.has_key || k == r->queue)
                memset(&j->keys[k], 0, sizeof(j->keys[k]));
    } else {
        snprintf(source.params, sizeof(source.params), "%s", r->params);
        bool filled = model_arrive(&s->model, r->link, &source, &key, &count);

        expect_code(s, r, filled ? E_OK : E_INVALID);
        if (is_known(r) && filled)
            check_arrival(s, r, key, count);
    }
}

/* ---- jobs that must have been made ---- */

/* The status line of a cause is not followed here, nor whether it was told that the status of what
 * is done is 0. */
static void without_text(struct slice params, char *out)
{
    static const char done[] = "\"state\":\"done\"", zero[] = ",\"exit\":0";

    snprintf(out, MODEL_PARAMS, "%.*s", (int)params.size, params.data);
    char *cause = strstr(out, "\"cause\":{");
    char *text = cause == NULL ? NULL : strstr(cause, ",\"text\":\"");
    char *end = cause == NULL ? NULL : strchr(cause, '}');

    if (text != NULL && text < end)
        memmove(text, end, strlen(end) + 1);
    char *is_done = cause == NULL ? NULL : strstr(cause, done);
    char *exit = is_done == NULL ? NULL : strstr(is_done, zero);

    if (exit != NULL)
        memmove(exit, exit + strlen(zero), strlen(exit + strlen(zero)) + 1);
}

static bool is_promised(const struct sim *s, int64_t id)
{
    for (size_t i = 0; i < s->model.links.n_promised; i++)
        if (s->model.links.promised[i].id == id)
            return true;
    return false;
}

static const struct job *find_made(struct sim *s, int queue, const char *params)
{
    char bare[MODEL_PARAMS];

    for (size_t i = 0; i < s->rows.count; i++) {
        const struct job *row = &s->rows.items[i];

        if (row->queue != s->queues[queue].number || model_find(&s->model, row->id.v) != NULL ||
            is_promised(s, row->id.v))
            continue;
        without_text(row->params, bare);
        if (strcmp(bare, params) == 0)
            return row;
    }
    return NULL;
}

NORETURN static void fail_unmade(struct sim *s, const struct model_owed *o)
{
    CLEANUP(buf) struct buf others = BUF_INIT(4096);

    for (size_t i = 0; i < s->rows.count; i++)
        if (model_find(&s->model, s->rows.items[i].id.v) == NULL)
            buf_addf(&others, " %.*s", (int)s->rows.items[i].params.size,
                     s->rows.items[i].params.data);
    sim_fail(s, "a job %s should have been made in %s; there are:%s", o->source.params,
             model_queue_names[o->queue], buf_text(&others));
}

static void add_made(struct sim *s, const struct model_owed *o, const struct job *row)
{
    struct model_job *j = model_add(&s->model, row->id.v, o->queue, 0, s->now.wall_at);

    if (row->id.v > s->model.newest_id)
        s->model.newest_id = row->id.v;
    j->priority = o->source.priority;
    j->label = o->source.label;
    snprintf(j->params, sizeof(j->params), "%.*s", (int)row->params.size, row->params.data);
    j->routing.parent = o->source.job;
    j->routing.depth = o->source.depth;
    j->routing.topic = o->topic;
    s->model.links.made++;
}

/* Its id, if the store says that it is still to be made; else 0. */
static int64_t find_target(const struct sim *s, const struct model_owed *o)
{
    for (size_t i = 0; i < s->links.n_targets; i++) {
        const struct stored_target *t = &s->links.targets[i];
        char bare[MODEL_PARAMS];

        if (o->topic == 0 || t->queue != s->queues[o->queue].number || is_promised(s, t->id))
            continue;
        without_text(slice_of(t->params), bare);
        if (strcmp(bare, o->source.params) == 0)
            return t->id;
    }
    return 0;
}

/* What is published may come later; the rest is there with the commit that owes it.  Returns its
 * id. */
static int64_t take_made(struct sim *s, const struct model_owed *o)
{
    const struct job *row = find_made(s, o->queue, o->source.params);
    int64_t promised = row == NULL ? find_target(s, o) : 0;

    if (row != NULL) {
        add_made(s, o, row);
        return row->id.v;
    }
    if (promised != 0) {
        ASSERT(s->model.links.n_promised < MODEL_PROMISED);
        s->model.links.promised[s->model.links.n_promised++] = (struct model_promise){promised, *o};
        if (promised > s->model.newest_id)
            s->model.newest_id = promised;
        return promised;
    }
    if (!s->judging_crash)
        fail_unmade(s, o);
    s->no_evidence = true;
    return 0;
}

/* Those that are there have been made by this batch; the others must still be in the store, as
 * check_links finds. */
static void follow_promises(struct sim *s)
{
    struct model_links *l = &s->model.links;
    size_t kept = 0;

    for (size_t i = 0; i < l->n_promised; i++) {
        const struct model_promise *p = &l->promised[i];
        const struct job *row = world_row(s, p->id);
        char bare[MODEL_PARAMS];

        if (row == NULL) {
            l->promised[kept++] = *p;
            continue;
        }
        without_text(row->params, bare);
        if (row->queue != s->queues[p->owed.queue].number ||
            strcmp(bare, p->owed.source.params) != 0)
            sim_fail(s, "job %lld is another one than was promised: %s", (long long)p->id, bare);
        add_made(s, &p->owed, row);
        l->kept++;
    }
    l->n_promised = kept;
}

void judge_publish(struct sim *s, struct req *r)
{
    struct model_owed o = {.topic = r->link + 1, .source = {.label = -1}};
    enum err_code code = E_NOT_FOUND;

    snprintf(o.source.params, sizeof(o.source.params), "%s", r->params);
    o.source.priority = r->op.publish.priority;
    for (int q = 0; q < MODEL_QUEUES; q++)
        if (model_is_subscribed(&s->model, q, r->link) && code != E_QUEUE_DOWN)
            code = queue_state_takes(s->model.queues[q].state) ? E_OK : E_QUEUE_DOWN;
    expect_code(s, r, code);
    for (o.queue = 0; o.queue < MODEL_QUEUES && code == E_OK && !s->no_evidence; o.queue++) {
        char id[ID_TEXT_SIZE];

        if (!model_is_subscribed(&s->model, o.queue, r->link))
            continue;
        int64_t made = take_made(s, &o);

        if (made != 0 && is_known(r) && strstr(buf_text(&r->op.reply), id_format(made, id)) == NULL)
            sim_fail(s, "the reply does not name job %s: %s", id, buf_text(&r->op.reply));
    }
}

/* ---- those who wait ---- */

enum when { WITHIN, OVER };

static bool waits(const struct model_job *j)
{
    return j->state == JOB_HELD && j->waiting;
}

static bool could_go(const struct sim *s, const struct model_job *j)
{
    return model_is_ripe(j) && model_has_levels(&s->model, j);
}

/* In which order signals were used up is not asked: at their highest they were high enough. */
static bool may_go(const struct model_job *j, const int64_t *peaks)
{
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].kind == AFTER_SIGNAL &&
            peaks[j->routing.conds[k].signal] < j->routing.conds[k].count)
            return false;
    return model_is_ripe(j);
}

static void check_go(const struct sim *s, const struct model_job *j, const int64_t *peaks)
{
    if (!model_is_ripe(j))
        sim_fail(s, "job %lld is let go before all has come that it waits for", (long long)j->id);
    for (int k = 0; k < j->routing.n_conds; k++) {
        const struct model_cond *c = &j->routing.conds[k];

        if (c->kind == AFTER_SIGNAL && peaks[c->signal] < c->count)
            sim_fail(s, "job %lld is let go at level %lld of signal %s, it waits for %lld",
                     (long long)j->id, (long long)peaks[c->signal], model_signal_names[c->signal],
                     (long long)c->count);
    }
}

/* What the store shows of it: it goes on, it never will, or it waits. */
enum fate { GOES_ON, NEVER_WILL, WAITS_ON };

static enum fate fate_of(const struct sim *s, const struct model_job *j)
{
    const struct job *row = world_row(s, j->id);

    if (row == NULL) /* removed in the same batch */
        return model_is_doomed(j) ? NEVER_WILL : could_go(s, j) ? GOES_ON : WAITS_ON;
    if (row->state == JOB_CANCELLED && row->cause == JOB_CAUSE_DEPENDENCY)
        return NEVER_WILL;
    if (row->holds & JOB_HOLD_AFTER)
        return WAITS_ON;
    return model_is_doomed(j) ? NEVER_WILL : GOES_ON; /* it may have been run again since */
}

/* Whoever is cancelled may be waited for in turn. */
static bool follow_one(struct sim *s, struct model_job *j, const int64_t *peaks, enum when when)
{
    enum fate fate = waits(j) ? fate_of(s, j) : WAITS_ON;

    if (fate == WAITS_ON)
        return false;
    if (fate == NEVER_WILL) {
        if (!model_is_doomed(j) && when == OVER)
            sim_fail(s, "job %lld is cancelled though all may still come that it waits for",
                     (long long)j->id);
        if (model_is_doomed(j))
            model_doom(&s->model, j, s->now.wall_at);
        return j->state == JOB_CANCELLED;
    }
    if (when == WITHIN && !may_go(j, peaks))
        return false;
    check_go(s, j, peaks);
    model_let_go(&s->model, j, s->now.wall_at);
    return true;
}

static void follow_waiting(struct sim *s, enum when when)
{
    int64_t peaks[MODEL_SIGNALS];
    bool again = true;

    memcpy(peaks, s->model.links.signals, sizeof(peaks));
    while (again) {
        again = false;
        for (size_t i = 0; i < s->model.n_jobs; i++)
            again = follow_one(s, &s->model.jobs[i], peaks, when) || again;
    }
    for (int i = 0; i < MODEL_SIGNALS; i++)
        if (s->model.links.signals[i] < 0)
            sim_fail(s, "more was taken of signal %s than was raised", model_signal_names[i]);
}

/* ---- those who come back ---- */

static bool hung_on(const struct model_job *j, int64_t id)
{
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].kind == AFTER_JOB && j->routing.conds[k].job == id)
            return j->in_vain;
    return false;
}

/* Of several that are in the way the store knows which it was; one alone is known here. */
static void revive_one(struct sim *s, struct model_job *j, int64_t cause)
{
    const struct job *row = world_row(s, j->id);
    const struct model_act again = {
        .kind = ACTION_RETRY, .target = -1, .label = -1, .now_at = s->now.wall_at};
    bool hung = j->hangs_on == cause;

    if (row == NULL)
        return;
    bool back = row->state != JOB_CANCELLED || row->cause != JOB_CAUSE_DEPENDENCY;
    enum err_code code = back || hung ? model_act(&s->model, j, &again) : E_OK;

    if (back && code != E_OK)
        sim_fail(s, "job %lld comes back, though it cannot", (long long)j->id);
    if (!back && hung && code == E_OK)
        sim_fail(s, "job %lld stays cancelled, though its cause is run again", (long long)j->id);
    s->model.links.revived += back;
}

static void follow_revived(struct sim *s)
{
    struct model *m = &s->model;

    for (size_t r = 0; r < m->n_reviving && !s->no_evidence; r++)
        for (size_t i = 0; i < m->n_jobs; i++)
            if (hung_on(&m->jobs[i], m->reviving[r]))
                revive_one(s, &m->jobs[i], m->reviving[r]);
    m->n_reviving = 0;
}

static void check_none_left(const struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs && !s->links.left; i++) {
        const struct model_job *j = &s->model.jobs[i];

        if (!waits(j) || world_row(s, j->id) == NULL)
            continue;
        if (model_is_doomed(j))
            sim_fail(s, "job %lld waits on though something of it will never come",
                     (long long)j->id);
        if (could_go(s, j))
            sim_fail(s, "job %lld stays held though all has come that it waits for",
                     (long long)j->id);
    }
}

static void follow(struct sim *s, enum model_which which, enum when when)
{
    if (s->no_evidence)
        return;
    model_follow(&s->model, which, s->now.wall_at);
    for (size_t i = 0; i < s->model.links.n_owed && !s->no_evidence; i++)
        (void)take_made(s, &s->model.links.owed[i]);
    s->model.links.n_owed = 0;
    /* What was left by earlier batches is told when all else is; it may raise signals, too. */
    if (when == OVER || (!s->links.was_left && !s->model.links.had_late))
        follow_waiting(s, when);
}

void judge_follow(struct sim *s)
{
    follow(s, MODEL_NEW_ENDS, WITHIN);
}

void judge_links(struct sim *s)
{
    bool resumed = s->model.n_reviving > 0;

    follow_promises(s);
    follow_revived(s);
    follow(s, MODEL_NEW_ENDS, WITHIN);
    follow(s, MODEL_LATE_ENDS, s->one_by_one ? WITHIN : OVER);
    if (resumed)
        follow_waiting(s, OVER);
    if (!s->one_by_one)
        check_none_left(s);
}

void judge_telling(struct sim *s)
{
    struct model *m = &s->model;

    m->n_telling = 0;
    model_note_late(m);
    m->links.n_left = s->links.n_follows;
    memcpy(m->links.left, s->links.follows, sizeof(m->links.left));
    for (size_t i = 0; i < m->n_jobs && (s->links.left || s->links.was_left); i++) {
        const struct job *row = world_row(s, m->jobs[i].id);

        if (row != NULL && job_state_ended(row->state))
            m->telling[m->n_telling++] = row->id.v;
    }
}
