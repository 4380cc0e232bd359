/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clock.h"
#include "testing.h"
#include "worker/talk/served_queues.h"

#define QUEUE(name, definition) "{\"name\":\"" name "\",\"definition\":" definition "}"
#define LIST(number, queues) "{\"definitions\":" number ",\"queues\":[" queues "]}"

struct heard {
    int restarted, redefined;
};

static void on_change(void *ctx, const struct served_queue_change *change)
{
    struct heard *h = ctx;

    h->restarted += change->restarted;
    h->redefined += change->redefined;
}

static struct heard update(struct served_queues *o, const char *reply)
{
    struct heard h = {0};
    struct err err = ERR_INIT;

    assert_int_equal(served_queues_update(o, slice_of(reply), on_change, &h, &err), E_OK);
    return h;
}

static bool serves(const struct served_queues *o, const char *name)
{
    return served_queues_find(o, slice_of(name)) != NULL;
}

static void queues_with_a_command_are_served_and_the_others_are_known(void **state)
{
    struct served_queues o = {0};

    (void)state;
    update(&o, LIST("7", QUEUE("a", "{\"command\":[\"true\"]}") "," QUEUE("b", "{}") "," QUEUE(
                             "own", "{\"own_command\":true}")));
    assert_true(serves(&o, "a"));
    assert_false(serves(&o, "b"));
    assert_true(serves(&o, "own"));
    assert_int_equal(o.names.count, 3);
    assert_int_equal(o.definitions, 7);
    served_queues_deinit(&o);
}

static void only_the_queues_that_were_asked_for_are_served(void **state)
{
    static const char *const only[] = {"b"};
    struct served_queues o = {.only = only, .n_only = 1};

    (void)state;
    update(&o,
           LIST("1",
                QUEUE("a", "{\"command\":[\"true\"]}") "," QUEUE("b", "{\"command\":[\"true\"]}")));
    assert_false(serves(&o, "a"));
    assert_true(serves(&o, "b"));
    served_queues_deinit(&o);
}

static void the_own_file_comes_before_the_server(void **state)
{
    const struct worker_own_queue own[] = {{SLICE("a"), SLICE("{\"command\":[\"mine\"]}")}};
    struct served_queues o = {.own = own, .n_own = 1, .own_only = true};

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"command\":[\"theirs\"]}") "," QUEUE(
                             "b", "{\"command\":[\"theirs\"]}")));
    assert_string_equal(served_queues_find(&o, SLICE("a"))->json, "{\"command\":[\"mine\"]}");
    assert_false(serves(&o, "b"));
    served_queues_deinit(&o);
}

static void a_queue_that_goes_or_loses_its_command_is_not_served_any_more(void **state)
{
    struct served_queues o = {0};

    (void)state;
    update(&o,
           LIST("1",
                QUEUE("a", "{\"command\":[\"true\"]}") "," QUEUE("b", "{\"command\":[\"true\"]}")));
    served_queues_find(&o, SLICE("a"))->running = 1;
    struct served_queue *a = served_queues_find(&o, SLICE("a"));

    update(&o, LIST("2", QUEUE("b", "{}")));
    assert_false(serves(&o, "a"));
    assert_false(serves(&o, "b"));
    assert_int_equal(o.items.count, 1); /* a has a job in hand */
    assert_int_equal(served_queue_capacity(a, 4, 0), 0);
    a->running = 0;
    served_queues_release(&o, a);
    assert_int_equal(o.items.count, 0);
    served_queues_deinit(&o);
}

static void changes_and_restarts_are_told_once(void **state)
{
    struct served_queues o = {0};
    struct heard h;

    (void)state;
    h = update(&o,
               LIST("1", "{\"name\":\"a\",\"restarts\":0,\"definition\":{\"command\":[\"x\"]}}"));
    assert_int_equal(h.restarted + h.redefined, 0);
    h = update(&o,
               LIST("2", "{\"name\":\"a\",\"restarts\":1,\"definition\":{\"command\":[\"x\"]}}"));
    assert_int_equal(h.restarted, 1);
    assert_int_equal(h.redefined, 0);
    h = update(&o,
               LIST("3", "{\"name\":\"a\",\"restarts\":1,\"definition\":{\"command\":[\"y\"]}}"));
    assert_int_equal(h.restarted, 0);
    assert_int_equal(h.redefined, 1);
    served_queues_deinit(&o);
}

static void room_is_what_slots_leave(void **state)
{
    struct served_queues o = {0};

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"command\":[\"true\"],\"slots\":3}") "," QUEUE(
                             "all", "{\"command\":[\"true\"]}")));
    struct served_queue *a = served_queues_find(&o, SLICE("a"));

    assert_int_equal(served_queue_capacity(a, 8, 0), 3);
    assert_int_equal(served_queue_capacity(a, 2, 0), 2);
    assert_int_equal(served_queue_capacity(served_queues_find(&o, SLICE("all")), 8, 0), 8);
    a->running = 1;
    a->reserved = 1;
    assert_int_equal(served_queue_capacity(a, 8, 0), 1);
    served_queues_deinit(&o);
}

static void a_broken_queue_is_tried_with_one_job_after_growing_pauses(void **state)
{
    struct served_queues o = {0};

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"command\":[\"true\"],\"slots\":3}")));
    struct served_queue *a = served_queues_find(&o, SLICE("a"));

    assert_true(served_queue_mark_broken(a, "not there", 0));
    assert_int_equal(served_queue_capacity(a, 8, 0), 0);
    assert_int_equal(served_queues_next_trial(&o, 0), a->retry_at);
    assert_int_equal(served_queue_capacity(a, 8, a->retry_at), 1);
    int64_t first = a->retry_at;

    assert_false(served_queue_mark_broken(a, "not there", first));
    assert_true(a->retry_at - first > first);
    for (int i = 0; i < 20; i++)
        served_queue_mark_broken(a, "not there", 0);
    assert_true(a->retry_at <= US_PER_MIN);
    assert_true(served_queue_mark_working(a));
    assert_false(served_queue_mark_working(a));
    assert_int_equal(served_queue_capacity(a, 8, 0), 3);
    served_queues_deinit(&o);
}

static void a_definition_that_cannot_be_read_is_passed_over(void **state)
{
    struct served_queues o = {0};

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"command\":[\"true\"],\"newer\":1}") "," QUEUE(
                             "b", "{\"command\":[\"true\"]}")));
    assert_false(serves(&o, "a"));
    assert_true(serves(&o, "b"));
    served_queues_deinit(&o);
}

/* ---- subscriptions ---- */

#define OWNED(worker, rest) \
    "{\"subscriber\":{\"topic\":\"dump\",\"worker\":\"" worker "\",\"lifetime\":\"7d\"}" rest "}"
#define RUNS ",\"command\":[\"theirs\"]"

static void a_subscribers_queue_is_served_by_nobody_else(void **state)
{
    static const char *const only[] = {"dump@w2"};
    struct served_queues o = {0};
    const char *list = LIST("1", QUEUE("dump", "{\"command\":[\"true\"]}") "," QUEUE(
                                     "dump@w1", OWNED("w1", RUNS)) "," QUEUE("dump@w2",
                                                                             OWNED("w2", RUNS)));

    (void)state;
    update(&o, list);
    assert_true(serves(&o, "dump"));
    assert_false(serves(&o, "dump@w1") || serves(&o, "dump@w2"));
    served_queues_deinit(&o);
    o = (struct served_queues){.only = only, .n_only = 1}; /* unless it is asked for by name */
    update(&o, list);
    assert_true(serves(&o, "dump@w2"));
    assert_false(serves(&o, "dump") || serves(&o, "dump@w1"));
    served_queues_deinit(&o);
}

static void a_subscribed_worker_serves_its_own_queue_and_no_other(void **state)
{
    struct subscription subscriptions[] = {{.topic = "dump"}, {.topic = "dump"}}; /* said twice */
    struct served_queues o = {.subscriptions = subscriptions, .n_subscriptions = 2};
    const char *list = LIST(
        "1", QUEUE("a", "{\"command\":[\"true\"]}") "," QUEUE(
                 "dump", "{\"command\":[\"true\"]}") "," QUEUE("dump@w", OWNED("w", RUNS)));

    (void)state;
    update(&o, list);
    assert_int_equal(o.items.count, 0); /* the server has not said which one it is */
    served_queues_subscribed(&o, 0, SLICE("dump@w"));
    served_queues_subscribed(&o, 1, SLICE("dump@w"));
    update(&o, list);
    assert_true(serves(&o, "dump@w"));
    assert_int_equal(o.items.count, 1);
    assert_false(served_queues_lack_subscription(&o));
    static const char *const only[] = {"a"};

    o.only = only;
    o.n_only = 1;
    update(&o, list);
    assert_true(serves(&o, "a") && serves(&o, "dump@w"));
    assert_false(serves(&o, "dump"));
    update(&o, LIST("2", QUEUE("a", "{\"command\":[\"true\"]}")));
    assert_true(served_queues_lack_subscription(&o));
    served_queues_deinit(&o);
}

static void a_subscription_runs_what_the_own_file_says_for_the_topics_queue(void **state)
{
    const struct worker_own_queue own[] = {{SLICE("dump"), SLICE("{\"command\":[\"mine\"]}")}};
    struct subscription subscriptions[] = {{.topic = "dump"}, {.topic = "other"}};
    struct served_queues o = {.subscriptions = subscriptions,
                              .n_subscriptions = 2,
                              .own = own,
                              .n_own = 1,
                              .own_only = true};
    const char *list = LIST("1",
                            QUEUE("dump@w", OWNED("w", "")) "," QUEUE("other@w", OWNED("w", RUNS)));

    (void)state;
    served_queues_subscribed(&o, 0, SLICE("dump@w"));
    served_queues_subscribed(&o, 1, SLICE("other@w"));
    update(&o, list);
    assert_string_equal(served_queues_find(&o, SLICE("dump@w"))->json, "{\"command\":[\"mine\"]}");
    assert_false(serves(&o, "other@w"));
    o.own_only = false;
    update(&o, list);
    assert_true(serves(&o, "other@w"));
    served_queues_deinit(&o);
}

static void topics_that_somebody_is_subscribed_to_are_known(void **state)
{
    static const char *const good[] = {"a", "crawl", "site.x", "site.", "dump"};
    static const char *const bad[] = {"b", "site", "sites.x", "crawl.x", "w"};
    struct served_queues o = {0};
    struct err err = ERR_INIT;

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"subscribe\":[\"crawl\",\"site.*\"]}") "," QUEUE(
                             "dump@w", OWNED("w", ""))));
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(served_queues_check_topic(&o, slice_of(good[i]), &err), E_OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(served_queues_check_topic(&o, slice_of(bad[i]), &err), E_INVALID);
    assert_string_equal(err.msg, "nobody is subscribed to topic 'w'");
    served_queues_deinit(&o);
}

static void what_is_not_a_list_is_refused_and_changes_nothing(void **state)
{
    struct served_queues o = {0};
    struct err err = ERR_INIT;

    (void)state;
    update(&o, LIST("1", QUEUE("a", "{\"command\":[\"true\"]}")));
    assert_int_not_equal(served_queues_update(&o, SLICE("{\"queues\":[]}"), on_change, NULL, &err),
                         E_OK);
    err = ERR_INIT;
    assert_int_not_equal(served_queues_update(&o, SLICE("{\"queues\":"), on_change, NULL, &err),
                         E_OK);
    assert_true(serves(&o, "a"));
    served_queues_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_with_a_command_are_served_and_the_others_are_known),
        cmocka_unit_test(only_the_queues_that_were_asked_for_are_served),
        cmocka_unit_test(the_own_file_comes_before_the_server),
        cmocka_unit_test(a_queue_that_goes_or_loses_its_command_is_not_served_any_more),
        cmocka_unit_test(changes_and_restarts_are_told_once),
        cmocka_unit_test(room_is_what_slots_leave),
        cmocka_unit_test(a_broken_queue_is_tried_with_one_job_after_growing_pauses),
        cmocka_unit_test(a_definition_that_cannot_be_read_is_passed_over),
        cmocka_unit_test(a_subscribers_queue_is_served_by_nobody_else),
        cmocka_unit_test(a_subscribed_worker_serves_its_own_queue_and_no_other),
        cmocka_unit_test(a_subscription_runs_what_the_own_file_says_for_the_topics_queue),
        cmocka_unit_test(topics_that_somebody_is_subscribed_to_are_known),
        cmocka_unit_test(what_is_not_a_list_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
