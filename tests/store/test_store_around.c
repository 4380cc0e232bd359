/*
 * What stands around the jobs: queues, workers, claims, counts, logs, chunked work, named numbers.
 */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "store/jobs/claims.h"
#include "store/jobs/logs.h"
#include "store/meta.h"
#include "store/queue_log.h"
#include "store/queues.h"
#include "store/work.h"
#include "store_fixture.h"

static void a_named_number_is_kept(void **state)
{
    int64_t value = 5;

    (void)state;
    ok(store_meta_get(fx.store, "floor", &value, &err));
    assert_int_equal(value, 5); /* no such key: as it was */
    begin();
    ok(store_meta_set(fx.store, "floor", INT64_MAX, &err));
    ok(store_meta_set(fx.store, "low", INT64_MIN, &err));
    commit();
    fixture_reopen();
    ok(store_meta_get(fx.store, "floor", &value, &err));
    assert_true(value == INT64_MAX);
    ok(store_meta_get(fx.store, "low", &value, &err));
    assert_true(value == INT64_MIN);
}

struct queues {
    size_t n;
    struct stored_queue last;
};

static void take_queue(void *ctx, const struct stored_queue *q)
{
    struct queues *seen = ctx;

    seen->n++;
    seen->last = *q;
    seen->last.name = arena_copy(&fx.arena, q->name);
    seen->last.definition = arena_copy(&fx.arena, q->definition);
}

static struct queues load_queues(void)
{
    struct queues seen = {.n = 0};

    ok(store_queues_load(fx.store, take_queue, &seen, &err));
    return seen;
}

static void queues_are_added_changed_and_removed(void **state)
{
    (void)state;
    int64_t a = add_queue("first"), b = add_queue("name with spaces äöü");
    struct stored_queue q = {
        .id = b, .state = QUEUE_DRAIN, .definition = SLICE("{\"slots\":4}"), .changed_at = NOW_AT};

    assert_int_not_equal(a, b);
    begin();
    ok(store_queue_set(fx.store, &q, &err));
    commit();
    struct queues seen = load_queues();

    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.last.id, b);
    assert_true(slice_is(seen.last.name, "name with spaces äöü"));
    assert_int_equal(seen.last.state, QUEUE_DRAIN);
    assert_true(slice_is(seen.last.definition, "{\"slots\":4}"));
    assert_int_equal(seen.last.changed_at, NOW_AT);
    begin();
    ok(store_queue_remove(fx.store, b, &err));
    commit();
    assert_int_equal(load_queues().n, 1);
}

static void the_next_ready_job_of_a_queue_is_known(void **state)
{
    int64_t id = -1;

    (void)state;
    int64_t queue = add_queue("q");

    ok(store_queue_next_ready(fx.store, queue, &id, &err));
    assert_int_equal(id, 0);
    begin();
    add_job(20, queue);
    add_job(10, queue);
    commit();
    ok(store_queue_next_ready(fx.store, queue, &id, &err));
    assert_int_equal(id, 10);
}

struct workers {
    size_t n;
    int64_t pid;
    int64_t seen_at;
};

static void take_worker(void *ctx, const struct stored_worker *w)
{
    struct workers *seen = ctx;

    seen->n++;
    seen->pid = w->pid;
    seen->seen_at = w->seen_at;
}

static void a_worker_keeps_its_number_by_name(void **state)
{
    struct stored_worker w = {.name = SLICE("box"),
                              .host = SLICE("h"),
                              .version = SLICE("1"),
                              .pid = 5,
                              .seen_at = NOW_AT};
    int64_t first = 0, again = 0, other = 0;
    struct workers seen = {.n = 0};

    (void)state;
    begin();
    ok(store_worker_put(fx.store, &w, slice_make(NULL, 0), &first, &err));
    w.pid = 6;
    w.seen_at = NOW_AT + 1;
    ok(store_worker_put(fx.store, &w, slice_make(NULL, 0), &again, &err));
    commit();
    assert_true(first > 0);
    assert_int_equal(first, again);
    ok(store_workers_load(fx.store, take_worker, &seen, &err));
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.pid, 6);
    assert_int_equal(seen.seen_at, NOW_AT + 1);
    w.name = SLICE("other");
    begin();
    ok(store_worker_put(fx.store, &w, slice_make(NULL, 0), &other, &err));
    commit();
    assert_int_not_equal(other, first);
}

struct claims {
    size_t n;
    int64_t token, lease_us;
    size_t n_jobs;
    int64_t last_job;
};

static void take_claim(void *ctx, const struct stored_claim *c)
{
    struct claims *seen = ctx;

    assert_true(c->token > seen->token);
    *seen = (struct claims){.n = seen->n + 1,
                            .token = c->token,
                            .lease_us = c->lease_us,
                            .n_jobs = c->n_jobs,
                            .last_job = c->n_jobs == 0 ? 0 : c->jobs[c->n_jobs - 1]};
}

static void claims_come_back_with_their_jobs(void **state)
{
    int64_t jobs[300];
    struct store_claim c = {.token = 7, .node = 1, .worker = 3, .lease_us = US_PER_MIN};

    (void)state;
    for (int64_t i = 0; i < 300; i++)
        jobs[i] = (INT64_C(1) << 62) + i;
    begin();
    ok(store_claim_add(fx.store, &c, jobs, 1, &err));
    c.token = 9;
    ok(store_claim_add(fx.store, &c, jobs, 300, &err));
    commit();
    struct claims seen = {.n = 0};

    ok(store_claims_load(fx.store, take_claim, &seen, &err));
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.n_jobs, 300);
    assert_int_equal(seen.last_job, (INT64_C(1) << 62) + 299);
    assert_int_equal(seen.lease_us, US_PER_MIN);
    begin();
    ok(store_claim_remove(fx.store, 9, &err));
    commit();
    seen = (struct claims){.n = 0};
    ok(store_claims_load(fx.store, take_claim, &seen, &err));
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.token, 7);
}

static void take_count(void *ctx, const struct store_count *c)
{
    int64_t *sums = ctx;

    sums[c->queue * JOB_STATE_COUNT + c->state] += c->n;
}

static void kept_counts_add_up_over_nodes(void **state)
{
    int64_t sums[3 * JOB_STATE_COUNT] = {0};
    struct store_count add[] = {
        {1, JOB_READY, 5}, {1, JOB_RUNNING, 2}, {2, JOB_READY, 1}, {2, JOB_DONE, 0}};
    struct store_count move[] = {{1, JOB_READY, -3}, {1, JOB_RUNNING, 3}};

    (void)state;
    begin();
    ok(store_counts_add(fx.store, 1, add, 4, &err));
    ok(store_counts_add(fx.store, 2, move, 2, &err));
    commit();
    ok(store_counts_load(fx.store, take_count, sums, &err));
    assert_int_equal(sums[JOB_STATE_COUNT + JOB_READY], 2);
    assert_int_equal(sums[JOB_STATE_COUNT + JOB_RUNNING], 5);
    assert_int_equal(sums[2 * JOB_STATE_COUNT + JOB_READY], 1);
    begin();
    ok(store_counts_remove(fx.store, 1, &err));
    commit();
    memset(sums, 0, sizeof(sums));
    ok(store_counts_load(fx.store, take_count, sums, &err));
    assert_int_equal(sums[JOB_STATE_COUNT + JOB_READY], 0);
    assert_int_equal(sums[2 * JOB_STATE_COUNT + JOB_READY], 1);
}

/* ---- logs ---- */

struct pieces {
    struct buf text;
    int64_t first;
    size_t n;
};

static void take_piece(void *ctx, int64_t first, struct slice data)
{
    struct pieces *seen = ctx;

    if (seen->n++ == 0)
        seen->first = first;
    buf_add_slice(&seen->text, data);
}

/* How a log is cut into pieces is the store's own business. */
static void check_log(int64_t from, int64_t to, const char *want)
{
    struct pieces seen = {.text = BUF_INIT(1 << 20)};

    ok(store_log_read(fx.store, 10, from, to, take_piece, &seen, &err));
    assert_true(seen.n > 0 && seen.first <= from);
    assert_true(seen.first + (int64_t)seen.text.size >= to);
    assert_memory_equal(seen.text.data + (from - seen.first), want, (size_t)(to - from));
    buf_deinit(&seen.text);
}

static void a_log_is_read_by_offsets(void **state)
{
    static const char whole[] = "abcd\0fghi\xFF";
    static char large[70000];
    int64_t size = -1;

    (void)state;
    ok(store_log_size(fx.store, 10, &size, &err));
    assert_int_equal(size, 0);
    begin();
    ok(store_log_add(fx.store, 10, 0, slice_make(whole, 3), &err));
    ok(store_log_add(fx.store, 10, 3, slice_make(whole + 3, 5), &err));
    ok(store_log_add(fx.store, 10, 8, slice_make(whole + 8, 2), &err));
    ok(store_log_add(fx.store, 11, 0, SLICE("other"), &err));
    ok(store_log_add(fx.store, 10, 10, slice_make(large, sizeof(large)), &err));
    ok(store_log_add(fx.store, 10, 10 + (int64_t)sizeof(large), SLICE("end"), &err));
    commit();
    ok(store_log_size(fx.store, 10, &size, &err));
    assert_int_equal(size, 13 + (int64_t)sizeof(large));
    for (int64_t from = 0; from < 10; from++)
        for (int64_t to = from + 1; to <= 10; to++)
            check_log(from, to, whole + from);
    check_log(size - 3, size, "end");
    check_log(5000, 65000, large);
}

/* ---- chunked work ---- */

struct works {
    size_t n;
    struct stored_work last;
};

static void take_work(void *ctx, const struct stored_work *w)
{
    struct works *seen = ctx;

    seen->n++;
    seen->last = *w;
    seen->last.args = arena_copy(&fx.arena, w->args);
}

static void chunked_work_resumes_where_it_was(void **state)
{
    struct stored_work w = {
        .id = 40, .kind = 3, .args = SLICE("{\"a\":1}"), .last = 999, .created_at = NOW_AT};
    struct works seen = {.n = 0};

    (void)state;
    begin();
    ok(store_work_add(fx.store, &w, &err));
    commit();
    w.cursor = 55;
    w.changed = 7;
    w.refused = 2;
    begin();
    ok(store_work_step(fx.store, &w, &err));
    commit();
    fixture_reopen();
    ok(store_work_load(fx.store, take_work, &seen, &err));
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.last.kind, 3);
    assert_int_equal(seen.last.cursor, 55);
    assert_int_equal(seen.last.last, 999);
    assert_int_equal(seen.last.changed, 7);
    assert_int_equal(seen.last.refused, 2);
    assert_int_equal(seen.last.finished_at, 0);
    assert_true(slice_is(seen.last.args, "{\"a\":1}"));
}

static void finished_work_is_forgotten_after_its_time(void **state)
{
    struct works seen = {.n = 0};

    (void)state;
    begin();
    for (int64_t id = 1; id <= 3; id++) {
        struct stored_work w = {.id = id, .args = SLICE("{}"), .created_at = NOW_AT};

        ok(store_work_add(fx.store, &w, &err));
        w.finished_at = id == 3 ? 0 : NOW_AT + id;
        ok(store_work_step(fx.store, &w, &err));
    }
    ok(store_work_remove_old(fx.store, NOW_AT + 2, &err));
    commit();
    ok(store_work_find(fx.store, 1, take_work, &seen, &err));
    assert_int_equal(seen.n, 0);
    ok(store_work_find(fx.store, 2, take_work, &seen, &err));
    ok(store_work_find(fx.store, 3, take_work, &seen, &err)); /* under way: never too old */
    assert_int_equal(seen.n, 2);
}

struct lines {
    int64_t n;
    int64_t newest_at;
    int64_t next_at; /* the line before must be this one */
};

static void take_line(void *ctx, const struct queue_log_line *line)
{
    struct lines *seen = ctx;

    if (seen->n++ == 0)
        seen->newest_at = line->at;
    else
        assert_int_equal(line->at, seen->next_at);
    assert_true(slice_is(line->what, "up"));
    seen->next_at = line->at - 1;
}

static void a_queue_keeps_its_newest_lines(void **state)
{
    int64_t queue = add_queue("q");
    int64_t other = add_queue("other");
    struct lines seen = {.n = 0};

    (void)state;
    begin();
    for (int i = 1; i <= QUEUE_LOG_ROWS + 10; i++) {
        struct queue_log_line line = {.at = NOW_AT + i, .what = SLICE("up")};

        ok(store_queue_log_add(fx.store, queue, &line, &err));
        if (i <= 2)
            ok(store_queue_log_add(fx.store, other, &line, &err));
    }
    commit();
    ok(store_queue_log_read(fx.store, queue, 2 * QUEUE_LOG_ROWS, take_line, &seen, &err));
    assert_int_equal(seen.n, QUEUE_LOG_ROWS);
    assert_int_equal(seen.newest_at, NOW_AT + QUEUE_LOG_ROWS + 10);
    seen = (struct lines){.n = 0};
    ok(store_queue_log_read(fx.store, queue, 3, take_line, &seen, &err));
    assert_int_equal(seen.n, 3);
    begin();
    ok(store_queue_log_remove(fx.store, queue, &err));
    commit();
    seen = (struct lines){.n = 0};
    ok(store_queue_log_read(fx.store, queue, 3, take_line, &seen, &err));
    assert_int_equal(seen.n, 0);
    ok(store_queue_log_read(fx.store, other, 3, take_line, &seen, &err));
    assert_int_equal(seen.n, 2);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    raw_sql("INSERT INTO queue_log (queue, seq, at, what) VALUES (99, 1, 1, 'up')");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, "99"), 1);
}

struct marks {
    size_t n;
    int64_t last; /* offset */
};

static void take_mark(void *ctx, const struct log_mark *m)
{
    struct marks *seen = ctx;

    assert_int_equal(m->kind, LOG_MARK_TIME);
    assert_int_equal(m->value, NOW_AT + m->offset);
    assert_true(seen->n++ == 0 || m->offset == seen->last + 1);
    seen->last = m->offset;
}

struct kinds {
    struct log_mark items[4];
    size_t n;
};

static void take_kind(void *ctx, const struct log_mark *m)
{
    struct kinds *seen = ctx;

    assert_true(seen->n < ARRAY_LEN(seen->items));
    seen->items[seen->n++] = *m;
}

/* Bytes of stores that are out there: 16 for each, little endian. */
#define MARKS_HEX      \
    "0100000000000000" \
    "0500000000000000" \
    "0200000000000000" \
    "0000000000000000" \
    "0300000000000000" \
    "FEFFFFFFFFFFFFFF"

static void a_mark_is_a_time_an_attempt_or_where_standard_error_begins(void **state)
{
    static const struct log_mark want[] = {{1, LOG_MARK_TIME, 5},
                                           {2, LOG_MARK_ERRORS, 0},
                                           {3, LOG_MARK_ATTEMPT, 2}};
    int64_t queue = add_queue("q");
    struct kinds seen = {.n = 0};

    (void)state;
    begin();
    struct job j = add_job(7, queue);

    ok(store_log_mark(fx.store, j.id.v, want, ARRAY_LEN(want), &err));
    commit();
    ok(store_log_marks(fx.store, j.id.v, take_kind, &seen, &err));
    assert_int_equal(seen.n, ARRAY_LEN(want));
    for (size_t i = 0; i < seen.n; i++) {
        assert_int_equal(seen.items[i].offset, want[i].offset);
        assert_int_equal(seen.items[i].kind, want[i].kind);
        assert_int_equal(seen.items[i].value, want[i].value);
    }
    assert_int_equal(raw_number("SELECT COUNT(*) FROM log_times WHERE marks = x'" MARKS_HEX "'"),
                     1);
}

static void the_times_of_a_log_are_bounded_and_go_with_their_job(void **state)
{
    enum { SET = 700, SETS = 100 };
    int64_t queue = add_queue("q");
    struct marks seen = {.n = 0};
    struct log_mark set[SET];

    (void)state;
    begin();
    struct job j = add_job(7, queue);

    for (int s = 0; s < SETS; s++) {
        for (int i = 0; i < SET; i++)
            set[i] = (struct log_mark){s * SET + i, LOG_MARK_TIME, NOW_AT + s * SET + i};
        ok(store_log_mark(fx.store, j.id.v, set, SET, &err));
        if (s == 0) {
            commit();
            fixture_reopen();
            begin();
        }
    }
    ok(store_log_mark(fx.store, j.id.v, NULL, 0, &err));
    commit();
    ok(store_log_marks(fx.store, j.id.v, take_mark, &seen, &err));
    assert_in_range(seen.n, 60000, SET * SETS);
    raw_sql("INSERT INTO log_times (job, seq, marks) VALUES (99, 1, x'00')");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, "99"), 1);
    raw_sql("DELETE FROM log_times WHERE job = 99");
    begin();
    ok(store_job_remove(fx.store, &j, &err));
    count_move(queue, JOB_READY, JOB_NONE);
    commit();
    seen.n = 0;
    ok(store_log_marks(fx.store, j.id.v, take_mark, &seen, &err));
    assert_int_equal(seen.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_named_number_is_kept),
        STORE_TEST(queues_are_added_changed_and_removed),
        STORE_TEST(the_next_ready_job_of_a_queue_is_known),
        STORE_TEST(a_worker_keeps_its_number_by_name),
        STORE_TEST(claims_come_back_with_their_jobs),
        STORE_TEST(kept_counts_add_up_over_nodes),
        STORE_TEST(a_log_is_read_by_offsets),
        STORE_TEST(chunked_work_resumes_where_it_was),
        STORE_TEST(finished_work_is_forgotten_after_its_time),
        STORE_TEST(a_queue_keeps_its_newest_lines),
        STORE_TEST(a_mark_is_a_time_an_attempt_or_where_standard_error_begins),
        STORE_TEST(the_times_of_a_log_are_bounded_and_go_with_their_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
