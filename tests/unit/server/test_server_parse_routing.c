/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "core/submit/content_hash.h"
#include "parse_testing.h"
#include "server/parse/exchange.h"

static const struct submit_item *item_of(const char *text, const struct submit_source *source)
{
    struct submit submit = submitted(text, source);

    assert_int_equal(submit.n_items, 1);
    return submit.items;
}

/* ---- routes ---- */

static void a_job_with_steps_begins_at_its_first_one(void **state)
{
    const struct submit_item *item = item_of(
        "{\"steps\":[{\"name\":\"extract\",\"queue\":\"shelf\",\"params\":{\"n\":1},\"timeout\":"
        "\"5s\"},{\"name\":\"main\"}],\"timeout\":\"1h\",\"retry\":{\"max\":2}}",
        &user);

    (void)state;
    assert_slice_is(item->queue, "shelf");
    assert_int_equal(item->step, 1);
    assert_slice_is(item->step_params, "{\"n\":1}");
    struct routing routing = *item->routing;

    assert_int_equal(routing.n_steps, 2);
    assert_slice_is(routing.steps[1].queue, "main");
    assert_slice_is(item->options, route_options(&routing, &routing.steps[0], &arena).data);
    assert_non_null(strstr(routing.options.data, "1h"));
    assert_null(strstr(item->options.data, "1h"));
}

static void steps_that_have_a_status_are_passed_over(void **state)
{
    const struct submit_item *item = item_of(
        "{\"steps\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],"
        "\"progress\":[{\"number\":1,\"status\":0,\"text\":\"fine\"},{\"number\":2}]}",
        &user);

    (void)state;
    assert_int_equal(item->step, 2);
    assert_slice_is(item->queue, "b");
    assert_int_equal(item->n_progress, 2);
    assert_true(item->progress[0].has_status);
    assert_false(item->progress[1].has_status);
}

static void the_message_of_the_shelf_broker_is_understood(void **state)
{
    const struct submit_item *item = item_of(
        "{\"steps\":[{\"number\":1,\"process name\":\"extract\",\"queue name\":\"shelf\",\"command "
        "line\":\"echo one\"},{\"number\":2,\"process name\":\"main\",\"queue name\":\"shelf\","
        "\"command line\":\"echo two\"}],\"progress\":[],\"params\":{\"case\":\"7\"}}",
        &admin);

    (void)state;
    assert_slice_is(item->queue, "shelf");
    assert_int_equal(item->step, 1);
    assert_int_equal(item->n_progress, 0);
    assert_slice_is(item->params, "{\"case\":\"7\"}");
    assert_non_null(strstr(item->options.data, "echo one"));
}

/* ---- what is refused ---- */

static const struct {
    const char *text;
    enum err_code code;
    const char *says;
} bad_jobs[] = {
    {"{\"steps\":[]}", E_INVALID, "steps: must not be empty"},
    {"{\"steps\":7}", E_INVALID, "steps: must be"},
    {"{\"steps\":[{\"name\":\"a\"},{\"name\":\"b\",\"quue\":\"x\"}]}", E_INVALID, "steps[1]"},
    {"{\"queue\":\"q\",\"steps\":[{\"name\":\"a\"}]}", E_INVALID,
     "queue: a job with steps goes to the queues that they name"},
    {"{\"steps\":[{\"name\":\"a\"},{\"name\":\"b\",\"command\":\"id\"}]}", E_FORBIDDEN,
     "steps[1].command"},
    {"{\"queue\":\"q\",\"progress\":[]}", E_INVALID, "progress: is for a job with 'steps'"},
    {"{\"steps\":[{\"name\":\"a\"}],\"progress\":[{\"number\":1,\"status\":0}]}", E_INVALID,
     "nothing is left to run"},
    {"{\"steps\":[{\"name\":\"a\"}],\"progress\":[{\"number\":2,\"status\":0}]}", E_INVALID,
     "progress[0].number"},
    {"{\"queue\":\"q\",\"after\":7}", E_INVALID, "after"},
    {"{\"queue\":\"q\",\"after\":[{\"job\":\"" ID "\",\"on\":\"sucess\"}]}", E_INVALID, "after"},
    {"{\"queue\":\"q\",\"on_success\":[7]}", E_INVALID, "on_success"},
    {"{\"queue\":\"q\",\"on_failure\":[{\"join\":\"a/b\"}]}", E_INVALID, "on_failure"},
    {"{\"queue\":\"q\",\"ref\":\"\"}", E_INVALID, "ref: must not be empty"},
    {"{\"queue\":\"q\",\"ref\":\"" ID "\"}", E_INVALID, "ref: must be a name that cannot be an id"},
    {"{\"queue\":\"q\",\"redo\":1}", E_INVALID, "redo: must be true or false"},
    {"{\"queue\":\"q\",\"parent\":\"x\"}", E_INVALID, "parent: must be an id"},
    {"{\"topic\":\"t\"}", E_INVALID, "POST /v1/topics/NAME"},
    {"{\"queue\":\"q\",\"group\":\"x\"}", E_INVALID,
     "group: must be the id of a group, or {open: KIND, name: TEXT}, not 'x'"},
};

static void a_bad_bill_is_refused_with_its_place_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_jobs); i++) {
        struct submit submit;
        struct err err = ERR_INIT;

        (void)!parse_submit(slice_of(bad_jobs[i].text), &user, &arena, &submit, &err);
        if (err.code != bad_jobs[i].code || strstr(err.msg, bad_jobs[i].says) == NULL)
            fail_msg("%s: %s: %s", bad_jobs[i].text, err_name(err.code), err.msg);
    }
}

static void a_job_with_steps_brings_no_command_of_its_own(void **state)
{
    struct submit submit;
    struct err err = ERR_INIT;

    (void)state;
    (void)!parse_submit(SLICE("{\"command\":\"id\",\"steps\":[{\"name\":\"a\"}]}"), &admin, &arena,
                        &submit, &err);
    assert_int_equal(err.code, E_INVALID);
    assert_non_null(strstr(err.msg, "command: a job with steps"));
}

static struct slice repeated(const char *head, const char *item, size_t n, const char *tail)
{
    CLEANUP(buf) struct buf text = BUF_INIT(64 << 20);

    buf_add_str(&text, head);
    for (size_t i = 0; i < n; i++) {
        buf_add_str(&text, i == 0 ? "" : ",");
        buf_add_str(&text, item);
    }
    buf_add_str(&text, tail);
    return arena_copy(&arena, buf_slice(&text));
}

static void a_request_brings_so_much_in_all(void **state)
{
    struct slice steps = repeated("{\"steps\":[", "{\"queue\":\"q\"}", 1000, "]}");
    struct slice waits = repeated("{\"queue\":\"q\",\"after\":[", "\"a\"", 1000, "]}");
    const struct {
        struct slice text;
        const char *says;
    } bad[] = {{repeated("[", steps.data, 201, "]"), "200000 steps"},
               {repeated("[", waits.data, 201, "]"), "200000 conditions"}};
    struct submit submit;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;

        (void)!parse_submit(bad[i].text, &user, &arena, &submit, &err);
        assert_int_equal(err.code, E_TOO_LARGE);
        assert_int_equal(err.item, 201);
        assert_non_null(strstr(err.msg, bad[i].says));
    }
    (void)submitted(repeated("[", steps.data, 200, "]").data, &user);
}

/* ---- after, chains, refs ---- */

static void what_a_job_waits_for_and_leads_to_is_taken_apart(void **state)
{
    struct submit submit = submitted(
        "[{\"queue\":\"q\",\"ref\":\"one\",\"on_success\":\"next\",\"parent\":\"" ID "\"},"
        "{\"queue\":\"q\",\"after\":[\"one\",\"" ID
        "\",{\"signal\":\"dump\",\"count\":3,\"take\":true}]}]",
        &user);

    (void)state;
    assert_slice_is(submit.items[0].ref, "one");
    struct routing routing = *submit.items[0].routing;

    assert_non_null(strstr(routing.on_success.data, "next"));
    assert_true(routing.parent > 0);
    const struct submit_item *waiter = &submit.items[1];

    assert_int_equal(waiter->n_after, 3);
    assert_slice_is(waiter->after[0].ref, "one");
    assert_true(waiter->after[1].job > 0);
    assert_int_equal(waiter->after[2].kind, AFTER_SIGNAL);
    assert_int_equal(waiter->after[2].count, 3);
    assert_null(waiter->routing);
}

static void lines_have_no_refs(void **state)
{
    static const char *const lines[] = {"{\"queue\":\"q\",\"ref\":\"one\"}",
                                        "{\"queue\":\"q\",\"after\":[\"one\"]}"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct submit_item item = {.priority = 0};

        parse_submit_line(slice_of(lines[i]), &user, &arena, &item);
        assert_int_equal(item.parse_err->code, E_INVALID);
        assert_non_null(strstr(item.parse_err->msg, "NDJSON"));
    }
}

/* ---- redo ---- */

static void redo_is_no_part_of_the_content(void **state)
{
    static const char *const same[] = {
        "{\"queue\":\"q\", \"key\":\"k\", \"params\":{\"redo\":true}}",
        "{\"redo\": true, \"queue\":\"q\", \"key\":\"k\", \"params\":{\"redo\":true}}",
        "{\"queue\":\"q\",\"redo\":false, \"key\":\"k\", \"params\":{\"redo\":true}}",
        "{\"queue\":\"q\", \"key\":\"k\", \"params\":{\"redo\":true}, \"redo\":true}",
    };
    uint64_t content = item_of(same[0], &user)->content;

    (void)state;
    assert_true(content == content_hash(slice_of(same[0])));
    for (size_t i = 1; i < ARRAY_LEN(same); i++)
        assert_true(item_of(same[i], &user)->content == content);
    assert_true(item_of(same[1], &user)->redo);
    assert_false(item_of(same[2], &user)->redo);
    assert_true(content_without_redo(SLICE("{\"redo\":true}")) == content_hash(SLICE("{}")));
}

/* ---- what workers say ---- */

static enum err_code exchanged(const char *fields, const struct submit_source *source,
                               struct exchange *ret_exchange, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);

    *err = ERR_INIT;
    buf_addf(&text,
             "{\"finish\":[{\"id\":\"" ID "\",\"lease\":\"" LEASE "\",\"state\":\"done\",%s}]}",
             fields);
    return parse_exchange(arena_copy(&arena, buf_slice(&text)), EXCHANGE_FINISH, source, &arena,
                          ret_exchange, err);
}

static void a_finish_raises_signals_and_adds_steps(void **state)
{
    struct exchange x;
    struct err err;

    (void)state;
    assert_int_equal(exchanged("\"raise\":{\"dump\":2,\"other\":1},\"steps\":[{\"name\":\"more\"}]",
                               &user, &x, &err),
                     E_OK);
    assert_int_equal(x.finish[0].n_raises, 2);
    assert_slice_is(x.finish[0].raises[0].name, "dump");
    assert_int_equal(x.finish[0].raises[0].count, 2);
    assert_slice_is(x.finish[0].steps, "[{\"name\":\"more\"}]");
    assert_int_equal(exchanged("\"steps\":[]", &user, &x, &err), E_OK);
    assert_int_equal(x.finish[0].steps.size, 0);
}

static void bad_signals_and_steps_of_a_finish_are_refused(void **state)
{
    static const struct {
        const char *fields;
        enum err_code code;
        const char *says;
    } bad[] = {
        {"\"raise\":[]", E_INVALID, "raise: must be an object"},
        {"\"raise\":{\"\":1}", E_INVALID, "raise: a signal's name"},
        {"\"raise\":{\"x\":0}", E_INVALID, "raise: 'x' must be raised by"},
        {"\"raise\":{\"x\":1.5}", E_INVALID, "raise: 'x' must be raised by"},
        {"\"raise\":{\"x\":1000000000001}", E_INVALID, "raise: 'x' must be raised by"},
        {"\"steps\":{}", E_INVALID, "steps: must be an array of steps"},
        {"\"steps\":[{\"nam\":1}]", E_INVALID, "steps[0]"},
        {"\"steps\":[{\"name\":\"a\",\"command\":\"id\"}]", E_FORBIDDEN, "steps[0].command"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct exchange x;
        struct err err;

        (void)!exchanged(bad[i].fields, &user, &x, &err);
        if (err.code != bad[i].code || strstr(err.msg, bad[i].says) == NULL)
            fail_msg("%s: %s: %s", bad[i].fields, err_name(err.code), err.msg);
        assert_int_equal(err.item, 1);
    }
}

static void what_is_emitted_may_be_published(void **state)
{
    struct exchange x;
    struct err err;

    (void)state;
    assert_int_equal(exchanged("\"emit\":[{\"topic\":\"t\",\"params\":{},\"priority\":3}]", &user,
                               &x, &err),
                     E_OK);
    assert_slice_is(x.finish[0].emit[0].topic, "t");
    (void)!exchanged("\"emit\":[{\"topic\":\"t\",\"queue\":\"q\"}]", &user, &x, &err);
    assert_non_null(strstr(err.msg, "exclude each other"));
    (void)!exchanged("\"emit\":[{\"topic\":\"t\",\"body\":\"x\"}]", &user, &x, &err);
    assert_non_null(strstr(err.msg, "a publication has only params"));
    (void)!exchanged("\"emit\":[{\"topic\":\"a/b\"}]", &user, &x, &err);
    assert_int_equal(err.code, E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_job_with_steps_begins_at_its_first_one),
        TEST(steps_that_have_a_status_are_passed_over),
        TEST(the_message_of_the_shelf_broker_is_understood),
        TEST(a_bad_bill_is_refused_with_its_place_and_reason),
        TEST(a_job_with_steps_brings_no_command_of_its_own),
        TEST(a_request_brings_so_much_in_all),
        TEST(what_a_job_waits_for_and_leads_to_is_taken_apart),
        TEST(lines_have_no_refs),
        TEST(redo_is_no_part_of_the_content),
        TEST(a_finish_raises_signals_and_adds_steps),
        TEST(bad_signals_and_steps_of_a_finish_are_refused),
        TEST(what_is_emitted_may_be_published),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
