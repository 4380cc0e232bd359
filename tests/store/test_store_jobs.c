/*
 * Jobs in the store: made, claimed, moved, ended, revived, removed.
 */
/* SPDX-License-Identifier: MIT */
#include "store/jobs/logs.h"
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

static void a_job_keeps_its_group_and_lane_to_its_end_and_beyond(void **state)
{
    struct job j = {.id = {10}, .queue = queue, .state = JOB_READY, .group = 7, .lane = 8};
    struct store_claim claim = {.token = 500, .node = 1, .now_at = NOW_AT};
    struct done_item done = {.id = 10, .token = 500};
    struct job claimed = {.id = {10}};
    struct ready_ref refs[2];
    size_t n = 9;

    (void)state;
    raw_sql("INSERT INTO lanes VALUES (8, (SELECT id FROM queues WHERE name = 'q'))");
    begin();
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    ok(store_ready_scan(fx.store, queue, (struct ready_ref){JOB_PRIORITY_MAX + 1, 0}, refs, 2, &n,
                        &err));
    assert_int_equal(n, 0);
    ok(store_ready_scan(fx.store, 8, (struct ready_ref){JOB_PRIORITY_MAX + 1, 0}, refs, 2, &n,
                        &err));
    assert_int_equal(n, 1); /* it is found by its lane */
    ok(store_jobs_claim(fx.store, &claim, &claimed, 1, &fx.arena, &err));
    assert_int_equal(claimed.queue, queue);
    assert_int_equal(claimed.group, 7);
    assert_int_equal(claimed.lane, 8);
    ok(store_jobs_done(fx.store, &done, 1, NOW_AT, &fx.arena, &err));
    commit();
    assert_true(done.hit);
    assert_int_equal(done.queue, queue);
    assert_int_equal(done.group, 7);
    assert_int_equal(done.lane, 8);
    struct job again = get_job(10);

    assert_int_equal(again.state, JOB_DONE);
    assert_int_equal(again.queue, queue);
    assert_int_equal(again.group, 7);
    assert_int_equal(again.lane, 0);
    again.state = JOB_READY;
    again.lane = 8;
    begin();
    ok(store_job_revive(fx.store, &again, &err));
    commit();
    struct job was = get_job(10), now = was;
    bool hit = false;

    assert_int_equal(was.group, 7);
    assert_int_equal(was.lane, 8);
    now.lane = 0;
    begin();
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    commit();
    assert_true(hit);
    assert_int_equal(get_job(10).queue, queue);
    assert_int_equal(get_job(10).group, 7);
    assert_int_equal(get_job(10).lane, 0);
}

static void check_unguarded(const struct job *was, const struct job *now)
{
    bool hit = true;

    ok(store_job_update(fx.store, was, now, &hit, &err));
    assert_false(hit);
    hit = true;
    ok(store_job_end(fx.store, was, now, &hit, &err));
    assert_false(hit);
}

static void a_guarded_update_needs_state_and_token(void **state)
{
    bool hit = false;

    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    struct job was = get_job(10), now = was, stale = was;

    now.state = JOB_READY;
    now.text = SLICE("back");
    stale.token = 499;
    check_unguarded(&stale, &now);
    stale = was;
    stale.state = JOB_READY;
    check_unguarded(&stale, &now);
    assert_int_equal(get_job(10).state, JOB_RUNNING);
    assert_int_equal(get_job(10).text.size, 0);
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
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
    now.failures = 3;
    now.lost = 2;
    now.laters = 1;
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    commit();
    assert_true(hit);
    struct job got = get_job(10);

    assert_int_equal(got.queue, other);
    assert_int_equal(got.state, JOB_HELD);
    assert_int_equal(got.priority, 9);
    assert_int_equal(got.holds, JOB_HOLD_HAND);
    assert_int_equal(got.due_at, NOW_AT + 77);
    assert_int_equal(got.failures * 100 + got.lost * 10 + got.laters, 321);
    assert_true(same(got.params, "{\"n\":10}"));
}

static void what_a_job_carries_is_changed_apart(void **state)
{
    struct slice none = {0}, options = {0};

    (void)state;
    begin();
    add_job(10, queue);
    ok(store_job_change_payload(fx.store, 10, SLICE("{\"new\":true}"), none, &err));
    assert_true(same(get_job(10).params, "{\"new\":true}"));
    assert_int_equal(get_job(10).labels.size, 0);
    ok(store_job_change_payload(fx.store, 10, none, SLICE("{\"l\":\"1\"}"), &err));
    commit();
    assert_true(same(get_job(10).params, "{\"new\":true}"));
    assert_true(same(get_job(10).labels, "{\"l\":\"1\"}"));
    ok(store_job_options(fx.store, 10, &fx.arena, &options, &err));
    assert_int_equal(options.size, 0);
}

static void a_job_can_be_read_without_what_it_carries(void **state)
{
    struct job put = {.id = {1},
                      .queue = queue,
                      .state = JOB_READY,
                      .body = SLICE("large"),
                      .params = SLICE("{}"),
                      .options = SLICE("{\"timeout\":5}")};
    struct job lean = {.state = JOB_NONE}, outline = lean, brief = lean;
    struct slice options = {0};
    bool found[3] = {false};

    (void)state;
    begin();
    ok(store_jobs_insert(fx.store, &put, 1, &err));
    commit();
    ok(store_job_load(fx.store, 1, LOAD_PAYLOAD, &fx.arena, &lean, &found[0], &err));
    ok(store_job_load(fx.store, 1, LOAD_STATE, &fx.arena, &outline, &found[1], &err));
    ok(store_job_load(fx.store, 1, LOAD_LIVE, &fx.arena, &brief, &found[2], &err));
    assert_true(found[0] && found[1] && found[2]);
    assert_null(lean.body.data);
    assert_true(same(lean.params, "{}"));
    assert_int_equal(outline.params.size + brief.params.size, 0);
    assert_int_equal(outline.state, JOB_READY);
    ok(store_job_options(fx.store, 1, &fx.arena, &options, &err));
    assert_true(same(options, "{\"timeout\":5}"));
}

static void a_claim_takes_no_more_than_it_may_carry(void **state)
{
    struct store_claim claim = {.token = 501, .node = 1, .now_at = NOW_AT, .bytes_max = 20};
    struct job jobs[] = {{.id = {10}}, {.id = {11}}, {.id = {12}}, {.id = {13}}, {.id = {14}}};

    (void)state;
    begin();
    for (int64_t id = 10; id < 15; id++)
        add_job(id, queue);
    ok(store_jobs_claim(fx.store, &claim, jobs, 5, &fx.arena, &err));
    commit();
    assert_int_equal(jobs[0].state, JOB_RUNNING); /* at least one, whatever it weighs */
    assert_int_equal(jobs[4].state, JOB_READY);
    assert_int_equal(get_job(14).state, JOB_READY);
    assert_int_equal(get_job(14).attempt, 0);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(get_job(jobs[i].id.v).state, jobs[i].state);
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

static void plain_ends_are_written_as_a_set(void **state)
{
    struct done_item items[] = {{.id = 10, .token = 500},
                                {.id = 11, .token = 499},
                                {.id = 12, .token = 500},
                                {.id = 13, .token = 13},
                                {.id = 14, .token = 14}};
    struct touch_status said = {.text = SLICE("half"), .has_text = true};
    enum touch_result result;

    (void)state;
    begin();
    for (int64_t id = 10; id < 14; id++)
        add_job(id, queue);
    claim_jobs(500, (int64_t[]){10, 11, 12}, 3);
    ok(store_job_touch(fx.store, 12, 500, NOW_AT, &said, &result, &err)); /* has a history now */
    ok(store_jobs_done(fx.store, items, 5, NOW_AT + 9, &fx.arena, &err));
    commit();
    assert_true(items[0].hit);
    assert_int_equal(items[0].queue, queue);
    for (size_t i = 1; i < 5; i++)
        assert_false(items[i].hit);
    assert_int_equal(get_job(10).state, JOB_DONE);
    assert_int_equal(get_job(10).finished_at, NOW_AT + 9);
    assert_int_equal(get_job(10).outcome, JOB_OUT_DONE);
    assert_int_equal(get_job(11).state, JOB_RUNNING);
    assert_int_equal(get_job(12).state, JOB_RUNNING);
    assert_int_equal(get_job(13).state, JOB_READY);
}

static void a_revived_job_begins_anew_but_counts_on(void **state)
{
    (void)state;
    begin();
    add_job(10, queue);
    claim_jobs(500, (int64_t[]){10}, 1);
    struct job ended = end_job(10, JOB_FAILED, NOW_AT);
    struct job fresh = {.id = ended.id,
                        .queue = ended.queue,
                        .state = JOB_READY,
                        .priority = ended.priority,
                        .outcome = ended.outcome,
                        .step = 3,
                        .attempts_before = 1};

    ok(store_job_revive(fx.store, &fresh, &err));
    ok(store_job_set_route(fx.store, 10, slice_make(NULL, 0), SLICE("{\"steps\":[]}"),
                           slice_make(NULL, 0), &err));
    count_move(queue, JOB_FAILED, JOB_READY);
    commit();
    struct job got = get_job(10);

    assert_int_equal(got.state, JOB_READY);
    assert_int_equal(got.step, 3);
    assert_int_equal(got.attempts_before, 1);
    assert_int_equal(got.outcome, JOB_OUT_FAILED);
    assert_int_equal(got.failures, 0);
    assert_int_equal(got.attempt, 1);
    assert_int_equal(got.token, 500);
    assert_false(got.exited);
    assert_true(same(got.params, "{\"n\":10}"));
    assert_int_equal(got.result.size, 0);
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
    struct stored_key key;

    (void)state;
    struct job j = {.id = {10}, .queue = queue, .state = JOB_READY, .key = SLICE("the key")};

    begin();
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
    ok(store_keys_add(fx.store, &(struct stored_key){j.key, 10, 77}, 1, &err));
    ok(store_progress_add(fx.store, 10,
                          &(struct progress_entry){.seq = 1, .number = 1, .attempt = 1}, &err));
    ok(store_log_add(fx.store, 10, 0, SLICE("text"), &err));
    ok(store_job_remove(fx.store, &j, &err));
    count_move(queue, JOB_READY, JOB_NONE);
    commit();
    assert_false(job_is_there(10));
    key = (struct stored_key){.key = SLICE("the key")};
    ok(store_keys_find(fx.store, &key, 1, &err));
    assert_int_equal(key.job, 0);
    assert_int_equal(raw_number(
                         "SELECT (SELECT COUNT(*) FROM progress) + (SELECT COUNT(*) FROM logs) + "
                         "(SELECT COUNT(*) FROM payload)"),
                     0);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void large_jobs_are_added_in_several_sets(void **state)
{
    enum { LARGE = 3 << 20 };
    CLEANUP(mem) char *body = mem_zalloc(LARGE);
    int64_t queue_of_large = add_queue("large");
    struct job jobs[7];

    (void)state;
    for (int64_t i = 0; i < 7; i++)
        jobs[i] = (struct job){.id = {1000 + i},
                               .queue = queue_of_large,
                               .state = JOB_READY,
                               .body = slice_make(body, LARGE - (size_t)i)};
    begin();
    ok(store_jobs_insert(fx.store, jobs, 7, &err));
    commit();
    for (int64_t i = 0; i < 7; i++) {
        assert_int_equal(get_job(1000 + i).body.size, LARGE - i);
        arena_clear(&fx.arena);
    }
}

int main(void)
{
#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        JOB_TEST(a_job_comes_back_as_it_was_put),
        JOB_TEST(no_body_and_an_empty_body_are_told_apart),
        JOB_TEST(large_jobs_are_added_in_several_sets),
        JOB_TEST(a_job_can_be_read_without_what_it_carries),
        JOB_TEST(a_claim_makes_ready_jobs_running),
        JOB_TEST(a_claim_passes_over_what_is_not_ready),
        JOB_TEST(a_job_keeps_its_group_and_lane_to_its_end_and_beyond),
        JOB_TEST(a_claim_takes_no_more_than_it_may_carry),
        JOB_TEST(a_guarded_update_needs_state_and_token),
        JOB_TEST(an_update_writes_all_that_people_may_change),
        JOB_TEST(what_a_job_carries_is_changed_apart),
        JOB_TEST(an_ended_job_leaves_the_living_with_all_it_has),
        JOB_TEST(plain_ends_are_written_as_a_set),
        JOB_TEST(a_revived_job_begins_anew_but_counts_on),
        JOB_TEST(a_touch_moves_the_deadline_and_keeps_what_it_does_not_say),
        JOB_TEST(a_touch_tells_that_the_job_is_to_end),
        JOB_TEST(removing_a_job_takes_its_record_key_and_log_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
