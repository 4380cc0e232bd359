/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "base/vec.h"
#include "engine_fixture.h"
#include "testing.h"

struct listed {
    VEC(int64_t) ids;
    char cursor[64]; /* empty: null */
    size_t pages;
};

static struct query list_query(int limit)
{
    struct query q;

    query_init(&q, QUERY_JOBS);
    q.limit = limit;
    return q;
}

static void take_page(struct listed *l, const struct query *q)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct slice page, jobs, job, value = {0};
    int count = 0;

    assert_int_equal(q->err.code, E_OK);
    assert_int_equal(jtext_check(buf_slice(&q->reply), &page, &err), E_OK);
    assert_true(jtext_find(page, "jobs", &jobs) && jtext_find(page, "cursor", &value));
    struct slice cursor = jtext_type_of(value) == JTEXT_NULL ? SLICE("")
                                                             : jtext_text(value, &arena);

    assert_true(cursor.size < sizeof(l->cursor));
    memset(l->cursor, 0, sizeof(l->cursor));
    memcpy(l->cursor, cursor.data, cursor.size);
    for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &job); count++) {
        int64_t id;

        assert_true(jtext_find(job, "id", &value));
        assert_true(id_parse(jtext_text(value, &arena), &id));
        VEC_PUSH(&l->ids, id);
    }
    assert_true(count <= q->limit);
    l->pages++;
}

/* One page more; false when there is none. */
static bool list_on(struct fixture *f, struct query *q, struct listed *l)
{
    if (l->pages > 0 && l->cursor[0] == '\0')
        return false;
    q->cursor = slice_of(l->cursor);
    buf_clear(&q->reply);
    run_query(f, q);
    take_page(l, q);
    return true;
}

static struct listed list_all(struct fixture *f, struct query *q)
{
    struct listed l = {.ids = VEC_INIT};

    while (list_on(f, q, &l))
        assert_true(l.pages < 10000);
    return l;
}

static void assert_falling(const struct listed *l)
{
    for (size_t i = 1; i < l->ids.count; i++)
        assert_true(l->ids.items[i - 1] > l->ids.items[i]);
}

/* ---- a store full of jobs in all states ---- */

enum { MIXED = 2600 };

static void submit_mixed(struct fixture *f, struct rng *rng)
{
    for (int batch = 0; batch < MIXED / 100; batch++) {
        struct submit_item items[100];

        for (size_t i = 0; i < 100; i++) {
            items[i] = item_of(rng_below(rng, 4) == 0 ? "other" : "default");
            items[i].priority = (int)rng_below(rng, 2000) - 1000;
            items[i].delay_us = rng_below(rng, 5) == 0 ? US_PER_HOUR : 0;
            items[i].labels = rng_below(rng, 10) == 0 ? SLICE("{\"kind\":\"rare\"}")
                                                      : slice_make(NULL, 0);
        }
        batch_add(f, op_submit(f, items, 100));
        fixture_pass(f, US_PER_MS);
    }
    batch_run(f);
}

static void finish_mixed(struct fixture *f, struct rng *rng)
{
    static const enum job_outcome outcomes[] = {JOB_OUT_DONE, JOB_OUT_FAILED, JOB_OUT_CANCELLED};
    struct granted g[900];
    size_t n = granted_of(run_op(f, op_claim(f, "default", 900)), g, 900);

    for (size_t i = 0; i < n; i++)
        if (rng_below(rng, 8) != 0)
            batch_add(f, op_finish(f, g[i].id, g[i].token, outcomes[rng_below(rng, 3)]));
    batch_run(f);
    for (size_t i = 0; i < n; i += 9)
        batch_add(f, op_act(f, ACTION_RETRY, g[i].id)); /* refused where it still runs */
    batch_run(f);
    for (size_t i = 0; i < n; i += 18)
        batch_add(f, op_act(f, ACTION_HOLD, g[i].id));
    batch_run(f);
}

static void fill(struct fixture *f)
{
    struct rng rng;

    rng_init(&rng, 7);
    define_queue(f, "other", "{}");
    submit_mixed(f, &rng);
    finish_mixed(f, &rng);
    for (unsigned s = JOB_HELD; s <= JOB_CANCELLED; s++)
        assert_true(kept_count(f, "default", (enum job_state)s) > 0);
    assert_sound(f);
}

static void every_job_is_listed_once_newest_first(void **state)
{
    struct fixture *f = *state;
    static const int limits[] = {7, 50, 999, 1000};

    fill(f);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct query q = list_query(limits[i]);
        struct listed l = list_all(f, &q);

        assert_int_equal(l.ids.count, MIXED);
        assert_falling(&l);
        assert_true(l.pages >= MIXED / (size_t)limits[i]);
        VEC_DEINIT(&l.ids);
        query_deinit(&q);
    }
}

static void every_state_is_listed_as_often_as_it_is_counted(void **state)
{
    struct fixture *f = *state;
    size_t sum = 0;

    fill(f);
    for (unsigned s = JOB_HELD; s <= JOB_CANCELLED; s++) {
        struct query q = list_query(100);

        q.filter.states = 1u << s;
        struct listed l = list_all(f, &q);

        assert_int_equal(l.ids.count, kept_count(f, "default", (enum job_state)s) +
                                          kept_count(f, "other", (enum job_state)s));
        assert_falling(&l);
        for (size_t i = 0; i < l.ids.count; i += 37)
            assert_int_equal(state_of(f, l.ids.items[i]), s);
        sum += l.ids.count;
        VEC_DEINIT(&l.ids);
        query_deinit(&q);
    }
    assert_int_equal(sum, MIXED);
}

static size_t count_listed(struct fixture *f, struct job_filter filter)
{
    struct query q = list_query(300);

    q.filter = filter;
    struct listed l = list_all(f, &q);
    size_t n = l.ids.count;

    assert_falling(&l);
    VEC_DEINIT(&l.ids);
    query_deinit(&q);
    return n;
}

static void filters_divide_the_jobs(void **state)
{
    struct fixture *f = *state;

    fill(f);
    size_t other = count_listed(f, (struct job_filter){.queue = SLICE("other")});
    size_t rest = count_listed(f, (struct job_filter){.queue = SLICE("default")});
    size_t rare = count_listed(f, (struct job_filter){.labels = SLICE("{\"kind\":\"rare\"}")});

    assert_true(other > 0 && rare > 0);
    assert_int_equal(other + rest, MIXED);
    assert_int_equal(count_listed(f, (struct job_filter){.text = SLICE("rare")}), rare);
    assert_int_equal(count_listed(f, (struct job_filter){.text = SLICE("no such")}), 0);
    assert_int_equal(count_listed(f, (struct job_filter){.labels = SLICE("{\"kind\":\"x\"}")}), 0);
}

/* A job that ends between two pages keeps its place. */
static void what_changes_between_pages_is_still_listed_once(void **state)
{
    struct fixture *f = *state;
    struct query q = list_query(60);
    struct listed l = {.ids = VEC_INIT};
    struct granted g[100];

    fill(f);
    size_t n = granted_of(run_op(f, op_claim(f, "other", 100)), g, 100);

    for (size_t i = 0; list_on(f, &q, &l); i += 2) {
        if (i + 1 < n) {
            batch_add(f, op_finish(f, g[i].id, g[i].token, JOB_OUT_DONE));
            batch_add(f, op_finish(f, g[i + 1].id, g[i + 1].token, JOB_OUT_RETURNED));
            batch_run(f);
        }
        submit_one(f, "default"); /* newer than the first page: never listed */
    }
    assert_int_equal(l.ids.count, MIXED);
    assert_falling(&l);
    VEC_DEINIT(&l.ids);
    query_deinit(&q);
}

static void a_search_comes_back_short_and_goes_on_with_its_cursor(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");
    struct query q = list_query(10);
    struct listed l = {.ids = VEC_INIT};

    item.params = SLICE("{\"needle\":true}");
    int64_t needle = run_op(f, op_submit(f, &item, 1))->op.submit.first_id;

    for (int i = 0; i < 5; i++)
        submit_many(f, "default", 5000);
    q.filter.text = SLICE("needle");
    assert_true(list_on(f, &q, &l));
    assert_int_equal(l.ids.count, 0);
    assert_true(l.cursor[0] != '\0');
    while (list_on(f, &q, &l))
        assert_true(l.pages < 10);
    assert_int_equal(l.ids.count, 1);
    assert_int_equal(l.ids.items[0], needle);
    VEC_DEINIT(&l.ids);
    query_deinit(&q);
}

static void a_list_of_nothing_is_empty(void **state)
{
    struct fixture *f = *state;
    struct query q = list_query(50);

    run_query(f, &q);
    assert_string_equal(buf_text(&q.reply), "{\"jobs\":[],\"cursor\":null}");
    query_deinit(&q);
}

static void a_cursor_from_elsewhere_is_refused(void **state)
{
    static const char *const cursors[] = {"x",
                                          "j-",
                                          "06GC6KRB4040D",
                                          "j-06GC6KRB4040",
                                          "j-!!!!",
                                          "k-06GC6KRB4040D",
                                          "j-ZZZZZZZZZZZZZ"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cursors); i++) {
        struct query q = list_query(50);

        q.cursor = slice_of(cursors[i]);
        run_query(f, &q);
        assert_int_equal(q.err.code, E_INVALID);
        query_deinit(&q);
    }
}

static void a_list_of_an_unknown_queue_names_the_nearest(void **state)
{
    struct fixture *f = *state;
    struct query q = list_query(50);

    q.filter.queue = SLICE("defualt");
    run_query(f, &q);
    assert_int_equal(q.err.code, E_INVALID);
    assert_non_null(strstr(q.err.msg, "default"));
    query_deinit(&q);
}

#ifdef __SANITIZE_ADDRESS__ /* which keeps what was freed */
static const long modest_kib = 1 << 20;
#else
static const long modest_kib = 32 << 10;
#endif

static long peak_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Bodies are not shown in lists: they must not be gathered either. */
static void a_list_of_large_jobs_takes_little_memory(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = 120, BYTES = 1 << 20 };
    char *body = mem_zalloc(BYTES);
    struct submit_item item = item_of("default");
    struct query q = list_query(1000);

    item.body = slice_make(body, BYTES);
    for (int i = 0; i < JOBS; i++)
        run_op(f, op_submit(f, &item, 1));
    long before = peak_kib();
    struct listed l = list_all(f, &q);

    assert_int_equal(l.ids.count, JOBS);
    assert_int_equal(l.pages, 1);
    assert_null(strstr(buf_text(&q.reply), "body"));
    run_op(f, op_bulk(f, ACTION_HOLD, "default"));
    while (engine_next_us(f->engine, f->now) == 0)
        batch_run(f);
    assert_int_equal(kept_count(f, "default", JOB_HELD), JOBS);
    assert_true(peak_kib() - before < modest_kib);
    VEC_DEINIT(&l.ids);
    query_deinit(&q);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_list_of_large_jobs_takes_little_memory), /* first: it looks at the peak */
        ENGINE_TEST(every_job_is_listed_once_newest_first),
        ENGINE_TEST(every_state_is_listed_as_often_as_it_is_counted),
        ENGINE_TEST(filters_divide_the_jobs),
        ENGINE_TEST(what_changes_between_pages_is_still_listed_once),
        ENGINE_TEST(a_search_comes_back_short_and_goes_on_with_its_cursor),
        ENGINE_TEST(a_list_of_nothing_is_empty),
        ENGINE_TEST(a_cursor_from_elsewhere_is_refused),
        ENGINE_TEST(a_list_of_an_unknown_queue_names_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
