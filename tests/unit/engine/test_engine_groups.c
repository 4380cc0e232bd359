/*
 * Groups: members counted, ends decided once, whatever becomes of their makers.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "core/group/choice.h"
#include "core/group/row.h"
#include "engine_fixture.h"
#include "store/groups/groups.h"
#include "store/jobs/jobs.h"
#include "testing.h"

/* ---- words ---- */

static void define_kind(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *put = arena_array(&t->op.arena, 1, sizeof(*put));

    *put = (struct definition_put){slice_of(name), slice_of(definition)};
    t->op.define.puts[DEFINITION_GROUP] = (struct definition_puts){put, 1};
    run_op(f, t);
    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
}

/* Queues "work" and "last", and the kind "site", whose finaliser goes to "last". */
static void begin(struct fixture *f)
{
    define_queue(f, "source", "{\"retry\":{\"max\":5,\"first\":\"0s\"}}");
    define_queue(f, "work", "{\"retry\":{\"max\":0}}");
    define_queue(f, "last", "{\"retry\":{\"max\":0}}");
    define_kind(
        f, "site",
        "{\"finally\":{\"queue\":\"last\",\"params\":{\"n\":\"{made}\",\"of\":\"{name}\"}}}");
}

static const struct group_choice site_a = {.kind = SLICE("site"), .name = SLICE("a")};
static const struct group_choice site_b = {.kind = SLICE("site"), .name = SLICE("b")};

static struct test_op *submit_into(struct fixture *f, const char *queue,
                                   const struct group_choice *choice, size_t n)
{
    struct submit_item *items = arena_array(&f->arena, n + 1, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        items[i] = item_of(queue);
        items[i].group = choice;
    }
    return run_op(f, op_submit(f, items, n));
}

static void assert_fine(const struct test_op *t)
{
    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
}

static struct stored_group group_of(struct fixture *f, int64_t id)
{
    struct stored_group g;
    struct err err = ERR_INIT;

    assert_int_equal(store_group_load(f->store, id, &f->arena, &g, &err), E_OK);
    return g;
}

/* The group of a job. */
static int64_t group_id(struct fixture *f, int64_t job)
{
    return job_of(f, job, &f->arena).group;
}

static struct group_choice join(int64_t id)
{
    return (struct group_choice){.id = id};
}

static struct test_op *act(struct fixture *f, enum group_op_kind kind, int64_t id)
{
    struct test_op *t = op_make(f, OP_GROUP);

    t->op.group = (struct group_op){.kind = kind, .id = id};
    return run_op(f, t);
}

static struct test_op *open_by_hand(struct fixture *f, const struct group_choice *choice,
                                    int64_t parent)
{
    struct test_op *t = op_make(f, OP_GROUP);

    t->op.group = (struct group_op){.kind = GROUP_OP_OPEN, .choice = *choice, .parent = parent};
    return run_op(f, t);
}

static int64_t opened(struct fixture *f, const struct group_choice *choice, int64_t parent)
{
    struct test_op *t = open_by_hand(f, choice, parent);
    struct slice id;
    int64_t number = 0;

    assert_fine(t);
    assert_true(jtext_find(buf_slice(&t->op.reply), "id", &id));
    assert_true(id_parse(slice_make(id.data + 1, id.size - 2), &number));
    return number;
}

static void finish(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    run_op(f, t);
    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

/* Everything that is ready in the queue is done. */
static size_t work_off(struct fixture *f, const char *queue)
{
    struct granted got[100];
    size_t all = 0;
    size_t n;

    while ((n = granted_of(run_op(f, op_claim(f, queue, 100)), got, 100)) > 0) {
        all += n;
        for (size_t i = 0; i < n; i++)
            finish(f, got[i], JOB_OUT_DONE);
    }
    return all;
}

/* Whatever is due, some times over. */
static void settle(struct fixture *f)
{
    for (int i = 0; i < 20; i++)
        batch_run(f);
}

static struct test_op *emit(struct fixture *f, struct granted g, int64_t seq, bool visible,
                            const struct group_choice *choice, size_t n)
{
    struct test_op *t = op_make(f, OP_EMIT);
    struct submit_item *items = arena_array(&t->op.arena, n + 1, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        items[i] = item_of("work");
        items[i].group = choice;
    }
    t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = seq, .visible = visible, .jobs = items, .n_jobs = n};
    return run_op(f, t);
}

/* ---- ends ---- */

static void jobs_of_a_request_share_a_group_that_ends_with_its_finaliser(void **state)
{
    struct fixture *f = *state;

    begin(f);
    struct test_op *t = submit_into(f, "work", &site_a, 3);
    int64_t group = group_id(f, id_at(t, 0));

    assert_true(group > GROUP_ROOT);
    assert_int_equal(group_id(f, id_at(t, 2)), group);
    assert_int_equal(group_of(f, group).counts.waiting, 3);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_OPEN);
    assert_int_equal(kept_count(f, "last", JOB_READY), 0);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    struct granted g = claim_one(f, "last");
    struct job j = job_of(f, g.id, &f->arena);

    assert_int_equal(j.closes, group);
    assert_int_equal(j.group, 0);
    assert_true(slice_is(j.params, "{\"n\":3,\"of\":\"a\"}"));
    assert_int_equal(group_of(f, group).finaliser, g.id);
    assert_sound(f);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_DONE);
    assert_int_equal(kept_count(f, "last", JOB_DONE), 1);
    assert_sound(f);
}

static void two_requests_open_two_groups_of_one_name(void **state)
{
    struct fixture *f = *state;

    begin(f);
    int64_t first = group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0));

    assert_int_not_equal(group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0)), first);
}

static void a_failed_member_or_finaliser_makes_the_group_failed(void **state)
{
    struct fixture *f = *state;

    begin(f);
    int64_t group = group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0));

    finish(f, claim_one(f, "work"), JOB_OUT_FAILED);
    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_FAILED);
    group = group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0));
    assert_int_equal(work_off(f, "work"), 2);
    finish(f, claim_one(f, "last"), JOB_OUT_FAILED);
    assert_int_equal(group_of(f, group).state, GROUP_FAILED);
    assert_sound(f);
}

static void a_child_group_ends_before_its_parent(void **state)
{
    struct fixture *f = *state;

    const struct group_choice open = {.kind = SLICE("site"), .unsealed = true};

    begin(f);
    int64_t parent = opened(f, &open, 0);
    int64_t child = opened(f, &open, parent);
    struct group_choice into = join(child);

    submit_into(f, "work", &into, 1);
    act(f, GROUP_OP_SEAL, parent);
    assert_int_equal(group_of(f, parent).counts.groups, 1);
    assert_int_equal(group_of(f, parent).state, GROUP_OPEN);
    act(f, GROUP_OP_SEAL, child);
    act(f, GROUP_OP_SEAL, child); /* once more is the same */
    work_off(f, "work");
    assert_int_equal(group_of(f, child).state, GROUP_FINISHING);
    struct granted g = claim_one(f, "last");

    assert_int_equal(group_id(f, g.id), parent); /* a finaliser is a member of the parent */
    assert_int_equal(group_of(f, parent).counts.made, 1);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(group_of(f, child).state, GROUP_DONE);
    assert_int_equal(group_of(f, parent).state, GROUP_FINISHING);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, parent).state, GROUP_DONE);
    assert_sound(f);
}

static void sealed_empty_it_ends_at_once(void **state)
{
    struct fixture *f = *state;

    begin(f);
    int64_t group = opened(f, &site_a, 0);

    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_DONE);
}

static void nobody_joins_a_group_that_has_ended(void **state)
{
    struct fixture *f = *state;
    const struct group_choice plain = {.name = SLICE("p")};

    begin(f);
    int64_t group = opened(f, &plain, 0);
    struct group_choice into = join(group);
    struct group_choice unknown = join(group + 12345);

    assert_int_equal(group_of(f, group).state, GROUP_DONE);
    assert_int_equal(submit_into(f, "work", &into, 1)->op.err.code, E_CONFLICT);
    assert_int_equal(submit_into(f, "work", &unknown, 1)->op.err.code, E_INVALID);
    assert_int_equal(open_by_hand(f, &plain, group)->op.err.code, E_CONFLICT);
}

static void a_finaliser_that_cannot_run_fails_and_ends_the_group(void **state)
{
    struct fixture *f = *state;
    const struct group_choice bad = {
        .name = SLICE("x"),
        .finally = SLICE("{\"queue\":\"last\",\"params\":{\"t\":\"{nobody_has_it}\"}}")};

    begin(f);
    int64_t group = group_id(f, id_at(submit_into(f, "work", &bad, 2), 0));

    work_off(f, "work");
    assert_int_equal(group_of(f, group).state, GROUP_FAILED);
    assert_int_equal(kept_count(f, "last", JOB_FAILED), 1);
    assert_sound(f);
}

static void what_a_member_leads_to_is_a_member(void **state)
{
    struct fixture *f = *state;

    begin(f);
    define_queue(f, "work", "{\"on_success\":[{\"queue\":\"source\"}]}");
    int64_t group = group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0));

    work_off(f, "work");
    assert_int_equal(group_of(f, group).state, GROUP_OPEN);
    assert_int_equal(group_of(f, group).counts.waiting, 2);
    work_off(f, "source");
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    assert_int_equal(group_of(f, group).counts.made, 4);
    assert_sound(f);
}

static void a_member_that_is_run_again_after_the_end_counts_nowhere(void **state)
{
    struct fixture *f = *state;

    begin(f);
    struct test_op *t = submit_into(f, "work", &site_a, 2);
    int64_t group = group_id(f, id_at(t, 0));

    finish(f, claim_one(f, "work"), JOB_OUT_FAILED);
    run_op(f, op_act(f, ACTION_RETRY, id_at(t, 0))); /* of an open one: it lives again */
    assert_int_equal(group_of(f, group).counts.failed, 0);
    assert_int_equal(group_of(f, group).counts.waiting, 2);
    work_off(f, "work");
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_DONE);
    run_op(f, op_act(f, ACTION_RETRY, id_at(t, 0)));
    assert_int_equal(group_of(f, group).counts.waiting, 0);
    work_off(f, "work");
    assert_int_equal(group_of(f, group).counts.done, 2);
    assert_int_equal(kept_count(f, "last", JOB_READY), 0);
    assert_sound(f);
}

/* ---- emits ---- */

static struct granted begin_source(struct fixture *f, int64_t *ret_group)
{
    begin(f);
    *ret_group = group_id(f, id_at(submit_into(f, "source", &site_a, 2), 0));
    return claim_one(f, "source");
}

static void staged_members_live(void **state)
{
    struct fixture *f = *state;
    int64_t group;
    struct granted g = begin_source(f, &group);

    finish(f, claim_one(f, "source"), JOB_OUT_DONE);
    for (int64_t seq = 1; seq <= 3; seq++)
        assert_fine(emit(f, g, seq, false, NULL, 1000));
    assert_int_equal(group_of(f, group).counts.made, 3002);
    assert_int_equal(group_of(f, group).counts.waiting, 3000);
    finish(f, g, JOB_OUT_DONE);
    /* The release takes several commits.  The first members end before the last are released. */
    assert_true(kept_count(f, "work", JOB_STAGED) > 0);
    while (kept_count(f, "work", JOB_STAGED) > 0) {
        work_off(f, "work");
        batch_run(f);
    }
    assert_int_equal(kept_count(f, "last", JOB_READY),
                     group_of(f, group).counts.waiting == 0 ? 1 : 0);
    work_off(f, "work");
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    assert_int_equal(group_of(f, group).counts.done, 3002);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(kept_count(f, "last", JOB_DONE), 1);
    assert_sound(f);
}

static void a_group_of_a_failed_attempt_was_never_there(void **state)
{
    struct fixture *f = *state;
    int64_t outer;
    struct granted g = begin_source(f, &outer);

    finish(f, claim_one(f, "source"), JOB_OUT_DONE);
    struct test_op *t = emit(f, g, 1, false, &site_b, 3);
    int64_t inner = group_id(f, id_at(t, 0));

    assert_int_equal(group_of(f, inner).parent, outer);
    assert_int_equal(group_of(f, outer).counts.groups, 1);
    finish(f, g, JOB_OUT_CANCELLED); /* for good */
    settle(f);
    assert_int_equal(group_of(f, inner).id, 0);
    assert_int_equal(group_of(f, outer).counts.groups, 0);
    assert_int_equal(group_of(f, outer).state, GROUP_FINISHING);
    assert_int_equal(kept_count(f, "last", JOB_READY), 1);
    assert_sound(f);
}

static void all_attempts_of_a_job_share_a_group(void **state)
{
    struct fixture *f = *state;
    int64_t outer;
    struct granted g = begin_source(f, &outer);

    finish(f, claim_one(f, "source"), JOB_OUT_DONE);
    struct test_op *t = emit(f, g, 1, true, &site_b, 2);
    int64_t inner = group_id(f, id_at(t, 0));

    work_off(f, "work"); /* the early members end long before the late ones come */
    assert_int_equal(group_of(f, inner).state, GROUP_OPEN);
    finish(f, g, JOB_OUT_FAILED);
    fixture_pass(f, US_PER_S);
    settle(f);
    g = claim_one(f, "source");
    t = emit(f, g, 1, false, &site_b, 2);
    assert_int_equal(group_id(f, id_at(t, 0)), inner);
    finish(f, g, JOB_OUT_DONE);
    settle(f);
    assert_int_equal(group_of(f, inner).state, GROUP_OPEN);
    work_off(f, "work");
    assert_int_equal(group_of(f, inner).state, GROUP_FINISHING);
    assert_int_equal(group_of(f, inner).counts.done, 4);
    work_off(f, "last"); /* of the inner one, then of the outer one */
    settle(f);
    work_off(f, "last");
    assert_int_equal(group_of(f, outer).state, GROUP_DONE);
    assert_sound(f);
}

static void a_finish_opens_a_group(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    begin(f);
    item.group = &site_b;
    submit_one(f, "source");
    struct granted g = claim_one(f, "source");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    struct finish_item *told = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    told->emit = &item;
    told->n_emit = t->op.exchange.n_emit = 1;
    run_op(f, t);
    assert_true(reply_has(t, "\"ok\":true"));
    struct granted member = claim_one(f, "work");
    int64_t group = group_id(f, member.id);

    assert_int_equal(group_of(f, group).state, GROUP_OPEN);
    finish(f, member, JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    assert_sound(f);
}

static void groups_are_at_most_a_hundred_deep(void **state)
{
    struct fixture *f = *state;
    struct group_choice open = {.name = SLICE("n"), .unsealed = true};
    int64_t parent = 0;

    for (int i = 0; i < GROUP_DEPTH_MAX; i++)
        parent = opened(f, &open, parent);
    assert_int_equal(group_of(f, parent).depth, GROUP_DEPTH_MAX);
    assert_int_equal(open_by_hand(f, &open, parent)->op.err.code, E_INVALID);
}

static void what_cannot_be_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct group_choice no_kind = {.kind = SLICE("nobody")};
    const struct group_choice no_queue = {.finally = SLICE("{\"queue\":\"nowhere\"}")};

    begin(f);
    assert_int_equal(submit_into(f, "work", &no_kind, 1)->op.err.code, E_INVALID);
    assert_int_equal(submit_into(f, "work", &no_queue, 1)->op.err.code, E_INVALID);
    assert_int_equal(open_by_hand(f, &no_queue, 0)->op.err.code, E_INVALID);
    assert_int_equal(act(f, GROUP_OP_PAUSE, GROUP_ROOT)->op.err.code, E_CONFLICT);
    assert_int_equal(act(f, GROUP_OP_SEAL, 4711)->op.err.code, E_NOT_FOUND);
    assert_int_equal(kept_count(f, "work", JOB_READY), 0);
}

static void a_claim_that_waits_gets_the_finaliser(void **state)
{
    struct fixture *f = *state;

    begin(f);
    submit_into(f, "work", &site_a, 2);
    struct granted first = claim_one(f, "work");
    struct granted second = claim_one(f, "work");
    struct test_op *t = op_claim(f, "last", 1);

    t->op.exchange.wait_us = 30 * US_PER_S;
    run_op(f, t);
    assert_false(t->answered);
    finish(f, first, JOB_OUT_DONE);
    finish(f, second, JOB_OUT_DONE);
    batch_run(f); /* nobody asks for anything */
    assert_true(t->answered);
    assert_true(reply_has(t, "\"closes\""));
}

static void a_job_opens_many_groups_that_end_after_it(void **state)
{
    struct fixture *f = *state;
    enum { REQUESTS = 2, EACH = 600 };

    begin(f);
    submit_one(f, "source");
    struct granted g = claim_one(f, "source");

    for (int r = 0; r < REQUESTS; r++) {
        struct test_op *t = op_make(f, OP_EMIT);
        struct submit_item *items = arena_array(&t->op.arena, EACH, sizeof(*items));
        struct group_choice *choices = arena_array(&t->op.arena, EACH, sizeof(*choices));

        for (int i = 0; i < EACH; i++) {
            char name[20];

            snprintf(name, sizeof(name), "%d-%d", r, i);
            choices[i].name = arena_copy(&t->op.arena, slice_of(name));
            items[i] = item_of("work");
            items[i].group = &choices[i];
        }
        t->op.emit = (struct emit){.id = g.id,
                                   .token = g.token,
                                   .seq = r + 1,
                                   .visible = true,
                                   .jobs = items,
                                   .n_jobs = EACH};
        assert_fine(run_op(f, t));
    }
    work_off(f, "work");
    finish(f, g, JOB_OUT_DONE);
    settle(f);
    struct query q;

    query_init(&q, QUERY_GROUPS);
    q.limit = 10;
    q.groups.state = GROUP_OPEN;
    run_query(f, &q);
    assert_string_equal(buf_text(&q.reply), "{\"groups\":[],\"cursor\":null}");
    query_deinit(&q);
    assert_sound(f);
}

static void a_second_attempt_says_what_comes_at_the_end(void **state)
{
    struct fixture *f = *state;
    const struct group_choice old = {.name = SLICE("p"), .finally = SLICE("{\"queue\":\"last\"}")};
    const struct group_choice new = {.name = SLICE("p"),
                                     .finally = SLICE("{\"queue\":\"source\"}")};

    begin(f);
    submit_one(f, "source");
    struct granted g = claim_one(f, "source");

    assert_fine(emit(f, g, 1, false, &old, 1));
    finish(f, g, JOB_OUT_FAILED);
    fixture_pass(f, US_PER_S);
    settle(f);
    g = claim_one(f, "source");
    assert_fine(emit(f, g, 1, false, &new, 1));
    finish(f, g, JOB_OUT_DONE);
    settle(f);
    work_off(f, "work");
    assert_int_equal(kept_count(f, "last", JOB_READY), 0);
    assert_int_equal(kept_count(f, "source", JOB_READY), 1);
}

/* ---- a request that sends lines ---- */

static void a_group_does_not_end_before_the_last_line_of_its_request(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    begin(f);
    item.group = &site_a;
    struct test_op *t = op_submit(f, &item, 1);

    t->op.submit.mode = SUBMIT_LINES;
    t->op.submit.goes_on = true;
    run_op(f, t);
    int64_t request = t->op.submit.request;
    struct granted g = claim_one(f, "work");
    int64_t group = group_id(f, g.id);

    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_OPEN);
    t = op_submit(f, &item, 1);
    t->op.submit.mode = SUBMIT_LINES;
    t->op.submit.request = request;
    t->op.submit.goes_on = true;
    run_op(f, t);
    g = claim_one(f, "work");
    assert_int_equal(group_id(f, g.id), group);
    finish(f, g, JOB_OUT_DONE);
    fixture_crash(f); /* no line comes any more */
    settle(f);
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    assert_sound(f);
}

/* ---- trees ---- */

static void nothing_of_a_paused_tree_starts(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    begin(f);
    const struct group_choice open = {.name = SLICE("top"), .unsealed = true};
    int64_t top = opened(f, &open, 0);
    int64_t below = opened(f, &open, top);
    struct group_choice into = join(below);
    struct test_op *t = submit_into(f, "work", &into, 3);

    assert_fine(act(f, GROUP_OP_PAUSE, top));
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 0);
    settle(f);
    assert_int_equal(state_of(f, id_at(t, 0)), JOB_HELD);
    assert_int_equal(kept_count(f, "work", JOB_HELD), 3);
    assert_int_equal(group_of(f, below).counts.waiting, 3);
    submit_one(f, "work"); /* others go on */
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 1);
    assert_fine(act(f, GROUP_OP_PAUSE, below));
    assert_fine(act(f, GROUP_OP_RESUME, top));
    settle(f);
    assert_int_equal(kept_count(f, "work", JOB_HELD), 3); /* the inner one is still paused */
    fixture_crash(f);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 0);
    assert_fine(act(f, GROUP_OP_RESUME, below));
    settle(f);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 3);
    assert_sound(f);
}

static void a_cancel_takes_the_tree_and_the_finaliser_still_runs(void **state)
{
    struct fixture *f = *state;

    begin(f);
    const struct group_choice open = {.kind = SLICE("site"), .name = SLICE("t"), .unsealed = true};
    int64_t top = opened(f, &open, 0);
    int64_t below = opened(f, &open, top);
    struct group_choice upper = join(top);
    struct group_choice lower = join(below);

    submit_into(f, "work", &upper, 3);
    struct granted g = claim_one(f, "work");

    submit_into(f, "work", &lower, 700);
    assert_fine(act(f, GROUP_OP_CANCEL, top));
    assert_fine(act(f, GROUP_OP_CANCEL, top));
    assert_int_equal(submit_into(f, "work", &upper, 1)->op.err.code, E_CONFLICT);
    settle(f);
    assert_int_equal(kept_count(f, "work", JOB_CANCELLED), 702);
    assert_int_equal(group_of(f, below).state, GROUP_FINISHING);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE); /* that of the lower one */
    assert_int_equal(group_of(f, below).state, GROUP_CANCELLED);
    assert_int_equal(group_of(f, top).state, GROUP_OPEN);
    assert_int_equal(group_of(f, top).counts.running, 1);
    finish(f, g, JOB_OUT_CANCELLED);
    assert_int_equal(group_of(f, top).state, GROUP_FINISHING);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, top).state, GROUP_CANCELLED);
    assert_sound(f);
}

static void a_failure_stops_the_rest_where_the_kind_says_so(void **state)
{
    struct fixture *f = *state;
    const struct group_choice strict = {.kind = SLICE("strict")};

    begin(f);
    define_kind(f, "strict", "{\"finally\":{\"queue\":\"last\"},\"fail\":\"stop\"}");
    int64_t group = group_id(f, id_at(submit_into(f, "work", &strict, 5), 0));

    finish(f, claim_one(f, "work"), JOB_OUT_FAILED);
    settle(f);
    assert_int_equal(kept_count(f, "work", JOB_CANCELLED), 4);
    assert_int_equal(group_of(f, group).state, GROUP_FINISHING);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    assert_int_equal(group_of(f, group).state, GROUP_FAILED);
    assert_sound(f);
}

/* ---- data ---- */

static struct test_op *patch(struct fixture *f, int64_t id, const char *data, int64_t if_version)
{
    struct test_op *t = op_make(f, OP_GROUP);

    t->op.group = (struct group_op){.kind = GROUP_OP_PATCH,
                                    .id = id,
                                    .data = slice_of(data),
                                    .has_version = if_version >= 0,
                                    .if_version = if_version};
    return run_op(f, t);
}

static void data_is_merged_and_has_a_version(void **state)
{
    struct fixture *f = *state;
    const struct group_choice open = {.data = SLICE("{\"a\":{\"b\":1,\"c\":2}}"), .unsealed = true};

    begin(f);
    int64_t group = opened(f, &open, 0);

    assert_fine(patch(f, group, "{\"a\":{\"b\":null,\"d\":[3]},\"e\":4}", 1));
    assert_int_equal(patch(f, group, "{}", 1)->op.err.code, E_CONFLICT);
    assert_int_equal(group_of(f, group).version, 2);
    assert_true(slice_is(group_of(f, group).data, "{\"a\":{\"c\":2,\"d\":[3]},\"e\":4}"));
    assert_fine(patch(f, GROUP_ROOT, "{\"x\":1}", -1));
    assert_true(slice_is(group_of(f, GROUP_ROOT).data, "{\"x\":1}"));
}

static void a_good_end_merges_data_and_a_claim_brings_it(void **state)
{
    struct fixture *f = *state;

    begin(f);
    int64_t group = group_id(f, id_at(submit_into(f, "work", &site_a, 3), 0));
    struct granted g = claim_one(f, "work");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_FAILED);

    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->group = SLICE("{\"bad\":1}");
    run_op(f, t);
    assert_int_equal(group_of(f, group).version, 1);
    g = claim_one(f, "work");
    t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->group = SLICE("{\"good\":1}");
    run_op(f, t);
    assert_int_equal(group_of(f, group).version, 2);
    assert_true(slice_is(group_of(f, group).data, "{\"good\":1}"));
    t = run_op(f, op_claim(f, "work", 1));
    assert_true(reply_has(t, "\"data\":{\"good\":1},\"version\":2"));
}

static void patches_of_one_batch_are_all_there(void **state)
{
    struct fixture *f = *state;
    struct granted got[100];

    begin(f);
    int64_t group = group_id(f, id_at(submit_into(f, "work", &site_a, 100), 0));

    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 100)), got, 100), 100);
    for (size_t i = 0; i < 99; i++) {
        struct test_op *t = op_finish(f, got[i].id, got[i].token, JOB_OUT_DONE);
        char text[80];

        snprintf(text, sizeof(text), "{\"n%zu\":%zu,\"last\":{\"v\":%zu}}", i % 10, i, i);
        ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->group = arena_copy(
            &t->op.arena, slice_of(text));
        batch_add(f, t);
    }
    batch_run(f);
    struct stored_group g = group_of(f, group);
    struct slice value;

    assert_int_equal(g.version, 100);
    assert_true(jtext_find(g.data, "n8", &value) && slice_is(value, "98"));
    assert_true(jtext_find(g.data, "last", &value) && slice_is(value, "{\"v\":98}"));
    assert_int_equal(jtext_count_members(g.data), 11);
}

static void one_tree_does_not_hold_up_the_pause_of_another(void **state)
{
    struct fixture *f = *state;
    const struct group_choice open = {.unsealed = true};

    begin(f);
    int64_t first = opened(f, &open, 0);
    int64_t second = opened(f, &open, 0);
    struct group_choice into_first = join(first);
    struct group_choice into_second = join(second);

    submit_into(f, "work", &into_second, 2);
    act(f, GROUP_OP_PAUSE, first);
    act(f, GROUP_OP_PAUSE, second);
    for (int i = 0; i < 20; i++) /* the first is fed, and its work begins anew each time */
        submit_into(f, "work", &into_first, 2);
    assert_int_equal(group_of(f, second).work, GROUP_WORK_NONE);
    assert_int_equal(group_of(f, second).counts.waiting, 2);
}

/* ---- waiting for a group ---- */

static void a_job_waits_for_the_end_of_a_group(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[2] = {item_of("source"), item_of("source")};

    begin(f);
    int64_t group = group_id(f, id_at(submit_into(f, "work", &site_a, 2), 0));
    const struct after_cond good = {
        .kind = AFTER_GROUP, .on = AFTER_SUCCESS, .group = group, .count = 1};
    const struct after_cond bad = {
        .kind = AFTER_GROUP, .on = AFTER_FAILURE, .group = group, .count = 1};

    items[0].after = &good;
    items[1].after = &bad;
    items[0].n_after = items[1].n_after = 1;
    struct test_op *t = run_op(f, op_submit(f, items, 2));

    assert_fine(t);
    work_off(f, "work");
    settle(f);
    assert_int_equal(state_of(f, id_at(t, 0)), JOB_HELD); /* the finaliser belongs to it */
    assert_sound(f);
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    settle(f);
    assert_int_equal(state_of(f, id_at(t, 0)), JOB_READY);
    assert_int_equal(state_of(f, id_at(t, 1)), JOB_CANCELLED);
    t = run_op(f, op_submit(f, items, 1)); /* it has ended already */
    assert_int_equal(state_of(f, t->op.submit.first_id), JOB_READY);
    assert_sound(f);
}

/* ---- retention ---- */

static void members_are_kept_until_the_finaliser_has_ended(void **state)
{
    struct fixture *f = *state;

    begin(f);
    define_queue(f, "work", "{\"keep\":{\"done\":\"1m\"}}");
    struct test_op *t = submit_into(f, "work", &site_a, 2);

    finish(f, claim_one(f, "work"), JOB_OUT_DONE);
    fixture_pass(f, 10 * 60 * US_PER_S);
    settle(f);
    assert_int_equal(state_of(f, id_at(t, 0)), JOB_DONE);
    work_off(f, "work");
    finish(f, claim_one(f, "last"), JOB_OUT_DONE);
    for (int i = 0; i < 100; i++) {
        fixture_pass(f, 60 * US_PER_S);
        batch_run(f);
    }
    assert_int_equal(kept_count(f, "work", JOB_DONE), 0);
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(jobs_of_a_request_share_a_group_that_ends_with_its_finaliser),
        ENGINE_TEST(two_requests_open_two_groups_of_one_name),
        ENGINE_TEST(a_failed_member_or_finaliser_makes_the_group_failed),
        ENGINE_TEST(a_child_group_ends_before_its_parent),
        ENGINE_TEST(sealed_empty_it_ends_at_once),
        ENGINE_TEST(nobody_joins_a_group_that_has_ended),
        ENGINE_TEST(a_finaliser_that_cannot_run_fails_and_ends_the_group),
        ENGINE_TEST(what_a_member_leads_to_is_a_member),
        ENGINE_TEST(a_member_that_is_run_again_after_the_end_counts_nowhere),
        ENGINE_TEST(staged_members_live),
        ENGINE_TEST(a_group_of_a_failed_attempt_was_never_there),
        ENGINE_TEST(all_attempts_of_a_job_share_a_group),
        ENGINE_TEST(a_finish_opens_a_group),
        ENGINE_TEST(a_claim_that_waits_gets_the_finaliser),
        ENGINE_TEST(a_job_opens_many_groups_that_end_after_it),
        ENGINE_TEST(a_second_attempt_says_what_comes_at_the_end),
        ENGINE_TEST(groups_are_at_most_a_hundred_deep),
        ENGINE_TEST(what_cannot_be_is_refused),
        ENGINE_TEST(a_group_does_not_end_before_the_last_line_of_its_request),
        ENGINE_TEST(nothing_of_a_paused_tree_starts),
        ENGINE_TEST(a_cancel_takes_the_tree_and_the_finaliser_still_runs),
        ENGINE_TEST(a_failure_stops_the_rest_where_the_kind_says_so),
        ENGINE_TEST(data_is_merged_and_has_a_version),
        ENGINE_TEST(a_good_end_merges_data_and_a_claim_brings_it),
        ENGINE_TEST(patches_of_one_batch_are_all_there),
        ENGINE_TEST(one_tree_does_not_hold_up_the_pause_of_another),
        ENGINE_TEST(a_job_waits_for_the_end_of_a_group),
        ENGINE_TEST(members_are_kept_until_the_finaliser_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
