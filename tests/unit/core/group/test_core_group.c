/*
 * Groups: definitions, and when they end: by cases, by all combinations of facts, and by lives that
 * are made up at random.
 */
/* SPDX-License-Identifier: MIT */
#include "core/group/group.h"

#include "base/clock.h"
#include "base/rng.h"
#include "core/object/object.h"
#include "json_testing.h"

/* ---- definitions ---- */

static void a_kind_of_group_has_a_finaliser(void **state)
{
    struct err err = ERR_INIT;
    struct group_def def;

    (void)state;
    assert_int_equal(
        group_def_parse(checked("{\"finally\":{\"topic\":\"t\",\"params\":{\"n\":\"{made}\"}},"
                                "\"fail\":\"stop\",\"keep\":{\"done\":\"1d\"}}"),
                        &arena, &def, NULL, NULL, &err),
        E_OK);
    assert_int_equal(def.finally.kind, DEST_TOPIC);
    assert_slice_is(def.finally.name, "t");
    assert_int_equal(def.fail, GROUP_FAIL_STOP);
    assert_int_equal(def.keep_done_us, US_PER_DAY);
    assert_int_equal(def.keep_failed_us, 90 * US_PER_DAY);
    assert_int_equal(group_def_parse(checked("{}"), &arena, &def, NULL, NULL, &err), E_OK);
    assert_int_equal(def.finally.name.size, 0);
    assert_canonical_by(group_def_canonical,
                        "{ \"keep\":{\"failed\":60}, \"fail\":\"finish\",\"finally\":{"
                        "\"params\":{ \"a\" : 1 },\"queue\":\"s\"}}",
                        "{\"finally\":{\"queue\":\"s\",\"params\":{\"a\":1}},\"fail\":\"finish\","
                        "\"keep\":{\"failed\":\"1m\"}}");
    assert_canonical_by(group_def_canonical, "{}", "{}");
}

static void mistakes_in_groups_are_told_with_their_place(void **state)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"1", "a kind of group must be an object like {finally: {queue: summary}}, not 1"},
        {"{\"finaly\":1}", "unknown key 'finaly', did you mean 'finally'?"},
        {"{\"finally\":\"summary\"}",
         "finally: must be an object like {queue: summary}, not 'summary'"},
        {"{\"finally\":{}}", "finally: must have one of queue and topic"},
        {"{\"finally\":{\"params\":{}}}", "finally: must have one of queue and topic"},
        {"{\"finally\":{\"queue\":\"\"}}", "finally.queue: a queue's name must not be empty"},
        {"{\"finally\":{\"queue\":\"a\",\"topic\":\"b\"}}",
         "finally.topic: must not be given with queue: a group has one finaliser"},
        {"{\"finally\":{\"webhook\":\"x\"}}", "finally.webhook: webhooks are not built yet"},
        {"{\"fail\":\"stopp\"}", "fail: 'stopp' is unknown, did you mean 'stop'?"},
        {"{\"keep\":{\"log\":1}}", "keep: unknown key 'log', the keys are: done failed"},
    };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const char *fault_at;
        struct group_def def;

        if (group_def_parse(checked(bad[i].json), &arena, &def, NULL, &fault_at, &err) != E_INVALID)
            fail_msg("%s is accepted", bad[i].json);
        assert_string_equal(err.msg, bad[i].message);
    }
    assert_int_equal(group_kind_check(SLICE("site"), &err), E_OK);
    assert_int_equal(group_kind_check(SLICE("root"), &err), E_INVALID);
}

/* ---- cases ---- */

static void assert_judged(struct group_facts g, enum group_state want, enum group_next next)
{
    struct group_verdict v = group_judge(&g);

    assert_string_equal(group_state_name(v.state), group_state_name(want));
    assert_int_equal(v.next, next);
}

static void a_group_is_open_while_something_can_come(void **state)
{
    (void)state;
    assert_judged((struct group_facts){.sealed = true, .living = 1}, GROUP_OPEN, GROUP_STAYS);
    assert_judged((struct group_facts){.sealed = true, .groups = 1}, GROUP_OPEN, GROUP_STAYS);
    assert_judged((struct group_facts){.sealed = true, .opener_lives = true}, GROUP_OPEN,
                  GROUP_STAYS);
    assert_judged((struct group_facts){.sealed = false}, GROUP_OPEN, GROUP_STAYS);
    assert_judged((struct group_facts){.sealed = true, .living = 1, .failed = 3}, GROUP_OPEN,
                  GROUP_STAYS);
    assert_judged((struct group_facts){.cancelled = true, .living = 1}, GROUP_OPEN, GROUP_STAYS);
}

static void a_group_sealed_empty_ends_at_once_with_its_finaliser(void **state)
{
    struct group_facts g = {.sealed = true};

    (void)state;
    assert_judged(g, GROUP_DONE, GROUP_ENDS);
    g.finaliser = FINALISER_DUE;
    assert_judged(g, GROUP_FINISHING, GROUP_MAKES_FINALISER);
    g.finaliser = FINALISER_LIVES;
    assert_judged(g, GROUP_FINISHING, GROUP_STAYS);
    g.finaliser = FINALISER_ENDED_WELL;
    assert_judged(g, GROUP_DONE, GROUP_ENDS);
    g.finaliser = FINALISER_ENDED_BADLY;
    assert_judged(g, GROUP_FAILED, GROUP_ENDS);
}

static void a_failed_member_or_child_fails_the_group_at_its_end(void **state)
{
    struct group_facts g = {.sealed = true, .failed = 1, .finaliser = FINALISER_DUE};

    (void)state;
    assert_judged(g, GROUP_FINISHING, GROUP_MAKES_FINALISER);
    g.finaliser = FINALISER_ENDED_WELL;
    assert_judged(g, GROUP_FAILED, GROUP_ENDS);
    assert_judged((struct group_facts){.sealed = true, .failed_groups = 1}, GROUP_FAILED,
                  GROUP_ENDS);
}

static void stop_cancels_the_rest_once_and_then_finalises(void **state)
{
    struct group_facts g = {
        .living = 5, .failed = 1, .fail = GROUP_FAIL_STOP, .finaliser = FINALISER_DUE};

    (void)state;
    assert_judged(g, GROUP_OPEN, GROUP_STOPS);
    g.stopped = true;
    assert_false(group_takes(&g));
    assert_judged(g, GROUP_OPEN, GROUP_STAYS);
    g.living = 0; /* never sealed: nothing can come any more */
    assert_judged(g, GROUP_FINISHING, GROUP_MAKES_FINALISER);
    g.finaliser = FINALISER_ENDED_WELL;
    assert_judged(g, GROUP_FAILED, GROUP_ENDS);
    g.failed = 0; /* retried by hand after the rest was cancelled */
    assert_judged(g, GROUP_FAILED, GROUP_ENDS);
}

static void a_cancelled_group_runs_its_finaliser_and_is_cancelled(void **state)
{
    struct group_facts g = {.cancelled = true, .failed = 1, .finaliser = FINALISER_DUE};

    (void)state;
    assert_false(group_takes(&g));
    assert_judged(g, GROUP_FINISHING, GROUP_MAKES_FINALISER);
    g.finaliser = FINALISER_ENDED_BADLY;
    assert_judged(g, GROUP_CANCELLED, GROUP_ENDS);
    g.finaliser = FINALISER_NONE;
    g.fail = GROUP_FAIL_STOP; /* all is cancelled already */
    assert_judged(g, GROUP_CANCELLED, GROUP_ENDS);
}

/* ---- all combinations ---- */

static struct group_facts facts_of(unsigned n)
{
    return (struct group_facts){.living = n & 1,
                                .groups = n >> 1 & 1,
                                .failed = n >> 2 & 1,
                                .failed_groups = n >> 3 & 1,
                                .opener_lives = n >> 4 & 1,
                                .sealed = n >> 5 & 1,
                                .cancelled = n >> 6 & 1,
                                .stopped = n >> 7 & 1,
                                .fail = n >> 8 & 1,
                                .finaliser = n >> 9};
}

/* Before its finaliser is made, a group with something alive in it neither ends nor makes it. */
static void no_facts_end_a_group_early_or_finalise_it_twice(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 5U << 9; n++) {
        struct group_facts g = facts_of(n);
        struct group_verdict v = group_judge(&g);
        bool alive = g.living > 0 || g.groups > 0 || g.opener_lives;
        bool made = g.finaliser > FINALISER_DUE;

        assert_int_equal(v.next == GROUP_ENDS, group_has_ended(v.state));
        if (v.next == GROUP_ENDS)
            assert_true(g.finaliser != FINALISER_DUE && g.finaliser != FINALISER_LIVES);
        if (v.next == GROUP_MAKES_FINALISER)
            assert_int_equal(g.finaliser, FINALISER_DUE);
        if (alive && !made)
            assert_true(v.next == GROUP_STAYS || v.next == GROUP_STOPS);
        if (made || v.state != GROUP_OPEN)
            assert_true(!group_takes(&g) || v.next != GROUP_STAYS);
        if (v.next == GROUP_STOPS) { /* judged again it does not stop again */
            g.stopped = true;
            assert_int_not_equal(group_judge(&g).next, GROUP_STOPS);
        }
    }
}

/* ---- lives ---- */

struct life {
    struct group_facts facts;
    int made_finalisers;
    bool ended;
};

static void obey(struct life *l)
{
    for (;;) {
        struct group_verdict v = group_judge(&l->facts);

        if (v.next == GROUP_STOPS) {
            l->facts.stopped = true;
            continue;
        }
        if (v.next == GROUP_MAKES_FINALISER) {
            l->facts.finaliser = FINALISER_LIVES;
            l->made_finalisers++;
            assert_true(l->facts.living == 0 && l->facts.groups == 0);
        }
        l->ended = v.next == GROUP_ENDS;
        return;
    }
}

static void move(struct life *l, struct rng *rng)
{
    struct group_facts *g = &l->facts;
    bool fails = rng_below(rng, 4) == 0;

    switch (rng_below(rng, 8)) {
    case 0: g->living += g->opener_lives || !g->sealed ? group_takes(g) : 0; break;
    case 1: g->groups += g->living > 0 ? group_takes(g) : 0; break;
    case 2:
    case 3:
        g->failed += g->living > 0 && fails;
        g->living -= g->living > 0;
        break;
    case 4:
        g->failed_groups += g->groups > 0 && fails;
        g->groups -= g->groups > 0;
        break;
    case 5: g->opener_lives = g->opener_lives && !fails; break;
    case 6: g->sealed = g->sealed || fails; break;
    default:
        if (g->finaliser == FINALISER_LIVES)
            g->finaliser = fails ? FINALISER_ENDED_BADLY : FINALISER_ENDED_WELL;
        else
            g->cancelled = g->cancelled || rng_below(rng, 50) == 0;
    }
}

static void every_life_of_a_group_ends_with_one_finaliser(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct life l = {.facts = {.living = 1, .opener_lives = true, .finaliser = FINALISER_DUE}};
        struct rng rng;
        int steps = 0;

        rng_init(&rng, seed);
        l.facts.fail = rng_below(&rng, 2) == 0 ? GROUP_FAIL_STOP : GROUP_FAIL_FINISH;
        while (!l.ended && steps++ < 100000) {
            move(&l, &rng);
            obey(&l);
        }
        assert_true(l.ended);
        assert_int_equal(l.made_finalisers, 1);
        assert_int_equal(l.facts.living, 0);
        assert_int_equal(l.facts.groups, 0);
        assert_false(l.facts.opener_lives);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_of_group_has_a_finaliser),
        cmocka_unit_test(mistakes_in_groups_are_told_with_their_place),
        cmocka_unit_test(a_group_is_open_while_something_can_come),
        cmocka_unit_test(a_group_sealed_empty_ends_at_once_with_its_finaliser),
        cmocka_unit_test(a_failed_member_or_child_fails_the_group_at_its_end),
        cmocka_unit_test(stop_cancels_the_rest_once_and_then_finalises),
        cmocka_unit_test(a_cancelled_group_runs_its_finaliser_and_is_cancelled),
        cmocka_unit_test(no_facts_end_a_group_early_or_finalise_it_twice),
        cmocka_unit_test(every_life_of_a_group_ends_with_one_finaliser),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
