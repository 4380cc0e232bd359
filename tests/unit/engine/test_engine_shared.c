/*
 * Two servers on one store: what one does the other sees, and none harms the other.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/group/choice.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "store/shared.h"
#include "testing.h"

/* What the servers have told each other since the last look, each line for a run of its own. */
struct post {
    struct store_listener *listener;
    char lines[50][512];
    size_t n;
};

struct pair {
    struct fixture *a, *b;
    struct post post;
};

static void take_line(void *ctx, const char *news)
{
    struct post *post = ctx;

    if (news != NULL && post->n < 50)
        snprintf(post->lines[post->n++], sizeof(post->lines[0]), "%s", news);
}

static int setup(void **state)
{
    struct pair *p = mem_zalloc(sizeof(*p));
    struct err err = ERR_INIT;
    void *a = NULL;

    if (fixture_setup(&a) != 0)
        return -1;
    p->a = a;
    p->b = fixture_join(p->a);
    struct store_config config = {.dir = p->a->dir, .url = p->a->place.url};

    assert_int_equal(store_listener_open(&config, &p->post.listener, &err), E_OK);
    store_listener_wait(p->post.listener, -1, 0, take_line, &p->post);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;
    void *a = p->a;

    store_listener_close(p->post.listener);
    if (p->b != NULL)
        fixture_leave(p->b);
    fixture_teardown(&a);
    free(p);
    return 0;
}

#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Hands on what was told, as the listener's thread does. */
static void deliver(struct pair *p, struct fixture *to)
{
    size_t known;

    do { /* they come one by one */
        known = p->post.n;
        store_listener_wait(p->post.listener, -1, 200, take_line, &p->post);
    } while (p->post.n > known);
    for (size_t i = 0; i < p->post.n; i++) {
        struct test_op *t = op_make(to, OP_NEWS);

        t->op.news.text = slice_of(p->post.lines[i]);
        run_op(to, t);
        assert_true(t->answered);
    }
    p->post.n = 0;
}

static void kill_server(const struct pair *p, const struct fixture *f)
{
    char sql[160];

    snprintf(sql, sizeof(sql), "UPDATE servers SET alive_until_at = 1 WHERE name = '%s'", f->dir);
    pg_schema_run(&p->a->place, sql);
}

/* ---- jobs ---- */

static void a_job_that_one_server_took_in_is_run_through_the_other(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");
    struct granted g = claim_one(p->b, "default");

    assert_true(g.id == id);
    run_op(p->a, op_finish(p->a, g.id, g.token, JOB_OUT_DONE));
    assert_int_equal(state_of(p->b, id), JOB_DONE);
    assert_int_equal(kept_count(p->b, "default", JOB_DONE), 1);
    assert_sound(p->a);
}

static void ids_of_two_servers_never_clash(void **state)
{
    struct pair *p = *state;

    for (int i = 0; i < 20; i++) {
        submit_many(p->a, "default", 100);
        submit_many(p->b, "default", 100);
    }
    assert_int_equal(kept_count(p->a, "default", JOB_READY), 4000);
    assert_sound(p->b);
}

static void no_job_is_granted_by_both(void **state)
{
    struct pair *p = *state;
    struct granted mine[60];
    struct granted theirs[60];

    submit_many(p->a, "default", 100);
    size_t n_mine = granted_of(run_op(p->a, op_claim(p->a, "default", 60)), mine, 60);
    size_t n_theirs = granted_of(run_op(p->b, op_claim(p->b, "default", 60)), theirs, 60);

    assert_int_equal(n_mine, 60);
    assert_int_equal(n_theirs, 40);
    for (size_t i = 0; i < n_mine; i++)
        for (size_t k = 0; k < n_theirs; k++)
            assert_true(mine[i].id != theirs[k].id);
    assert_sound(p->a);
}

static void what_was_listed_and_not_granted_is_the_others_as_well(void **state)
{
    struct pair *p = *state;
    struct test_op *outdated = op_claim(p->a, "default", 1);

    submit_many(p->a, "default", 3);
    outdated->op.exchange.has_definitions = true; /* it gets nothing, but is counted with */
    batch_add(p->a, outdated);
    run_op(p->a, op_claim(p->a, "default", 1));
    struct granted theirs = claim_one(p->b, "default");
    struct granted mine = claim_one(p->a, "default");

    assert_true(theirs.id != mine.id);
    assert_sound(p->a);
}

/* After a start ids begin at the store's mark, two seconds ahead of the others': tokens are not in
 * order. */
static void the_fence_of_a_job_grows_whoever_grants_it(void **state)
{
    struct pair *p = *state;

    submit_one(p->a, "default");
    fixture_crash(p->a);
    struct granted mine = claim_one(p->a, "default");

    run_op(p->a, op_finish(p->a, mine.id, mine.token, JOB_OUT_RETURNED));
    struct granted theirs = claim_one(p->b, "default");

    assert_true(theirs.id == mine.id && theirs.token < mine.token);
    assert_int_equal(mine.fence, 1);
    assert_int_equal(theirs.fence, 2);
    run_op(p->b, op_finish(p->b, theirs.id, theirs.token, JOB_OUT_FAILED));
    run_op(p->a, op_act(p->a, ACTION_RETRY, theirs.id));
    assert_int_equal(claim_one(p->b, "default").fence, 3);
    assert_sound(p->a);
}

/* Whoever judges it goes by what is stored. */
static void a_touch_through_a_slow_server_gives_a_full_period(void **state)
{
    struct pair *p = *state;

    submit_many(p->a, "default", 2);
    struct granted g = claim_one(p->a, "default");

    p->b->tick_us = 800 * US_PER_MS;
    claim_one(p->b, "default");
    run_op(p->b, op_touch(p->b, g.id, g.token));
    p->a->now = p->b->now;
    fixture_pass(p->a, LEASE_DEFAULT_US - 1);
    batch_run(p->a);
    assert_int_equal(state_of(p->a, g.id), JOB_RUNNING);
    fixture_pass(p->a, US_PER_S);
    batch_run(p->a);
    assert_int_equal(state_of(p->a, g.id), JOB_READY);
}

static struct test_op *claim_as(struct fixture *f, const char *instance)
{
    struct test_op *t = op_claim(f, "default", 1);

    t->op.exchange.worker = (struct worker_info){
        .name = SLICE("w"), .host = SLICE("h"), .pid = 7, .instance = slice_of(instance)};
    return run_op(f, t);
}

static void a_name_has_one_instance_at_all_servers(void **state)
{
    struct pair *p = *state;

    assert_int_equal(claim_as(p->a, "one")->op.err.code, E_OK);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT); /* not known here yet */
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT);
    assert_int_equal(claim_as(p->b, "")->op.err.code, E_CONFLICT);
    assert_int_equal(claim_as(p->b, "one")->op.err.code, E_OK);
    assert_int_equal(claim_as(p->a, "one")->op.err.code, E_OK);
    fixture_pass(p->b, 10 * US_PER_MIN);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_OK);
    p->a->now = p->b->now;
    deliver(p, p->a);
    assert_int_equal(claim_as(p->a, "one")->op.err.code, E_CONFLICT);
    assert_sound(p->a);
}

static void subscribe_as_w(struct fixture *f)
{
    struct test_op *t = op_make(f, OP_SUBSCRIBE);

    t->op.subscribe = (struct subscribe){SLICE("news"), SLICE("w"), US_PER_DAY};
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
}

/* A worker subscribes before it claims, and again after each refusal. */
static void who_subscribes_does_not_keep_a_dead_instance_alive(void **state)
{
    struct pair *p = *state;
    int refusals = 0;

    assert_int_equal(claim_as(p->a, "one")->op.err.code, E_OK);
    for (subscribe_as_w(p->b); claim_as(p->b, "two")->op.err.code != E_OK; subscribe_as_w(p->b)) {
        assert_true(refusals++ < 60);
        fixture_pass(p->b, 5 * US_PER_S);
    }
    assert_true(refusals > 0);
}

/* Both clocks. */
static void pass(struct pair *p, int64_t us)
{
    fixture_pass(p->b, us);
    p->a->now = p->b->now;
}

static void an_instance_that_vanished_is_succeeded_soon_after_its_lease(void **state)
{
    struct pair *p = *state;

    submit_one(p->a, "default");
    pass(p, US_PER_HOUR);
    struct test_op *t = claim_as(p->a, "one");
    int64_t lease_us = t->op.exchange.lease_us;

    assert_int_equal(t->op.err.code, E_OK);
    assert_int_equal(t->op.n_granted, 1);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT); /* it is not known here yet */
    pass(p, lease_us);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT);
    pass(p, 4 * US_PER_S);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_OK);
    assert_sound(p->a);
}

static void an_instance_that_is_heard_of_is_told_with_the_beat(void **state)
{
    struct pair *p = *state;
    struct test_op *t = claim_as(p->a, "one");
    int64_t lease_us = t->op.exchange.lease_us;

    for (int64_t passed_us = 0; passed_us < 3 * lease_us; passed_us += 2 * US_PER_S) {
        pass(p, 2 * US_PER_S);
        assert_int_equal(claim_as(p->a, "one")->op.err.code, E_OK);
        assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT);
    }
    pass(p, lease_us - 14 * US_PER_S);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_CONFLICT);
    pass(p, 18 * US_PER_S);
    assert_int_equal(claim_as(p->b, "two")->op.err.code, E_OK);
    assert_sound(p->a);
}

static void a_stranger_strips_nobody_at_another_server(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");

    assert_int_equal(claim_as(p->a, "one")->op.n_granted, 1);
    struct test_op *t = op_claim(p->b, "default", 1);

    t->op.exchange.worker = (struct worker_info){.name = SLICE("w")};
    t->op.exchange.all = true;
    run_op(p->b, t);
    assert_int_equal(state_of(p->a, id), JOB_RUNNING);
    assert_sound(p->a);
}

/* It is not waited for either: whoever holds it may take long. */
static void what_another_server_is_at_is_passed_over(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");
    struct store_claim claim = {.token = 1, .lease_us = US_PER_S};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct store_view view;
    struct job job = {.id = {id}};
    struct err err = ERR_INIT;

    assert_int_equal(store_begin_shared(p->a->store, STORE_BESIDE, &view, &err), E_OK);
    assert_int_equal(store_job_lock(p->a->store, id, &err), E_OK);
    assert_int_equal(store_begin_shared(p->b->store, STORE_BESIDE, &view, &err), E_OK);
    assert_int_equal(store_jobs_claim(p->b->store, &claim, &job, 1, &arena, &err), E_OK);
    assert_int_equal(job.state, JOB_NONE);
    store_rollback(p->a->store);
    assert_int_equal(store_commit(p->b->store, &err), E_OK);
    assert_int_equal(state_of(p->a, id), JOB_READY);
}

static void a_claim_that_waits_is_served_when_news_come_of_a_job(void **state)
{
    struct pair *p = *state;
    struct test_op *claim = op_claim(p->b, "default", 1);
    struct granted g[1];

    claim->op.exchange.wait_us = 30 * US_PER_S;
    run_op(p->b, claim);
    assert_false(claim->answered);
    int64_t id = submit_one(p->a, "default");

    deliver(p, p->b);
    assert_int_equal(granted_of(claim, g, 1), 1);
    assert_true(g[0].id == id);
}

static void who_claims_an_empty_queue_asks_the_store_once(void **state)
{
    struct pair *p = *state;
    struct granted g[1];

    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 1)), g, 1), 0);
    submit_one(p->a, "default");
    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 1)), g, 1), 0);
    deliver(p, p->b);
    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 1)), g, 1), 1);
}

static void what_nobody_told_of_is_found_with_the_next_beat(void **state)
{
    struct pair *p = *state;
    struct granted g[1];

    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 1)), g, 1), 0);
    submit_one(p->a, "default"); /* and it is gone before it tells */
    fixture_pass(p->b, 16 * US_PER_S);
    batch_run(p->b);
    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 1)), g, 1), 1);
}

/* Held for a moment only: the queue was not empty, and who waits looks again. */
static void what_another_server_let_go_is_found(void **state)
{
    struct pair *p = *state;
    struct test_op *claim = op_claim(p->b, "default", 1);
    int64_t id = submit_one(p->a, "default");
    struct store_view view;
    struct granted g[1];
    struct err err = ERR_INIT;

    assert_int_equal(store_begin_shared(p->a->store, STORE_BESIDE, &view, &err), E_OK);
    assert_int_equal(store_job_lock(p->a->store, id, &err), E_OK);
    claim->op.exchange.wait_us = 30 * US_PER_S;
    run_op(p->b, claim);
    assert_false(claim->answered);
    store_rollback(p->a->store);
    assert_true(engine_next_us(p->b->engine, p->b->now) <= 100 * US_PER_MS);
    fixture_pass(p->b, 100 * US_PER_MS);
    batch_run(p->b);
    assert_int_equal(granted_of(claim, g, 1), 1);
}

static void a_key_is_known_to_both(void **state)
{
    struct pair *p = *state;
    struct submit_item item = item_of("default");

    item.key = SLICE("once");
    item.content = 7;
    struct test_op *first = run_op(p->a, op_submit(p->a, &item, 1));
    struct test_op *second = run_op(p->b, op_submit(p->b, &item, 1));

    assert_int_equal(first->op.status, 201);
    assert_int_equal(second->op.status, 200);
    assert_true(first->op.submit.first_id == second->op.submit.first_id);
}

/* ---- queues ---- */

static void a_queue_that_one_server_defined_is_there_at_the_other(void **state)
{
    struct pair *p = *state;

    define_queue(p->a, "import", "{\"own_command\":true}");
    assert_int_equal(run_op(p->b, op_claim(p->b, "import", 0))->op.err.code, E_OK);
    assert_true(submit_one(p->b, "import") != 0);
    run_op(p->b, op_queue_state(p->b, "import", QUEUE_DOWN));
    struct submit_item item = item_of("import");

    assert_int_equal(run_op(p->a, op_submit(p->a, &item, 1))->op.err.code, E_QUEUE_DOWN);
}

static void a_queue_that_a_newer_waybill_defined_is_let_be(void **state)
{
    struct pair *p = *state;
    struct submit_item item = item_of("later");

    define_queue(p->a, "later", "{\"own_command\":true}");
    submit_one(p->a, "later");
    pg_schema_run(&p->a->place, "UPDATE queues SET definition = '{\"of_tomorrow\":1}' "
                                "WHERE name = 'later';"
                                "UPDATE meta SET value = value + 1 WHERE key = 'changes'");
    struct test_op *refused = run_op(p->b, op_submit(p->b, &item, 1));
    struct granted g[1];

    assert_int_equal(refused->op.err.code, E_QUEUE_DOWN);
    assert_non_null(strstr(refused->op.err.msg, "of_tomorrow"));
    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "later", 1)), g, 1), 0);
    assert_true(submit_one(p->b, "default") != 0);
}

static void failures_in_a_row_count_over_all_servers(void **state)
{
    struct pair *p = *state;
    struct fixture *turn[] = {p->a, p->b};

    define_queue(p->a, "frail", "{\"own_command\":true,\"stop_after\":3,\"retry\":{\"max\":0}}");
    for (int i = 0; i < 3; i++) {
        struct fixture *f = turn[i % 2];

        submit_one(f, "frail");
        deliver(p, turn[0]);
        struct granted g = claim_one(f, "frail");

        run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    }
    assert_int_equal(pg_schema_number(&p->a->place,
                                      "SELECT state FROM queues WHERE name = 'frail'"),
                     QUEUE_PAUSE);
}

/* ---- people ---- */

static void a_cancel_reaches_the_worker_that_waits_at_the_other_server(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");

    claim_one(p->b, "default");
    struct test_op *waiting = op_claim(p->b, "default", 1);

    waiting->op.exchange.wait_us = 30 * US_PER_S;
    run_op(p->b, waiting);
    assert_false(waiting->answered);
    run_op(p->a, op_act(p->a, ACTION_CANCEL, id));
    deliver(p, p->b);
    assert_true(waiting->answered);
    assert_true(reply_has(waiting, "\"cancel\":[{"));
}

static void who_waits_for_a_job_hears_that_it_ended_at_the_other_server(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");
    struct test_op *wait = run_op(p->a, op_wait(p->a, id, 30 * US_PER_S));

    assert_false(wait->answered);
    struct granted g = claim_one(p->b, "default");

    run_op(p->b, op_finish(p->b, g.id, g.token, JOB_OUT_DONE));
    deliver(p, p->a);
    assert_true(wait->answered);
    assert_int_equal(state_of(p->a, id), JOB_DONE);
}

static void who_waits_for_a_job_hears_that_it_was_deleted_at_the_other_server(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");
    struct test_op *wait = run_op(p->a, op_wait(p->a, id, 30 * US_PER_S));

    run_op(p->b, op_act(p->b, ACTION_DELETE, id));
    deliver(p, p->a);
    assert_true(wait->answered);
}

/* A worker's requests may go to several servers. */
static void what_a_worker_says_of_itself_holds_wherever_it_said_it_last(void **state)
{
    struct pair *p = *state;
    struct fixture *turn[] = {p->b, p->a, p->b};
    const char *broken[] = {"", "{\"default\":\"no such program\"}", ""};

    for (int i = 0; i < 3; i++) {
        struct test_op *claim = op_claim(turn[i], "default", 1);

        claim->op.exchange.worker.described = true;
        claim->op.exchange.worker.queues = SLICE("{\"default\":1}");
        claim->op.exchange.worker.broken = slice_of(broken[i]);
        run_op(turn[i], claim);
        deliver(p, turn[(i + 1) % 2]);
    }
    assert_int_equal(
        pg_schema_number(&p->a->place, "SELECT COUNT(*) FROM workers WHERE broken IS NOT NULL"), 0);
}

static void chunked_work_means_the_jobs_of_all_servers(void **state)
{
    struct pair *p = *state;

    submit_many(p->a, "default", 700);
    submit_many(p->b, "default", 700);
    run_op(p->a, op_bulk(p->a, ACTION_CANCEL, "default"));
    for (int i = 0; i < 10; i++) {
        batch_run(p->b);
        batch_run(p->a);
    }
    assert_int_equal(kept_count(p->a, "default", JOB_CANCELLED), 1400);
    assert_sound(p->a);
}

/* ---- groups ---- */

static const struct group_choice in_group = {.name = SLICE("g"),
                                             .finally = SLICE("{\"queue\":\"last\"}")};

static struct test_op *submit_members(struct fixture *f, size_t n)
{
    struct submit_item *items = arena_array(&f->arena, n + 1, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        items[i] = item_of("default");
        items[i].group = &in_group;
    }
    return op_submit(f, items, n);
}

static int64_t groups_in(const struct pair *p, int state)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM groups WHERE id > 1 AND state = %d", state);
    return pg_schema_number(&p->a->place, sql);
}

static void members_that_end_at_two_servers_make_one_finaliser(void **state)
{
    struct pair *p = *state;

    define_queue(p->a, "last", "{}");
    run_op(p->a, submit_members(p->a, 2));
    struct granted first = claim_one(p->a, "default");
    struct granted second = claim_one(p->b, "default");

    run_op(p->b, op_finish(p->b, second.id, second.token, JOB_OUT_DONE));
    run_op(p->a, op_finish(p->a, first.id, first.token, JOB_OUT_DONE));
    assert_int_equal(groups_in(p, 2), 1);
    assert_int_equal(kept_count(p->a, "last", JOB_READY), 1);
    assert_sound(p->a);
}

static void what_one_server_pauses_no_other_starts(void **state)
{
    struct pair *p = *state;
    struct granted got[4];

    define_queue(p->a, "last", "{}");
    struct test_op *t = run_op(p->a, submit_members(p->a, 3));
    int64_t group = job_of(p->a, id_at(t, 0), &p->a->arena).group;

    (void)claim_one(p->b, "default");
    t = op_make(p->a, OP_GROUP);
    t->op.group = (struct group_op){.kind = GROUP_OP_PAUSE, .id = group};
    run_op(p->a, t);
    assert_int_equal(t->op.err.code, E_OK);
    assert_int_equal(granted_of(run_op(p->b, op_claim(p->b, "default", 4)), got, 4), 0);
    for (int i = 0; i < 10; i++)
        batch_run(p->a);
    assert_int_equal(kept_count(p->a, "default", JOB_HELD), 2);
    assert_sound(p->a);
}

static void a_group_does_not_wait_for_lines_to_a_server_that_died(void **state)
{
    struct pair *p = *state;

    define_queue(p->a, "last", "{}");
    struct test_op *t = submit_members(p->b, 1);

    t->op.submit.mode = SUBMIT_LINES;
    t->op.submit.goes_on = true;
    run_op(p->b, t);
    struct granted g = claim_one(p->a, "default");

    run_op(p->a, op_finish(p->a, g.id, g.token, JOB_OUT_DONE));
    assert_int_equal(groups_in(p, 1), 1);
    kill_server(p, p->b);
    fixture_pass(p->a, 20 * US_PER_S);
    for (int i = 0; i < 10; i++)
        batch_run(p->a);
    assert_int_equal(groups_in(p, 2), 1);
    assert_sound(p->a);
}

/* ---- servers that come and go ---- */

static void a_dead_servers_leases_are_judged_by_another(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->a, "default");

    claim_one(p->b, "default");
    kill_server(p, p->b);
    fixture_pass(p->a, 20 * US_PER_S);
    batch_run(p->a); /* its beat finds the dead one */
    assert_int_equal(pg_schema_number(&p->a->place, "SELECT COUNT(DISTINCT node) FROM claims"), 1);
    assert_int_equal(state_of(p->a, id), JOB_RUNNING);
    fixture_pass(p->a, LEASE_DEFAULT_US + US_PER_S);
    batch_run(p->a);
    assert_int_equal(state_of(p->a, id), JOB_READY);
    assert_sound(p->a);
}

#define NOW_SQL "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"

/* Of 15 s until a dead server is taken over, its own time is 14 at most, and the others are there
 * right behind it. */
static void a_server_looks_again_when_the_time_of_another_has_passed(void **state)
{
    struct pair *p = *state;
    char sql[200];

    fixture_pass(p->a, 20 * US_PER_S);
    batch_run(p->a);
    assert_in_range(pg_schema_number(&p->a->place,
                                     "SELECT MAX(alive_until_at) - " NOW_SQL " FROM servers"),
                    1, 14 * US_PER_S);
    snprintf(sql, sizeof(sql),
             "UPDATE servers SET alive_until_at = " NOW_SQL " + 9000000 WHERE name = '%s'",
             p->b->dir);
    pg_schema_run(&p->a->place, sql);
    fixture_pass(p->a, 20 * US_PER_S);
    batch_run(p->a);
    assert_in_range(engine_next_us(p->a->engine, p->a->now), 1, 9 * US_PER_S + US_PER_S / 4);
    kill_server(p, p->b);
    fixture_pass(p->a, 9 * US_PER_S + US_PER_S / 4);
    batch_run(p->a); /* one beat is enough */
    assert_int_equal(
        pg_schema_number(&p->a->place, "SELECT COUNT(*) FROM servers WHERE alive_until_at = 0"), 1);
}

/* The other has left, and what it held is taken over. */
static void be_sole(struct pair *p)
{
    fixture_leave(p->b);
    p->b = NULL;
    fixture_pass(p->a, 20 * US_PER_S);
    batch_run(p->a);
    deliver(p, p->a);
}

static void the_sole_server_tells_nobody_of_ready_jobs(void **state)
{
    struct pair *p = *state;

    be_sole(p);
    submit_one(p->a, "default");
    fixture_pass(p->a, US_PER_S);
    batch_run(p->a);
    store_listener_wait(p->post.listener, -1, 200, take_line, &p->post);
    assert_int_equal(p->post.n, 0);
}

/* What the sole server has listed, the one that joins may take; and what that one leaves is found
 * again. */
static void who_joins_the_sole_server_shares_its_jobs(void **state)
{
    struct pair *p = *state;
    struct granted mine[3];

    be_sole(p);
    submit_many(p->a, "default", 4);
    claim_one(p->a, "default"); /* three stay listed */
    p->b = fixture_join(p->a);
    struct granted theirs = claim_one(p->b, "default");
    int64_t later = submit_one(p->b, "default");

    be_sole(p); /* ready_unannounced: it left before its time to tell */
    assert_int_equal(granted_of(run_op(p->a, op_claim(p->a, "default", 3)), mine, 3), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(mine[i].id != theirs.id);
    assert_true(mine[2].id == later);
    assert_sound(p->a);
}

static void a_server_that_was_taken_for_dead_joins_again(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->b, "default");
    struct granted g = claim_one(p->b, "default");

    kill_server(p, p->b);
    fixture_pass(p->a, 20 * US_PER_S);
    batch_run(p->a);
    run_op(p->b, op_finish(p->b, g.id, g.token, JOB_OUT_DONE));
    assert_int_equal(state_of(p->a, id), JOB_DONE);
    assert_true(submit_one(p->b, "default") != 0);
    claim_one(p->b, "default");
    assert_int_equal(pg_schema_number(&p->a->place,
                                      "SELECT COUNT(*) FROM claims WHERE node NOT IN "
                                      "(SELECT node FROM servers WHERE alive_until_at > 0)"),
                     0); /* somebody looks after them all */
    assert_sound(p->a);
}

static void a_server_that_comes_again_has_its_node_and_its_claims(void **state)
{
    struct pair *p = *state;
    int64_t id = submit_one(p->b, "default");

    claim_one(p->b, "default");
    int64_t node = pg_schema_number(&p->a->place, "SELECT node FROM claims");

    fixture_crash(p->b);
    assert_true(pg_schema_number(&p->a->place, "SELECT node FROM claims") == node);
    p->b->now.steady_at += LEASE_DEFAULT_US + US_PER_S;
    p->b->now.wall_at = p->b->now.steady_at;
    batch_run(p->b);
    assert_int_equal(state_of(p->b, id), JOB_READY);
}

static void a_lease_is_extended_through_any_server_by_its_own_length(void **state)
{
    struct pair *p = *state;
    struct test_op *claim = op_claim(p->a, "default", 1);
    struct granted g[1];

    submit_one(p->a, "default");
    claim->op.exchange.lease_us = 3 * US_PER_S;
    assert_int_equal(granted_of(run_op(p->a, claim), g, 1), 1);
    fixture_pass(p->b, 2 * US_PER_S);
    run_op(p->b, op_touch(p->b, g[0].id, g[0].token));
    fixture_pass(p->a, 4 * US_PER_S);
    batch_run(p->a);
    assert_int_equal(state_of(p->a, g[0].id), JOB_RUNNING);
    fixture_pass(p->a, 2 * US_PER_S);
    batch_run(p->a);
    assert_int_equal(state_of(p->a, g[0].id), JOB_READY);
}

static void a_worker_that_comes_from_another_server_says_what_it_holds(void **state)
{
    struct pair *p = *state;
    struct test_op *claim = op_claim(p->a, "default", 2);
    struct test_op *all = op_claim(p->b, "default", 0);
    struct granted g[2];

    submit_many(p->a, "default", 2);
    assert_int_equal(granted_of(run_op(p->a, claim), g, 2), 2);
    struct touch_item *held = arena_array(&all->op.arena, 1, sizeof(*held));

    *held = (struct touch_item){.id = g[0].id, .token = g[0].token};
    all->op.exchange.all = true;
    all->op.exchange.touch = held;
    all->op.exchange.n_touch = 1;
    run_op(p->b, all);
    assert_int_equal(state_of(p->b, g[0].id), JOB_RUNNING);
    assert_int_equal(state_of(p->b, g[1].id), JOB_READY);
    assert_sound(p->a);
}

static void due_jobs_are_woken_once_whoever_sees_them(void **state)
{
    struct pair *p = *state;
    struct submit_item item = item_of("default");

    item.delay_us = 10 * US_PER_S;
    run_op(p->a, op_submit(p->a, &item, 1));
    fixture_pass(p->a, 11 * US_PER_S);
    fixture_pass(p->b, 16 * US_PER_S);
    batch_run(p->b); /* its beat tells what is due */
    batch_run(p->a);
    assert_int_equal(kept_count(p->a, "default", JOB_READY), 1);
    assert_sound(p->a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARED_TEST(a_job_that_one_server_took_in_is_run_through_the_other),
        SHARED_TEST(ids_of_two_servers_never_clash),
        SHARED_TEST(no_job_is_granted_by_both),
        SHARED_TEST(a_name_has_one_instance_at_all_servers),
        SHARED_TEST(who_subscribes_does_not_keep_a_dead_instance_alive),
        SHARED_TEST(an_instance_that_vanished_is_succeeded_soon_after_its_lease),
        SHARED_TEST(an_instance_that_is_heard_of_is_told_with_the_beat),
        SHARED_TEST(a_stranger_strips_nobody_at_another_server),
        SHARED_TEST(the_fence_of_a_job_grows_whoever_grants_it),
        SHARED_TEST(a_touch_through_a_slow_server_gives_a_full_period),
        SHARED_TEST(what_another_server_is_at_is_passed_over),
        SHARED_TEST(what_was_listed_and_not_granted_is_the_others_as_well),
        SHARED_TEST(a_claim_that_waits_is_served_when_news_come_of_a_job),
        SHARED_TEST(who_claims_an_empty_queue_asks_the_store_once),
        SHARED_TEST(what_nobody_told_of_is_found_with_the_next_beat),
        SHARED_TEST(what_another_server_let_go_is_found),
        SHARED_TEST(a_key_is_known_to_both),
        SHARED_TEST(a_queue_that_one_server_defined_is_there_at_the_other),
        SHARED_TEST(a_queue_that_a_newer_waybill_defined_is_let_be),
        SHARED_TEST(failures_in_a_row_count_over_all_servers),
        SHARED_TEST(a_cancel_reaches_the_worker_that_waits_at_the_other_server),
        SHARED_TEST(who_waits_for_a_job_hears_that_it_ended_at_the_other_server),
        SHARED_TEST(who_waits_for_a_job_hears_that_it_was_deleted_at_the_other_server),
        SHARED_TEST(what_a_worker_says_of_itself_holds_wherever_it_said_it_last),
        SHARED_TEST(chunked_work_means_the_jobs_of_all_servers),
        SHARED_TEST(members_that_end_at_two_servers_make_one_finaliser),
        SHARED_TEST(what_one_server_pauses_no_other_starts),
        SHARED_TEST(a_group_does_not_wait_for_lines_to_a_server_that_died),
        SHARED_TEST(a_dead_servers_leases_are_judged_by_another),
        SHARED_TEST(a_server_looks_again_when_the_time_of_another_has_passed),
        SHARED_TEST(the_sole_server_tells_nobody_of_ready_jobs),
        SHARED_TEST(who_joins_the_sole_server_shares_its_jobs),
        SHARED_TEST(a_server_that_was_taken_for_dead_joins_again),
        SHARED_TEST(a_server_that_comes_again_has_its_node_and_its_claims),
        SHARED_TEST(a_lease_is_extended_through_any_server_by_its_own_length),
        SHARED_TEST(a_worker_that_comes_from_another_server_says_what_it_holds),
        SHARED_TEST(due_jobs_are_woken_once_whoever_sees_them),
    };

    if (!pg_is_wanted()) {
        puts("1..0 # SKIP WAYBILL_TEST_STORE names no PostgreSQL");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
