/*
 * What ties jobs together: waits and releases, signals, joins.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/links/links.h"
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

/* ---- waits ---- */

enum { SEEN_MAX = 4000 };

struct seen_waits {
    struct stored_wait waits[SEEN_MAX];
    size_t n;
};

static struct seen_waits seen;

static void take_wait(void *ctx, const struct stored_wait *wait)
{
    struct seen_waits *s = ctx;

    assert_true(s->n < SEEN_MAX);
    s->waits[s->n++] = *wait;
}

static struct stored_wait on_job(int64_t waiter, int64_t seq, int64_t target, int step)
{
    return (struct stored_wait){.waiter = waiter,
                                .seq = seq,
                                .kind = AFTER_JOB,
                                .target = target,
                                .step = step,
                                .on = AFTER_FAILURE};
}

static void add_waits(const struct stored_wait *waits, size_t n)
{
    ok(store_waits_add(fx.store, waits, n, &fx.arena, &err));
}

static void assert_same_wait(const struct stored_wait *a, const struct stored_wait *b)
{
    assert_true(a->waiter == b->waiter && a->seq == b->seq && a->kind == b->kind);
    assert_true(a->target == b->target && a->step == b->step && a->on == b->on);
    assert_true(a->count == b->count && a->take == b->take);
}

static size_t waits_on(int64_t target, int64_t above, size_t limit)
{
    seen.n = 0;
    ok(store_waits_on(fx.store, target, above, limit, take_wait, &seen, &err));
    return seen.n;
}

static size_t waits_of(int64_t waiter, size_t limit)
{
    seen.n = 0;
    ok(store_waits_of(fx.store, waiter, limit, take_wait, &seen, &err));
    return seen.n;
}

static void many_waits_of_one_job_come_back_in_order(void **state)
{
    static struct stored_wait waits[2500];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        waits[i] = on_job(10, (int64_t)i, 5000 - (int64_t)i, (int)(i % 3));
    waits[7] = (struct stored_wait){
        .waiter = 10, .seq = 7, .kind = AFTER_SIGNAL, .target = 9000, .count = 10, .take = true};
    begin();
    add_waits(waits, ARRAY_LEN(waits));
    commit();
    assert_int_equal(waits_of(10, 5000), 2500);
    for (size_t i = 0; i < ARRAY_LEN(waits); i++)
        assert_same_wait(&seen.waits[i], &waits[i]);
    assert_int_equal(waits_of(10, 3), 3);
    assert_int_equal(seen.waits[2].seq, 2);
    assert_int_equal(waits_of(11, 3), 0);
}

static void waits_on_one_target_come_by_waiter_from_a_place_on(void **state)
{
    const struct stored_wait waits[] = {
        on_job(30, 0, 5, 0), on_job(10, 1, 5, 2), on_job(10, 0, 5, 0),
        on_job(20, 4, 5, 2), on_job(20, 3, 6, 0), on_job(40, 0, 5, 3),
    };
    int64_t n = 0;

    (void)state;
    begin();
    add_waits(waits, ARRAY_LEN(waits));
    commit();
    assert_int_equal(waits_on(5, 0, 10), 5);
    assert_int_equal(seen.waits[0].waiter, 10);
    assert_int_equal(seen.waits[0].seq, 0);
    assert_int_equal(seen.waits[1].seq, 1);
    assert_int_equal(seen.waits[2].waiter, 20);
    assert_int_equal(seen.waits[4].waiter, 40);
    assert_int_equal(waits_on(5, 10, 2), 2);
    assert_int_equal(seen.waits[0].waiter, 20);
    assert_int_equal(seen.waits[1].waiter, 30);
    assert_int_equal(waits_on(5, 40, 10), 0);
    ok(store_waiters_count(fx.store, 5, &n, &err));
    assert_int_equal(n, 4);
    ok(store_waiters_count(fx.store, 7, &n, &err));
    assert_int_equal(n, 0);
}

static size_t waits_on_step(int64_t target, int step, size_t limit)
{
    seen.n = 0;
    ok(store_waits_on_step(fx.store, target, step, limit, take_wait, &seen, &err));
    return seen.n;
}

static void waits_on_a_step_are_told_from_those_on_others(void **state)
{
    const struct stored_wait waits[] = {
        on_job(10, 0, 5, 0), on_job(11, 0, 5, 1), on_job(13, 0, 5, 2),
        on_job(12, 0, 5, 2), on_job(12, 1, 5, 3), on_job(14, 0, 6, 2),
    };

    (void)state;
    begin();
    add_waits(waits, ARRAY_LEN(waits));
    assert_int_equal(waits_on_step(5, 2, 10), 2);
    assert_int_equal(seen.waits[0].waiter, 12);
    assert_int_equal(seen.waits[1].waiter, 13);
    assert_int_equal(seen.waits[0].on, AFTER_FAILURE);
    commit();
    assert_int_equal(waits_on_step(5, 2, 1), 1);
    assert_int_equal(seen.waits[0].waiter, 12);
    assert_int_equal(waits_on_step(5, 3, 10), 1);
    assert_int_equal(waits_on_step(5, 1, 10), 1);
    assert_int_equal(waits_on_step(6, 2, 10), 1);
    assert_int_equal(waits_on(5, 0, 1), 1);
    assert_int_equal(seen.waits[0].step, 0);
}

static void waits_go_one_by_one_or_all_of_a_job(void **state)
{
    const struct stored_wait waits[] = {on_job(10, 0, 5, 0), on_job(10, 1, 6, 0),
                                        on_job(10, 2, 7, 0), on_job(11, 0, 5, 0)};

    (void)state;
    begin();
    add_waits(waits, ARRAY_LEN(waits));
    ok(store_wait_remove(fx.store, 10, 1, &err));
    assert_int_equal(waits_of(10, 10), 2);
    assert_int_equal(seen.waits[1].seq, 2);
    ok(store_waits_forget(fx.store, 10, &err));
    commit();
    assert_int_equal(waits_of(10, 10), 0);
    assert_int_equal(waits_of(11, 10), 1);
}

/* ---- what is waited for ---- */

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

static void awaiting_tells_what_stands_in_the_store_and_marks_the_living(void **state)
{
    const int64_t ids[] = {2, 3, 4, 5, 99};
    enum job_state states[ARRAY_LEN(ids)];

    (void)state;
    begin();
    for (int64_t id = 1; id <= 5; id++)
        add_job(id, queue);
    claim_jobs(500, (int64_t[]){3, 4, 5}, 3);
    end_as(4, JOB_DONE);
    end_as(5, JOB_FAILED);
    ok(store_jobs_await(fx.store, ids, ARRAY_LEN(ids), states, &fx.arena, &err));
    commit();
    assert_int_equal(states[0], JOB_READY);
    assert_int_equal(states[1], JOB_RUNNING);
    assert_int_equal(states[2], JOB_DONE);
    assert_int_equal(states[3], JOB_FAILED);
    assert_int_equal(states[4], JOB_NONE);
    assert_true(get_job(2).awaited && get_job(3).awaited);
    assert_false(get_job(1).awaited || get_job(4).awaited);
}

static void many_are_awaited_at_once(void **state)
{
    enum { N = 1500 };
    static struct job jobs[N];
    static int64_t ids[N + 1];
    static enum job_state states[N + 1];

    (void)state;
    for (int i = 0; i < N; i++) {
        jobs[i] = (struct job){.id = {2 * i + 1}, .queue = queue, .state = JOB_READY};
        ids[i] = jobs[i].id.v;
    }
    ids[N] = INT64_MAX;
    begin();
    ok(store_jobs_insert(fx.store, jobs, N, &err));
    ok(store_jobs_await(fx.store, ids, N + 1, states, &fx.arena, &err));
    commit();
    for (int i = 0; i < N; i++)
        assert_int_equal(states[i], JOB_READY);
    assert_int_equal(states[N], JOB_NONE);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM jobs WHERE awaited = 1"), N);
}

static void an_awaited_job_does_not_end_plainly(void **state)
{
    struct done_item items[] = {{.id = 1, .token = 500}, {.id = 2, .token = 500}};
    enum job_state found;

    (void)state;
    begin();
    add_job(1, queue);
    add_job(2, queue);
    claim_jobs(500, (int64_t[]){1, 2}, 2);
    ok(store_jobs_await(fx.store, (int64_t[]){2}, 1, &found, &fx.arena, &err));
    ok(store_jobs_done(fx.store, items, 2, NOW_AT, &fx.arena, &err));
    commit();
    assert_true(items[0].hit);
    assert_false(items[1].hit);
    assert_int_equal(get_job(1).state, JOB_DONE);
    assert_int_equal(get_job(2).state, JOB_RUNNING);
}

static void a_job_may_be_awaited_from_the_start_and_no_more_once_it_runs_again(void **state)
{
    struct job j = {.id = {1}, .queue = queue, .state = JOB_READY, .awaited = true};

    (void)state;
    begin();
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
    add_job(2, queue);
    assert_true(get_job(1).awaited);
    assert_false(get_job(2).awaited);
    claim_jobs(500, (int64_t[]){1}, 1);
    assert_true(get_job(1).awaited);
    end_as(1, JOB_FAILED);
    ok(store_job_revive(fx.store, &(struct job){.id = {1}, .queue = queue, .state = JOB_READY},
                        &err));
    commit();
    assert_false(get_job(1).awaited);
}

/* ---- releases ---- */

static struct stored_release next_release(void)
{
    struct stored_release r = {.target = 77};

    ok(store_release_next(fx.store, 0, &r, &err));
    return r;
}

static void a_release_is_there_until_it_is_worked_off(void **state)
{
    struct stored_release r = {.target = 30, .state = JOB_FAILED};

    (void)state;
    begin();
    assert_int_equal(next_release().target, 0);
    ok(store_release_put(fx.store, &r, &err));
    ok(store_release_put(fx.store, &(struct stored_release){.target = 40, .state = -1}, &err));
    r.cursor = 17;
    ok(store_release_put(fx.store, &r, &err));
    commit();
    begin();
    struct stored_release got = next_release();

    assert_int_equal(got.target, 30);
    assert_int_equal(got.state, JOB_FAILED);
    assert_int_equal(got.cursor, 17);
    ok(store_release_find(fx.store, 40, &got, &err));
    assert_int_equal(got.target, 40);
    assert_int_equal(got.state, -1);
    ok(store_release_remove(fx.store, 30, &err));
    ok(store_release_find(fx.store, 30, &got, &err));
    assert_int_equal(got.target, 0);
    assert_int_equal(next_release().target, 40);
    ok(store_release_remove(fx.store, 40, &err));
    assert_int_equal(next_release().target, 0);
    commit();
}

/* ---- signals ---- */

static struct stored_signal get_signal(const char *name)
{
    struct stored_signal signal = {.id = 77};

    ok(store_signal_find(fx.store, slice_of(name), &fx.arena, &signal, &err));
    return signal;
}

static void put_signal(int64_t id, const char *name, int64_t count)
{
    struct stored_signal signal = {
        .id = id, .name = slice_of(name), .count = count, .changed_at = NOW_AT + count};

    ok(store_signal_put(fx.store, &signal, &err));
}

static void a_signal_is_known_by_name_and_by_id(void **state)
{
    struct stored_signal got;

    (void)state;
    begin();
    assert_int_equal(get_signal("ä").id, 0);
    put_signal(5, "ä", 1);
    put_signal(5, "ä", INT64_C(1000000000000));
    commit();
    got = get_signal("ä");
    assert_int_equal(got.id, 5);
    assert_int_equal(got.count, INT64_C(1000000000000));
    assert_int_equal(got.changed_at, NOW_AT + INT64_C(1000000000000));
    ok(store_signal_load(fx.store, 5, &fx.arena, &got, &err));
    assert_true(same(got.name, "ä"));
    begin();
    ok(store_signal_remove(fx.store, 5, &err));
    commit();
    ok(store_signal_load(fx.store, 5, &fx.arena, &got, &err));
    assert_int_equal(got.id, 0);
}

struct seen_signals {
    struct buf names;
    int64_t waiters;
};

static void take_signal(void *ctx, const struct stored_signal *signal)
{
    struct seen_signals *s = ctx;

    buf_add_slice(&s->names, signal->name);
    buf_add_char(&s->names, ' ');
    s->waiters = signal->waiters;
}

static void signals_are_listed_by_name_with_those_who_wait(void **state)
{
    struct seen_signals some = {.names = BUF_INIT(100)};
    struct seen_signals rest = {.names = BUF_INIT(100)};
    const struct stored_wait waits[] = {
        {.waiter = 10, .seq = 0, .kind = AFTER_SIGNAL, .target = 2, .count = 1},
        {.waiter = 10, .seq = 1, .kind = AFTER_SIGNAL, .target = 2, .count = 4},
        {.waiter = 11, .seq = 0, .kind = AFTER_SIGNAL, .target = 2, .count = 1},
    };

    (void)state;
    begin();
    put_signal(1, "c", 0);
    put_signal(2, "b", 3);
    put_signal(3, "a", 3);
    put_signal(4, "ä", 3);
    add_waits(waits, ARRAY_LEN(waits));
    commit();
    ok(store_signals_list(fx.store, SLICE(""), 2, take_signal, &some, &err));
    assert_string_equal(buf_text(&some.names), "a b ");
    assert_int_equal(some.waiters, 2);
    ok(store_signals_list(fx.store, SLICE("b"), 10, take_signal, &rest, &err));
    assert_string_equal(buf_text(&rest.names), "c ä ");
    assert_int_equal(rest.waiters, 0);
    buf_deinit(&some.names);
    buf_deinit(&rest.names);
}

/* ---- joins ---- */

static void put_join(int64_t id, const char *name, int64_t fired)
{
    struct stored_join join = {.id = id,
                               .name = slice_of(name),
                               .definition = SLICE("{\"count\":2}"),
                               .fired = fired,
                               .fired_at = fired == 0 ? 0 : NOW_AT};

    ok(store_join_put(fx.store, &join, &err));
}

static struct stored_join get_join(const char *name)
{
    struct stored_join join = {.id = 77};

    ok(store_join_find(fx.store, slice_of(name), &fx.arena, &join, &err));
    return join;
}

static void put_arrivals(int64_t join, struct slice key, int64_t count)
{
    int64_t jobs[1000];
    struct stored_arrivals a = {
        .join = join, .key = key, .count = count, .first_at = NOW_AT, .jobs = jobs};

    a.n_jobs = count > 1000 ? 1000 : (size_t)count;
    for (size_t i = 0; i < a.n_jobs; i++)
        jobs[i] = (int64_t)i + (INT64_C(1) << 60);
    ok(store_arrivals_put(fx.store, &a, &err));
}

static struct stored_arrivals get_arrivals(int64_t join, struct slice key)
{
    struct stored_arrivals a = {.count = 77};

    ok(store_arrivals_find(fx.store, join, key, &fx.arena, &a, &err));
    return a;
}

static void take_join(void *ctx, const struct stored_join *join)
{
    buf_add_slice(ctx, join->name);
    buf_add_char(ctx, ' ');
}

static void a_join_keeps_its_definition_and_how_often_it_fired(void **state)
{
    CLEANUP(buf) struct buf names = BUF_INIT(100);

    (void)state;
    begin();
    assert_int_equal(get_join("day").id, 0);
    put_join(5, "day", 0);
    put_join(6, "b", 0);
    put_join(5, "day", 3);
    commit();
    struct stored_join got = get_join("day");

    assert_int_equal(got.id, 5);
    assert_true(same(got.name, "day"));
    assert_true(same(got.definition, "{\"count\":2}"));
    assert_int_equal(got.fired, 3);
    assert_int_equal(got.fired_at, NOW_AT);
    ok(store_joins_list(fx.store, SLICE(""), 10, take_join, &names, &err));
    assert_string_equal(buf_text(&names), "b day ");
    buf_clear(&names);
    ok(store_joins_list(fx.store, SLICE("b"), 10, take_join, &names, &err));
    assert_string_equal(buf_text(&names), "day ");
}

static void a_join_goes_with_all_that_has_arrived(void **state)
{
    int64_t keys = 0;

    (void)state;
    begin();
    put_join(5, "day", 0);
    put_join(6, "week", 0);
    put_arrivals(5, SLICE("1"), 1);
    put_arrivals(5, SLICE("2"), 1);
    put_arrivals(6, SLICE("1"), 1);
    ok(store_arrivals_count(fx.store, 5, &keys, &err));
    assert_int_equal(keys, 2);
    ok(store_join_remove(fx.store, 5, &err));
    commit();
    assert_int_equal(get_join("day").id, 0);
    ok(store_arrivals_count(fx.store, 5, &keys, &err));
    assert_int_equal(keys, 0);
    assert_int_equal(get_arrivals(6, SLICE("1")).count, 1);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void arrivals_meet_under_a_key_of_any_bytes(void **state)
{
    struct slice odd = slice_make("a\0\xFF", 3);

    (void)state;
    begin();
    put_join(5, "day", 0);
    assert_int_equal(get_arrivals(5, SLICE("")).count, 0);
    put_arrivals(5, slice_make(NULL, 0), 0);
    put_arrivals(5, odd, 1);
    put_arrivals(5, odd, 2500);
    commit();
    struct stored_arrivals got = get_arrivals(5, odd);

    assert_int_equal(got.count, 2500);
    assert_int_equal(got.n_jobs, 1000);
    assert_int_equal(got.jobs[999], (INT64_C(1) << 60) + 999);
    assert_true(slice_equal(got.key, odd));
    assert_int_equal(get_arrivals(5, slice_make("a\0", 2)).count, 0);
    begin();
    ok(store_arrivals_remove(fx.store, 5, odd, &err));
    commit();
    assert_int_equal(get_arrivals(5, odd).count, 0);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM arrivals"), 1);
}

static void take_arrivals(void *ctx, const struct stored_arrivals *a)
{
    buf_addf(ctx, "[%.*s]%zu ", (int)a->key.size, a->key.data, a->n_jobs);
}

static void arrivals_are_listed_by_key_from_the_empty_one_on(void **state)
{
    CLEANUP(buf) struct buf all = BUF_INIT(100);
    CLEANUP(buf) struct buf behind = BUF_INIT(100);
    CLEANUP(buf) struct buf two = BUF_INIT(100);

    (void)state;
    begin();
    put_join(5, "day", 0);
    put_arrivals(5, SLICE("b"), 2);
    put_arrivals(5, SLICE(""), 1);
    put_arrivals(5, SLICE("a"), 3);
    put_arrivals(6, SLICE("0"), 3);
    commit();
    ok(store_arrivals_list(fx.store, 5, slice_make(NULL, 0), 10, take_arrivals, &all, &err));
    assert_string_equal(buf_text(&all), "[]1 [a]3 [b]2 ");
    ok(store_arrivals_list(fx.store, 5, SLICE(""), 10, take_arrivals, &behind, &err));
    assert_string_equal(buf_text(&behind), "[a]3 [b]2 ");
    ok(store_arrivals_list(fx.store, 5, slice_make(NULL, 0), 2, take_arrivals, &two, &err));
    assert_string_equal(buf_text(&two), "[]1 [a]3 ");
}

/* ---- between servers ---- */

static void signals_that_another_server_holds_are_told_apart(void **state)
{
    const int64_t ids[] = {5, 6, 7};
    int64_t levels[3];

    (void)state;
    begin();
    ok(store_signal_put(fx.store, &(struct stored_signal){5, SLICE("one"), 3, 1, 0}, &err));
    ok(store_signal_put(fx.store, &(struct stored_signal){6, SLICE("two"), 4, 1, 0}, &err));
    commit();
    begin();
    ok(store_signals_hold(fx.store, ids, 3, levels, &fx.arena, &err));
    assert_int_equal(levels[0], 3);
    assert_int_equal(levels[1], 4);
    assert_int_equal(levels[2], 0); /* is not there */
    if (pg_is_wanted()) {
        struct store *other = fixture_open(STORE_WRITE);

        ok(store_begin(other, &err));
        ok(store_signals_hold(other, ids, 3, levels, &fx.arena, &err));
        assert_int_equal(levels[0], -1);
        assert_int_equal(levels[2], 0);
        store_rollback(other);
        store_close(other);
    }
    commit();
}

static void waiters_that_another_server_holds_are_told_apart(void **state)
{
    const int64_t ids[] = {1, 2, 3};
    bool busy[3] = {true, true, true};

    (void)state;
    begin();
    add_job(1, queue);
    add_job(2, queue);
    commit();
    begin();
    ok(store_waiters_hold(fx.store, ids, 1, busy, &fx.arena, &err));
    assert_false(busy[0]);
    if (pg_is_wanted()) {
        struct store *other = fixture_open(STORE_WRITE);

        ok(store_begin(other, &err));
        ok(store_waiters_hold(other, ids, 3, busy, &fx.arena, &err));
        assert_true(busy[0]);
        assert_false(busy[1]);
        assert_false(busy[2]); /* is not there */
        store_rollback(other);
        store_close(other);
    }
    commit();
}

static void a_release_that_another_server_is_at_is_passed_over(void **state)
{
    (void)state;
    if (!pg_is_wanted())
        skip();
    struct store *other = fixture_open(STORE_WRITE);
    struct stored_release r = {.target = 77};
    bool any = false;

    begin();
    ok(store_release_put(fx.store, &(struct stored_release){.target = 30, .state = -1}, &err));
    ok(store_release_put(fx.store, &(struct stored_release){.target = 40, .state = -1}, &err));
    commit();
    begin();
    assert_int_equal(next_release().target, 30);
    ok(store_begin(other, &err));
    ok(store_release_next(other, 0, &r, &err));
    assert_int_equal(r.target, 40);
    store_rollback(other);
    ok(store_release_remove(fx.store, 40, &err));
    commit();
    begin();
    assert_int_equal(next_release().target, 30);
    ok(store_begin(other, &err));
    ok(store_release_any(other, &any, &err));
    assert_true(any); /* it is seen, though it is held */
    store_rollback(other);
    commit();
    store_close(other);
}

struct awaiter {
    pthread_t thread;
    struct store *store;
    enum err_code code;
    enum job_state found;
};

static void *await_job(void *arg)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct awaiter *a = arg;
    struct err err = ERR_INIT;

    a->code = store_begin(a->store, &err);
    if (a->code == E_OK)
        a->code = store_jobs_await(a->store, (int64_t[]){5}, 1, &a->found, &arena, &err);
    if (a->code == E_OK)
        a->code = store_commit(a->store, &err);
    return NULL;
}

/* Until one of the sessions waits for a lock. */
static void until_it_waits(void)
{
    int64_t give_up_at = clock_mono_us() + 20 * US_PER_S;

    while (raw_number("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                      "query LIKE '%FROM jobs%'") == 0)
        assert_true(clock_mono_us() < give_up_at);
}

static void a_job_that_another_server_ends_meanwhile_is_found_ended(void **state)
{
    struct awaiter a = {.code = E_INTERNAL};

    (void)state;
    if (!pg_is_wanted())
        skip();
    begin();
    add_job(5, queue);
    commit();
    begin();
    end_as(5, JOB_FAILED);
    a.store = fixture_open(STORE_WRITE);
    assert_int_equal(pthread_create(&a.thread, NULL, await_job, &a), 0);
    until_it_waits();
    commit();
    pthread_join(a.thread, NULL);
    assert_int_equal(a.code, E_OK);
    assert_int_equal(a.found, JOB_FAILED);
    store_close(a.store);
}

#define LINKS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINKS_TEST(many_waits_of_one_job_come_back_in_order),
        LINKS_TEST(waits_on_one_target_come_by_waiter_from_a_place_on),
        LINKS_TEST(waits_on_a_step_are_told_from_those_on_others),
        LINKS_TEST(waits_go_one_by_one_or_all_of_a_job),
        LINKS_TEST(awaiting_tells_what_stands_in_the_store_and_marks_the_living),
        LINKS_TEST(many_are_awaited_at_once),
        LINKS_TEST(an_awaited_job_does_not_end_plainly),
        LINKS_TEST(a_job_may_be_awaited_from_the_start_and_no_more_once_it_runs_again),
        LINKS_TEST(a_release_is_there_until_it_is_worked_off),
        LINKS_TEST(a_signal_is_known_by_name_and_by_id),
        LINKS_TEST(signals_are_listed_by_name_with_those_who_wait),
        LINKS_TEST(a_join_keeps_its_definition_and_how_often_it_fired),
        LINKS_TEST(a_join_goes_with_all_that_has_arrived),
        LINKS_TEST(arrivals_meet_under_a_key_of_any_bytes),
        LINKS_TEST(arrivals_are_listed_by_key_from_the_empty_one_on),
        LINKS_TEST(signals_that_another_server_holds_are_told_apart),
        LINKS_TEST(waiters_that_another_server_holds_are_told_apart),
        LINKS_TEST(a_release_that_another_server_is_at_is_passed_over),
        LINKS_TEST(a_job_that_another_server_ends_meanwhile_is_found_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
