/*
 * One job whole, and lists of jobs newest first.
 *
 * A list looks at windows of rows among the living and the ended and keeps those that match.  It
 * reads a bounded number of rows: a page may be short while its cursor says that there is more.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "engine/jobs/filter.h"
#include "engine/reads/groups.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/clock/expiries.h"
#include "store/filters/waits.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"
#include "store/jobs/list.h"
#include "store/jobs/record.h"
#include "store/links/links.h"
#include "store/meta.h"
#include "store/queue_log.h"

#define CURSOR_MARK "j-"

enum { WINDOW_ROWS = 500, WINDOWS_MAX = 40, WAITS_SHOWN = 1000 };

#define PAGE_BYTES ((size_t)8 << 20) /* a page of large jobs ends early */

/* ---- why a job does not run ---- */

struct reason {
    const char *code;
    char text[500];
    int64_t until_at;
};

enum { REASON_NAME = 80, REASON_TEXT = 200 }; /* maximum bytes of names and texts from outside */

static void say(struct reason *r, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void say(struct reason *r, const char *code, const char *fmt, ...)
{
    va_list ap;

    r->code = code;
    va_start(ap, fmt);
    vsnprintf(r->text, sizeof(r->text), fmt, ap);
    va_end(ap);
}

static void say_broken(struct reason *r, struct slice queue, const struct broken_queue *b)
{
    struct slice place = utf8_cut(worker_place(b->worker), REASON_NAME);
    struct slice why = utf8_cut(b->text, REASON_TEXT);

    say(r, "broken", "queue %.*s is broken on %.*s: %.*s", (int)queue.size, queue.data,
        (int)place.size, place.data, (int)why.size, why.data);
}

static bool takes_commands(const struct stored_queue *q)
{
    struct slice value;

    return jtext_find(q->definition, "own_command", &value) && slice_is(value, "true");
}

/* Whether neither the job nor its queue has a command: workers that run programs skip it. */
static bool has_no_command(const struct stored_queue *q, const struct job *j)
{
    struct slice value;

    return !jtext_find(q->definition, "command", &value) &&
           (j->cut == NULL || j->cut->options.size == 0) && /* too long for a list: it has one */
           (j->options.size == 0 || !jtext_find(j->options, "command", &value));
}

static void reason_ready(const struct query_view *v, const struct stored_queue *q,
                         const struct job *j, struct reason *r)
{
    const struct broken_queue *broken = view_broken(v, q->name);
    struct slice name = utf8_cut(q->name, REASON_NAME);
    int size = (int)name.size;

    if (!queue_state_starts(q->state))
        say(r, "queue", "queue %.*s is on %s: it starts no jobs", size, name.data,
            queue_state_name(q->state));
    else if (view_is_served(v, q->name))
        say(r, "waiting", "waits for a free worker of %.*s%s", size, name.data,
            takes_commands(q) && has_no_command(q, j) ? " that runs jobs without a command" : "");
    else if (broken != NULL)
        say_broken(r, name, broken);
    else if (has_no_command(q, j))
        say(r, "no_worker",
            "%s %.*s has %s command: waits for a claim over HTTP or a worker with its own",
            takes_commands(q) ? "neither the job nor queue" : "queue", size, name.data,
            takes_commands(q) ? "a" : "no");
    else
        say(r, "no_worker", "no live worker for %.*s", size, name.data);
}

/* A filter that has failed says why; one that nobody runs says so. */
static void say_filter(struct query_view *v, const struct job *j, struct reason *r)
{
    struct filter_wait wait = {.job = 0};
    struct err ignored = ERR_INIT;
    struct slice name = view_queue_name(v, j->queue);

    if (store_filter_wait_find(v->store, j->id.v, &v->arena, &wait, &ignored) == E_OK &&
        wait.why.size > 0) {
        say(r, "filter", "the filter of its queue failed %lld times: %.*s", (long long)wait.tries,
            (int)(wait.why.size > 200 ? 200 : wait.why.size), wait.why.data);
        r->until_at = wait.due_at;
    } else if (!view_is_served(v, name)) {
        say(r, "filter",
            "waits for the filter of its queue: no live worker runs the commands of "
            "%.*s",
            (int)name.size, name.data);
    } else {
        say(r, "filter", "waits for the filter of its queue");
    }
}

static struct reason reason_of(struct query_view *v, const struct job *j)
{
    struct reason r = {0};
    const struct stored_queue *q = view_queue(v, j->queue);

    if (j->state == JOB_HELD && j->holds & JOB_HOLD_HAND)
        say(&r, "held", "held by hand until it is released");
    else if (j->state == JOB_HELD && j->holds & JOB_HOLD_FILTER)
        say_filter(v, j, &r);
    else if (j->state == JOB_HELD && j->holds & JOB_HOLD_FOLLOWUPS)
        say(&r, "links", "waits until all jobs that follow its last step are created");
    else if (j->state == JOB_SCHEDULED) {
        if (j->attempt > j->attempts_before)
            say(&r, "retry", "attempt %d %s", j->attempt,
                j->outcome == JOB_OUT_LATER ? "asked to run later" : "failed");
        else
            say(&r, "due", "not due yet");
        r.until_at = j->due_at;
    } else if (j->state == JOB_READY && q != NULL)
        reason_ready(v, q, j, &r);
    else if (j->state == JOB_RUNNING && j->cancelling)
        say(&r, "cancelling", "its worker has been asked to stop it");
    return r;
}

static void add_reason(struct buf *b, const struct reason *r)
{
    if (r->code == NULL)
        return;
    jtext_add_key(b, "reason");
    buf_add_char(b, '{');
    jtext_put_string(b, "code", slice_of(r->code));
    jtext_put_string(b, "text", slice_of(r->text));
    if (r->until_at != 0)
        jtext_put_time(b, "until", r->until_at);
    buf_add_char(b, '}');
}

/* ---- a group that starts nothing ---- */

/* Said of all its jobs from the moment on that it is held, whether they are marked yet or not. */
static enum err_code say_group(struct query_view *v, const struct job *j, struct reason *r,
                               struct err *err)
{
    const struct stored_group *by = NULL;
    unsigned flags = 0;
    char id[ID_TEXT_SIZE];

    if (j->group == 0 || j->state == JOB_STAGED || !job_state_waits(j->state))
        return E_OK;
    if (view_group_flags(v, j->group, &flags, &by, err) != E_OK)
        return err->code;
    if (by == NULL)
        return E_OK;
    struct slice name = utf8_cut(by->name, REASON_NAME);

    say(r, "group", "group %s%s%.*s is %s", id_format(by->id, id), name.size > 0 ? " " : "",
        (int)name.size, name.data == NULL ? "" : name.data,
        group_cancels(flags) ? "being cancelled" : "paused");
    return E_OK;
}

/* ---- what a job waits for ---- */

/* The first of its conditions that do not hold, and how many there are. */
struct first_wait {
    struct stored_wait wait;
    size_t count;
};

static void take_wait(void *ctx, const struct stored_wait *wait)
{
    struct first_wait *f = ctx;

    if (f->count++ == 0)
        f->wait = *wait;
}

static enum err_code say_job(struct query_view *v, const struct stored_wait *w, struct reason *r,
                             struct err *err)
{
    char id[ID_TEXT_SIZE];
    bool found = false;
    struct job j;

    if (store_job_load(v->store, w->target, LOAD_STATE, &v->arena, &j, &found, err) != E_OK)
        return err->code;
    const char *state = found ? job_state_name(j.state) : "gone";

    if (w->step > 0)
        say(r, "after", "waits for step %d of job %s (%s)", w->step, id_format(w->target, id),
            state);
    else
        say(r, "after", "waits for job %s (%s)", id_format(w->target, id), state);
    return E_OK;
}

static enum err_code say_signal(struct query_view *v, const struct stored_wait *w, struct reason *r,
                                struct err *err)
{
    struct stored_signal signal;

    if (store_signal_load(v->store, w->target, &v->arena, &signal, err) != E_OK)
        return err->code;
    struct slice name = utf8_cut(signal.name, REASON_NAME);

    say(r, "after", "signal %.*s %lld/%lld", (int)name.size, name.data, (long long)signal.count,
        (long long)w->count);
    return E_OK;
}

static enum err_code say_awaited_group(struct query_view *v, const struct stored_wait *w,
                                       struct reason *r, struct err *err)
{
    const struct stored_group *g = NULL;
    char id[ID_TEXT_SIZE];

    if (view_group(v, w->target, &g, err) != E_OK)
        return err->code;
    say(r, "after", "waits for group %s (%s)", id_format(w->target, id),
        g->id == 0 ? "gone" : group_state_name(g->state));
    return E_OK;
}

static enum err_code say_after(struct query_view *v, const struct job *j, struct reason *r,
                               struct err *err)
{
    struct first_wait first = {0};
    size_t length;

    if (store_waits_of(v->store, j->id.v, WAITS_SHOWN, take_wait, &first, err) != E_OK)
        return err->code;
    if (first.count == 0)
        return E_OK;
    if ((first.wait.kind == AFTER_JOB     ? say_job(v, &first.wait, r, err)
         : first.wait.kind == AFTER_GROUP ? say_awaited_group(v, &first.wait, r, err)
                                          : say_signal(v, &first.wait, r, err)) != E_OK)
        return err->code;
    length = strlen(r->text);
    if (first.count > 1)
        snprintf(r->text + length, sizeof(r->text) - length, " and %zu%s more", first.count - 1,
                 first.count == WAITS_SHOWN ? " or" : "");
    return E_OK;
}

/* ---- a queue that starts nothing ---- */

static void take_why(void *ctx, const struct queue_log_line *line)
{
    struct buf *why = ctx;

    buf_add_slice(why, utf8_cut(line->text, REASON_TEXT));
}

/* Says why the queue has stopped and what resumes it.  For one job only: lists have no room. */
static enum err_code say_stopped(struct query_view *v, const struct job *j, struct reason *r,
                                 struct err *err)
{
    const struct stored_queue *q = view_queue(v, j->queue);
    CLEANUP(buf) struct buf why = BUF_INIT(REASON_TEXT);
    struct slice name = utf8_cut(q->name, REASON_NAME);
    const char *state = queue_state_name(q->state);

    if (store_queue_log_newest(v->store, q->id, slice_of(state), take_why, &why, err) != E_OK)
        return err->code;
    say(r, "queue", "queue %.*s is on %s%s%s: it starts no jobs until 'waybill queue resume %.*s'",
        (int)name.size, name.data, state, why.size > 0 ? ", " : "", buf_text(&why), (int)name.size,
        name.data);
    return E_OK;
}

/* A queue that starts nothing is told before the gates of its jobs. */
static enum err_code say_gate(struct query_view *v, const struct job *j, struct reason *r,
                              struct err *err)
{
    const struct stored_queue *q = view_queue(v, j->queue);
    struct gate_reason gate = {.code = NULL};

    if (q == NULL || !queue_state_starts(q->state))
        return E_OK;
    if (query_gate_reason(v, q, j, &gate, err) != E_OK)
        return err->code;
    if (gate.code != NULL) {
        say(r, gate.code, "%s", gate.text);
        r->until_at = gate.until_at;
    }
    return E_OK;
}

/* ---- one job ---- */

static enum err_code add_fields(struct buf *b, struct query_view *v, const struct query *q,
                                const struct job *j, bool whole, struct err *err)
{
    struct slice worker = view_worker_name(v, j->worker);
    struct reason r = reason_of(v, j);

    jtext_add_job_fields(b, j, view_queue_name(v, j->queue));
    if (worker.size > 0)
        jtext_put_string(b, "worker", worker);
    jtext_add_routing(b, j, whole);
    if (view_add_group(v, b, j->group, err) != E_OK || say_group(v, j, &r, err) != E_OK)
        return err->code;
    if (j->closes != 0)
        jtext_add_id(b, "closes", j->closes);
    jtext_add_job_url(b, q->url, j->id.v);
    if (j->state == JOB_HELD && r.code == NULL && say_after(v, j, &r, err) != E_OK)
        return err->code;
    if (j->state == JOB_READY && say_gate(v, j, &r, err) != E_OK)
        return err->code;
    if (whole && r.code != NULL && strcmp(r.code, "queue") == 0 &&
        say_stopped(v, j, &r, err) != E_OK)
        return err->code;
    add_reason(b, &r);
    return query_add_last_line(b, v, j, err);
}

/* Adds which job has emitted a staged job: it waits for that one. */
static enum err_code add_owner(struct buf *b, struct query_view *v, const struct job *j,
                               struct err *err)
{
    char id[ID_TEXT_SIZE];
    int64_t owner = 0;

    if (j->state != JOB_STAGED)
        return E_OK;
    if (store_emit_owner(v->store, j->id.v, &owner, err) != E_OK)
        return err->code;
    jtext_add_key(b, "reason");
    buf_addf(b, "{\"code\":\"staged\",\"text\":\"emitted by job %s, which must succeed first\"}",
             id_format(owner, id));
    return E_OK;
}

/* Adds the cursor: where the next attempt would continue. */
static enum err_code add_cursor(struct buf *b, struct query_view *v, const struct job *j,
                                struct err *err)
{
    struct slice cursor = {0};

    if (store_cursor_find(v->store, j->id.v, &v->arena, &cursor, err) != E_OK)
        return err->code;
    if (cursor.size > 0)
        jtext_put_raw(b, "cursor", cursor);
    return E_OK;
}

struct record {
    struct buf *b;
    const struct query_view *view;
    struct routing routing;
    int last_attempt;
};

/* An entry that ran here shows the queue it ran in, which may differ from the one its step names;
 * any other shows the step's queue. */
static void take_entry(void *ctx, const struct progress_entry *entry)
{
    struct record *r = ctx;
    const struct route_step *step = route_find(&r->routing, entry->number);
    struct slice queue = view_queue_name(r->view, entry->queue);

    if (step != NULL && (entry->token == 0 || view_queue(r->view, entry->queue) == NULL))
        queue = step->queue;
    jtext_add_comma(r->b);
    jtext_add_progress(r->b, entry, step == NULL ? queue : step->name, queue,
                       view_worker_name(r->view, entry->worker));
    r->last_attempt = entry->seq;
}

/* Adds the entries of the table, then the last one, which is in the row of an ended job. */
static enum err_code add_record(struct buf *b, struct query_view *v, const struct job *j,
                                struct err *err)
{
    struct record r = {.b = b, .view = v};

    if (j->routing.size > 0)
        routing_parse(j->routing, &v->arena, &r.routing);
    jtext_add_key(b, "progress");
    buf_add_char(b, '[');
    if (store_progress_load(v->store, j->id.v, take_entry, &r, err) != E_OK)
        return err->code;
    if (job_state_ended(j->state) && j->outcome != JOB_OUT_NONE && j->outcome != JOB_OUT_RETURNED &&
        j->attempt > r.last_attempt) {
        struct progress_entry last = job_last_entry(j);

        take_entry(&r, &last);
    }
    buf_add_char(b, ']');
    return E_OK;
}

/* When it is cancelled unless it has started. */
static enum err_code add_expiry(struct buf *b, const struct query_view *v, const struct job *j,
                                struct err *err)
{
    int64_t at = 0;

    if (!job_state_waits(j->state) || j->attempt > 0)
        return E_OK;
    if (store_expiry_of(v->store, j->id.v, &at, err) != E_OK)
        return err->code;
    if (at != 0)
        jtext_put_time(b, "expires_at", at);
    return E_OK;
}

enum err_code query_job(struct query_view *v, struct query *q, struct err *err)
{
    bool found = false;
    struct job j;

    if (store_job_load(v->store, q->id, LOAD_ALL, &v->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return query_no_job(q->id, err);
    char version[JOB_VERSION_SIZE];

    q->ended = job_state_ended(j.state);
    buf_add_char(&q->reply, '{');
    if (job_state_waits(j.state))
        jtext_put_string(&q->reply, "version", slice_of(job_version(&j, version)));
    if (add_fields(&q->reply, v, q, &j, true, err) != E_OK ||
        add_expiry(&q->reply, v, &j, err) != E_OK || add_owner(&q->reply, v, &j, err) != E_OK ||
        add_cursor(&q->reply, v, &j, err) != E_OK || add_record(&q->reply, v, &j, err) != E_OK)
        return err->code;
    buf_add_char(&q->reply, '}');
    return E_OK;
}

/* ---- lists ---- */

struct window {
    const struct job_filter *filter;
    int64_t queue;
    VEC(int64_t) ids; /* that match */
    int rows;
    int64_t lowest;
};

static void take_row(void *ctx, const struct job *j)
{
    struct window *w = ctx;

    w->rows++;
    w->lowest = j->id.v;
    if (filter_matches(w->filter, w->queue, j))
        VEC_PUSH(&w->ids, j->id.v);
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* Reads the next rows with ids below `below`.  Ids from *ret_floor on are complete; 0: no rows are
 * left. */
static enum err_code read_window(struct query_view *v, struct window *w, int64_t below,
                                 int64_t *ret_floor, struct err *err)
{
    const struct job_filter *f = w->filter;
    const bool wanted[] = {
        [STRETCH_LIVE] = filter_wants_live(f),
        [STRETCH_ENDED] = filter_wants_ended(f) && !filter_wants_only_failed(f),
        [STRETCH_FAILED] = filter_wants_only_failed(f),
    };
    int64_t floor = 0;

    VEC_CLEAR(&w->ids);
    for (unsigned s = 0; s < STRETCH_COUNT; s++) {
        if (!wanted[s])
            continue;
        const struct store_walk walk = {.which = (enum store_stretch)s,
                                        .text = f->text,
                                        .group = f->group,
                                        .reads = filter_reads(f),
                                        .limit = WINDOW_ROWS,
                                        .on_job = take_row,
                                        .ctx = w};

        w->rows = 0;
        if (store_list_down(v->store, &walk, below, err) != E_OK)
            return err->code;
        if (w->rows == WINDOW_ROWS && w->lowest > floor)
            floor = w->lowest;
    }
    if (w->ids.count > 0)
        qsort(w->ids.items, w->ids.count, sizeof(int64_t), newest_first);
    *ret_floor = floor;
    return E_OK;
}

enum err_code query_add_listed(struct query_view *v, struct query *q, int64_t id, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* jobs may be large: one at a time */
    bool found = false;
    struct job j;

    if (store_job_load(v->store, id, q->whole ? LOAD_PAYLOAD : LOAD_PREVIEW, &arena, &j, &found,
                       err) != E_OK)
        return err->code;
    if (!found) /* one read transaction sees one state */
        return err_set(err, E_INTERNAL, "the store is damaged: a listed job is not there");
    jtext_add_comma(&q->reply);
    buf_add_char(&q->reply, '{');
    if (add_fields(&q->reply, v, q, &j, false, err) != E_OK ||
        add_owner(&q->reply, v, &j, err) != E_OK)
        return err->code;
    buf_add_char(&q->reply, '}');
    return E_OK;
}

/* Adds what matches in the window; *below becomes where the next page begins. */
static enum err_code add_window(struct query_view *v, struct query *q, const struct window *w,
                                int64_t floor, int *left, int64_t *below, struct err *err)
{
    for (size_t i = 0; i < w->ids.count && w->ids.items[i] >= floor; i++) {
        if (*left == 0 || q->reply.size > PAGE_BYTES)
            return E_OK;
        if (query_add_listed(v, q, w->ids.items[i], err) != E_OK)
            return err->code;
        *below = w->ids.items[i];
        (*left)--;
    }
    *below = floor;
    return E_OK;
}

static enum err_code read_page(struct query_view *v, struct query *q, struct window *w,
                               int64_t *below, struct err *err)
{
    int left = q->limit;
    int64_t first = *below; /* a page that has passed this ends when its time is up */

    for (int n = 0;
         n < WINDOWS_MAX && left > 0 && *below > q->filter.first_id && q->reply.size <= PAGE_BYTES;
         n++) {
        int64_t floor = 0;

        if (read_window(v, w, *below, &floor, err) != E_OK ||
            add_window(v, q, w, floor, &left, below, err) != E_OK)
            return err->code == E_TOO_SLOW && *below != first ? E_OK : err->code;
    }
    return E_OK;
}

static enum err_code parse_cursor(struct slice cursor, int64_t *ret_below, struct err *err)
{
    const size_t mark = sizeof(CURSOR_MARK) - 1;

    *ret_below = INT64_MAX;
    if (cursor.size == 0)
        return E_OK;
    if (cursor.size > mark && memcmp(cursor.data, CURSOR_MARK, mark) == 0 &&
        id_parse(slice_make(cursor.data + mark, cursor.size - mark), ret_below))
        return E_OK;
    return err_set(err, E_INVALID,
                   "'cursor' was not returned by a list of jobs: leave it out to start again");
}

enum err_code query_find_queue(const struct query_view *v, struct slice name, int64_t *ret_queue,
                               struct err *err)
{
    const struct stored_queue *queue = NULL;

    if (name.size == 0)
        return E_OK;
    queue = view_queue_named(v, name);
    if (queue == NULL)
        return view_queue_unknown(v, name, E_INVALID, err);
    *ret_queue = queue->id;
    return E_OK;
}

enum err_code query_jobs(struct query_view *v, struct query *q, struct err *err)
{
    struct window w = {.filter = &q->filter};
    int64_t below;

    if (parse_cursor(q->cursor, &below, err) != E_OK ||
        query_find_queue(v, q->filter.queue, &w.queue, err) != E_OK)
        return err->code;
    if (q->filter.last_id != 0 && below > q->filter.last_id)
        below = q->filter.last_id + 1;
    buf_add_str(&q->reply, "{\"jobs\":[");
    enum err_code code = read_page(v, q, &w, &below, err);

    VEC_DEINIT(&w.ids);
    if (code != E_OK)
        return code;
    buf_add_str(&q->reply, "],\"cursor\":");
    if (below > q->filter.first_id) {
        char id[ID_TEXT_SIZE];

        buf_addf(&q->reply, "\"" CURSOR_MARK "%s\"}", id_format(below, id));
    } else {
        buf_add_str(&q->reply, "null}");
    }
    return E_OK;
}
