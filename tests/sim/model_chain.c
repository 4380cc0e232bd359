/*
 * The reference model: where ends lead.
 *
 * What is handed on is fixed when something ends; it is followed when the batch has done all else.
 * Jobs that come of it are owed: the store must show each of them once.
 */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "model.h"

void model_lay(char *out, size_t size, const char *base, const char *over)
{
    struct buf b = BUF_INIT(size - 1);
    struct slice key, value, other;

    buf_add_char(&b, '{');
    for (int pass = 0; pass < 2; pass++) {
        const char *from = pass == 0 ? base : over;

        if (from[0] == '\0')
            continue;
        for (struct jtext_iter it = jtext_members(slice_of(from));
             jtext_next_member(&it, &key, &value);) {
            char name[32];

            snprintf(name, sizeof(name), "%.*s", (int)key.size - 2, key.data + 1);
            if (pass == 0 && over[0] != '\0' && jtext_find(slice_of(over), name, &other))
                continue;
            jtext_add_comma(&b);
            buf_add_slice(&b, key);
            buf_add_char(&b, ':');
            buf_add_slice(&b, value);
        }
    }
    buf_add_char(&b, '}');
    ASSERT(!b.overflowed);
    snprintf(out, size, "%s", buf_text(&b));
    buf_deinit(&b);
}

/* ---- what is handed on ---- */

static const struct model_attempt *last_of_step(const struct model_job *j, int number)
{
    for (int i = j->n_record; i-- > 0;)
        if (j->record[i].number == number && j->record[i].outcome != JOB_OUT_RETURNED)
            return &j->record[i];
    return NULL;
}

/* How it ended: of a route that failed, how its failed step did. */
static struct model_attempt how_it_ended(const struct model_job *j, int step, enum job_state state)
{
    const struct model_attempt *last = NULL;

    if (step > 0)
        last = last_of_step(j, step);
    else if (j->step == 0 && j->n_record > 0)
        last = &j->record[j->n_record - 1];
    else if (j->step > 0 && state == JOB_FAILED)
        last = last_of_step(j, j->failed_step);
    const struct model_attempt none = {.token = 0};

    return last == NULL ? none : *last;
}

static void write_cause(const struct model_job *j, int queue, int step, enum job_state state,
                        struct buf *b)
{
    struct model_attempt how = how_it_ended(j, step, state);
    char id[ID_TEXT_SIZE];

    if (step == 0)
        step = j->failed_step;
    buf_addf(b, "\"cause\":{\"id\":\"%s\"", id_format(j->id, id));
    if (queue >= 0)
        buf_addf(b, ",\"queue\":\"%s\"", model_queue_names[queue]);
    buf_addf(b, ",\"state\":\"%s\"", job_state_name(state));
    if (step > 0)
        buf_addf(b, ",\"step\":%d", step);
    if (how.exited && state != JOB_DONE)
        buf_addf(b, ",\"exit\":%d", how.exit);
    if (how.cause != JOB_CAUSE_NONE)
        buf_addf(b, ",\"cause\":\"%s\"", job_cause_name(how.cause));
    buf_add_str(b, "}");
}

/* The params as they were seen, with result and cause in the place of an earlier one's. */
static void hand_on(const struct model_job *j, int queue, int step, enum job_state state, char *out)
{
    struct buf told = BUF_INIT(MODEL_PARAMS - 1);
    char seen[MODEL_PARAMS], bare[MODEL_PARAMS], set[MODEL_SET] = "";
    const struct model_step *at = model_step_find(&j->routing, step);
    const struct model_attempt *last = last_of_step(j, step);

    model_lay(seen, sizeof(seen), j->params, j->assigned);
    if (at != NULL && at->params != 0)
        model_merge(seen, seen, "p", at->params);
    if (step > 0 && last != NULL && last->set.value != 0)
        snprintf(set, sizeof(set), "{\"s%d\":%lld}", last->set.which, (long long)last->set.value);
    const char *result = j->result[0] != '\0' ? j->result : set;

    buf_add_char(&told, '{');
    if (result[0] != '\0')
        buf_addf(&told, "\"result\":%s,", result);
    write_cause(j, queue, step, state, &told);
    buf_add_char(&told, '}');
    model_lay(bare, sizeof(bare), seen, "{\"result\":0}");
    bare[strlen(bare) - strlen("\"result\":0}")] = '\0'; /* what goes to the end goes */
    size_t size = strlen(bare);

    if (size > 1)
        size--; /* and the comma before it */
    snprintf(bare + size, sizeof(bare) - size, "}");
    model_lay(out, MODEL_PARAMS, bare, buf_text(&told));
    buf_deinit(&told);
}

void model_note(struct model *m, const struct model_job *j, int queue, int step,
                enum job_state state)
{
    struct model_links *l = &m->links;
    const struct model_step *at = model_step_find(&j->routing, step);
    bool done = state == JOB_DONE;
    int lists[3] = {0};

    if (at != NULL)
        lists[0] = done ? at->on_success : at->on_failure;
    if (queue >= 0 && (step > 0 || j->step == 0)) {
        const struct model_queue_link *q = &model_queue_links[queue][m->queues[queue].links];

        lists[1] = done ? q->on_success : q->on_failure;
    }
    if (step == 0)
        lists[2] = done ? j->routing.on_success : j->routing.on_failure;
    if (lists[0] + lists[1] + lists[2] == 0)
        return;
    ASSERT(l->n_notes < MODEL_NOTES);
    struct model_noted *n = &l->notes[l->n_notes++];

    *n = (struct model_noted){.source = {.job = j->id,
                                         .depth = j->routing.depth + 1,
                                         .label = j->label,
                                         .priority = j->priority},
                              .step = step};
    memcpy(n->lists, lists, sizeof(lists));
    hand_on(j, queue, step, state, n->source.params);
}

/* ---- following ---- */

bool model_is_subscribed(const struct model *m, int queue, int topic)
{
    unsigned topics = model_queue_links[queue][m->queues[queue].links].topics;

    return m->queues[queue].there &&
           (topics & 1U << topic ||
            strcmp(model_topic_names[topic], model_queue_names[queue]) == 0);
}

static void owe(struct model *m, int queue, int topic, const struct model_source *source)
{
    ASSERT(m->links.n_owed < MODEL_OWED);
    m->links.owed[m->links.n_owed++] = (struct model_owed){queue, topic, *source};
}

static void follow_list(struct model *m, int list, const struct model_source *source);

/* What is laid over the params leaves alone what tells of the cause. */
static void lay_over(char *params, const char *over)
{
    static const char *const told[] = {"result", "cause", "join"};
    struct buf kept = BUF_INIT(MODEL_PARAMS - 1);
    char all[MODEL_PARAMS];
    struct slice value;

    if (over[0] == '\0')
        return;
    buf_add_char(&kept, '{');
    for (int i = 0; i < 3; i++)
        if (jtext_find(slice_of(params), told[i], &value)) {
            jtext_add_key(&kept, told[i]);
            buf_add_slice(&kept, value);
        }
    buf_add_char(&kept, '}');
    model_lay(all, sizeof(all), params, over);
    model_lay(params, MODEL_PARAMS, all, buf_text(&kept));
    buf_deinit(&kept);
}

static void follow_dest(struct model *m, const struct model_dest *d,
                        const struct model_source *source)
{
    struct model_source own = *source;
    int64_t count;
    int key;

    lay_over(own.params, d->params);
    if (d->kind == DEST_QUEUE && m->queues[d->target].there)
        owe(m, d->target, 0, &own);
    for (int q = 0; q < MODEL_QUEUES && d->kind == DEST_TOPIC; q++)
        if (model_is_subscribed(m, q, d->target))
            owe(m, q, d->target + 1, &own);
    if (d->kind == DEST_JOIN && m->links.joins[d->target].there)
        (void)model_arrive(m, d->target, &own, &key, &count);
    if (d->kind == DEST_SIGNAL)
        m->links.signals[d->target] += d->count;
}

static void follow_list(struct model *m, int list, const struct model_source *source)
{
    for (int i = 0; i < model_lists[list].n_dests; i++)
        follow_dest(m, &model_lists[list].dests[i], source);
}

static int count_dests(const struct model_noted *n)
{
    return model_lists[n->lists[0]].n_dests + model_lists[n->lists[1]].n_dests +
           model_lists[n->lists[2]].n_dests;
}

static void follow_at(struct model *m, const struct model_noted *n, int place)
{
    for (int k = 0; k < 3; k++) {
        const struct model_list *list = &model_lists[n->lists[k]];

        if (place < list->n_dests) {
            follow_dest(m, &list->dests[place], &n->source);
            return;
        }
        place -= list->n_dests;
    }
}

static const struct model_left *find_left(const struct model *m, int64_t job, int step)
{
    for (size_t i = 0; i < m->links.n_left; i++)
        if (m->links.left[i].job == job && m->links.left[i].step == step)
            return &m->links.left[i];
    return NULL;
}

/* A job that goes on with its next step stays as it is until its end is followed. */
static void set_linked(struct model *m, const struct model_noted *n, bool linked, int64_t now_at)
{
    struct model_job *j = n->step == 0 ? NULL : model_find(m, n->source.job);

    if (j == NULL || job_state_ended(j->state) || j->linked == linked)
        return;
    j->linked = linked;
    model_place(m, j, now_at);
}

/* As far as the store says.  True: nothing is left of it. */
static bool follow_note(struct model *m, struct model_noted *n, int64_t now_at)
{
    const struct model_left *left = find_left(m, n->source.job, n->step);
    int upto = left == NULL ? count_dests(n) : left->place;

    for (; n->place < upto; n->place++)
        follow_at(m, n, n->place);
    m->links.followed += n->late && left == NULL;
    set_linked(m, n, left != NULL, now_at);
    n->late = true;
    return left == NULL;
}

void model_follow(struct model *m, enum model_which which, int64_t now_at)
{
    struct model_links *l = &m->links;
    size_t kept = 0;

    for (size_t i = 0; i < l->n_notes; i++) {
        bool skipped = which == MODEL_NEW_ENDS ? l->notes[i].late : !l->notes[i].late;

        if (skipped || !follow_note(m, &l->notes[i], now_at))
            l->notes[kept++] = l->notes[i];
    }
    l->n_notes = kept;
}

void model_note_late(struct model *m)
{
    m->links.had_late = false;
    for (size_t i = 0; i < m->links.n_notes; i++)
        m->links.had_late = m->links.had_late || m->links.notes[i].late;
}

bool model_is_left(const struct model *m, int64_t job)
{
    for (size_t i = 0; i < m->links.n_left; i++)
        if (m->links.left[i].job == job)
            return true;
    for (size_t i = 0; i < m->links.n_notes; i++)
        if (m->links.notes[i].source.job == job && m->links.notes[i].late)
            return true;
    return false;
}

/* ---- joins ---- */

static bool fill_key(int join, const char *params, int *ret_key)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;

    *ret_key = 0;
    if (join != 0)
        return true;
    if (!jtext_find(slice_of(params), "k", &value))
        return false;
    *ret_key = model_named(jtext_text(value, &arena), model_join_keys, MODEL_JOIN_KEYS);
    ASSERT(*ret_key >= 0);
    return true;
}

static void fire(struct model *m, int join, int key, const struct model_source *source)
{
    struct model_join *j = &m->links.joins[join];
    struct model_source own = *source;
    struct buf told = BUF_INIT(MODEL_PARAMS - 1);
    char id[ID_TEXT_SIZE];

    buf_addf(&told, "{\"join\":{\"name\":\"%s\",\"key\":\"%s\",\"jobs\":[", model_join_names[join],
             model_join_keys[key]);
    for (int i = 0; i < j->keys[key].n_jobs; i++)
        buf_addf(&told, "%s\"%s\"", i > 0 ? "," : "", id_format(j->keys[key].jobs[i], id));
    buf_add_str(&told, "]}}");
    model_lay(own.params, sizeof(own.params), source->params, buf_text(&told));
    buf_deinit(&told);
    memset(&j->keys[key], 0, sizeof(j->keys[key]));
    j->fired++;
    m->links.fired++;
    follow_list(m, model_join_then[join], &own);
}

bool model_arrive(struct model *m, int join, const struct model_source *source, int *ret_key,
                  int64_t *ret_count)
{
    struct model_join *j = &m->links.joins[join];

    if (!fill_key(join, source->params, ret_key))
        return false;
    struct model_arrivals *a = &j->keys[*ret_key];

    a->count++;
    if (source->job != 0)
        a->jobs[a->n_jobs++] = source->job;
    *ret_count = a->count;
    if (a->count >= j->count) {
        *ret_count = 0;
        fire(m, join, *ret_key, source);
    }
    return true;
}

bool model_leads(const struct model *m, int list)
{
    for (int i = 0; i < model_lists[list].n_dests; i++) {
        const struct model_dest *d = &model_lists[list].dests[i];

        if ((d->kind == DEST_QUEUE && !m->queues[d->target].there) ||
            (d->kind == DEST_JOIN && !m->links.joins[d->target].there))
            return false;
    }
    return true;
}
