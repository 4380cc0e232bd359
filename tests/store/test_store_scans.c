/*
 * What is found by order: ready and due jobs, endings, lists; and what is found by name: records,
 * keys.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <sqlite3.h>

#include "base/text/utf8.h"
#include "store/jobs/endings.h"
#include "store/jobs/list.h"
#include "store/jobs/ready.h"
#include "store/jobs/record.h"
#include "store_fixture.h"

static int64_t queue;

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    queue = add_queue("q");
    return 0;
}

static bool same(struct slice a, const char *b)
{
    return slice_equal(a, slice_of(b)) != 0;
}

static void the_ready_scan_goes_by_priority_then_age(void **state)
{
    struct ready_ref refs[10];
    size_t n = 0;
    bool hit;

    (void)state;
    int64_t other = add_queue("other");

    begin();
    for (int64_t id = 1; id <= 6; id++) {
        struct job was = add_job(id, id == 4 ? other : queue), now = was;

        was.token = id;
        now.priority = id == 5 ? 1000 : id == 6 ? -1000 : 0;
        ok(store_job_update(fx.store, &was, &now, &hit, &err));
        assert_true(hit);
    }
    commit();
    struct ready_ref from = {.priority = JOB_PRIORITY_MAX + 1, .id = 0};

    ok(store_ready_scan(fx.store, queue, from, refs, 10, &n, &err));
    assert_int_equal(n, 5);
    static const int64_t want[] = {5, 1, 2, 3, 6};

    for (size_t i = 0; i < n; i++)
        assert_int_equal(refs[i].id, want[i]);
    ok(store_ready_scan(fx.store, queue, refs[1], refs, 2, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(refs[0].id, 2);
    assert_int_equal(refs[1].id, 3);
}

static void the_due_scan_finds_what_is_due_and_no_more(void **state)
{
    int64_t ids[10], next = 0;
    size_t n = 0;

    (void)state;
    ok(store_due_next(fx.store, &next, &err));
    assert_true(next == TIME_NEVER);
    begin();
    for (int64_t id = 1; id <= 5; id++) {
        struct job j = {
            .id = {id}, .queue = queue, .state = JOB_SCHEDULED, .due_at = NOW_AT + 10 * (6 - id)};

        ok(store_jobs_insert(fx.store, &j, 1, &err));
    }
    commit();
    ok(store_due_next(fx.store, &next, &err));
    assert_int_equal(next, NOW_AT + 10);
    ok(store_due_scan(fx.store, NOW_AT + 9, ids, 10, &n, &err));
    assert_int_equal(n, 0);
    ok(store_due_scan(fx.store, NOW_AT + 30, ids, 10, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(ids[0], 5);
    assert_int_equal(ids[2], 3);
    ok(store_due_scan(fx.store, NOW_AT + 30, ids, 2, &n, &err));
    assert_int_equal(n, 2);
}

static struct ending oldest(enum job_state how)
{
    struct ending e = {.id = -1};

    ok(store_ending_oldest(fx.store, queue, how, &fx.arena, &e, &err));
    return e;
}

static void endings_come_back_oldest_first(void **state)
{
    static const int64_t jobs[] = {7, 8, INT64_MAX};

    (void)state;
    assert_int_equal(oldest(JOB_DONE).id, 0);
    begin();
    for (int64_t i = 3; i > 0; i--)
        ok(store_ending_add(fx.store,
                            &(struct ending){.id = 100 + i,
                                             .queue = queue,
                                             .state = i == 2 ? JOB_FAILED : JOB_DONE,
                                             .finished_at = NOW_AT + i,
                                             .jobs = jobs,
                                             .n_jobs = (size_t)i},
                            &err));
    commit();
    assert_int_equal(oldest(JOB_DONE).id, 101);
    assert_int_equal(oldest(JOB_DONE).finished_at, NOW_AT + 1);
    assert_int_equal(oldest(JOB_FAILED).n_jobs, 2);
    begin();
    ok(store_ending_remove(fx.store, 101, &err));
    commit();
    struct ending last = oldest(JOB_DONE);

    assert_int_equal(last.id, 103);
    assert_memory_equal(last.jobs, jobs, sizeof(jobs));
    assert_int_equal(oldest(JOB_CANCELLED).id, 0);
}

struct entries {
    int n;
    struct progress_entry last;
};

static void take_entry(void *ctx, const struct progress_entry *e)
{
    struct entries *seen = ctx;

    assert_int_equal(e->seq, ++seen->n);
    assert_int_equal(e->attempt, seen->n);
    seen->last = *e;
    seen->last.text = arena_copy(&fx.arena, e->text);
    seen->last.set = arena_copy(&fx.arena, e->set);
}

static void the_record_comes_back_in_order(void **state)
{
    enum job_outcome outcome = JOB_OUT_DONE;
    struct entries seen = {.n = 0};

    (void)state;
    begin();
    add_job(10, queue);
    for (int i = 1; i <= 3; i++)
        ok(store_progress_add(fx.store, 10,
                              &(struct progress_entry){.seq = i,
                                                       .number = 1,
                                                       .attempt = i,
                                                       .token = 500 + i,
                                                       .outcome = JOB_OUT_FAILED,
                                                       .cause = JOB_CAUSE_SIGNAL,
                                                       .exited = i == 3,
                                                       .exit = -9,
                                                       .queue = queue,
                                                       .worker = 4,
                                                       .started_at = NOW_AT,
                                                       .ended_at = NOW_AT + i,
                                                       .text = SLICE("why"),
                                                       .set = SLICE("{\"a\":1}")},
                              &err));
    commit();
    ok(store_progress_load(fx.store, 10, take_entry, &seen, &err));
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.last.token, 503);
    assert_true(seen.last.exited && seen.last.exit == -9);
    assert_int_equal(seen.last.ended_at, NOW_AT + 3);
    assert_true(same(seen.last.text, "why") && same(seen.last.set, "{\"a\":1}"));
    ok(store_progress_find(fx.store, 10, 502, &outcome, &err));
    assert_int_equal(outcome, JOB_OUT_FAILED);
    ok(store_progress_find(fx.store, 10, 777, &outcome, &err));
    assert_int_equal(outcome, JOB_OUT_NONE);
}

static void a_key_belongs_to_one_job(void **state)
{
    struct stored_key key = {.key = SLICE("k")};

    (void)state;
    ok(store_keys_find(fx.store, &key, 1, &err));
    assert_int_equal(key.job, 0);
    key = (struct stored_key){SLICE("k"), 10, UINT64_MAX};
    begin();
    add_job(10, queue);
    ok(store_keys_add(fx.store, &key, 1, &err));
    commit();
    assert_int_equal(key.job, 10);
    key = (struct stored_key){SLICE("k"), 11, 1};
    begin();
    ok(store_keys_add(fx.store, &key, 1, &err));
    store_rollback(fx.store);
    assert_int_equal(key.job, 10);
    assert_true(key.content == UINT64_MAX);
}

enum { KEYS = 2500 };

static char key_texts[KEYS][16];

/* From the first on, each `every`-th. */
static size_t make_keys(struct stored_key *keys, size_t every, int64_t job)
{
    size_t n = 0;

    for (size_t i = 0; i < KEYS; i += every) {
        snprintf(key_texts[i], sizeof(key_texts[i]), "key-%06zu", i);
        keys[n] = (struct stored_key){slice_of(key_texts[i]), job + (int64_t)i, i};
        n++;
    }
    return n;
}

static void keys_are_looked_up_and_added_in_sets(void **state)
{
    static struct stored_key keys[KEYS];
    size_t n = make_keys(keys, 3, 10000);

    (void)state;
    begin();
    ok(store_keys_add(fx.store, keys, n, &err));
    commit();
    n = make_keys(keys, 1, 20000);
    struct store_traffic before = store_traffic(fx.store);

    begin();
    ok(store_keys_find(fx.store, keys, n, &err));
    assert_int_equal(store_traffic(fx.store).statements - before.statements, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(keys[i].job, i % 3 == 0 ? 10000 + i : 0);
    n = make_keys(keys, 1, 20000);
    before = store_traffic(fx.store);
    ok(store_keys_add(fx.store, keys, n, &err));
    assert_int_equal(store_traffic(fx.store).statements - before.statements, 6);
    commit();
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(keys[i].job, (i % 3 == 0 ? 10000 : 20000) + i);
        assert_int_equal(keys[i].content, i);
    }
    begin();
    ok(store_keys_remove(fx.store, keys + 1, n - 1, &err));
    commit();
    assert_int_equal(raw_number("SELECT COUNT(*) FROM keys"), 1);
}

struct listed {
    int64_t ids[16];
    size_t n;
};

static void take_listed(void *ctx, const struct job *j)
{
    struct listed *l = ctx;

    l->ids[l->n++] = j->id.v;
}

static void lists_go_down_and_up_in_bounded_stretches(void **state)
{
    (void)state;
    begin();
    for (int64_t id = 1; id <= 6; id++)
        add_job(id, queue);
    for (int64_t id = 1; id <= 3; id++) {
        struct job was = get_job(id), now = was;
        bool hit = false;

        now.state = id == 2 ? JOB_FAILED : JOB_DONE;
        ok(store_job_end(fx.store, &was, &now, &hit, &err));
        assert_true(hit);
    }
    commit();
    struct listed l = {.n = 0};
    struct store_walk walk = {.limit = 10, .on_job = take_listed, .ctx = &l};

    ok(store_list_down(fx.store, &walk, 6, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 5);
    l.n = 0;
    walk.which = STRETCH_ENDED;
    walk.limit = 2;
    ok(store_list_down(fx.store, &walk, INT64_MAX, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 3);
    l.n = 0;
    walk.which = STRETCH_FAILED;
    walk.limit = 5;
    ok(store_list_down(fx.store, &walk, INT64_MAX, &err));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.ids[0], 2);
    l.n = 0;
    walk.which = STRETCH_LIVE;
    walk.limit = 10;
    ok(store_list_up(fx.store, &walk, 4, 6, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 5);
    assert_int_equal(l.ids[1], 6);
    l.n = 0;
    walk.which = STRETCH_FAILED;
    ok(store_list_up(fx.store, &walk, 2, 6, &err));
    assert_int_equal(l.n, 0);
}

/* ---- large jobs ---- */

enum { LARGE = 1 << 20 };

/* {"x":"aaa…NEEDLE"}, LARGE bytes */
static struct slice large_json(void)
{
    static const char head[] = "{\"x\":\"", tail[] = "needle\"}";
    char *text = arena_alloc(&fx.arena, LARGE);

    memset(text, 'a', LARGE);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + LARGE - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    return slice_make(text, LARGE);
}

struct loaded {
    size_t bytes; /* of what all jobs carry */
    int64_t matches[4];
    size_t n;
};

static size_t bytes_of(const struct job *j)
{
    return j->key.size + j->params.size + j->body.size + j->labels.size + j->options.size +
           j->result.size + j->routing.size + j->assigned.size;
}

static void take_loaded(void *ctx, const struct job *j)
{
    struct loaded *l = ctx;

    l->bytes += bytes_of(j);
    if (j->params_match)
        l->matches[l->n++] = j->id.v;
}

static struct job large_job(int64_t id, struct slice large)
{
    return (struct job){.id = {id},
                        .queue = queue,
                        .state = JOB_READY,
                        .key = SLICE("k"),
                        .params = large,
                        .body = large,
                        .labels = large,
                        .options = large,
                        .routing = large,
                        .has_dests = true};
}

/* 1 and 2 live, 3 and 4 have failed; 2 and 3 share their params, 1 and 4 have their own. */
static void add_large_jobs(struct slice large)
{
    struct job jobs[4];

    for (int64_t id = 1; id <= 4; id++)
        jobs[id - 1] = large_job(id, large);
    begin();
    ok(store_jobs_insert(fx.store, &jobs[0], 1, &err));
    ok(store_jobs_insert(fx.store, &jobs[1], 2, &err));
    ok(store_jobs_insert(fx.store, &jobs[3], 1, &err));
    for (int64_t id = 3; id <= 4; id++) {
        struct job was = get_job(id), now = was;
        bool hit = false;

        now.state = JOB_FAILED;
        now.result = large;
        ok(store_job_end(fx.store, &was, &now, &hit, &err));
        assert_true(hit);
    }
    commit();
}

/* Both ways through a stretch: jobs whose params have the text, and the bytes that were read. */
static struct loaded walk_both_ways(enum store_stretch which, const char *text)
{
    struct loaded l = {.n = 0};
    const struct store_walk walk = {
        .which = which, .text = slice_of(text), .limit = 10, .on_job = take_loaded, .ctx = &l};

    ok(store_list_down(fx.store, &walk, INT64_MAX, &err));
    ok(store_list_up(fx.store, &walk, 0, INT64_MAX, &err));
    return l;
}

static void a_list_reads_nothing_large_and_still_finds_a_text_in_it(void **state)
{
    static const struct {
        enum store_stretch which;
        int64_t high, low;
    } cases[] = {{STRETCH_LIVE, 2, 1}, {STRETCH_ENDED, 4, 3}, {STRETCH_FAILED, 4, 3}};

    (void)state;
    add_large_jobs(large_json());
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct loaded l = walk_both_ways(cases[i].which, "aneedle\"}");

        assert_int_equal(l.bytes, 4 * strlen("k"));
        assert_int_equal(l.n, 4);
        assert_true(l.matches[0] == cases[i].high && l.matches[1] == cases[i].low);
        assert_true(l.matches[2] == cases[i].low && l.matches[3] == cases[i].high);
        assert_int_equal(walk_both_ways(cases[i].which, "needles").n, 0);
        assert_int_equal(walk_both_ways(cases[i].which, "").n, 0);
    }
}

/* Of SQLite's, since the last call. */
static int64_t largest_allocation(void)
{
    sqlite3_int64 now = 0, high = 0;

    assert_int_equal(sqlite3_status64(SQLITE_STATUS_MALLOC_SIZE, &now, &high, 1), SQLITE_OK);
    return high;
}

static void assert_cut(struct slice value, const struct job_cut_value *cut, struct slice whole)
{
    assert_int_equal(value.size, 0);
    assert_int_equal(cut->size, whole.size);
    assert_true(cut->start.size >= 200 && cut->start.size <= 400);
    assert_memory_equal(cut->start.data, whole.data, cut->start.size);
}

static void a_job_is_listed_with_the_start_and_the_size_of_what_is_large(void **state)
{
    struct slice large = large_json();

    (void)state;
    add_large_jobs(large);
    (void)largest_allocation();
    for (int64_t id = 1; id <= 4; id++) {
        bool found = false;
        struct job j;

        ok(store_job_load(fx.store, id, LOAD_PREVIEW, &fx.arena, &j, &found, &err));
        assert_true(found);
        assert_int_equal(bytes_of(&j), strlen("k"));
        assert_int_equal(j.state, id < 3 ? JOB_READY : JOB_FAILED);
        assert_cut(j.params, &j.cut->params, large);
        assert_cut(j.labels, &j.cut->labels, large);
        assert_cut(j.options, &j.cut->options, large);
        if (id >= 3)
            assert_cut(j.result, &j.cut->result, large);
        else
            assert_int_equal(j.cut->result.size, 0);
    }
    if (!pg_is_wanted()) /* a value that is loaded only to be measured shows here */
        assert_in_range(largest_allocation(), 1, LARGE / 2);
}

/* The bound is in bytes: of two-byte characters there are half as many. */
static void a_value_up_to_the_bound_is_listed_whole(void **state)
{
    for (int over = 0; over <= 2; over += 2) {
        char text[LISTED_VALUE_MAX + 3] = "{\"x\":\"";
        size_t size = (size_t)LISTED_VALUE_MAX + (size_t)over;
        size_t at = strlen(text);
        struct job put = {.id = {10 + over}, .queue = queue, .state = JOB_READY};
        bool found = false;
        struct job j;

        (void)state;
        if (size % 2 != at % 2)
            text[at++] = 'a';
        for (; at < size - 2; at += 2)
            memcpy(text + at, "\xC3\xBC", 2);
        memcpy(text + size - 2, "\"}", 2);
        put.params = slice_make(text, size);
        begin();
        ok(store_jobs_insert(fx.store, &put, 1, &err));
        commit();
        ok(store_job_load(fx.store, put.id.v, LOAD_PREVIEW, &fx.arena, &j, &found, &err));
        assert_true(found);
        if (over == 0) {
            assert_true(slice_equal(j.params, put.params));
            assert_int_equal(j.cut->params.size, 0);
        } else {
            assert_cut(j.params, &j.cut->params, put.params);
            assert_true(utf8_valid(j.cut->params.start));
        }
    }
}

int main(void)
{
#define SCAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        SCAN_TEST(the_ready_scan_goes_by_priority_then_age),
        SCAN_TEST(the_due_scan_finds_what_is_due_and_no_more),
        SCAN_TEST(endings_come_back_oldest_first),
        SCAN_TEST(the_record_comes_back_in_order),
        SCAN_TEST(a_key_belongs_to_one_job),
        SCAN_TEST(keys_are_looked_up_and_added_in_sets),
        SCAN_TEST(lists_go_down_and_up_in_bounded_stretches),
        SCAN_TEST(a_list_reads_nothing_large_and_still_finds_a_text_in_it),
        SCAN_TEST(a_value_up_to_the_bound_is_listed_whole),
        SCAN_TEST(a_job_is_listed_with_the_start_and_the_size_of_what_is_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
