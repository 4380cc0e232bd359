/*
 * What jobs carry of their routes, and their place on them.
 */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "store/jobs/emits.h"
#include "store/jobs/ready.h"
#include "store/jobs/record.h"
#include "store_fixture.h"

static int64_t queue;

static bool same(struct slice s, const char *text)
{
    return slice_is(s, text);
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    queue = add_queue("q");
    return 0;
}

#define ROUTING "{\"steps\":[{\"number\":2,\"name\":\"m\",\"queue\":\"q\"}],\"parent\":\"x\"}"

static struct job routed(int64_t id)
{
    return (struct job){.id = {id},
                        .queue = queue,
                        .state = JOB_READY,
                        .has_dests = true,
                        .step = 2,
                        .failed_step = 1,
                        .attempts_before = 3,
                        .lost = 2,
                        .params = SLICE("{}"),
                        .options = SLICE("{\"timeout\":\"5s\"}"),
                        .routing = SLICE(ROUTING),
                        .assigned = SLICE("{\"a\":1}")};
}

static void add_routed(int64_t id)
{
    struct job j = routed(id);

    ok(store_jobs_insert(fx.store, &j, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
}

static void assert_routed(const struct job *j)
{
    assert_true(j->has_dests);
    assert_int_equal(j->step, 2);
    assert_int_equal(j->failed_step, 1);
    assert_int_equal(j->attempts_before, 3);
    assert_int_equal(j->lost, 2);
    assert_true(same(j->routing, ROUTING));
    assert_true(same(j->assigned, "{\"a\":1}"));
}

static void a_job_is_made_with_its_place_on_a_route(void **state)
{
    struct job got;
    bool found = false;

    (void)state;
    begin();
    add_routed(10);
    commit();
    got = get_job(10);
    assert_routed(&got);
    ok(store_job_load(fx.store, 10, LOAD_PAYLOAD, &fx.arena, &got, &found, &err));
    assert_routed(&got);
    ok(store_job_load(fx.store, 10, LOAD_LIVE, &fx.arena, &got, &found, &err));
    assert_int_equal(got.step, 2);
    assert_int_equal(got.routing.size, 0);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_claim_tells_the_place_on_the_route(void **state)
{
    struct store_claim claim = {.token = 900, .now_at = NOW_AT, .until_at = NOW_AT + 1};
    struct job jobs[] = {{.id = {10}}, {.id = {11}}};

    (void)state;
    begin();
    add_routed(10);
    add_job(11, queue);
    ok(store_jobs_claim(fx.store, &claim, jobs, ARRAY_LEN(jobs), &fx.arena, &err));
    commit();
    assert_int_equal(jobs[0].state, JOB_RUNNING);
    assert_routed(&jobs[0]);
    assert_int_equal(jobs[0].attempt, 1);
    assert_int_equal(jobs[1].step, 0);
    assert_int_equal(jobs[1].routing.size, 0);
    struct job got = get_job(10);

    assert_routed(&got);
}

/* Whoever shares the store reads what ready jobs carry as it locks them. */
static void a_claim_of_locked_jobs_tells_their_bills(void **state)
{
    struct store_claim claim = {.token = 900, .now_at = NOW_AT, .until_at = NOW_AT + 1};
    struct job with_parent = {
        .id = {12}, .queue = queue, .state = JOB_READY, .routing = SLICE("{\"depth\":1}")};
    struct job alone[] = {{.id = {12}}};
    struct job mixed[] = {{.id = {10}}, {.id = {11}}};
    struct ready_ref refs[10];
    size_t n = 0;

    (void)state;
    if (!pg_is_wanted())
        skip();
    begin();
    add_routed(10);
    add_job(11, queue);
    ok(store_jobs_insert(fx.store, &with_parent, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
    commit();
    begin();
    ok(store_ready_lock(fx.store, queue, refs, ARRAY_LEN(refs), &n, &err));
    assert_int_equal(n, 3);
    ok(store_jobs_claim(fx.store, &claim, alone, ARRAY_LEN(alone), &fx.arena, &err));
    ok(store_jobs_claim(fx.store, &claim, mixed, ARRAY_LEN(mixed), &fx.arena, &err));
    commit();
    assert_true(same(alone[0].routing, "{\"depth\":1}"));
    assert_routed(&mixed[0]);
    assert_int_equal(mixed[1].routing.size, 0);
}

static void what_a_job_carries_of_its_route_changes_by_itself(void **state)
{
    const struct slice as_it_is = slice_make(NULL, 0);

    (void)state;
    begin();
    add_routed(10);
    ok(store_jobs_insert(fx.store, &(struct job){.id = {11}, .queue = queue, .state = JOB_READY}, 1,
                         &err));
    count_move(queue, JOB_NONE, JOB_READY);
    ok(store_job_set_route(fx.store, 10, as_it_is, as_it_is, SLICE("{\"b\":2}"), &err));
    ok(store_job_set_route(fx.store, 11, as_it_is, as_it_is, SLICE("{\"c\":2}"), &err));
    commit();
    struct job got = get_job(10);

    assert_true(same(got.options, "{\"timeout\":\"5s\"}"));
    assert_true(same(got.routing, ROUTING));
    assert_true(same(got.assigned, "{\"b\":2}"));
    assert_true(same(get_job(11).assigned, "{\"c\":2}")); /* it carried nothing before */
    begin();
    ok(store_job_set_route(fx.store, 10, SLICE(""), as_it_is, SLICE(""), &err));
    commit();
    got = get_job(10);
    assert_int_equal(got.options.size, 0);
    assert_true(same(got.routing, ROUTING));
    assert_int_equal(got.assigned.size, 0);
    assert_true(same(got.params, "{}"));
}

static void end_as(int64_t id, enum job_state as)
{
    struct job was = get_job(id);
    struct job now = was;
    bool hit = false;

    now.state = as;
    now.finished_at = NOW_AT;
    now.outcome = as == JOB_DONE ? JOB_OUT_DONE : JOB_OUT_FAILED;
    ok(store_job_end(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    count_move(queue, was.state, as);
}

static void a_job_on_a_route_does_not_end_plainly(void **state)
{
    struct done_item item = {.id = 10, .token = 500};

    (void)state;
    begin();
    add_routed(10);
    claim_jobs(500, (int64_t[]){10}, 1);
    ok(store_jobs_done(fx.store, &item, 1, NOW_AT, &fx.arena, &err));
    commit();
    assert_false(item.hit);
    assert_int_equal(get_job(10).state, JOB_RUNNING);
}

static void an_ended_job_keeps_its_place_and_its_routing(void **state)
{
    (void)state;
    begin();
    add_routed(10);
    claim_jobs(500, (int64_t[]){10}, 1);
    end_as(10, JOB_FAILED);
    commit();
    struct job got = get_job(10);

    assert_int_equal(got.state, JOB_FAILED);
    assert_routed(&got);
}

static void take_entry(void *ctx, const struct progress_entry *e)
{
    buf_addf(ctx, "%d:%d.%d ", e->seq, e->number, e->attempt);
}

static void a_record_that_was_handed_in_comes_first(void **state)
{
    const struct progress_entry entries[] = {
        {.seq = 1, .number = 3, .attempt = 1, .token = 500},
        {.seq = -1, .number = 2, .attempt = 1},
        {.seq = -2, .number = 1, .attempt = 1},
        {.seq = 2, .number = 3, .attempt = 2, .token = 501},
    };
    CLEANUP(buf) struct buf all = BUF_INIT(100);

    (void)state;
    begin();
    add_routed(10);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        ok(store_progress_add(fx.store, 10, &entries[i], &err));
    commit();
    ok(store_progress_load(fx.store, 10, take_entry, &all, &err));
    assert_string_equal(buf_text(&all), "-2:1.1 -1:2.1 1:3.1 2:3.2 ");
}

static void a_staged_job_with_holds_is_held_when_it_is_released(void **state)
{
    const int64_t ids[] = {20, 21, 22};
    struct job jobs[] = {
        {.id = {20},
         .holds = JOB_HOLD_AFTER,
         .due_at = NOW_AT - 5,
         .routing = SLICE("{\"depth\":1}")},
        {.id = {21}, .due_at = NOW_AT - 5, .has_dests = true},
        {.id = {22}, .due_at = NOW_AT + 5},
    };
    struct stored_emit emit = {.jobs = ids, .n_jobs = ARRAY_LEN(ids)};
    struct job *loaded = NULL;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].queue = queue;
        jobs[i].state = JOB_STAGED;
    }
    begin();
    ok(store_jobs_insert(fx.store, jobs, ARRAY_LEN(jobs), &err));
    ok(store_staged_load(fx.store, &emit, &fx.arena, &loaded, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(loaded[0].holds, JOB_HOLD_AFTER);
    assert_true(same(loaded[0].routing, "{\"depth\":1}"));
    assert_true(loaded[1].has_dests);
    ok(store_staged_release(fx.store, ids, ARRAY_LEN(ids), NOW_AT, &fx.arena, &err));
    commit();
    assert_int_equal(get_job(20).state, JOB_HELD);
    assert_int_equal(get_job(20).due_at, NOW_AT - 5);
    assert_int_equal(get_job(20).holds, JOB_HOLD_AFTER);
    assert_int_equal(get_job(21).state, JOB_READY);
    assert_int_equal(get_job(21).due_at, 0);
    assert_int_equal(get_job(22).state, JOB_SCHEDULED);
    assert_int_equal(get_job(22).due_at, NOW_AT + 5);
}

#define ROUTES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROUTES_TEST(a_job_is_made_with_its_place_on_a_route),
        ROUTES_TEST(a_claim_tells_the_place_on_the_route),
        ROUTES_TEST(a_claim_of_locked_jobs_tells_their_bills),
        ROUTES_TEST(what_a_job_carries_of_its_route_changes_by_itself),
        ROUTES_TEST(a_job_on_a_route_does_not_end_plainly),
        ROUTES_TEST(an_ended_job_keeps_its_place_and_its_routing),
        ROUTES_TEST(a_record_that_was_handed_in_comes_first),
        ROUTES_TEST(a_staged_job_with_holds_is_held_when_it_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
