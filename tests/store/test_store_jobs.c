/*
 * Jobs in the store: made, claimed, moved, ended, revived, removed; scans, records, keys.
 */
/* SPDX-License-Identifier: MIT */
#include "store/store_list.h"
#include "store/store_logs.h"
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

static void a_job_comes_back_as_it_was_put(void **state)
{
    static const char body[] = "a\0b\xFF";
    struct job j = {.id = {1000},
                    .queue = queue,
                    .state = JOB_SCHEDULED,
                    .priority = -7,
                    .due_at = NOW_AT + 5,
                    .key = SLICE("k-1"),
                    .params = SLICE("{\"a\":[1,2]}"),
                    .body = {body, 4},
                    .labels = SLICE("{\"x\":\"y\"}"),
                    .options = SLICE("{\"timeout\":5}")};

    (void)state;
    begin();
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    commit();
    struct job got = get_job(1000);

    assert_int_equal(got.queue, queue);
    assert_int_equal(got.state, JOB_SCHEDULED);
    assert_int_equal(got.priority, -7);
    assert_int_equal(got.due_at, NOW_AT + 5);
    assert_true(same(got.key, "k-1") && same(got.params, "{\"a\":[1,2]}"));
    assert_true(same(got.labels, "{\"x\":\"y\"}") && same(got.options, "{\"timeout\":5}"));
    assert_int_equal(got.body.size, 4);
    assert_memory_equal(got.body.data, body, 4);
    assert_int_equal(got.started_at, 0);
    assert_int_equal(got.lease_until_at, 0);
    assert_int_equal(got.attempt + got.failures + got.lost + got.laters, 0);
    assert_false(got.exited);
    assert_false(job_is_there(999));
}

static void no_body_and_an_empty_body_are_told_apart(void **state)
{
    struct job none = {.id = {1}, .queue = queue, .state = JOB_READY};
    struct job empty = {.id = {2}, .queue = queue, .state = JOB_READY, .body = SLICE("")};

    (void)state;
    begin();
    ok(store_jobs_insert(fx.store, &none, 1, &err));
    ok(store_jobs_insert(fx.store, &empty, 1, &err));
    commit();
    assert_null(get_job(1).body.data);
    assert_non_null(get_job(2).body.data);
    assert_int_equal(get_job(2).body.size, 0);
}

static void a_claim_makes_ready_jobs_running(void **state)
{
    int64_t ids[] = {10, 11};

    (void)state;
    begin();
    add_job(10, queue);
    add_job(11, queue);
    claim_jobs(500, ids, 2);
    commit();
    struct job j = get_job(11);

    assert_int_equal(j.state, JOB_RUNNING);
    assert_int_equal(j.token, 500);
    assert_int_equal(j.attempt, 1);
    assert_int_equal(j.started_at, NOW_AT);
    assert_int_equal(j.lease_until_at, NOW_AT + US_PER_MIN);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_claim_passes_over_what_is_not_ready(void **state)
{
    struct store_claim claim = {.token = 501, .node = 1, .now_at = NOW_AT};
    struct job jobs[] = {{.id = {10}}, {.id = {77}}, {.id = {11}}};

    (void)state;
    begin();
    add_job(10, queue);
    add_job(11, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    ok(store_jobs_claim(fx.store, &claim, jobs, 3, &fx.arena, &err));
    commit();
    assert_int_equal(jobs[0].state, JOB_NONE);
    assert_int_equal(jobs[1].state, JOB_NONE);
    assert_int_equal(jobs[2].state, JOB_RUNNING);
    assert_true(same(jobs[2].params, "{\"n\":11}"));
    assert_int_equal(get_job(10).token, 500);
    assert_int_equal(get_job(10).attempt, 1);
}

static void a_guarded_update_needs_state_and_token(void **state)
{
    bool hit = true;

    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    struct job was = get_job(10), now = was;

    now.state = JOB_READY;
    now.text = SLICE("back");
    struct job stale = was;

    stale.token = 499;
    ok(store_job_update(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    ok(store_job_step(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    ok(store_job_end(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    stale = was;
    stale.state = JOB_READY;
    ok(store_job_update(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    ok(store_job_step(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    ok(store_job_end(fx.store, &stale, &now, &hit, &err));
    assert_false(hit);
    assert_int_equal(get_job(10).state, JOB_RUNNING);
    assert_int_equal(get_job(10).text.size, 0);
    ok(store_job_step(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    assert_int_equal(get_job(10).state, JOB_READY);
    assert_true(same(get_job(10).text, "back"));
    commit();
}

static void an_update_writes_all_that_people_may_change(void **state)
{
    bool hit = false;

    (void)state;
    int64_t other = add_queue("other");

    begin();
    add_job(10, queue);
    struct job was = get_job(10), now = was;

    now.queue = other;
    now.state = JOB_HELD;
    now.priority = 9;
    now.holds = JOB_HOLD_HAND;
    now.due_at = NOW_AT + 77;
    now.params = SLICE("{\"new\":true}");
    now.labels = SLICE("{\"l\":\"1\"}");
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    commit();
    assert_true(hit);
    struct job got = get_job(10);

    assert_int_equal(got.queue, other);
    assert_int_equal(got.state, JOB_HELD);
    assert_int_equal(got.priority, 9);
    assert_int_equal(got.holds, JOB_HOLD_HAND);
    assert_int_equal(got.due_at, NOW_AT + 77);
    assert_true(same(got.params, "{\"new\":true}") && same(got.labels, "{\"l\":\"1\"}"));
}

static struct job end_job(int64_t id, enum job_state how, int64_t finished_at)
{
    struct job was = get_job(id), now = was;
    bool hit = false;

    now.state = how;
    now.finished_at = finished_at;
    now.outcome = how == JOB_DONE ? JOB_OUT_DONE : JOB_OUT_FAILED;
    now.exited = true;
    now.exit = how == JOB_DONE ? 0 : 3;
    now.failures = how == JOB_DONE ? 0 : 1;
    now.text = SLICE("the end");
    now.result = SLICE("{\"r\":1}");
    ok(store_job_end(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    count_move(was.queue, was.state, how);
    return now;
}

static void an_ended_job_leaves_the_living_with_all_it_has(void **state)
{
    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    end_job(10, JOB_FAILED, NOW_AT + 9);
    commit();
    struct job got = get_job(10);

    assert_int_equal(got.state, JOB_FAILED);
    assert_int_equal(got.finished_at, NOW_AT + 9);
    assert_int_equal(got.token, 500);
    assert_int_equal(got.exit, 3);
    assert_int_equal(got.failures, 1);
    assert_true(same(got.params, "{\"n\":10}"));
    assert_true(same(got.text, "the end") && same(got.result, "{\"r\":1}"));
    assert_int_equal(raw_number("SELECT COUNT(*) FROM jobs"), 0);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM ended"), 1);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_revived_job_begins_anew_but_counts_on(void **state)
{
    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    struct job ended = end_job(10, JOB_FAILED, NOW_AT);

    ok(store_job_revive(fx.store, &ended, SLICE("{\"again\":1}"), &err));
    count_move(queue, JOB_FAILED, JOB_READY);
    commit();
    struct job got = get_job(10);

    assert_int_equal(got.state, JOB_READY);
    assert_int_equal(got.failures, 0);
    assert_int_equal(got.attempt, 1);
    assert_int_equal(got.token, 500);
    assert_false(got.exited);
    assert_true(same(got.params, "{\"again\":1}"));
    assert_int_equal(got.finished_at, 0);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM ended"), 0);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static enum touch_result touch(int64_t token, int64_t until_at, const struct touch_status *status)
{
    enum touch_result result = TOUCH_LOST;

    ok(store_job_touch(fx.store, 10, token, until_at, status, &result, &err));
    return result;
}

static void a_touch_moves_the_deadline_and_keeps_what_it_does_not_say(void **state)
{
    struct touch_status silent = {.has_text = false};
    struct touch_status said = {
        .text = SLICE("half"), .has_text = true, .done = 5, .total = 10, .has_done = true};

    (void)state;
    begin();
    add_job(10, queue);
    assert_int_equal(touch(10, NOW_AT, &silent), TOUCH_LOST); /* it does not run */
    claim_jobs(500, (int64_t[]){10}, 1);
    assert_int_equal(touch(500, NOW_AT + 100, &said), TOUCH_HELD);
    assert_int_equal(touch(500, NOW_AT + 200, &silent), TOUCH_HELD);
    assert_int_equal(touch(499, NOW_AT + 900, &said), TOUCH_LOST);
    commit();
    assert_int_equal(get_job(10).lease_until_at, NOW_AT + 200);
    assert_true(same(get_job(10).text, "half"));
    assert_int_equal(get_job(10).done, 5);
    assert_int_equal(get_job(10).total, 10);
}

static void a_touch_tells_that_the_job_is_to_end(void **state)
{
    struct touch_status silent = {.has_text = false};
    bool hit = false;

    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    struct job was = get_job(10), now = was;

    now.cancelling = true;
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    assert_int_equal(touch(500, NOW_AT + 100, &silent), TOUCH_CANCELLING);
    commit();
}

static void removing_a_job_takes_its_record_key_and_log_along(void **state)
{
    int64_t job = 0;
    uint64_t content = 0;

    (void)state;
    begin();
    struct job j = add_job(10, queue);

    j.key = SLICE("the key");
    ok(store_key_add(fx.store, j.key, 10, 77, &err));
    ok(store_progress_add(fx.store, 10, &(struct progress_entry){.number = 1, .attempt = 1}, &err));
    ok(store_log_add(fx.store, 10, 0, SLICE("text"), &err));
    ok(store_job_remove(fx.store, &j, &err));
    count_move(queue, JOB_READY, JOB_NONE);
    commit();
    assert_false(job_is_there(10));
    ok(store_key_find(fx.store, SLICE("the key"), &job, &content, &err));
    assert_int_equal(job, 0);
    assert_int_equal(raw_number("SELECT (SELECT COUNT(*) FROM progress) + (SELECT COUNT(*) FROM logs)"), 0);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
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
        struct job j = {.id = {id}, .queue = queue, .state = JOB_SCHEDULED, .due_at = NOW_AT + 10 * (6 - id)};

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

static void retention_finds_what_ended_long_ago(void **state)
{
    int64_t ids[10], first = 0;
    size_t n = 0;

    (void)state;
    ok(store_expired_next(fx.store, queue, JOB_DONE, &first, &err));
    assert_true(first == TIME_NEVER);
    begin();
    for (int64_t id = 1; id <= 4; id++) {
        add_job(id, queue);
        claim_jobs(500 + id, &id, 1);
        end_job(id, id == 2 ? JOB_FAILED : JOB_DONE, NOW_AT + 10 * id);
    }
    commit();
    ok(store_expired_next(fx.store, queue, JOB_DONE, &first, &err));
    assert_int_equal(first, NOW_AT + 10);
    ok(store_expired_scan(fx.store, queue, JOB_DONE, NOW_AT + 40, ids, 10, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 3);
    ok(store_expired_scan(fx.store, queue, JOB_FAILED, NOW_AT + 40, ids, 10, &n, &err));
    assert_int_equal(n, 1);
    ok(store_expired_scan(fx.store, queue + 1, JOB_DONE, NOW_AT + 40, ids, 10, &n, &err));
    assert_int_equal(n, 0);
}

struct entries {
    int n;
    struct progress_entry last;
};

static void take_entry(void *ctx, const struct progress_entry *e)
{
    struct entries *seen = ctx;

    assert_int_equal(e->attempt, ++seen->n);
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
                              &(struct progress_entry){.number = 1,
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
    struct err err2 = ERR_INIT;
    int64_t job = -1;
    uint64_t content = 0;

    (void)state;
    ok(store_key_find(fx.store, SLICE("k"), &job, &content, &err));
    assert_int_equal(job, 0);
    begin();
    add_job(10, queue);
    ok(store_key_add(fx.store, SLICE("k"), 10, UINT64_MAX, &err));
    commit();
    ok(store_key_find(fx.store, SLICE("k"), &job, &content, &err));
    assert_int_equal(job, 10);
    assert_true(content == UINT64_MAX);
    begin();
    assert_int_not_equal(store_key_add(fx.store, SLICE("k"), 11, 1, &err2), E_OK);
    store_rollback(fx.store);
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
        claim_jobs(500 + id, &id, 1);
        end_job(id, id == 2 ? JOB_FAILED : JOB_DONE, NOW_AT);
    }
    commit();
    struct listed l = {.n = 0};

    ok(store_list_down(fx.store, STRETCH_LIVE, 6, 10, take_listed, &l, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 5);
    l.n = 0;
    ok(store_list_down(fx.store, STRETCH_ENDED, INT64_MAX, 2, take_listed, &l, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 3);
    l.n = 0;
    ok(store_list_down(fx.store, STRETCH_FAILED, INT64_MAX, 5, take_listed, &l, &err));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.ids[0], 2);
    l.n = 0;
    ok(store_list_up(fx.store, STRETCH_LIVE, 4, 6, 10, take_listed, &l, &err));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.ids[0], 5);
    assert_int_equal(l.ids[1], 6);
    l.n = 0;
    ok(store_list_up(fx.store, STRETCH_FAILED, 2, 6, 10, take_listed, &l, &err));
    assert_int_equal(l.n, 0);
}

int main(void)
{
#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        JOB_TEST(a_job_comes_back_as_it_was_put),
        JOB_TEST(no_body_and_an_empty_body_are_told_apart),
        JOB_TEST(a_claim_makes_ready_jobs_running),
        JOB_TEST(a_claim_passes_over_what_is_not_ready),
        JOB_TEST(a_guarded_update_needs_state_and_token),
        JOB_TEST(an_update_writes_all_that_people_may_change),
        JOB_TEST(an_ended_job_leaves_the_living_with_all_it_has),
        JOB_TEST(a_revived_job_begins_anew_but_counts_on),
        JOB_TEST(a_touch_moves_the_deadline_and_keeps_what_it_does_not_say),
        JOB_TEST(a_touch_tells_that_the_job_is_to_end),
        JOB_TEST(removing_a_job_takes_its_record_key_and_log_along),
        JOB_TEST(the_ready_scan_goes_by_priority_then_age),
        JOB_TEST(the_due_scan_finds_what_is_due_and_no_more),
        JOB_TEST(retention_finds_what_ended_long_ago),
        JOB_TEST(the_record_comes_back_in_order),
        JOB_TEST(a_key_belongs_to_one_job),
        JOB_TEST(lists_go_down_and_up_in_bounded_stretches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
