/*
 * Where the end of a job leads: chains and joins, and definitions that would lead nowhere.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"
#include "testing.h"

/* ---- words ---- */

static struct finish_item *item_in(struct test_op *t)
{
    return (struct finish_item *)(uintptr_t)t->op.exchange.finish;
}

static void run_finish(struct fixture *f, struct test_op *t)
{
    run_op(f, t);
    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

static void finish(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    if (outcome == JOB_OUT_FAILED) {
        item_in(t)->exited = true;
        item_in(t)->exit = 3;
        item_in(t)->cause = JOB_CAUSE_EXIT;
        item_in(t)->text = SLICE("no such page");
        item_in(t)->has_text = true;
    }
    run_finish(f, t);
}

static int64_t submit_with(struct fixture *f, const struct submit_item *item)
{
    struct test_op *t = run_op(f, op_submit(f, item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

/* Submits a job with these params, and ends it. */
static int64_t run_job(struct fixture *f, const char *queue, const char *params,
                       enum job_outcome outcome)
{
    struct submit_item item = {.queue = slice_of(queue), .params = slice_of(params)};
    int64_t id = submit_with(f, &item);

    finish(f, claim_one(f, queue), outcome);
    return id;
}

struct seen_job {
    struct job job;
    struct routing routing;
    struct arena arena;
};

static void seen_job_cleanup(struct seen_job *s)
{
    arena_deinit(&s->arena);
}

static void see(struct fixture *f, int64_t id, struct seen_job *s)
{
    struct err err = ERR_INIT;
    bool found = false;

    assert_int_equal(store_job_load(f->store, id, LOAD_ALL, &s->arena, &s->job, &found, &err),
                     E_OK);
    assert_true(found);
    routing_parse(s->job.routing, &s->arena, &s->routing);
}

static int64_t newest(struct fixture *f)
{
    struct err err = ERR_INIT;
    int64_t id = 0;

    assert_int_equal(store_job_newest(f->store, &id, &err), E_OK);
    return id;
}

static void assert_member(struct slice object, const char *name, const char *json)
{
    struct slice value;

    if (!jtext_find(object, name, &value))
        fail_msg("there is no '%s' in %.*s", name, (int)object.size, object.data);
    if (!slice_is(value, json))
        fail_msg("'%s' is %.*s, not %s", name, (int)value.size, value.data, json);
}

static void assert_no_member(struct slice object, const char *name)
{
    struct slice value;

    assert_false(jtext_find(object, name, &value));
}

static struct slice member(struct slice object, const char *name)
{
    struct slice value = {0};

    assert_true(jtext_find(object, name, &value));
    return value;
}

static int64_t ready(struct fixture *f, const char *queue)
{
    return kept_count(f, queue, JOB_READY);
}

/* Queues and joins in one request; the arrays end with a NULL name. */
struct defined {
    const char *name;
    const char *json;
};

static struct definition_put *puts_of(struct test_op *t, const struct defined *d, size_t *ret_n)
{
    struct definition_put *puts = arena_array(&t->op.arena, 20, sizeof(*puts));

    for (*ret_n = 0; d != NULL && d->name != NULL; d++)
        puts[(*ret_n)++] = (struct definition_put){slice_of(d->name), slice_of(d->json)};
    return puts;
}

static struct test_op *apply(struct fixture *f, const struct defined *queues,
                             const struct defined *joins, bool prune)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    size_t n_queues = 0;
    size_t n_joins = 0;
    struct definition_put *q = puts_of(t, queues, &n_queues);
    struct definition_put *j = puts_of(t, joins, &n_joins);

    t->op.define = (struct define){
        .puts = {[DEFINITION_QUEUE] = {q, n_queues}, [DEFINITION_JOIN] = {j, n_joins}},
        .prune = prune};
    return run_op(f, t);
}

static void apply_well(struct fixture *f, const struct defined *queues, const struct defined *joins)
{
    struct test_op *t = apply(f, queues, joins, false);

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
}

#define QUEUES(...) ((const struct defined[]){__VA_ARGS__, {NULL, NULL}})

static void assert_refused(const struct test_op *t, enum err_code code, const char *text)
{
    assert_int_equal(t->op.err.code, code);
    if (strstr(t->op.err.msg, text) == NULL)
        fail_msg("'%s' does not say '%s'", t->op.err.msg, text);
}

/* work leads to next and alarm. */
static void define_chain(struct fixture *f)
{
    apply_well(f,
               QUEUES({"work", "{\"on_success\":[{\"queue\":\"next\"}],"
                               "\"on_failure\":[{\"queue\":\"alarm\"}]}"},
                      {"next", "{}"}, {"alarm", "{}"}),
               NULL);
}

/* ---- chains of a queue ---- */

static void a_done_job_leads_to_on_success_in_the_commit_that_ends_it(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    run_job(f, "work", "{}", JOB_OUT_DONE);
    assert_int_equal(ready(f, "next"), 1);
    assert_int_equal(ready(f, "alarm"), 0);
    assert_sound(f);
}

static void a_job_leads_to_on_failure_only_when_it_failed_for_good(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    define_queue(f, "work",
                 "{\"retry\":{\"max\":1,\"first\":\"0s\"},\"on_success\":[{\"queue\":\"next\"}],"
                 "\"on_failure\":[{\"queue\":\"alarm\"}]}");
    run_job(f, "work", "{}", JOB_OUT_FAILED);
    assert_int_equal(ready(f, "alarm"), 0);
    fixture_pass(f, US_PER_S);
    batch_run(f);
    finish(f, claim_one(f, "work"), JOB_OUT_FAILED);
    assert_int_equal(ready(f, "alarm"), 1);
    assert_int_equal(ready(f, "next"), 0);
    assert_sound(f);
}

static void a_cancelled_job_leads_nowhere(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    define_chain(f);
    item.routing = routing_of(f, "{\"on_success\":[{\"queue\":\"next\"}],"
                                 "\"on_failure\":[{\"queue\":\"alarm\"}]}");
    run_op(f, op_act(f, ACTION_CANCEL, submit_with(f, &item)));
    submit_with(f, &item);
    finish(f, claim_one(f, "work"), JOB_OUT_CANCELLED);
    assert_int_equal(ready(f, "next") + ready(f, "alarm"), 0);
    assert_sound(f);
}

static void a_finish_that_is_repeated_leads_nowhere_again(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    submit_one(f, "work");
    struct granted g = claim_one(f, "work");

    finish(f, g, JOB_OUT_DONE);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(ready(f, "next"), 1);
}

static void many_that_end_at_once_lead_each_to_one(void **state)
{
    struct fixture *f = *state;
    struct granted g[50];

    define_chain(f);
    submit_many(f, "work", 50);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 50)), g, 50), 50);
    for (size_t i = 0; i < 50; i++)
        batch_add(f, op_finish(f, g[i].id, g[i].token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(ready(f, "next"), 50);
    assert_sound(f);
}

static void a_chain_is_followed_whatever_the_state_of_its_queue(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    run_op(f, op_queue_state(f, "next", QUEUE_DOWN));
    run_job(f, "work", "{}", JOB_OUT_DONE);
    assert_int_equal(ready(f, "next"), 1);
    assert_sound(f);
}

static void a_job_that_is_deleted_as_it_ends_leads_on_all_the_same(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    int64_t id = submit_one(f, "work");
    struct granted g = claim_one(f, "work");

    batch_add(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    batch_add(f, op_act(f, ACTION_DELETE, id));
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_NONE);
    assert_int_equal(ready(f, "next"), 1);
    assert_sound(f);
}

/* ---- what is handed on ---- */

static void params_are_handed_on_under_those_of_the_destination(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};

    apply_well(f,
               QUEUES({"work", "{\"on_success\":[{\"queue\":\"next\","
                               "\"params\":{\"b\":3,\"c\":4,\"cause\":0}}]}"},
                      {"next", "{}"}),
               NULL);
    int64_t id = run_job(f, "work", "{\"a\":1,\"b\":2}", JOB_OUT_DONE);

    see(f, newest(f), &s);
    assert_member(s.job.params, "a", "1");
    assert_member(s.job.params, "b", "3");
    assert_member(s.job.params, "c", "4");
    assert_member(member(s.job.params, "cause"), "state", "\"done\"");
    assert_no_member(s.job.params, "result");
    assert_true(s.routing.parent == id);
    assert_int_equal(s.routing.depth, 1);
}

static void the_cause_tells_how_it_failed(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};
    char id[ID_TEXT_SIZE];
    char want[ID_TEXT_SIZE + 2];

    define_chain(f);
    snprintf(want, sizeof(want), "\"%s\"", id_format(run_job(f, "work", "{}", JOB_OUT_FAILED), id));
    see(f, newest(f), &s);
    struct slice cause = member(s.job.params, "cause");

    assert_member(cause, "id", want);
    assert_member(cause, "queue", "\"work\"");
    assert_member(cause, "state", "\"failed\"");
    assert_member(cause, "exit", "3");
    assert_member(cause, "cause", "\"exit\"");
    assert_member(cause, "text", "\"no such page\"");
    assert_no_member(cause, "step");
}

static void a_result_is_handed_on_by_one_job_to_the_next_alone(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job first = {0};
    CLEANUP(seen_job) struct seen_job second = {0};

    apply_well(f,
               QUEUES({"a", "{\"on_success\":[{\"queue\":\"b\"}]}"},
                      {"b", "{\"on_success\":[{\"queue\":\"c\"}]}"}, {"c", "{}"}),
               NULL);
    submit_one(f, "a");
    struct granted g = claim_one(f, "a");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    item_in(t)->result = SLICE("[1,2]");
    run_finish(f, t);
    see(f, newest(f), &first);
    assert_member(first.job.params, "result", "[1,2]");
    finish(f, claim_one(f, "b"), JOB_OUT_DONE);
    see(f, newest(f), &second);
    assert_no_member(second.job.params, "result");
    assert_int_equal(second.routing.depth, 2);
}

static void what_a_job_has_set_is_its_result(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};

    define_chain(f);
    submit_one(f, "work");
    struct granted g = claim_one(f, "work");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    item_in(t)->set = SLICE("{\"pages\":7}");
    run_finish(f, t);
    see(f, newest(f), &s);
    assert_member(s.job.params, "result", "{\"pages\":7}");
}

static void labels_and_priority_are_those_of_the_cause(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};
    struct submit_item item = item_of("work");

    define_chain(f);
    item.labels = SLICE("{\"site\":\"x\"}");
    item.priority = 17;
    submit_with(f, &item);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    see(f, newest(f), &s);
    assert_true(slice_is(s.job.labels, "{\"site\":\"x\"}"));
    assert_int_equal(s.job.priority, 17);
}

/* ---- of a job, of a step ---- */

static void a_job_has_destinations_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    define_chain(f);
    define_queue(f, "own", "{}");
    item.routing = routing_of(
        f, "{\"on_success\":[{\"queue\":\"own\"}],\"on_failure\":[{\"queue\":\"own\","
           "\"params\":{\"failed\":true}}]}");
    submit_with(f, &item);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    assert_int_equal(ready(f, "next"), 1);
    assert_int_equal(ready(f, "own"), 1);
    submit_with(f, &item);
    finish(f, claim_one(f, "work"), JOB_OUT_FAILED);
    assert_int_equal(ready(f, "alarm"), 1);
    assert_int_equal(ready(f, "own"), 2);
    assert_sound(f);
}

static void each_step_leads_on_and_the_job_in_the_end(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};
    struct submit_item item = item_of("work");

    define_chain(f);
    apply_well(f,
               QUEUES({"pack", "{\"on_success\":[{\"queue\":\"packed\"}]}"}, {"packed", "{}"},
                      {"own", "{}"}, {"seen", "{}"}),
               NULL);
    item.step = 1;
    item.step_params = SLICE("{\"depth\":5}");
    item.routing = routing_of(
        f, "{\"steps\":[{\"number\":1,\"name\":\"get\",\"queue\":\"work\",\"params\":{\"depth\":5},"
           "\"on_success\":[{\"queue\":\"seen\"}]},{\"number\":2,\"name\":\"pack\","
           "\"queue\":\"pack\"}],\"on_success\":[{\"queue\":\"own\"}]}");
    submit_with(f, &item);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    assert_int_equal(ready(f, "seen"), 1);
    assert_int_equal(ready(f, "next"), 1);
    assert_int_equal(ready(f, "own"), 0);
    see(f, claim_one(f, "seen").id, &s);
    assert_member(s.job.params, "depth", "5");
    assert_member(member(s.job.params, "cause"), "step", "1");
    finish(f, claim_one(f, "pack"), JOB_OUT_DONE);
    assert_int_equal(ready(f, "own"), 1);
    assert_int_equal(ready(f, "packed"), 1); /* by its last step, not once more as a whole */
    assert_int_equal(ready(f, "next"), 1);
    assert_sound(f);
}

/* ---- what cannot be run ---- */

static void a_job_whose_params_do_not_fill_its_command_is_made_and_has_failed(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};

    apply_well(f,
               QUEUES({"work", "{\"on_success\":[{\"queue\":\"get\"}]}"},
                      {"get", "{\"command\":[\"get\",\"{url}\"],"
                              "\"on_failure\":[{\"queue\":\"alarm\"}]}"},
                      {"alarm", "{}"}),
               NULL);
    run_job(f, "work", "{}", JOB_OUT_DONE);
    assert_int_equal(kept_count(f, "get", JOB_FAILED), 1);
    assert_int_equal(ready(f, "alarm"), 1);
    see(f, claim_one(f, "alarm").id, &s);
    struct slice cause = member(s.job.params, "cause");

    assert_member(cause, "queue", "\"get\"");
    assert_member(cause, "cause", "\"start\"");
    assert_true(memmem(cause.data, cause.size, "url", 3) != NULL);
    assert_sound(f);
}

static void what_cannot_run_and_leads_to_itself_comes_to_an_end(void **state)
{
    struct fixture *f = *state;

    apply_well(f,
               QUEUES({"work", "{\"on_success\":[{\"queue\":\"get\"}]}"},
                      {"get", "{\"command\":[\"get\",\"{url}\"],\"on_failure\":"
                              "[{\"queue\":\"get\"},{\"queue\":\"get\"}]}"}),
               NULL);
    run_job(f, "work", "{}", JOB_OUT_DONE);
    assert_int_equal(kept_count(f, "get", JOB_FAILED), 3);
    assert_sound(f);
}

/* The finish of one and the claim of the next are one request. */
static struct granted finish_and_claim(struct fixture *f, struct granted g, size_t *ret_n)
{
    struct test_op *t = op_claim(f, "work", 1);
    struct finish_item *item = arena_array(&t->op.arena, 1, sizeof(*item));
    struct granted next = {0};

    *item = (struct finish_item){.id = g.id, .token = g.token, .outcome = JOB_OUT_DONE};
    t->op.exchange.finish = item;
    t->op.exchange.n_finish = 1;
    *ret_n = granted_of(run_op(f, t), &next, 1);
    return next;
}

static void a_chain_of_more_than_a_thousand_jobs_ends_with_one_that_fails(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};
    size_t made = 1;

    define_queue(f, "work",
                 "{\"on_success\":[{\"queue\":\"work\"}],"
                 "\"on_failure\":[{\"queue\":\"default\"}]}");
    submit_one(f, "work");
    struct granted g = claim_one(f, "work");

    for (size_t n = 1; n > 0 && made < 2 * CHAIN_DEPTH_MAX; made += n)
        g = finish_and_claim(f, g, &n);
    assert_int_equal(made, CHAIN_DEPTH_MAX + 1);
    assert_int_equal(kept_count(f, "work", JOB_FAILED), 1);
    assert_int_equal(ready(f, "default"), 0);
    see(f, newest(f), &s);
    assert_int_equal(s.job.cause, JOB_CAUSE_DEPENDENCY);
    assert_int_equal(s.routing.depth, CHAIN_DEPTH_MAX + 1);
    assert_sound(f);
}

static bool log_has(struct fixture *f, const char *queue, const char *text)
{
    struct query q;

    query_init(&q, QUERY_QUEUE_LOG);
    q.name = slice_of(queue);
    q.limit = 100;
    run_query(f, &q);
    assert_int_equal(q.err.code, E_OK);
    bool has = strstr(buf_text(&q.reply), text) != NULL;

    query_deinit(&q);
    return has;
}

static void a_destination_that_is_gone_is_told_in_the_log_of_the_queue(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    apply_well(f, QUEUES({"work", "{}"}, {"own", "{}"}), NULL);
    item.routing = routing_of(f, "{\"on_success\":[{\"queue\":\"own\"}]}");
    submit_with(f, &item);
    struct test_op *gone = op_make(f, OP_DEFINE);

    gone->op.define = (struct define){.removes = true,
                                      .kind = DEFINITION_QUEUE,
                                      .name = SLICE("own")};
    assert_int_equal(run_op(f, gone)->op.err.code, E_OK);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    assert_true(log_has(f, "work", "a destination of job"));
    assert_sound(f);
}

/* ---- joins ---- */

static struct stored_join join_in(struct fixture *f, const char *name, struct arena *arena)
{
    struct err err = ERR_INIT;
    struct stored_join join;

    assert_int_equal(store_join_find(f->store, slice_of(name), arena, &join, &err), E_OK);
    return join;
}

static int64_t fired(struct fixture *f, const char *name)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    return join_in(f, name, &arena).fired;
}

static int64_t arrived(struct fixture *f, const char *name, const char *key)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_join join = join_in(f, name, &arena);
    struct stored_arrivals a = {0};
    struct err err = ERR_INIT;

    assert_int_equal(store_arrivals_find(f->store, join.id, slice_of(key), &arena, &a, &err), E_OK);
    return a.count;
}

/* Three parts of a day make a report. */
static void define_join(struct fixture *f)
{
    apply_well(f, QUEUES({"part", "{\"on_success\":[{\"join\":\"day\"}]}"}, {"report", "{}"}),
               QUEUES(
                   {"day", "{\"key\":\"{date}\",\"count\":3,\"then\":[{\"queue\":\"report\"}]}"}));
}

static int64_t part_of(struct fixture *f, const char *date)
{
    char params[60];

    snprintf(params, sizeof(params), "{\"date\":\"%s\"}", date);
    return run_job(f, "part", params, JOB_OUT_DONE);
}

static void a_join_fires_once_for_each_number_of_arrivals_with_one_key(void **state)
{
    struct fixture *f = *state;
    static const char *const dates[] = {"a", "b", "a", "a", "b", "a", "a", "b", "a", "a", "c"};

    define_join(f);
    for (size_t i = 0; i < ARRAY_LEN(dates); i++)
        part_of(f, dates[i]);
    assert_int_equal(fired(f, "day"), 3); /* 7 of a, 3 of b, 1 of c */
    assert_int_equal(ready(f, "report"), 3);
    assert_int_equal(arrived(f, "day", "a"), 1);
    assert_int_equal(arrived(f, "day", "b"), 0);
    assert_int_equal(arrived(f, "day", "c"), 1);
    assert_sound(f);
}

static void who_has_met_is_told_with_the_params_of_the_last(void **state)
{
    struct fixture *f = *state;
    CLEANUP(seen_job) struct seen_job s = {0};
    char ids[3][ID_TEXT_SIZE];
    char want[200];

    define_join(f);
    for (size_t i = 0; i < 3; i++)
        id_format(part_of(f, "x"), ids[i]);
    see(f, claim_one(f, "report").id, &s);
    snprintf(want, sizeof(want), "{\"name\":\"day\",\"key\":\"x\",\"jobs\":[\"%s\",\"%s\",\"%s\"]}",
             ids[0], ids[1], ids[2]);
    assert_member(s.job.params, "join", want);
    assert_member(s.job.params, "date", "\"x\"");
    snprintf(want, sizeof(want), "\"%s\"", ids[2]);
    assert_member(member(s.job.params, "cause"), "id", want);
    assert_int_equal(s.routing.depth, 1);
}

static void what_has_arrived_outlives_the_process(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    for (size_t i = 0; i < 7; i++) {
        part_of(f, "x");
        fixture_crash(f);
    }
    assert_int_equal(fired(f, "day"), 2);
    assert_int_equal(ready(f, "report"), 2);
    assert_int_equal(arrived(f, "day", "x"), 1);
    assert_sound(f);
}

static struct test_op *op_join(struct fixture *f, enum join_op_kind kind, const char *name,
                               const char *params)
{
    struct test_op *t = op_make(f, OP_JOIN);

    t->op.join = (struct join_op){.kind = kind, .name = slice_of(name), .params = slice_of(params)};
    return t;
}

static void an_arrival_by_request_is_answered_with_the_count(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    struct test_op *t = run_op(f, op_join(f, JOIN_OP_ARRIVE, "day", "{\"date\":\"y\"}"));

    assert_string_equal(reply_of(t),
                        "{\"name\":\"day\",\"key\":\"y\",\"count\":1,\"fired\":false}");
    run_op(f, op_join(f, JOIN_OP_ARRIVE, "day", "{\"date\":\"y\"}"));
    t = run_op(f, op_join(f, JOIN_OP_ARRIVE, "day", "{\"date\":\"y\"}"));
    assert_string_equal(reply_of(t), "{\"name\":\"day\",\"key\":\"y\",\"count\":0,\"fired\":true}");
    assert_int_equal(ready(f, "report"), 1);
    t = run_op(f, op_join(f, JOIN_OP_ARRIVE, "day", "{}"));
    assert_refused(t, E_INVALID, "date");
    t = run_op(f, op_join(f, JOIN_OP_ARRIVE, "night", "{}"));
    assert_refused(t, E_NOT_FOUND, "'night'");
    assert_sound(f);
}

static void what_has_arrived_is_cleared_by_key_or_at_all(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    for (size_t i = 0; i < 2; i++) {
        part_of(f, "a");
        part_of(f, "b");
        part_of(f, "c");
    }
    struct test_op *t = op_join(f, JOIN_OP_CLEAR, "day", "");

    t->op.join.key = SLICE("a");
    t->op.join.has_key = true;
    assert_string_equal(reply_of(run_op(f, t)), "{\"name\":\"day\",\"cleared\":1}");
    assert_int_equal(arrived(f, "day", "a"), 0);
    assert_int_equal(arrived(f, "day", "b"), 2);
    t = run_op(f, op_join(f, JOIN_OP_CLEAR, "day", ""));
    assert_string_equal(reply_of(t), "{\"name\":\"day\",\"cleared\":2}");
    assert_int_equal(arrived(f, "day", "b") + arrived(f, "day", "c"), 0);
    for (size_t i = 0; i < 3; i++)
        part_of(f, "b");
    assert_int_equal(fired(f, "day"), 1);
    assert_sound(f);
}

static void an_arrival_without_its_key_is_told_in_the_log_of_the_queue(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    run_job(f, "part", "{}", JOB_OUT_DONE);
    assert_true(log_has(f, "part", "date"));
    assert_sound(f);
}

static void joins_lead_to_joins(void **state)
{
    struct fixture *f = *state;

    apply_well(f, QUEUES({"part", "{\"on_success\":[{\"join\":\"day\"}]}"}, {"report", "{}"}),
               QUEUES({"day", "{\"key\":\"{date}\",\"count\":2,\"then\":[{\"join\":\"all\"}]}"},
                      {"all", "{\"count\":2,\"then\":[{\"queue\":\"report\"}]}"}));
    part_of(f, "a");
    part_of(f, "b");
    part_of(f, "a");
    assert_int_equal(fired(f, "all"), 0);
    part_of(f, "b");
    assert_int_equal(fired(f, "all"), 1);
    assert_int_equal(ready(f, "report"), 1);
    assert_sound(f);
}

static void a_chain_raises_signals(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_signal signal = {0};
    struct err err = ERR_INIT;

    define_queue(f, "work", "{\"on_success\":[{\"signal\":\"dump\",\"count\":2}]}");
    run_job(f, "work", "{}", JOB_OUT_DONE);
    run_job(f, "work", "{}", JOB_OUT_DONE);
    assert_int_equal(store_signal_find(f->store, SLICE("dump"), &arena, &signal, &err), E_OK);
    assert_int_equal(signal.count, 4);
    assert_sound(f);
}

/* ---- from two servers ---- */

enum { ARRIVALS = 60 };

static void *arrive_often(void *ctx)
{
    struct fixture *f = ctx;

    for (size_t i = 0; i < ARRIVALS; i++)
        run_op(f, op_join(f, JOIN_OP_ARRIVE, "day",
                          i % 2 == 0 ? "{\"date\":\"a\"}" : "{\"date\":\"b\"}"));
    return NULL;
}

static size_t count_fired(const struct fixture *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->ops.count; i++)
        n += f->ops.items[i]->op.kind == OP_JOIN && reply_has(f->ops.items[i], "\"fired\":true");
    return n;
}

static void a_join_that_two_servers_reach_at_once_fires_as_often_as_it_should(void **state)
{
    struct fixture *f = *state;
    pthread_t threads[2];

    if (!pg_is_wanted())
        skip();
    define_join(f);
    struct fixture *other = fixture_join(f);

    assert_int_equal(pthread_create(&threads[0], NULL, arrive_often, f), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, arrive_often, other), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(count_fired(f) + count_fired(other), 2 * ARRIVALS / 3);
    assert_int_equal(fired(f, "day"), 2 * ARRIVALS / 3);
    assert_int_equal(ready(f, "report"), 2 * ARRIVALS / 3);
    assert_sound(f);
    fixture_leave(other);
}

/* ---- names that lead nowhere ---- */

static void a_name_that_is_nowhere_is_refused_with_its_place(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = apply(f,
                              QUEUES({"work", "{\"on_success\":[{\"queue\":\"next\"},"
                                              "{\"queue\":\"nest\"}]}"},
                                     {"next", "{}"}),
                              NULL, false);

    assert_refused(t, E_INVALID, "queue 'work': on_success[1]: there is no queue 'nest'");
    assert_refused(t, E_INVALID, "'next'");
    t = apply(f, QUEUES({"work", "{\"on_failure\":[{\"join\":\"day\"}]}"}), NULL, false);
    assert_refused(t, E_INVALID, "on_failure[0]: there is no join 'day'");
    t = apply(f, NULL, QUEUES({"day", "{\"count\":2,\"then\":[{\"queue\":\"work\"}]}"}), false);
    assert_refused(t, E_INVALID, "join 'day': then[0]: there is no queue 'work'");
    run_op(f, op_queue_put(f, "free", "{\"on_success\":[{\"topic\":\"t\"},{\"signal\":\"s\"}]}"));
    define_queue(f, "work", "{}"); /* none of them was made */
    assert_sound(f);
}

static void definitions_of_one_request_may_name_each_other(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    apply_well(f,
               QUEUES({"a", "{\"on_success\":[{\"queue\":\"b\"}]}"},
                      {"b", "{\"on_success\":[{\"queue\":\"a\"},{\"queue\":\"default\"}]}"}),
               NULL);
}

static struct test_op *delete_queue(struct fixture *f, const char *name)
{
    struct test_op *t = op_make(f, OP_DEFINE);

    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = slice_of(name)};
    return run_op(f, t);
}

static void a_queue_that_others_lead_to_cannot_be_deleted(void **state)
{
    struct fixture *f = *state;

    define_chain(f);
    define_join(f);
    assert_refused(delete_queue(f, "alarm"), E_CONFLICT, "queue 'work' names it in 'on_failure'");
    assert_refused(delete_queue(f, "report"), E_CONFLICT, "join 'day' names it in 'then'");
    define_queue(f, "work", "{\"on_failure\":[{\"queue\":\"work\"}]}");
    assert_int_equal(delete_queue(f, "alarm")->op.err.code, E_OK);
    assert_int_equal(delete_queue(f, "work")->op.err.code, E_OK); /* to itself only */
}

static void what_others_lead_to_is_not_pruned(void **state)
{
    struct fixture *f = *state;
    const struct defined *part = QUEUES({"part", "{\"on_success\":[{\"join\":\"day\"}]}"});
    const struct defined *day = QUEUES(
        {"day", "{\"key\":\"{date}\",\"count\":3,\"then\":[{\"queue\":\"report\"}]}"});

    define_join(f);
    assert_refused(apply(f, part, day, true), E_CONFLICT,
                   "queue 'report' is in use: join 'day' names it");
    assert_refused(apply(f, part, NULL, true), E_CONFLICT,
                   "join 'day' is in use: queue 'part' names it");
    struct test_op *t = apply(f, QUEUES({"part", "{}"}), NULL, true);

    assert_int_equal(t->op.err.code, E_OK);
    assert_true(reply_has(t, "{\"kind\":\"join\",\"name\":\"day\",\"change\":\"removed\"}"));
    assert_true(reply_has(t, "{\"kind\":\"queue\",\"name\":\"report\",\"change\":\"removed\"}"));
    assert_sound(f);
}

static void a_join_is_not_pruned_while_some_wait_at_it(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    part_of(f, "a");
    define_queue(f, "part", "{}");
    assert_refused(apply(f, QUEUES({"part", "{}"}, {"report", "{}"}), NULL, true), E_CONFLICT,
                   "has arrivals under 1 keys");
    run_op(f, op_join(f, JOIN_OP_CLEAR, "day", ""));
    assert_int_equal(apply(f, QUEUES({"part", "{}"}, {"report", "{}"}), NULL, true)->op.err.code,
                     E_OK);
}

static void changes_of_joins_are_told_as_those_of_queues(void **state)
{
    struct fixture *f = *state;
    const struct defined *same = QUEUES(
        {"day", "{\"key\":\"{date}\",\"count\":3,\"then\":[{\"queue\":\"report\"}]}"});
    const struct defined *other = QUEUES(
        {"day", "{\"count\":2,\"then\":[{\"queue\":\"report\"}]}"});

    define_join(f);
    part_of(f, "a");
    assert_true(reply_has(apply(f, NULL, same, false), "\"change\":\"same\""));
    assert_true(reply_has(apply(f, NULL, other, false), "\"change\":\"changed\""));
    assert_int_equal(arrived(f, "day", "a"), 1);
}

static void joins_that_lead_back_to_themselves_are_refused(void **state)
{
    struct fixture *f = *state;
    const struct defined *ring = QUEUES({"a", "{\"count\":1,\"then\":[{\"join\":\"b\"}]}"},
                                        {"b", "{\"count\":5,\"then\":[{\"join\":\"a\"}]}"});

    assert_refused(apply(f, NULL, ring, false), E_INVALID, "leads back to itself");
    assert_refused(apply(f, NULL, QUEUES({"self", "{\"count\":1,\"then\":[{\"join\":\"self\"}]}"}),
                         false),
                   E_INVALID, "join 'self'");
    apply_well(f, NULL,
               QUEUES({"a", "{\"count\":1,\"then\":[{\"queue\":\"default\"}]}"},
                      {"b", "{\"count\":5,\"then\":[{\"join\":\"a\"}]}"}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_done_job_leads_to_on_success_in_the_commit_that_ends_it),
        ENGINE_TEST(a_job_leads_to_on_failure_only_when_it_failed_for_good),
        ENGINE_TEST(a_cancelled_job_leads_nowhere),
        ENGINE_TEST(a_finish_that_is_repeated_leads_nowhere_again),
        ENGINE_TEST(many_that_end_at_once_lead_each_to_one),
        ENGINE_TEST(a_chain_is_followed_whatever_the_state_of_its_queue),
        ENGINE_TEST(a_job_that_is_deleted_as_it_ends_leads_on_all_the_same),
        ENGINE_TEST(params_are_handed_on_under_those_of_the_destination),
        ENGINE_TEST(the_cause_tells_how_it_failed),
        ENGINE_TEST(a_result_is_handed_on_by_one_job_to_the_next_alone),
        ENGINE_TEST(what_a_job_has_set_is_its_result),
        ENGINE_TEST(labels_and_priority_are_those_of_the_cause),
        ENGINE_TEST(a_job_has_destinations_of_its_own),
        ENGINE_TEST(each_step_leads_on_and_the_job_in_the_end),
        ENGINE_TEST(a_job_whose_params_do_not_fill_its_command_is_made_and_has_failed),
        ENGINE_TEST(what_cannot_run_and_leads_to_itself_comes_to_an_end),
        ENGINE_TEST(a_chain_of_more_than_a_thousand_jobs_ends_with_one_that_fails),
        ENGINE_TEST(a_destination_that_is_gone_is_told_in_the_log_of_the_queue),
        ENGINE_TEST(a_join_fires_once_for_each_number_of_arrivals_with_one_key),
        ENGINE_TEST(who_has_met_is_told_with_the_params_of_the_last),
        ENGINE_TEST(what_has_arrived_outlives_the_process),
        ENGINE_TEST(an_arrival_by_request_is_answered_with_the_count),
        ENGINE_TEST(what_has_arrived_is_cleared_by_key_or_at_all),
        ENGINE_TEST(an_arrival_without_its_key_is_told_in_the_log_of_the_queue),
        ENGINE_TEST(joins_lead_to_joins),
        ENGINE_TEST(a_chain_raises_signals),
        ENGINE_TEST(a_join_that_two_servers_reach_at_once_fires_as_often_as_it_should),
        ENGINE_TEST(a_name_that_is_nowhere_is_refused_with_its_place),
        ENGINE_TEST(definitions_of_one_request_may_name_each_other),
        ENGINE_TEST(a_queue_that_others_lead_to_cannot_be_deleted),
        ENGINE_TEST(what_others_lead_to_is_not_pruned),
        ENGINE_TEST(a_join_is_not_pruned_while_some_wait_at_it),
        ENGINE_TEST(changes_of_joins_are_told_as_those_of_queues),
        ENGINE_TEST(joins_that_lead_back_to_themselves_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
