/*
 * Topics: who gets what is published, emitted or led to; and queues of workers' own.
 */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "core/route/routing.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "testing.h"

#define WEEK_US (7 * US_PER_DAY)

/* ---- words ---- */

static struct test_op *op_publish(struct fixture *f, const char *topic, const char *params)
{
    struct test_op *t = op_make(f, OP_PUBLISH);

    t->op.publish = (struct publish){.topic = slice_of(topic), .params = slice_of(params)};
    return t;
}

static struct test_op *well(struct test_op *t)
{
    if (!t->answered || t->op.err.code != E_OK)
        fail_msg("refused: %s", t->op.err.msg);
    return t;
}

static size_t ids_in(const struct test_op *t)
{
    struct slice ids;

    assert_true(jtext_find(buf_slice(&t->op.reply), "ids", &ids));
    return jtext_count_items(ids);
}

/* How many jobs that made. */
static size_t publish(struct fixture *f, const char *topic)
{
    struct test_op *t = well(run_op(f, op_publish(f, topic, "{}")));

    assert_int_equal(t->op.status, 202);
    return ids_in(t);
}

static int64_t ready(struct fixture *f, const char *queue)
{
    return kept_count(f, queue, JOB_READY);
}

static void assert_refused(const struct test_op *t, enum err_code code, const char *text)
{
    assert_int_equal(t->op.err.code, code);
    if (strstr(t->op.err.msg, text) == NULL)
        fail_msg("'%s' does not say '%s'", t->op.err.msg, text);
}

static void finish(struct fixture *f, struct granted g)
{
    struct test_op *t = run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));

    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

static void topic_of(struct fixture *f, int64_t id, char *ret, size_t size)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = job_of(f, id, &arena);
    struct routing routing;

    routing_parse(j.routing, &arena, &routing);
    snprintf(ret, size, "%.*s", (int)routing.topic.size, routing.topic.data);
}

/* crawl, and two that are subscribed to it or to its like. */
static void define_topics(struct fixture *f)
{
    define_queue(f, "crawl", "{}");
    define_queue(f, "index", "{\"subscribe\":[\"crawl\",\"site.*\"]}");
    define_queue(f, "mirror", "{\"subscribe\":[\"site.*\",\"site.de\"]}");
}

/* ---- publishing ---- */

static void a_publish_makes_a_job_in_each_subscribed_queue(void **state)
{
    struct fixture *f = *state;
    char topic[40];

    define_topics(f);
    assert_int_equal(publish(f, "crawl"), 2);
    assert_int_equal(ready(f, "crawl"), 1);
    assert_int_equal(ready(f, "index"), 1);
    assert_int_equal(ready(f, "mirror"), 0);
    topic_of(f, claim_one(f, "index").id, topic, sizeof(topic));
    assert_string_equal(topic, "crawl");
    assert_sound(f);
}

static void assert_size(struct fixture *f, int64_t id, size_t size)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = job_of(f, id, &arena);

    assert_int_equal(j.params.size, size);
}

/* ---- much to many ---- */

enum { QUEUES = 60, PARAMS_BYTES = 1 << 20 };

/* Nothing that could be compressed. */
static const char *large_params(struct test_op *t)
{
    char *text = arena_alloc(&t->op.arena, PARAMS_BYTES + 16);
    struct rng rng;

    rng_init(&rng, 1);
    memcpy(text, "{\"x\":\"", 6);
    for (size_t i = 6; i < PARAMS_BYTES; i++)
        text[i] = (char)('!' + 2 + rng_below(&rng, 55)); /* neither quotes nor backslashes */
    memcpy(text + PARAMS_BYTES, "\"}", 3);
    return text;
}

static int64_t store_bytes(const struct fixture *f)
{
    int64_t bytes = 0;

    if (pg_is_wanted())
        return pg_schema_number(&f->place,
                                "SELECT SUM(pg_total_relation_size(oid))::BIGINT FROM pg_class"
                                " WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM"
                                " pg_namespace WHERE nspname = current_schema())");
    DIR *dir = opendir(f->dir);

    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        struct stat st;

        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            bytes += st.st_size;
    }
    closedir(dir);
    return bytes;
}

static struct test_op *publish_much(struct fixture *f)
{
    struct test_op *t = op_publish(f, "news", "{}");

    for (int i = 0; i < QUEUES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "q%d", i);
        define_queue(f, name, "{\"subscribe\":[\"news\"]}");
    }
    t->op.publish.params = slice_of(large_params(t));
    return t;
}

static void what_is_published_to_many_is_stored_once(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = publish_much(f);
    int64_t before = store_bytes(f);

    assert_int_equal(ids_in(well(run_op(f, t))), QUEUES);
    assert_true(store_bytes(f) - before < 4 * PARAMS_BYTES); /* a WAL has it once more */
    for (int i = 0; i < QUEUES; i += 20) {
        char name[20];

        snprintf(name, sizeof(name), "q%d", i);
        struct test_op *claim = well(run_op(f, op_claim(f, name, 1)));

        assert_true(claim->op.reply.size > PARAMS_BYTES);
    }
    assert_sound(f);
}

/* A job that is changed, cloned or removed leaves the others as they are; the last one takes the
 * params along. */
static void who_shares_params_is_changed_and_removed_alone(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = well(run_op(f, publish_much(f)));
    int64_t first = id_at(t, 0);
    struct test_op *patch = op_act(f, ACTION_PATCH, id_at(t, 1));
    struct test_op *clone = op_act(f, ACTION_CLONE, id_at(t, 2));

    patch->op.action.params = SLICE("{\"own\":1}");
    (void)well(run_op(f, patch));
    assert_size(f, id_at(t, 1), 9);
    (void)well(run_op(f, clone));
    for (size_t i = 2; i < QUEUES; i++) {
        assert_size(f, id_at(t, i), t->op.publish.params.size);
        run_op(f, op_act(f, ACTION_DELETE, id_at(t, i)));
    }
    assert_size(f, clone->op.action.result_id, t->op.publish.params.size);
    run_op(f, op_act(f, ACTION_DELETE, id_at(t, 1)));
    assert_sound(f);
    assert_size(f, first, t->op.publish.params.size);
    run_op(f, op_act(f, ACTION_DELETE, first));
    assert_sound(f); /* which finds params that are of no job */
}

/* Those that cannot be run are made as well, and fail: with the same params as the others. */
static void what_cannot_be_run_in_many_queues_is_stored_once(void **state)
{
    struct fixture *f = *state;
    struct test_op *many = publish_much(f);
    struct submit_item item = item_of("work");

    for (int i = 0; i < QUEUES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "q%d", i);
        if (i % 3 > 0)
            define_queue(f, name, "{\"subscribe\":[\"news\"],\"command\":[\"x\",\"{missing}\"]}");
    }
    define_queue(f, "told", "{}");
    define_queue(f, "q1",
                 "{\"subscribe\":[\"news\"],\"command\":[\"x\",\"{missing}\"],"
                 "\"on_failure\":[{\"queue\":\"told\"}]}");
    define_queue(f, "work", "{\"on_success\":[{\"topic\":\"news\"}]}");
    item.params = many->op.publish.params;
    well(run_op(f, op_submit(f, &item, 1)));
    struct granted g = claim_one(f, "work");
    int64_t before = store_bytes(f);

    finish(f, g);
    assert_true(store_bytes(f) - before < 8 * PARAMS_BYTES); /* once, and once for `told` */
    assert_int_equal(ready(f, "q0"), 1);
    assert_int_equal(kept_count(f, "q1", JOB_FAILED), 1);
    assert_int_equal(kept_count(f, "q59", JOB_FAILED), 1);
    assert_int_equal(ready(f, "told"), 1);
    assert_true(well(run_op(f, op_claim(f, "q3", 1)))->op.reply.size > PARAMS_BYTES);
    assert_sound(f);
}

static void a_subscription_may_end_in_a_pattern_and_counts_once(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    assert_int_equal(publish(f, "site.de"), 2);
    assert_int_equal(publish(f, "site.de.shop"), 2);
    assert_int_equal(ready(f, "index"), 2);
    assert_int_equal(ready(f, "mirror"), 2);
    assert_int_equal(publish(f, "mirror"), 1); /* its own name */
}

static void a_publish_that_nobody_is_subscribed_to_is_not_found(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    assert_refused(run_op(f, op_publish(f, "site", "{}")), E_NOT_FOUND, "topic 'site'");
    assert_refused(run_op(f, op_publish(f, "sitexde", "{}")), E_NOT_FOUND, "nobody");
}

static void a_publish_that_one_queue_does_not_take_is_refused_for_all(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    run_op(f, op_queue_state(f, "index", QUEUE_DRAIN));
    assert_refused(run_op(f, op_publish(f, "crawl", "{}")), E_QUEUE_DOWN, "queue 'index'");
    run_op(f, op_queue_state(f, "index", QUEUE_UP));
    define_queue(f, "index", "{\"command\":[\"x\",\"{url}\"],\"subscribe\":[\"crawl\"]}");
    assert_refused(run_op(f, op_publish(f, "crawl", "{}")), E_INVALID, "url");
    assert_int_equal(ready(f, "crawl"), 0);
    well(run_op(f, op_publish(f, "crawl", "{\"url\":\"u\"}")));
    assert_sound(f);
}

static void a_publish_is_known_again_by_its_key(void **state)
{
    struct fixture *f = *state;
    struct test_op *t[4];

    define_topics(f);
    for (size_t i = 0; i < 3; i++) {
        t[i] = op_publish(f, "crawl", "{}");
        t[i]->op.publish.key = SLICE("k");
        t[i]->op.publish.content = i == 2 ? 8 : 7;
    }
    well(run_op(f, t[0]));
    define_queue(f, "late", "{\"subscribe\":[\"crawl\"]}");
    well(run_op(f, t[1]));
    assert_int_equal(t[0]->op.status, 202);
    assert_int_equal(t[1]->op.status, 200);
    assert_string_equal(reply_of(t[1]), reply_of(t[0]));
    assert_int_equal(ready(f, "crawl") + ready(f, "index") + ready(f, "late"), 2);
    assert_refused(run_op(f, t[2]), E_CONFLICT, "k/");
    assert_sound(f);
}

static void a_chain_leads_to_all_who_are_subscribed(void **state)
{
    struct fixture *f = *state;
    char topic[40];

    define_topics(f);
    define_queue(f, "work", "{\"on_success\":[{\"topic\":\"crawl\",\"params\":{\"x\":1}}]}");
    submit_one(f, "work");
    finish(f, claim_one(f, "work"));
    assert_int_equal(ready(f, "crawl"), 1);
    assert_int_equal(ready(f, "index"), 1);
    assert_true(reply_has(run_op(f, op_claim(f, "index", 1)), "\"x\":1"));
    topic_of(f, claim_one(f, "crawl").id, topic, sizeof(topic));
    assert_string_equal(topic, "crawl");
    assert_sound(f);
}

/* ---- emitting ---- */

struct emitting {
    struct submit_item *items;
    struct test_op *t;
};

/* A job for mirror, one for who is subscribed to crawl, and another one for mirror. */
static struct emitting op_emit(struct fixture *f, struct granted g, const char *topic)
{
    struct emitting m = {.t = op_make(f, OP_EMIT)};

    m.items = arena_array(&m.t->op.arena, 3, sizeof(*m.items));
    m.items[0] = m.items[1] = m.items[2] = item_of("mirror");
    m.items[1].queue = slice_make(NULL, 0);
    m.items[1].topic = slice_of(topic);
    m.t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = 1, .jobs = m.items, .n_jobs = 3};
    return m;
}

static struct granted begin(struct fixture *f)
{
    define_topics(f);
    define_queue(f, "source", "{}");
    submit_one(f, "source");
    return claim_one(f, "source");
}

static void what_is_emitted_to_a_topic_is_staged_for_each_and_released_with_the_rest(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = well(run_op(f, op_emit(f, g, "crawl").t));
    char topic[40];

    assert_int_equal(ids_in(t), 4);
    topic_of(f, id_at(t, 1), topic, sizeof(topic));
    assert_string_equal(topic, "crawl");
    topic_of(f, id_at(t, 2), topic, sizeof(topic));
    assert_string_equal(topic, ""); /* each item's id is at its place */
    assert_int_equal(kept_count(f, "crawl", JOB_STAGED), 1);
    assert_int_equal(kept_count(f, "index", JOB_STAGED), 1);
    finish(f, g);
    assert_int_equal(ready(f, "crawl"), 1);
    assert_int_equal(ready(f, "index"), 1);
    assert_int_equal(ready(f, "mirror"), 2);
    assert_sound(f);
}

/* A body in 60 queues is one body. */
static void what_is_emitted_with_a_body_to_many_is_stored_once(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *many = publish_much(f);
    struct emitting m = op_emit(f, g, "news");

    m.items[1].params = slice_make(NULL, 0);
    m.items[1].body = many->op.publish.params;
    m.t->op.emit.jobs = &m.items[1];
    m.t->op.emit.n_jobs = 1;
    int64_t before = store_bytes(f);

    assert_int_equal(ids_in(well(run_op(f, m.t))), QUEUES);
    assert_true(store_bytes(f) - before < 4 * PARAMS_BYTES);
    finish(f, g);
    for (int i = 0; i < QUEUES; i += 20) {
        char name[20];

        snprintf(name, sizeof(name), "q%d", i);
        assert_true(well(run_op(f, op_claim(f, name, 1)))->op.reply.size > PARAMS_BYTES);
    }
    assert_sound(f);
    assert_size(f, id_at(m.t, 3), 0);
    struct test_op *patch = op_act(f, ACTION_PATCH, id_at(m.t, 3));

    patch->op.action.params = SLICE("{\"own\":1}");
    (void)well(run_op(f, patch));
    assert_size(f, id_at(m.t, 3), 9);
    assert_true(well(run_op(f, op_claim(f, "q3", 1)))->op.reply.size >
                PARAMS_BYTES); /* the body stays */
    assert_sound(f);
}

static void an_emit_to_a_topic_is_repeated_as_it_was(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting first = op_emit(f, g, "crawl");
    struct emitting again = op_emit(f, g, "crawl");

    first.t->op.emit.visible = again.t->op.emit.visible = true;
    well(run_op(f, first.t));
    define_queue(f, "late", "{\"subscribe\":[\"crawl\"]}");
    well(run_op(f, again.t));
    assert_string_equal(reply_of(again.t), reply_of(first.t));
    assert_int_equal(ready(f, "crawl") + ready(f, "index") + ready(f, "late"), 2);
}

static void an_emit_that_nobody_is_subscribed_to_is_refused_at_its_place(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = run_op(f, op_emit(f, g, "nothing").t);

    assert_refused(t, E_INVALID, "nobody is subscribed to topic 'nothing'");
    assert_int_equal(t->op.err.item, 2);
    define_queue(f, "index", "{\"command\":[\"x\",\"{url}\"],\"subscribe\":[\"crawl\"]}");
    t = run_op(f, op_emit(f, g, "crawl").t);
    assert_refused(t, E_INVALID, "url");
    assert_int_equal(t->op.err.item, 2); /* the topic, not the last that it became */
    assert_int_equal(kept_count(f, "mirror", JOB_STAGED), 0);
    well(run_op(f, op_emit(f, g, "mirror").t));
}

static void keys_of_emits_to_a_topic_are_those_of_its_queues(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, "crawl");
    struct emitting again = op_emit(f, g, "crawl");

    m.items[1].key = again.items[1].key = SLICE("once");
    again.t->op.emit.seq = 2;
    well(run_op(f, m.t));
    well(run_op(f, again.t));
    finish(f, g);
    assert_int_equal(ready(f, "crawl"), 1);
    assert_int_equal(ready(f, "index"), 1);
    assert_int_equal(ready(f, "mirror"), 4);
    assert_sound(f);
}

static void a_finish_publishes_what_it_emits(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, "crawl");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    struct finish_item *item = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    item->emit = m.items;
    item->n_emit = 3;
    m.items[1].topic = SLICE("nothing");
    run_op(f, t);
    assert_true(reply_has(t, "emit[1]: nobody is subscribed"));
    m.items[1].topic = SLICE("crawl");
    t->answered = false;
    t->op.next = NULL;
    run_op(f, t);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_int_equal(ready(f, "crawl") + ready(f, "index"), 2);
    assert_int_equal(ready(f, "mirror"), 2);
    assert_sound(f);
}

/* ---- workers' own queues ---- */

static struct test_op *op_subscribe(struct fixture *f, const char *topic, const char *worker)
{
    struct test_op *t = op_make(f, OP_SUBSCRIBE);

    t->op.subscribe = (struct subscribe){slice_of(topic), slice_of(worker), WEEK_US};
    return t;
}

/* The queue's definition as it is shown; "" when it is gone. */
static void shown(struct fixture *f, const char *queue, char *ret, size_t size)
{
    struct query q;

    query_init(&q, QUERY_QUEUE);
    q.name = slice_of(queue);
    run_query(f, &q);
    snprintf(ret, size, "%s", q.err.code == E_OK ? buf_text(&q.reply) : "");
    query_deinit(&q);
}

static bool shows(struct fixture *f, const char *queue, const char *text)
{
    char all[4000];

    shown(f, queue, all, sizeof(all));
    return strstr(all, text) != NULL;
}

static bool is_there(struct fixture *f, const char *queue)
{
    return shows(f, queue, "\"name\"");
}

static void a_subscribed_worker_gets_a_queue_of_its_own(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    define_queue(f, "crawl", "{\"command\":[\"crawl\"],\"subscribe\":[\"site.*\"]}");
    struct test_op *t = well(run_op(f, op_subscribe(f, "crawl", "den")));

    assert_string_equal(reply_of(t), "{\"queue\":\"crawl@den\"}");
    assert_int_equal(t->op.status, 201);
    t = well(run_op(f, op_subscribe(f, "crawl", "den")));
    assert_int_equal(t->op.status, 200);
    well(run_op(f, op_subscribe(f, "crawl", "attic")));
    assert_true(shows(f, "crawl@den", "[\"crawl\"]")); /* the command */
    assert_int_equal(publish(f, "crawl"), 4);
    assert_int_equal(ready(f, "crawl@den"), 1);
    assert_int_equal(ready(f, "crawl@attic"), 1);
    assert_int_equal(publish(f, "site.de"), 3); /* not theirs */
    assert_refused(run_op(f, op_publish(f, "crawl@den", "{}")), E_NOT_FOUND, "nobody");
    assert_sound(f);
}

static void subscriptions_are_bounded_and_the_refusal_says_what_to_do(void **state)
{
    struct fixture *f = *state;
    char worker[20];

    for (int i = 0; i < 20; i++) { /* all that the fixture's engine allows */
        snprintf(worker, sizeof(worker), "w%d", i);
        (void)well(run_op(f, op_subscribe(f, "crawl", worker)));
    }
    assert_refused(run_op(f, op_subscribe(f, "crawl", "one-more")), E_TOO_MANY,
                   "server.subscriptions");
    (void)well(run_op(f, op_subscribe(f, "crawl", worker))); /* who is there is renewed */
    assert_false(is_there(f, "crawl@one-more"));
    assert_sound(f);
}

static void a_worker_s_queue_is_not_taken_by_one_whose_names_read_the_same(void **state)
{
    struct fixture *f = *state;

    well(run_op(f, op_subscribe(f, "news", "den@home")));
    assert_refused(run_op(f, op_subscribe(f, "news@den", "home")), E_CONFLICT, "another worker");
    assert_int_equal(publish(f, "news"), 1);
}

static void a_topic_needs_no_queue_of_its_name_to_be_subscribed_to(void **state)
{
    struct fixture *f = *state;

    well(run_op(f, op_subscribe(f, "news", "den")));
    well(run_op(f, op_subscribe(f, "weather.*", "den")));
    assert_int_equal(publish(f, "weather.south"), 1);
    assert_int_equal(publish(f, "news"), 1);
    define_queue(f, "news", "{\"timeout\":\"5m\"}");
    assert_true(shows(f, "news@den", "\"timeout\":\"5m\""));
    assert_int_equal(publish(f, "news"), 2);
}

static void a_worker_s_queue_follows_the_definition_of_its_topic_s(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    define_queue(f, "crawl",
                 "{\"description\":\"of late\",\"on_success\":[{\"queue\":\"index\"}]}");
    assert_true(shows(f, "crawl@den", "of late"));
    publish(f, "crawl");
    finish(f, claim_one(f, "crawl@den"));
    assert_int_equal(ready(f, "index"), 2);
    fixture_crash(f);
    assert_true(shows(f, "crawl@den", "of late"));
    assert_int_equal(publish(f, "crawl"), 3);
    assert_sound(f);
}

static void a_worker_s_queue_is_neither_defined_by_hand_nor_pruned(void **state)
{
    struct fixture *f = *state;
    struct test_op *t;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    assert_refused(run_op(f, op_queue_put(f, "crawl@den", "{}")), E_CONFLICT, "worker 'den'");
    t = op_queue_put(f, "crawl", "{}");
    t->op.define.prune = true;
    well(run_op(f, t));
    assert_true(is_there(f, "crawl@den"));
    assert_false(is_there(f, "index"));
    define_queue(f, "a@b", "{}");
    assert_refused(run_op(f, op_subscribe(f, "a", "b")), E_CONFLICT, "'a@b'");
}

static void a_queue_can_go_that_only_copies_of_a_new_definition_led_to(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    define_queue(f, "crawl", "{\"on_success\":[{\"queue\":\"index\"}]}");
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    struct test_op *t = op_queue_put(f, "crawl", "{}");

    t->op.define.prune = true;
    well(run_op(f, t));
    assert_false(is_there(f, "index"));
}

static void claim_as(struct fixture *f, const char *worker, const char *queue)
{
    struct test_op *t = op_claim(f, queue, 1);

    t->op.exchange.worker.name = slice_of(worker);
    well(run_op(f, t));
}

/* So much time, in which the engine runs whenever it wants to. */
static void pass(struct fixture *f, int64_t us)
{
    for (int64_t end_at = f->now.wall_at + us; f->now.wall_at < end_at;) {
        fixture_pass(f, US_PER_HOUR);
        batch_run(f);
    }
}

static void a_queue_whose_worker_stays_away_is_shut_emptied_and_removed(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    well(run_op(f, op_subscribe(f, "crawl", "attic")));
    publish(f, "crawl");
    pass(f, WEEK_US - 2 * US_PER_HOUR);
    claim_as(f, "attic", "default");
    assert_int_equal(ready(f, "crawl@den"), 1);
    pass(f, 5 * US_PER_HOUR);
    assert_true(shows(f, "crawl@den", "\"state\":\"down\""));
    assert_int_equal(kept_count(f, "crawl@den", JOB_CANCELLED), 1);
    assert_true(shows(f, "crawl@attic", "\"state\":\"up\""));
    assert_int_equal(ready(f, "crawl@attic"), 1);
    assert_int_equal(publish(f, "crawl"), 3);
    pass(f, 31 * US_PER_DAY); /* when what was cancelled is removed */
    assert_false(is_there(f, "crawl@den"));
    assert_sound(f);
}

static void a_worker_that_comes_back_in_time_finds_what_it_has_missed(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    pass(f, WEEK_US - 2 * US_PER_HOUR);
    publish(f, "crawl");
    claim_as(f, "den", "default");
    pass(f, WEEK_US - 2 * US_PER_HOUR);
    assert_true(shows(f, "crawl@den", "\"state\":\"up\""));
    assert_int_equal(ready(f, "crawl@den"), 1);
}

static void a_worker_that_comes_back_too_late_is_subscribed_again(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    claim_as(f, "den", "default");
    publish(f, "crawl");
    pass(f, WEEK_US + 3 * US_PER_HOUR);
    assert_int_equal(publish(f, "crawl"), 2);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    assert_int_equal(publish(f, "crawl"), 3);
    pass(f, WEEK_US - 2 * US_PER_HOUR);
    assert_int_equal(ready(f, "crawl@den"), 1);
    assert_sound(f);
}

static void workers_have_an_hour_to_find_a_server_that_was_away(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    fixture_pass(f, 2 * WEEK_US);
    fixture_crash(f);
    batch_run(f);
    fixture_pass(f, US_PER_HOUR / 2);
    batch_run(f);
    assert_true(shows(f, "crawl@den", "\"state\":\"up\""));
    claim_as(f, "den", "default");
    pass(f, 2 * US_PER_HOUR);
    assert_true(shows(f, "crawl@den", "\"state\":\"up\""));
    pass(f, WEEK_US + US_PER_HOUR);
    assert_false(is_there(f, "crawl@den")); /* nothing was in it */
}

static void a_clock_that_is_set_shuts_no_queue(void **state)
{
    struct fixture *f = *state;

    define_topics(f);
    well(run_op(f, op_subscribe(f, "crawl", "den")));
    pass(f, 2 * US_PER_HOUR);
    f->now.wall_at += 2 * WEEK_US;
    batch_run(f);
    fixture_pass(f, 5 * US_PER_MIN);
    batch_run(f);
    claim_as(f, "den", "default");
    pass(f, 3 * US_PER_HOUR);
    assert_true(shows(f, "crawl@den", "\"state\":\"up\""));
}

static void what_was_made_by_one_server_is_looked_after_by_another(void **state)
{
    struct fixture *f = *state;

    if (!pg_is_wanted())
        skip();
    define_topics(f);
    struct fixture *other = fixture_join(f);

    well(run_op(other, op_subscribe(other, "crawl", "den")));
    assert_int_equal(publish(f, "crawl"), 3);
    claim_as(other, "den", "crawl@den");
    fixture_leave(other);
    pass(f, WEEK_US + 3 * US_PER_HOUR);
    assert_true(shows(f, "crawl@den", "\"state\":\"down\""));
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_publish_makes_a_job_in_each_subscribed_queue),
        ENGINE_TEST(what_is_published_to_many_is_stored_once),
        ENGINE_TEST(who_shares_params_is_changed_and_removed_alone),
        ENGINE_TEST(what_cannot_be_run_in_many_queues_is_stored_once),
        ENGINE_TEST(subscriptions_are_bounded_and_the_refusal_says_what_to_do),
        ENGINE_TEST(a_subscription_may_end_in_a_pattern_and_counts_once),
        ENGINE_TEST(a_publish_that_nobody_is_subscribed_to_is_not_found),
        ENGINE_TEST(a_publish_that_one_queue_does_not_take_is_refused_for_all),
        ENGINE_TEST(a_publish_is_known_again_by_its_key),
        ENGINE_TEST(a_chain_leads_to_all_who_are_subscribed),
        ENGINE_TEST(what_is_emitted_to_a_topic_is_staged_for_each_and_released_with_the_rest),
        ENGINE_TEST(what_is_emitted_with_a_body_to_many_is_stored_once),
        ENGINE_TEST(an_emit_to_a_topic_is_repeated_as_it_was),
        ENGINE_TEST(an_emit_that_nobody_is_subscribed_to_is_refused_at_its_place),
        ENGINE_TEST(keys_of_emits_to_a_topic_are_those_of_its_queues),
        ENGINE_TEST(a_finish_publishes_what_it_emits),
        ENGINE_TEST(a_subscribed_worker_gets_a_queue_of_its_own),
        ENGINE_TEST(a_worker_s_queue_is_not_taken_by_one_whose_names_read_the_same),
        ENGINE_TEST(a_topic_needs_no_queue_of_its_name_to_be_subscribed_to),
        ENGINE_TEST(a_worker_s_queue_follows_the_definition_of_its_topic_s),
        ENGINE_TEST(a_worker_s_queue_is_neither_defined_by_hand_nor_pruned),
        ENGINE_TEST(a_queue_can_go_that_only_copies_of_a_new_definition_led_to),
        ENGINE_TEST(a_queue_whose_worker_stays_away_is_shut_emptied_and_removed),
        ENGINE_TEST(a_worker_that_comes_back_in_time_finds_what_it_has_missed),
        ENGINE_TEST(a_worker_that_comes_back_too_late_is_subscribed_again),
        ENGINE_TEST(workers_have_an_hour_to_find_a_server_that_was_away),
        ENGINE_TEST(a_clock_that_is_set_shuts_no_queue),
        ENGINE_TEST(what_was_made_by_one_server_is_looked_after_by_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
