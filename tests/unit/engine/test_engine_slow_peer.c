/*
 * Two servers on one store, one of which stands still at the end of a batch, with all that the
 * batch holds: its backend is frozen, or its link slow.
 *
 * A trigger makes its backend sleep.  What the other server answers before the first wakes up was
 * not held up by it: nothing here looks at a clock.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/route/routing.h"
#include "engine_fixture.h"
#include "testing.h"

struct pair {
    struct fixture *slow, *quick;
    struct test_op *last; /* of the batch in which the first stands still */
    pthread_t thread;
    atomic_bool woke;
};

static int setup(void **state)
{
    struct pair *p = mem_zalloc(sizeof(*p));
    void *first = NULL;

    if (fixture_setup(&first) != 0)
        return -1;
    p->slow = first;
    p->quick = fixture_join(p->slow);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;
    void *first = p->slow;

    fixture_leave(p->quick);
    fixture_teardown(&first);
    free(p);
    return 0;
}

#define PEER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- standing still ---- */

static void *run_slowly(void *ctx)
{
    struct pair *p = ctx;

    run_op(p->slow, p->last);
    atomic_store(&p->woke, true);
    return NULL;
}

/* Its batch, of which `last` is one, holds what it needs and sleeps in front of its commit, by SQL
 * that sleeps. */
static void stand(struct pair *p, const char *how, struct test_op *last)
{
    char sql[1000];

    snprintf(sql, sizeof(sql),
             "CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS"
             " $$ BEGIN %s RETURN NEW; END $$;"
             "CREATE TRIGGER stand_still BEFORE UPDATE ON servers FOR EACH ROW"
             " WHEN (OLD.name = '%s' AND NEW.batch <> OLD.batch) EXECUTE FUNCTION stand_still()",
             how, p->slow->dir);
    pg_schema_run(&p->slow->place, sql);
    p->last = last;
    assert_int_equal(pthread_create(&p->thread, NULL, run_slowly, p), 0);
    while (pg_schema_number(&p->slow->place, "SELECT COUNT(*) FROM pg_locks"
                                             " JOIN pg_stat_activity USING (pid)"
                                             " WHERE wait_event = 'PgSleep'"
                                             " AND relation = 'servers'::regclass") == 0)
        (void)usleep(1000);
}

static void stand_still(struct pair *p, struct test_op *last)
{
    stand(p, "PERFORM pg_sleep(8);", last);
}

/* Until somebody waits for what it holds. */
#define UNTIL_ITS_LOCKS_ARE_WAITED_FOR                                         \
    "FOR i IN 1..800 LOOP"                                                     \
    " EXIT WHEN EXISTS (SELECT 1 FROM pg_locks"                                \
    "   WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)));" \
    " PERFORM pg_sleep(0.01); END LOOP;"

static void await_slow(struct pair *p)
{
    assert_int_equal(pthread_join(p->thread, NULL), 0);
    pg_schema_run(&p->slow->place, "DROP TRIGGER stand_still ON servers");
    assert_int_equal(p->last->op.err.code, E_OK);
}

static void wake(struct pair *p)
{
    assert_false(atomic_load(&p->woke)); /* whatever came before was not held up */
    await_slow(p);
}

static void run_well(struct fixture *f, struct test_op *t)
{
    run_op(f, t);
    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    assert_true(t->answered);
}

/* Batches that had to be run again. */
static uint64_t rollbacks(const struct fixture *f)
{
    return atomic_load(&engine_get_stats(f->engine)->rollbacks);
}

/* ---- what they do ---- */

static struct test_op *op_raise(struct fixture *f, const char *name)
{
    struct test_op *t = op_make(f, OP_SIGNAL);

    t->op.signal = (struct signal_op){SIGNAL_OP_RAISE, slice_of(name), 1};
    return t;
}

static struct test_op *op_arrive(struct fixture *f, const char *params)
{
    struct test_op *t = op_make(f, OP_JOIN);

    t->op.join = (struct join_op){.kind = JOIN_OP_ARRIVE,
                                  .name = SLICE("day"),
                                  .params = slice_of(params)};
    return t;
}

static void define_join(struct fixture *f)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *join = arena_alloc(&t->op.arena, sizeof(*join));

    *join = (struct definition_put){SLICE("day"), SLICE("{\"count\":2,\"key\":\"{date}\","
                                                        "\"then\":[{\"queue\":\"default\"}]}")};
    t->op.define.puts[DEFINITION_JOIN] = (struct definition_puts){join, 1};
    run_well(f, t);
}

static struct granted running(struct fixture *f)
{
    (void)submit_one(f, "work");
    return claim_one(f, "work");
}

static int64_t submit_after(struct fixture *f, const struct granted *first,
                            const struct granted *second)
{
    const struct after_cond conds[] = {
        {.kind = AFTER_JOB, .on = AFTER_SUCCESS, .job = first->id},
        {.kind = AFTER_JOB, .on = AFTER_SUCCESS, .job = second == NULL ? 0 : second->id}};
    struct submit_item item = item_of("default");

    item.after = conds;
    item.n_after = second == NULL ? 1 : 2;
    struct test_op *t = op_submit(f, &item, 1);

    run_well(f, t);
    return t->op.submit.first_id;
}

static struct test_op *op_done(struct fixture *f, const struct granted *g)
{
    return op_finish(f, g->id, g->token, JOB_OUT_DONE);
}

/* ---- tests ---- */

static void what_has_nothing_to_do_with_it_goes_on(void **state)
{
    struct pair *p = *state;

    define_queue(p->slow, "work", "{}");
    define_join(p->slow);
    struct granted theirs = running(p->slow);
    struct granted mine = running(p->slow);

    (void)submit_after(p->slow, &theirs, NULL);
    int64_t waits = submit_after(p->slow, &mine, NULL);

    batch_add(p->slow, op_raise(p->slow, "theirs"));
    batch_add(p->slow, op_arrive(p->slow, "{\"date\":\"theirs\"}"));
    stand_still(p, op_done(p->slow, &theirs));

    run_well(p->quick, op_raise(p->quick, "mine"));
    run_well(p->quick, op_arrive(p->quick, "{\"date\":\"mine\"}"));
    run_well(p->quick, op_arrive(p->quick, "{\"date\":\"mine\"}"));
    run_well(p->quick, op_done(p->quick, &mine));
    assert_int_equal(state_of(p->quick, waits), JOB_READY);
    (void)submit_one(p->quick, "work");
    struct granted g = claim_one(p->quick, "work");

    run_well(p->quick, op_done(p->quick, &g));
    wake(p);
    assert_sound(p->quick);
}

/* One job waits for two that end at both servers: the second is told later, whoever is slow. */
static void a_waiter_that_it_holds_is_told_later(void **state)
{
    struct pair *p = *state;

    define_queue(p->slow, "work", "{}");
    struct granted theirs = running(p->slow);
    struct granted mine = running(p->slow);
    int64_t waits = submit_after(p->slow, &theirs, &mine);

    stand_still(p, op_done(p->slow, &theirs));
    run_well(p->quick, op_done(p->quick, &mine));
    assert_int_equal(state_of(p->quick, mine.id), JOB_DONE);
    assert_int_equal(state_of(p->quick, waits), JOB_HELD);
    fixture_pass(p->quick, US_PER_S);
    batch_run(p->quick); /* in vain */
    (void)submit_one(p->quick, "work");
    assert_int_equal(state_of(p->quick, waits), JOB_HELD);
    wake(p);
    assert_int_equal(state_of(p->quick, waits), JOB_HELD);
    fixture_pass(p->quick, US_PER_S);
    batch_run(p->quick);
    assert_int_equal(state_of(p->quick, waits), JOB_READY);
    assert_sound(p->quick);
}

/* Who needs what it holds is refused after a while; whoever came in the same batch is not. */
static void what_it_holds_is_given_up_without_the_rest(void **state)
{
    struct pair *p = *state;

    define_join(p->slow);
    run_well(p->slow, op_raise(p->slow, "theirs"));
    batch_add(p->slow, op_arrive(p->slow, "{\"date\":\"theirs\"}"));
    stand_still(p, op_raise(p->slow, "theirs"));

    struct submit_item item = item_of("default");
    struct test_op *raise = op_raise(p->quick, "theirs");
    struct test_op *arrive = op_arrive(p->quick, "{\"date\":\"theirs\"}");
    struct test_op *submit = op_submit(p->quick, &item, 1);

    batch_add(p->quick, raise);
    batch_add(p->quick, arrive);
    run_op(p->quick, submit);
    assert_true(raise->answered && arrive->answered && submit->answered);
    assert_int_equal(raise->op.err.code, E_UNAVAILABLE);
    assert_int_equal(arrive->op.err.code, E_UNAVAILABLE);
    assert_int_equal(submit->op.err.code, E_OK);
    wake(p);
    run_well(p->quick, op_raise(p->quick, "theirs"));
    struct test_op *t = op_arrive(p->quick, "{\"date\":\"theirs\"}");

    run_well(p->quick, t);
    assert_true(reply_has(t, "\"fired\":true")); /* the refused one had no effect */
    assert_sound(p->quick);
}

/* ---- publications under one key ---- */

enum { ROWS = 10, QUEUES = 25 };

static void set_rows(struct fixture *f)
{
    f->fanout = (struct fanout){.rows = ROWS};
    fixture_crash(f);
    batch_run(f);
}

static void define_subscribed(struct fixture *f)
{
    char name[20];

    for (int i = 0; i < QUEUES; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        define_queue(f, name, "{\"subscribe\":[\"news\"]}");
    }
}

static struct test_op *op_publish(struct fixture *f, const char *key)
{
    struct test_op *t = op_make(f, OP_PUBLISH);

    t->op.publish = (struct publish){
        .topic = SLICE("news"), .params = SLICE("{}"), .key = slice_of(key), .content = 7};
    return t;
}

static void assert_published(struct pair *p, const struct test_op *again, int64_t jobs)
{
    assert_int_equal(again->op.err.code, E_OK);
    assert_int_equal(p->last->op.status, 202);
    assert_int_equal(again->op.status, 200);
    assert_string_equal(reply_of(again), reply_of(p->last));
    for (int i = 0; i < 20; i++) {
        fixture_pass(p->quick, US_PER_S);
        batch_run(p->quick);
    }
    assert_int_equal(pg_schema_number(&p->slow->place, "SELECT COUNT(*) FROM jobs"), jobs);
    assert_sound(p->quick);
}

/* One server makes all jobs at once, the commit of the other is full. */
static void a_key_is_published_under_once_however_full_the_commits_are(void **state)
{
    struct pair *p = *state;
    struct test_op *again;

    define_subscribed(p->slow);
    set_rows(p->quick);
    stand(p, UNTIL_ITS_LOCKS_ARE_WAITED_FOR, op_publish(p->slow, "k"));
    uint64_t before = rollbacks(p->quick);

    batch_add(p->quick, op_publish(p->quick, ""));
    again = run_op(p->quick, op_publish(p->quick, "k"));
    await_slow(p);
    assert_int_equal(rollbacks(p->quick), before);
    assert_published(p, again, 2 * QUEUES);
}

/* The other commits after its row was looked for in vain, and before the keys are read. */
static void who_publishes_again_is_told_all_ids_at_any_moment(void **state)
{
    struct pair *p = *state;
    struct test_op *again;

    define_subscribed(p->slow);
    set_rows(p->slow);
    batch_run(p->quick);
    stand(p, "LOCK TABLE keys IN ACCESS EXCLUSIVE MODE; " UNTIL_ITS_LOCKS_ARE_WAITED_FOR,
          op_publish(p->slow, "k"));
    again = run_op(p->quick, op_publish(p->quick, "k"));
    await_slow(p);
    assert_published(p, again, QUEUES);
}

/* ---- keys ---- */

enum { KEYS = 30 };

static char key_texts[KEYS][8];

/* Each a request of its own, in one batch; the last is not added. */
static void submits(struct fixture *f, int from, int to, uint64_t content, struct test_op **ret)
{
    for (int i = from; i < to; i++) {
        struct submit_item *item;

        snprintf(key_texts[i], sizeof(key_texts[i]), "k%d", i);
        ret[i - from] = op_submit(f, &(struct submit_item){.queue = SLICE("default")}, 1);
        item = (struct submit_item *)(uintptr_t)ret[i - from]->op.submit.items;
        item->key = slice_of(key_texts[i]);
        item->content = content;
        if (i + 1 < to)
            batch_add(f, ret[i - from]);
    }
}

/* Neither batch is run again: who comes second reads who was first. */
static void keys_that_two_servers_are_given_at_once_are_one_job_each(void **state)
{
    struct pair *p = *state;
    struct test_op *first[KEYS];
    struct test_op *second[KEYS];
    int overlap = 20;

    batch_run(p->quick);
    submits(p->slow, 0, overlap, 7, first);
    stand(p, UNTIL_ITS_LOCKS_ARE_WAITED_FOR, first[overlap - 1]);
    uint64_t before = rollbacks(p->quick);

    submits(p->quick, 5, KEYS, 7, second);
    run_op(p->quick, second[KEYS - 5 - 1]);
    await_slow(p);
    assert_int_equal(rollbacks(p->quick), before);
    for (int i = 5; i < KEYS; i++) {
        assert_int_equal(second[i - 5]->op.err.code, E_OK);
        assert_int_equal(second[i - 5]->op.status, i < overlap ? 200 : 201);
        if (i < overlap)
            assert_string_equal(reply_of(second[i - 5]), reply_of(first[i]));
    }
    assert_int_equal(pg_schema_number(&p->slow->place, "SELECT COUNT(*) FROM jobs"), KEYS);
    assert_sound(p->quick);
}

/* What is judged by who was first is refused for itself alone; of an array, as a whole, and its
 * other keys are free. */
static void a_key_that_another_server_took_with_other_content_refuses_its_own_request_alone(
    void **state)
{
    struct pair *p = *state;
    struct submit_item items[] = {item_of("default"), item_of("default"), item_of("default")};
    struct test_op *first[KEYS];
    struct test_op *second[KEYS];

    batch_run(p->quick);
    submits(p->slow, 0, 3, 7, first);
    stand(p, UNTIL_ITS_LOCKS_ARE_WAITED_FOR, first[2]);
    uint64_t before = rollbacks(p->quick);

    items[0].key = SLICE("free");
    items[1].key = SLICE("k1");
    items[1].content = 8;
    struct test_op *array = op_submit(p->quick, items, ARRAY_LEN(items));

    array->op.submit.mode = SUBMIT_ARRAY;
    batch_add(p->quick, array);
    submits(p->quick, 2, 6, 8, second);
    run_op(p->quick, second[3]);
    await_slow(p);
    assert_int_equal(rollbacks(p->quick), before);
    assert_int_equal(array->op.err.code, E_CONFLICT);
    assert_int_equal(array->op.err.item, 2);
    assert_int_equal(second[0]->op.err.code, E_CONFLICT);
    for (int i = 1; i < 4; i++)
        assert_int_equal(second[i]->op.status, 201);
    assert_int_equal(pg_schema_number(&p->slow->place, "SELECT COUNT(*) FROM jobs"), 6);
    assert_int_equal(pg_schema_number(&p->slow->place, "SELECT COUNT(*) FROM keys"), 6);
    assert_sound(p->quick);
}

/* ---- ends that another server follows ---- */

/* A job in `work` has ended and leads to more than a commit makes. */
static void leave_an_end(struct fixture *f)
{
    CLEANUP(buf) struct buf def = BUF_INIT(10000);

    define_queue(f, "next", "{}");
    buf_add_str(&def, "{\"on_success\":[{\"queue\":\"next\"}");
    for (int i = 0; i < QUEUES; i++)
        buf_addf(&def, ",{\"queue\":\"next\",\"params\":{\"i\":%d}}", i);
    buf_add_str(&def, "]}");
    define_queue(f, "work", buf_text(&def));
    set_rows(f);
    struct granted g = running(f);

    run_well(f, op_done(f, &g));
    assert_int_equal(pg_schema_number(&f->place, "SELECT COUNT(*) FROM follows"), 1);
}

/* A job on a route whose first step leads to more than a commit makes, a signal among it. */
static int64_t leave_the_end_of_a_step(struct fixture *f)
{
    CLEANUP(buf) struct buf dests = BUF_INIT(10000);
    struct submit_item item = item_of("work");

    buf_add_str(&dests, "[{\"signal\":\"s\"}");
    for (int i = 0; i < QUEUES; i++)
        buf_addf(&dests, ",{\"queue\":\"next\",\"params\":{\"i\":%d}}", i);
    buf_add_str(&dests, "]");
    struct route_step steps[] = {
        {.number = 1, .name = SLICE("1"), .queue = SLICE("work"), .on_success = buf_slice(&dests)},
        {.number = 2, .name = SLICE("2"), .queue = SLICE("work")}};
    struct routing routing = {.steps = steps, .n_steps = 2};
    struct test_op *t = op_submit(f, &item, 1);
    struct submit_item *made_of = (struct submit_item *)(uintptr_t)t->op.submit.items;

    define_queue(f, "next", "{}");
    define_queue(f, "work", "{}");
    set_rows(f);
    made_of->routing = &routing;
    made_of->step = 1;
    run_well(f, t);
    struct granted g = claim_one(f, "work");

    run_well(f, op_done(f, &g));
    assert_int_equal(state_of(f, g.id), JOB_HELD);
    return g.id;
}

static int64_t ready_in_next(struct pair *p)
{
    return kept_count(p->quick, "next", JOB_READY);
}

static int64_t rounds_of_a_submit(struct fixture *f)
{
    int64_t before = store_traffic(f->store).rounds;

    (void)submit_one(f, "default");
    return store_traffic(f->store).rounds - before;
}

/* Locks on jobs come before those on what an end leads to: the job is not waited for with those
 * held, and others pay nothing for it until it is looked at again. */
static void the_end_of_a_step_whose_job_it_holds_is_followed_later(void **state)
{
    struct pair *p = *state;
    char how[120];

    batch_run(p->slow);                 /* which finds nothing to work off */
    (void)rounds_of_a_submit(p->quick); /* of the first one, with what it learns */
    int64_t rounds = rounds_of_a_submit(p->quick);
    int64_t job = leave_the_end_of_a_step(p->quick);

    batch_run(p->quick); /* one more would do */
    int64_t before = ready_in_next(p);

    assert_in_range(QUEUES - before, 1, ROWS - 1);
    snprintf(how, sizeof(how),
             "PERFORM 1 FROM jobs WHERE id = %lld FOR UPDATE; PERFORM pg_sleep(8);",
             (long long)job);
    stand(p, how, op_raise(p->slow, "theirs"));
    uint64_t undone = rollbacks(p->quick);

    fixture_pass(p->quick, US_PER_S);
    batch_run(p->quick);
    rounds -= rounds_of_a_submit(p->quick);
    undone -= rollbacks(p->quick);
    before -= ready_in_next(p);
    wake(p);
    assert_int_equal(rounds, 0);
    assert_int_equal(undone, 0);
    assert_int_equal(before, 0);
    for (int i = 0; i < 10; i++) {
        fixture_pass(p->quick, US_PER_S);
        batch_run(p->quick);
    }
    assert_int_equal(ready_in_next(p), QUEUES);
    assert_int_equal(state_of(p->quick, job), JOB_READY);
    assert_sound(p->quick);
}

static void a_bulk_that_waits_for_an_end_pauses(void **state)
{
    struct pair *p = *state;
    struct submit_item item = item_of("default");

    leave_an_end(p->slow);
    stand_still(p, op_submit(p->slow, &item, 1)); /* that batch goes on with the end */
    run_well(p->quick, op_bulk(p->quick, ACTION_DELETE, "work"));
    for (int i = 0; i < 3; i++) /* the living, the ended */
        batch_run(p->quick);
    uint64_t commits = engine_get_stats(p->quick->engine)->commits;

    for (int i = 0; i < 10; i++)
        batch_run(p->quick);
    int64_t next_us = engine_next_us(p->quick->engine, p->quick->now);
    int64_t kept = kept_count(p->quick, "work", JOB_DONE);

    commits = engine_get_stats(p->quick->engine)->commits - commits;
    wake(p);
    assert_int_equal(kept, 1);
    assert_int_equal(commits, 0);
    assert_in_range(next_us, 1, 20 * US_PER_MS);
    for (int i = 0; i < 20; i++) {
        fixture_pass(p->quick, US_PER_S);
        batch_run(p->quick);
    }
    assert_int_equal(kept_count(p->quick, "work", JOB_DONE), 0);
    assert_int_equal(kept_count(p->quick, "next", JOB_READY), QUEUES + 1);
    assert_sound(p->quick);
}

/* ---- workers ---- */

static void claim_as_worker(struct fixture *f)
{
    struct test_op *t = op_claim(f, "default", 1);

    t->op.exchange.worker = (struct worker_info){
        .name = SLICE("w"), .host = SLICE("h"), .pid = 7, .instance = SLICE("one")};
    run_well(f, t);
}

static int64_t told_at(struct fixture *f)
{
    return pg_schema_number(&f->place, "SELECT MAX(seen_at) FROM workers");
}

static void a_worker_whose_row_it_holds_is_told_of_with_a_later_beat(void **state)
{
    struct pair *p = *state;
    struct submit_item item = item_of("default");

    claim_as_worker(p->quick);
    fixture_pass(p->quick, 3 * US_PER_S);
    claim_as_worker(p->quick);
    int64_t heard_at = p->quick->now.wall_at;

    stand(p, "PERFORM 1 FROM workers FOR UPDATE; PERFORM pg_sleep(8);",
          op_submit(p->slow, &item, 1));
    fixture_pass(p->quick, 11 * US_PER_S);
    batch_run(p->quick);
    wake(p);
    assert_true(told_at(p->slow) < heard_at);
    fixture_pass(p->quick, 11 * US_PER_S);
    batch_run(p->quick);
    assert_true(told_at(p->slow) == heard_at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PEER_TEST(what_has_nothing_to_do_with_it_goes_on),
        PEER_TEST(a_waiter_that_it_holds_is_told_later),
        PEER_TEST(what_it_holds_is_given_up_without_the_rest),
        PEER_TEST(a_key_is_published_under_once_however_full_the_commits_are),
        PEER_TEST(who_publishes_again_is_told_all_ids_at_any_moment),
        PEER_TEST(keys_that_two_servers_are_given_at_once_are_one_job_each),
        PEER_TEST(a_key_that_another_server_took_with_other_content_refuses_its_own_request_alone),
        PEER_TEST(the_end_of_a_step_whose_job_it_holds_is_followed_later),
        PEER_TEST(a_bulk_that_waits_for_an_end_pauses),
        PEER_TEST(a_worker_whose_row_it_holds_is_told_of_with_a_later_beat),
    };

    if (!pg_is_wanted()) {
        puts("1..0 # SKIP WAYBILL_TEST_STORE names no PostgreSQL");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
