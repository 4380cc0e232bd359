/*
 * Emits: staged jobs, whose they are, how they are let go; cursors.
 */
/* SPDX-License-Identifier: MIT */
#include "store/jobs/emits.h"
#include "store/jobs/record.h"
#include "store/meta.h"
#include "store_fixture.h"

enum { OWNER = 1, TOKEN = 500 };

static int64_t queue;

/* Job 1 runs under token 500. */
static int setup(void **state)
{
    const int64_t owner = OWNER;

    if (fixture_setup(state) != 0)
        return -1;
    queue = add_queue("q");
    begin();
    add_job(OWNER, queue);
    claim_jobs(TOKEN, &owner, 1);
    commit();
    return 0;
}

static struct stored_emitter the_emitter(int64_t seq, int64_t staged)
{
    return (struct stored_emitter){.owner = OWNER, .token = TOKEN, .seq = seq, .staged = staged};
}

/* Jobs id + 1 to id + n, staged under the row `id`; in the open transaction. */
static void stage(int64_t id, int64_t seq, bool visible, int64_t n)
{
    struct store_count count = {.queue = queue, .state = JOB_STAGED, .n = n};
    struct stored_emit row = {.id = id,
                              .owner = OWNER,
                              .token = TOKEN,
                              .seq = seq,
                              .visible = visible,
                              .staged = true,
                              .n_jobs = (size_t)n};
    int64_t jobs[16];

    for (int64_t i = 0; i < n; i++) {
        struct job j = {
            .id = {id + 1 + i}, .queue = queue, .state = JOB_STAGED, .priority = (int)i};

        j.params = SLICE("{}");
        jobs[i] = j.id.v;
        ok(store_jobs_insert(fx.store, &j, 1, &err));
    }
    row.jobs = jobs;
    ok(store_emit_add(fx.store, &row, &err));
    ok(store_counts_add(fx.store, 1, &count, 1, &err));
}

static void put(int64_t seq, int64_t staged)
{
    struct stored_emitter m = the_emitter(seq, staged);

    ok(store_emitter_put(fx.store, &m, &err));
}

static struct stored_emit first(void)
{
    struct stored_emitter m = the_emitter(0, 0);
    struct stored_emit row;

    ok(store_emit_first(fx.store, &m, &fx.arena, &row, &err));
    return row;
}

static struct stored_emit first_visible(int64_t upto)
{
    struct stored_emitter m = the_emitter(0, 0);
    struct stored_emit row;

    m.visible_upto = upto;
    ok(store_emit_first_visible(fx.store, &m, &fx.arena, &row, &err));
    return row;
}

static void a_staged_job_is_sound_and_its_owner_known(void **state)
{
    int64_t owner = 0;

    (void)state;
    begin();
    stage(100, 1, false, 3);
    stage(200, 2, false, 1);
    put(2, 4);
    commit();
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    ok(store_emit_owner(fx.store, 103, &owner, &err));
    assert_int_equal(owner, OWNER);
    ok(store_emit_owner(fx.store, 99, &owner, &err));
    assert_int_equal(owner, 0);
    assert_int_equal(get_job(102).state, JOB_STAGED);
}

static void requests_come_back_as_they_were_in_their_order(void **state)
{
    struct stored_emitter m = the_emitter(3, 5);
    struct stored_emit row;
    uint64_t contents[] = {7, UINT64_MAX};
    int64_t jobs[] = {301, 4711};

    (void)state;
    begin();
    stage(100, 1, false, 3);
    stage(200, 2, true, 2);
    ok(store_emit_add(fx.store,
                      &(struct stored_emit){.id = 300,
                                            .owner = OWNER,
                                            .token = TOKEN,
                                            .seq = 3,
                                            .visible = true,
                                            .jobs = jobs,
                                            .contents = contents,
                                            .n_jobs = 2},
                      &err));
    commit();
    fixture_power_cut(7);
    ok(store_emit_find(fx.store, &m, 3, &fx.arena, &row, &err));
    assert_int_equal(row.id, 300);
    assert_true(row.visible && !row.staged);
    assert_memory_equal(row.jobs, jobs, sizeof(jobs));
    assert_memory_equal(row.contents, contents, sizeof(contents));
    ok(store_emit_find(fx.store, &m, 4, &fx.arena, &row, &err));
    assert_int_equal(row.id, 0);
    assert_int_equal(first().id, 100);
    assert_null(first().contents);
    assert_int_equal(first_visible(1).id, 0);
    assert_int_equal(first_visible(3).id, 200);
    begin();
    ok(store_emit_let_go(fx.store, 200, &err));
    ok(store_emit_remove(fx.store, 100, &err));
    commit();
    assert_int_equal(first_visible(3).id, 0);
    assert_int_equal(first().id, 200);
    assert_false(first().staged);
}

static void a_request_without_jobs_is_a_row_too(void **state)
{
    (void)state;
    begin();
    stage(100, 1, true, 0);
    put(1, 0);
    commit();
    assert_int_equal(first().n_jobs, 0);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

struct found {
    struct stored_emitter last;
    int n;
};

static void take_emitter(void *ctx, const struct stored_emitter *m)
{
    struct found *f = ctx;

    f->last = *m;
    f->n++;
}

static void emitters_are_found_again(void **state)
{
    struct stored_emitter m = {OWNER, TOKEN, 9, 8, 7, EMIT_DROP};
    struct found f = {0};

    (void)state;
    begin();
    put(1, 1);
    ok(store_emitter_put(fx.store, &m, &err));
    commit();
    fixture_reopen();
    ok(store_emitters_load(fx.store, take_emitter, &f, &err));
    assert_int_equal(f.n, 1);
    assert_int_equal(f.last.owner, OWNER);
    assert_int_equal(f.last.token, TOKEN);
    assert_int_equal(f.last.seq, 9);
    assert_int_equal(f.last.visible_upto, 8);
    assert_int_equal(f.last.staged, 7);
    assert_int_equal(f.last.fate, EMIT_DROP);
    begin();
    ok(store_emitter_remove(fx.store, OWNER, TOKEN, &err));
    commit();
    f.n = 0;
    ok(store_emitters_load(fx.store, take_emitter, &f, &err));
    assert_int_equal(f.n, 0);
}

static void released_ones_are_ready_or_wait_for_their_time(void **state)
{
    struct job later = {.id = {104}, .state = JOB_STAGED, .due_at = NOW_AT + 1};
    struct job due = {.id = {105}, .state = JOB_STAGED, .due_at = NOW_AT};
    int64_t ids[] = {101, 104, 105, OWNER}; /* what is not staged stays as it is */

    (void)state;
    later.queue = due.queue = queue;
    begin();
    stage(100, 1, false, 1);
    ok(store_jobs_insert(fx.store, &later, 1, &err));
    ok(store_jobs_insert(fx.store, &due, 1, &err));
    ok(store_staged_release(fx.store, ids, 4, NOW_AT, &fx.arena, &err));
    commit();
    assert_int_equal(get_job(101).state, JOB_READY);
    assert_int_equal(get_job(104).state, JOB_SCHEDULED);
    assert_int_equal(get_job(104).due_at, NOW_AT + 1);
    assert_int_equal(get_job(105).state, JOB_READY);
    assert_int_equal(get_job(105).due_at, 0);
    assert_int_equal(get_job(OWNER).state, JOB_RUNNING);
}

static void dropped_ones_leave_nothing_but_other_jobs_keys(void **state)
{
    struct job j = {.id = {101}, .state = JOB_STAGED, .key = SLICE("k"), .params = SLICE("{}")};
    int64_t ids[] = {101};
    struct stored_key key;

    (void)state;
    j.queue = queue;
    begin();
    struct job owner_of_key = {.id = {90}, .queue = queue, .state = JOB_READY, .key = SLICE("k")};

    ok(store_jobs_insert(fx.store, &owner_of_key, 1, &err));
    ok(store_keys_add(fx.store, &(struct stored_key){SLICE("k"), 90, 3}, 1, &err));
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    commit();
    begin();
    ok(store_staged_drop(fx.store, ids, 1, &fx.arena, &err));
    commit();
    assert_false(job_is_there(101));
    assert_int_equal(raw_number("SELECT COUNT(*) FROM payload WHERE id = 101"), 0);
    key = (struct stored_key){.key = SLICE("k")};
    ok(store_keys_find(fx.store, &key, 1, &err));
    assert_int_equal(key.job, 90);
    begin();
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    j.state = JOB_READY;
    ok(store_job_remove(fx.store, &j, &err)); /* nor does any other removal take another's key */
    commit();
    key = (struct stored_key){.key = SLICE("k")};
    ok(store_keys_find(fx.store, &key, 1, &err));
    assert_int_equal(key.job, 90);
}

static void staged_jobs_are_read_with_their_keys_in_the_order_of_their_row(void **state)
{
    struct job j = {.id = {107}, .state = JOB_STAGED, .key = SLICE("k"), .priority = 5};
    int64_t ids[] = {107, 101, 4711};
    struct stored_emit row = {.jobs = ids, .n_jobs = 3};
    struct job *jobs = NULL;
    size_t n = 0;

    (void)state;
    j.queue = queue;
    begin();
    stage(100, 1, false, 1);
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    ok(store_staged_load(fx.store, &row, &fx.arena, &jobs, &n, &err));
    commit();
    assert_int_equal(n, 2);
    assert_int_equal(jobs[0].id.v, 107);
    assert_int_equal(jobs[0].priority, 5);
    assert_memory_equal(jobs[0].key.data, "k", 1);
    assert_int_equal(jobs[1].id.v, 101);
    assert_int_equal(jobs[1].key.size, 0);
}

/* ---- cursors ---- */

static struct slice cursor_of(int64_t job)
{
    struct slice cursor = {0};

    ok(store_cursor_find(fx.store, job, &fx.arena, &cursor, &err));
    return cursor;
}

static void a_cursor_is_replaced_and_goes_with_its_job(void **state)
{
    struct job was, now;
    bool hit = false;

    (void)state;
    assert_int_equal(cursor_of(OWNER).size, 0);
    begin();
    ok(store_cursor_put(fx.store, OWNER, SLICE("{\"page\":1}"), &err));
    ok(store_cursor_put(fx.store, OWNER, SLICE("{\"page\":2}"), &err));
    commit();
    fixture_power_cut(3);
    assert_true(slice_is(cursor_of(OWNER), "{\"page\":2}"));
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    begin();
    now = was = get_job(OWNER);
    now.state = JOB_FAILED;
    ok(store_job_end(fx.store, &was, &now, &hit, &err));
    count_move(queue, JOB_RUNNING, JOB_FAILED);
    commit();
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    begin();
    ok(store_job_remove(fx.store, &now, &err));
    commit();
    assert_int_equal(cursor_of(OWNER).size, 0);
}

static struct job claimed(int64_t id, int64_t token)
{
    struct store_claim claim = {.token = token, .worker = 1, .now_at = NOW_AT, .until_at = NOW_AT};
    struct job j = {.id = {id}};

    begin();
    ok(store_jobs_claim(fx.store, &claim, &j, 1, &fx.arena, &err));
    commit();
    return j;
}

static void a_claim_hands_out_the_cursor_of_an_earlier_attempt(void **state)
{
    struct job was, now;
    bool hit = false;

    (void)state;
    begin();
    ok(store_cursor_put(fx.store, OWNER, SLICE("[1]"), &err));
    now = was = get_job(OWNER);
    now.state = JOB_READY;
    now.outcome = JOB_OUT_RETURNED;
    now.attempt = 0;
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    add_job(2, queue);
    commit();
    assert_true(hit);
    assert_true(slice_is(claimed(OWNER, 600).cursor, "[1]"));
    assert_int_equal(claimed(2, 601).cursor.size, 0);
}

#define EMIT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMIT_TEST(a_staged_job_is_sound_and_its_owner_known),
        EMIT_TEST(requests_come_back_as_they_were_in_their_order),
        EMIT_TEST(a_request_without_jobs_is_a_row_too),
        EMIT_TEST(emitters_are_found_again),
        EMIT_TEST(released_ones_are_ready_or_wait_for_their_time),
        EMIT_TEST(dropped_ones_leave_nothing_but_other_jobs_keys),
        EMIT_TEST(staged_jobs_are_read_with_their_keys_in_the_order_of_their_row),
        EMIT_TEST(a_cursor_is_replaced_and_goes_with_its_job),
        EMIT_TEST(a_claim_hands_out_the_cursor_of_an_earlier_attempt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
