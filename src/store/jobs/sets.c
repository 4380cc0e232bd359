/*
 * Jobs in sets: made, claimed and ended by statements that work on many rows at once.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "store/internal.h"
#include "store/jobs/history.h"
#include "store/jobs/jobs.h"
#include "store/jobs/rows.h"

/* ---- making ---- */

/* Limits of the set of one statement, so that a connection never sends too much at once.  The last
 * row may exceed SET_BYTES. */
enum { SET_ROWS = 256, SET_BYTES = 8 << 20 };

enum { HOT_COLUMNS = 7, ENDED_COLUMNS = 8, PAYLOAD_COLUMNS = 9 };

/* Params and bodies from this size on are stored once for jobs that follow each other with the very
 * same bytes: those of one publication, or of one end that leads to several queues.  They have
 * routings. */
enum { SHARED_MIN = 4096 };

struct sharing {
    struct slice params, body; /* of the jobs so far */
    int64_t id;                /* where they are; 0: nowhere */
};

static bool carries(const struct job *j, struct slice params, struct slice body)
{
    return j->params.data == params.data && j->params.size == params.size &&
           j->body.data == body.data && j->body.size == body.size;
}

/* Where the params and the body of jobs[0] are stored, of n that come; 0: in its own row. */
static int64_t share(struct sharing *sharing, const struct job *jobs, size_t n)
{
    const struct job *j = &jobs[0];

    if (j->shared != 0)
        return j->shared;
    if (j->params.size + j->body.size < SHARED_MIN || j->routing.size == 0)
        return 0;
    if (sharing->id != 0 && carries(j, sharing->params, sharing->body))
        return sharing->id;
    bool again = n > 1 && carries(&jobs[1], j->params, j->body);

    *sharing = (struct sharing){j->params, j->body, again ? j->id.v : 0};
    return sharing->id;
}

static bool is_member(const struct job *j)
{
    return j->group != 0 || j->lane != 0;
}

/* Which columns the rows of a set have. */
struct insert_shape {
    enum sql jobs, payload;
    size_t hot_columns, payload_columns;
};

static const struct insert_shape plain_shape = {SQL_JOBS_INSERT, SQL_PAYLOAD_INSERT, 5, 6};
static const struct insert_shape routed_shape = {SQL_JOBS_INSERT_ROUTED, SQL_PAYLOAD_INSERT_ROUTED,
                                                 HOT_COLUMNS, PAYLOAD_COLUMNS};

static void fill_hot(const struct job *j, const struct insert_shape *shape, struct arena *arena,
                     struct db_value *h)
{
    h[0] = db_i(j->id.v);
    h[1] = db_i(job_place(j));
    h[2] = db_i(j->state);
    h[3] = db_i(j->priority);
    h[4] = db_i(j->due_at);
    if (shape == &routed_shape) {
        h[5] = db_t(history_format(j, arena));
        h[6] = db_i(job_ties(j));
    }
}

static void fill_payload(const struct job *j, const struct insert_shape *shape, int64_t shared,
                         struct db_value *c)
{
    c[0] = db_i(j->id.v);
    c[1] = db_t(j->key);
    c[2] = db_t(j->params);
    c[3] = db_b(j->body);
    c[4] = db_t(j->labels);
    c[5] = db_t(j->options);
    if (shape == &routed_shape) {
        c[6] = db_t(j->routing);
        c[7] = db_t(j->assigned);
        c[8] = (struct db_value){.type = DB_NULL};
        if (shared != 0)
            c[8] = db_i(shared);
    }
    if (shared != 0)
        c[2] = c[3] = (struct db_value){.type = DB_NULL};
}

static enum err_code insert_members(struct store *s, const struct job *jobs, size_t n,
                                    struct err *err)
{
    struct db_value values[2 * SET_ROWS];
    struct db_rows rows = {values, 0, 2};

    for (size_t i = 0; i < n; i++)
        if (jobs[i].group != 0) {
            values[2 * rows.n_rows] = db_i(jobs[i].id.v);
            values[2 * rows.n_rows++ + 1] = db_i(jobs[i].group);
        }
    return rows.n_rows == 0 ? E_OK : db_do(s->db, SQL_MEMBERS_INSERT, err, db_r(&rows));
}

/* Those that have ended are rows of another table. */
static enum err_code insert_hot(struct store *s, const struct job *jobs, size_t n,
                                const struct insert_shape *shape, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_value hot[SET_ROWS * HOT_COLUMNS];
    struct db_value over[SET_ROWS * ENDED_COLUMNS];
    struct db_rows hot_rows = {hot, 0, shape->hot_columns};
    struct db_rows over_rows = {over, 0, ENDED_COLUMNS};

    for (size_t i = 0; i < n; i++) {
        struct db_value *row = &over[over_rows.n_rows * ENDED_COLUMNS];

        if (!job_state_ended(jobs[i].state)) {
            fill_hot(&jobs[i], shape, &arena, &hot[hot_rows.n_rows++ * shape->hot_columns]);
            continue;
        }
        fill_hot(&jobs[i], &routed_shape, &arena, row);
        row[1] = db_i(jobs[i].queue);
        row[HOT_COLUMNS] = db_i(jobs[i].finished_at);
        over_rows.n_rows++;
    }
    if (shape == &routed_shape && insert_members(s, jobs, n, err) != E_OK)
        return err->code;
    if (hot_rows.n_rows > 0 && db_do(s->db, shape->jobs, err, db_r(&hot_rows)) != E_OK)
        return err->code;
    return over_rows.n_rows == 0 ? E_OK : db_do(s->db, SQL_ENDED_INSERT, err, db_r(&over_rows));
}

/* n of the jobs that come, of which there are `all`. */
static enum err_code insert_set(struct store *s, const struct job *jobs, size_t n, size_t all,
                                struct sharing *sharing, struct err *err)
{
    const struct insert_shape *shape = &plain_shape;
    struct db_value carried[SET_ROWS * PAYLOAD_COLUMNS];

    for (size_t i = 0; i < n && shape == &plain_shape; i++)
        if (jobs[i].routing.size > 0 || jobs[i].assigned.size > 0 || is_member(&jobs[i]) ||
            !history_is_plain(&jobs[i]))
            shape = &routed_shape;
    struct db_rows carried_rows = {carried, 0, shape->payload_columns};

    for (size_t i = 0; i < n; i++) {
        const struct job *j = &jobs[i];

        if (j->key.size == 0 && j->params.size == 0 && j->body.data == NULL &&
            j->labels.size == 0 && j->options.size == 0 && j->routing.size == 0 &&
            j->assigned.size == 0)
            continue;
        int64_t shared = share(sharing, j, all - i);

        if (shared == j->id.v && j->shared == 0 &&
            db_do(s->db, SQL_SHARED_ADD, err, db_i(shared), db_t(j->params), db_b(j->body)) != E_OK)
            return err->code;
        fill_payload(j, shape, shared, &carried[carried_rows.n_rows++ * shape->payload_columns]);
    }
    if (insert_hot(s, jobs, n, shape, err) != E_OK)
        return err->code;
    return carried_rows.n_rows == 0 ? E_OK : db_do(s->db, shape->payload, err, db_r(&carried_rows));
}

/* How many of the jobs make the next set. */
static size_t set_size(const struct job *jobs, size_t n)
{
    size_t bytes = 0;
    size_t i = 0;

    for (; i < n && i < SET_ROWS && bytes < SET_BYTES; i++) {
        const struct job *j = &jobs[i];
        bool again = j->shared != 0 || (i > 0 && carries(j, jobs[i - 1].params, jobs[i - 1].body));

        bytes += (again ? 0 : j->params.size + j->body.size) + j->labels.size + j->options.size +
                 j->routing.size + j->assigned.size;
    }
    return i;
}

/* Few are awaited from the start: those that others of the same array wait for. */
static enum err_code mark_awaited(struct store *s, const struct job *jobs, size_t n,
                                  struct err *err)
{
    struct db_value ids[SET_ROWS];
    struct db_rows rows = {ids, 0, 1};

    for (size_t i = 0; i < n; i++)
        if (jobs[i].awaited)
            ids[rows.n_rows++] = db_i(jobs[i].id.v);
    return rows.n_rows == 0 ? E_OK : db_do(s->db, SQL_AWAIT_MARK, err, db_r(&rows));
}

enum err_code store_jobs_insert(struct store *s, const struct job *jobs, size_t n, struct err *err)
{
    struct sharing sharing = {.id = 0};

    /* A sole server claims them without reading them again. */
    for (size_t i = 0; i < n && s->sole; i++)
        if (jobs[i].state == JOB_READY && jobs[i].assigned.size == 0 && !is_member(&jobs[i]) &&
            history_is_plain(&jobs[i]))
            ready_cache_put(&s->ready_cache, &jobs[i]);
    for (size_t done = 0; done < n;) {
        size_t count = set_size(jobs + done, n - done);

        if (insert_set(s, jobs + done, count, n - done, &sharing, err) != E_OK ||
            mark_awaited(s, jobs + done, count, err) != E_OK)
            return err->code;
        done += count;
    }
    return E_OK;
}

/* ---- claiming ---- */

/* Rows come in the order of the jobs; those that are not ready any more are missing. */
struct claim_rows {
    struct job *jobs;
    size_t n, at;
    struct db_value *taken; /* ids; without those that another server has locked */
    size_t n_taken;
    size_t bytes, bytes_max;
    bool has_members; /* some are in groups or lanes; their rows come in the order of the jobs */
    size_t member_at;
    struct arena *arena;
    struct store_damage *damage;
};

/* What goes to the claimer as it is, or will be walked. */
static bool is_readable(struct slice json)
{
    return json.size == 0 || jtext_is_object(json);
}

static bool payload_is_sound(const struct job *j)
{
    struct slice params = j->params;

    if (!is_readable(j->labels) || !is_readable(j->options) || !is_readable(j->routing) ||
        !is_readable(j->assigned))
        return false;
    /* Params are in nearly every job: a look at their ends must do, unless there is more to be put
     * into them. */
    if (j->routing.size > 0)
        return is_readable(params);
    return params.size == 0 ||
           (params.size >= 2 && params.data[0] == '{' && params.data[params.size - 1] == '}');
}

/* What earlier attempts and steps have left: only a job with a history has any of it. */
static bool read_past(struct claim_rows *t, const struct db_row *row, struct job *j)
{
    if (db_col_null(row, 11))
        return true;
    if (!history_parse_claimed(db_col_text(row, 11), j))
        return false;
    j->cursor = copy_text(db_col_text(row, 9), t->arena);
    j->assigned = copy_text(db_col_text(row, 13), t->arena);
    t->bytes += j->cursor.size + j->assigned.size;
    return true;
}

static void on_claim_row(void *ctx, const struct db_row *row)
{
    struct claim_rows *t = ctx;
    int64_t id = db_col_int(row, 0);

    while (t->at < t->n && t->jobs[t->at].id.v != id)
        t->at++;
    if (t->at == t->n) /* a row that was not asked for */
        return;
    struct job *j = &t->jobs[t->at++];

    j->queue = db_col_int(row, 1);
    j->priority = (int)db_col_int(row, 3);
    t->has_members = t->has_members || db_col_int(row, 14) >= JOB_TIE_GROUP;
    if (t->bytes_max != 0 && t->bytes >= t->bytes_max) {
        j->state = JOB_READY;
        return;
    }
    j->attempt = (int)db_col_int(row, 2);
    j->key = copy_text(db_col_text(row, 4), t->arena);
    j->params = copy_text(db_col_text(row, 5), t->arena);
    j->body = copy_text(db_col_blob(row, 6), t->arena);
    j->labels = copy_text(db_col_text(row, 7), t->arena);
    j->options = copy_text(db_col_text(row, 8), t->arena);
    j->log_size = db_col_int(row, 10);
    j->routing = copy_text(db_col_text(row, 12), t->arena);
    t->bytes += j->params.size + j->body.size + j->labels.size + j->options.size;
    if (id <= 0 || j->attempt < 0 || !read_past(t, row, j) || !payload_is_sound(j)) {
        char text[ID_TEXT_SIZE];

        damage_note(t->damage, "job %s: its row cannot be; it is not given to anybody",
                    id_format(id, text));
        return;
    }
    j->state = JOB_RUNNING;
    t->taken[t->n_taken++] = db_i(id);
}

/* The queue that was read first is the lane of a job that has one. */
static void on_member_row(void *ctx, const struct db_row *row)
{
    struct claim_rows *t = ctx;
    int64_t id = db_col_int(row, 0);

    while (t->member_at < t->n && t->jobs[t->member_at].id.v != id)
        t->member_at++;
    if (t->member_at == t->n)
        return;
    struct job *j = &t->jobs[t->member_at];

    j->queue = db_col_int(row, 1);
    j->group = db_col_int(row, 2);
    j->lane = db_col_int(row, 3);
}

/* Nothing has to be read if the payloads of all jobs were read when the jobs were locked. */
static bool claim_cached(const struct store *s, struct claim_rows *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct cached_job *cached = ready_cache_find(&s->ready_cache, t->jobs[i].id.v);

        if (cached == NULL || !cached->known ||
            !payload_is_sound(&(struct job){.params = cached->params,
                                            .labels = cached->labels,
                                            .options = cached->options,
                                            .routing = cached->routing}))
            return false;
    }
    for (size_t i = 0; i < t->n; i++) {
        struct job *j = &t->jobs[i];
        const struct cached_job *cached = ready_cache_find(&s->ready_cache, j->id.v);

        j->queue = cached->queue;
        j->state = JOB_RUNNING;
        j->priority = cached->priority;
        j->attempt = 1;
        j->key = copy_text(cached->key, t->arena);
        j->params = copy_text(cached->params, t->arena);
        j->labels = copy_text(cached->labels, t->arena);
        j->options = copy_text(cached->options, t->arena);
        j->routing = copy_text(cached->routing, t->arena);
        t->taken[t->n_taken++] = db_i(j->id.v);
    }
    return true;
}

enum err_code store_jobs_claim(struct store *s, const struct store_claim *claim, struct job *jobs,
                               size_t n, struct arena *arena, struct err *err)
{
    struct db_value *ids = arena_array(arena, n, sizeof(*ids));
    struct db_rows rows = {ids, n, 1};
    struct claim_rows t = {
        .jobs = jobs, .n = n, .bytes_max = claim->bytes_max, .arena = arena, .damage = s->damage};

    for (size_t i = 0; i < n; i++) {
        struct job *j = &jobs[i];

        ids[i] = db_i(j->id.v);
        j->state = JOB_NONE;
        j->token = claim->token;
        j->started_at = claim->now_at;
        j->lease_until_at = claim->until_at;
        j->worker = claim->worker;
    }
    t.taken = arena_array(arena, n, sizeof(*t.taken));
    if (!claim_cached(s, &t) &&
        db_rows(s->db, SQL_JOBS_TAKE, on_claim_row, &t, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t.has_members &&
        db_rows(s->db, SQL_JOBS_TAKE_MEMBERS, on_member_row, &t, err, db_r(&rows)) != E_OK)
        return err->code;
    for (size_t i = 0; i < t.n_taken; i++)
        ready_cache_forget(&s->ready_cache, t.taken[i].i);
    rows = (struct db_rows){t.taken, t.n_taken, 1};
    return db_do(s->db, SQL_JOBS_CLAIM, err, db_r(&rows), db_i(claim->token), db_i(claim->now_at),
                 db_i(claim->until_at), db_i(claim->worker));
}

/* ---- ending ---- */

/* Rows come in any order; those that cannot be ended plainly are missing. */
struct done_rows {
    struct done_item *items;
    size_t n;
    struct db_value *hits;
    size_t n_hits;
};

static int compare_item(const void *id, const void *item)
{
    int64_t a = *(const int64_t *)id;
    int64_t b = ((const struct done_item *)item)->id;

    return (a > b) - (a < b);
}

/* NULL: a row that was not asked for. */
static struct done_item *hit_item(struct done_rows *t, const struct db_row *row)
{
    int64_t id = db_col_int(row, 0);
    struct done_item *item = bsearch(&id, t->items, t->n, sizeof(*item), compare_item);

    if (item == NULL || item->hit) {
        db_row_refuse(row, "job %lld ends and was not asked for", (long long)id);
        return NULL;
    }
    item->hit = true;
    item->queue = db_col_int(row, 1);
    t->hits[t->n_hits++] = db_i(id);
    return item;
}

static void on_done_row(void *ctx, const struct db_row *row)
{
    (void)hit_item(ctx, row);
}

/* Which of the wanted ones were hit: all, when as many were and nothing else is asked; else the
 * store says. */
static enum err_code find_hits(struct store *s, struct done_rows *t, const struct db_rows *wanted,
                               int64_t changed, struct err *err)
{
    bool all_known = changed == (int64_t)t->n;

    for (size_t i = 0; i < t->n && all_known; i++)
        all_known = t->items[i].queue != 0;
    if (!all_known)
        return db_rows(s->db, SQL_JOBS_DONE_JUDGE, on_done_row, t, err, db_r(wanted));
    for (size_t i = 0; i < t->n; i++) {
        t->items[i].hit = true;
        t->hits[i] = db_i(t->items[i].id);
    }
    t->n_hits = t->n;
    return E_OK;
}

static enum err_code end_plain(struct store *s, struct done_rows *t, const struct db_rows *wanted,
                               int64_t now_at, struct err *err)
{
    const struct db_value args[] = {db_r(wanted), db_i(now_at)};
    struct db_call call = {.sql = SQL_JOBS_DONE,
                           .args = args,
                           .n_args = ARRAY_LEN(args),
                           .on_row = on_done_row,
                           .ctx = t};

    if (db_query(s->db, &call, err) != E_OK)
        return err->code;
    if ((int64_t)t->n_hits == call.changed) /* none, or the statement returned them */
        return E_OK;
    if (find_hits(s, t, wanted, call.changed, err) != E_OK)
        return err->code;
    if ((int64_t)t->n_hits != call.changed)
        return store_damaged(s, err, "%lld jobs were ended, and %zu are among the ended",
                             (long long)call.changed, t->n_hits);
    struct db_rows hits = {t->hits, t->n_hits, 1};

    return db_do(s->db, SQL_JOBS_REMOVE, err, db_r(&hits));
}

static void on_done_member(void *ctx, const struct db_row *row)
{
    struct done_item *item = hit_item(ctx, row);

    if (item == NULL)
        return;
    item->group = db_col_int(row, 2);
    item->lane = db_col_int(row, 3);
}

/* Jobs in groups and lanes: the store says first which they are. */
static enum err_code end_members(struct store *s, struct done_rows *t, const struct db_rows *wanted,
                                 int64_t now_at, struct err *err)
{
    t->n_hits = 0;
    if (db_rows(s->db, SQL_MEMBERS_DONE_JUDGE, on_done_member, t, err, db_r(wanted)) != E_OK)
        return err->code;
    struct db_rows hits = {t->hits, t->n_hits, 1};

    if (t->n_hits == 0)
        return E_OK;
    if (db_do(s->db, SQL_MEMBERS_DONE, err, db_r(&hits), db_i(now_at)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_JOBS_REMOVE, err, db_r(&hits));
}

enum err_code store_jobs_done(struct store *s, struct done_item *items, size_t n, int64_t now_at,
                              struct arena *arena, struct err *err)
{
    struct db_value *wanted = arena_array(arena, 2 * n, sizeof(*wanted));
    struct db_rows rows = {wanted, n, 2};
    struct done_rows t = {.items = items, .n = n};
    bool may_be_members = false;

    t.hits = arena_array(arena, n, sizeof(*t.hits));
    for (size_t i = 0; i < n; i++) {
        wanted[2 * i] = db_i(items[i].id);
        wanted[2 * i + 1] = db_i(items[i].token);
        may_be_members = may_be_members || items[i].queue == 0;
    }
    if (end_plain(s, &t, &rows, now_at, err) != E_OK)
        return err->code;
    if (t.n_hits == n || !may_be_members)
        return E_OK;
    rows.n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (!items[i].hit && items[i].queue == 0) {
            wanted[2 * rows.n_rows] = db_i(items[i].id);
            wanted[2 * rows.n_rows++ + 1] = db_i(items[i].token);
        }
    return rows.n_rows == 0 ? E_OK : end_members(s, &t, &rows, now_at, err);
}
