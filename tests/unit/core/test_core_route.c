/* Steps and records as they come from outside. */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "json_testing.h"

static struct routing parse(const char *json)
{
    struct err err = ERR_INIT;
    struct routing routing = {0};

    if (route_steps_parse(checked(json), 0, &arena, &routing.steps, &routing.n_steps, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return routing;
}

static void assert_steps(const char *json, const char *want)
{
    struct routing routing = parse(json);
    struct slice once = routing_format(&routing, &arena);
    struct slice steps;

    assert_true(jtext_find(once, "steps", &steps));
    assert_slice_is(steps, want);
    routing = parse(arena_strdup(&arena, steps)); /* the stored form is accepted as well */
    assert_true(slice_equal(routing_format(&routing, &arena), once));
}

static void assert_refused(const char *json, const char *message)
{
    struct err err = ERR_INIT;
    struct route_step *steps = NULL;
    size_t n = 77;

    if (route_steps_parse(checked(json), 0, &arena, &steps, &n, &err) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(n, 77);
}

/* ---- steps ---- */

static void every_member_of_a_step_is_read(void **state)
{
    (void)state;
    struct routing routing = parse(
        "[{\"number\":4,\"name\":\"main\",\"queue\":\"shelf\",\"command\":[\"./x\",\"{case}\"],"
        "\"params\":{\"a\":1},\"timeout\":\"5m\",\"retry\":{\"max\":2},\"on_error\":\"continue\","
        "\"final\":true,\"on_success\":\"next\",\"on_failure\":[{\"topic\":\"alarm\"}]}]");
    const struct route_step *s = routing.steps;

    assert_int_equal(routing.n_steps, 1);
    assert_int_equal(s->number, 4);
    assert_slice_is(s->name, "main");
    assert_slice_is(s->queue, "shelf");
    assert_slice_is(s->command, "[\"./x\",\"{case}\"]");
    assert_slice_is(s->params, "{\"a\":1}");
    assert_slice_is(s->timeout, "\"5m\"");
    assert_slice_is(s->retry, "{\"max\":2}");
    assert_true(s->on_error == STEP_CONTINUE && s->final);
    assert_slice_is(s->on_success, "[{\"queue\":\"next\"}]");
    assert_slice_is(s->on_failure, "[{\"topic\":\"alarm\"}]");
}

static void the_words_of_seed_000_are_understood(void **state)
{
    (void)state;
    assert_steps(
        "[{\"number\":1,\"process name\":\"extract\",\"queue name\":\"shelf\","
        "\"command line\":\"echo one\"},"
        "{\"number\":2,\"process name\":\"main\",\"queue name\":\"shelf\","
        "\"command line\":\"echo two\"}]",
        "[{\"number\":1,\"name\":\"extract\",\"queue\":\"shelf\",\"command\":\"echo one\"},"
        "{\"number\":2,\"name\":\"main\",\"queue\":\"shelf\",\"command\":\"echo two\"}]");
}

static void what_is_not_said_is_filled_in(void **state)
{
    (void)state;
    assert_steps(
        "[{\"name\":\"a\"},{\"name\":\"b\",\"number\":10},{\"queue\":\"c d\"},"
        "{\"name\":\"e\",\"queue\":null,\"params\":null,\"final\":false,\"on_error\":\"stop\","
        "\"on_success\":[],\"command\":null}]",
        "[{\"number\":1,\"name\":\"a\",\"queue\":\"a\"},"
        "{\"number\":10,\"name\":\"b\",\"queue\":\"b\"},"
        "{\"number\":11,\"name\":\"c d\",\"queue\":\"c d\"},"
        "{\"number\":12,\"name\":\"e\",\"queue\":\"e\"}]");
}

static void final_steps_at_the_end_may_have_lower_numbers(void **state)
{
    (void)state;
    assert_steps("[{\"name\":\"a\"},{\"name\":\"b\",\"number\":5},{\"name\":\"c\",\"number\":3,"
                 "\"final\":true},{\"name\":\"d\",\"final\":true}]",
                 "[{\"number\":1,\"name\":\"a\",\"queue\":\"a\"},"
                 "{\"number\":5,\"name\":\"b\",\"queue\":\"b\"},"
                 "{\"number\":3,\"name\":\"c\",\"queue\":\"c\",\"final\":true},"
                 "{\"number\":6,\"name\":\"d\",\"queue\":\"d\",\"final\":true}]");
}

static void a_step_alone_stands_for_a_list_of_one(void **state)
{
    (void)state;
    assert_steps("{\"name\":\"a\"}", "[{\"number\":1,\"name\":\"a\",\"queue\":\"a\"}]");
}

static void values_lose_nothing_but_their_white_space(void **state)
{
    (void)state;
    assert_steps(
        "[ { \"name\" : \"a \\\"b\\\" $(c)\", \"queue\" : \"q\",\n\"params\" : { \"x y\" : [ 1 , "
        "\"\\n \\\\ \\\" '\" ] } } ]",
        "[{\"number\":1,\"name\":\"a \\\"b\\\" $(c)\",\"queue\":\"q\",\"params\":"
        "{\"x y\":[1,\"\\n \\\\ \\\" '\"]}}]");
}

static const struct {
    const char *json;
    const char *message;
} wrong_steps[] = {
    {"7", "steps: must be a list of steps, not 7"},
    {"[]", "steps: must not be empty: a route has at least one step"},
    {"[{\"name\":\"a\"},3]", "steps[1]: must be an object, not 3"},
    {"[{}]", "steps[0]: a step needs a 'name', or a 'queue'"},
    {"[{\"name\":\"\"}]", "steps[0].name: must not be empty"},
    {"[{\"name\":7}]", "steps[0].name: must be text, not 7 (put it in quotes)"},
    {"[{\"name\":\"a\\nb\",\"queue\":\"q\"}]",
     "steps[0].name: must not have control characters: 'a?b'"},
    {"[{\"name\":\"a/b\"}]", "steps[0].name: a queue's name must not have a '/' in it: 'a/b'"},
    {"[{\"queue\":\"\"}]", "steps[0].queue: a queue's name must not be empty"},
    {"[{\"queue name\":[]}]", "steps[0].queue name: must be text, not an array"},
    {"[{\"name\":\"a\",\"number\":0}]",
     "steps[0].number: must be a whole number from 1 to 1000000, not 0"},
    {"[{\"name\":\"a\",\"number\":1.0}]",
     "steps[0].number: must be a whole number from 1 to 1000000, not 1.0"},
    {"[{\"name\":\"a\",\"number\":5},{\"name\":\"b\",\"number\":5}]",
     "steps[1].number: must be above 5, the number before it, not 5"},
    {"[{\"name\":\"a\",\"number\":5},{\"name\":\"b\",\"number\":2}]",
     "steps[1].number: must be above 5, the number before it, not 2"},
    {"[{\"name\":\"a\"},{\"name\":\"b\",\"number\":1}]",
     "steps[1].number: must be above 1, the number before it, not 1"},
    {"[{\"name\":\"a\",\"number\":1000000},{\"name\":\"b\"}]",
     "steps[1].number: would be above 1000000"},
    {"[{\"name\":\"a\",\"number\":3},{\"name\":\"b\",\"number\":2,\"final\":true},"
     "{\"name\":\"c\"}]",
     "steps[1].number: must be above 3, the number before it, not 2"},
    {"[{\"name\":\"a\",\"number\":3},{\"name\":\"b\",\"number\":3,\"final\":true}]",
     "steps[1].number: another step has the number 3"},
    {"[{\"name\":\"a\",\"process name\":\"b\"}]",
     "steps[0]: 'name' and 'process name' mean the same: give one of them"},
    {"[{\"name\":\"a\",\"comand\":\"b\"}]",
     "steps[0]: unknown key 'comand', did you mean 'command'?"},
    {"[{\"name\":\"a\",\"xyzzy\":1}]",
     "steps[0]: unknown key 'xyzzy', the keys are: number name queue command params timeout "
     "retry needs on_error final on_success on_failure"},
    {"[{\"name\":\"a\",\"params\":[]}]", "steps[0].params: must be an object, not an array"},
    {"[{\"name\":\"a\",\"timeout\":\"5x\"}]",
     "steps[0].timeout: '5x' is not a length of time like 500ms, 10s, 5m, 2h or 30d"},
    {"[{\"name\":\"a\",\"timeout\":0}]",
     "steps[0].timeout: must be a length of time from 1ms to 10000d, not 0"},
    {"[{\"name\":\"a\",\"retry\":3}]", "steps[0].retry: must be an object, not 3: write {max: 3}"},
    {"[{\"name\":\"a\",\"retry\":{\"first\":\"x\"}}]",
     "steps[0].retry.first: 'x' is not a length of time like 500ms, 10s, 5m, 2h or 30d"},
    {"[{\"name\":\"a\",\"retry\":{\"frist\":1}}]",
     "steps[0].retry: unknown key 'frist', did you mean 'first'?"},
    {"[{\"name\":\"a\",\"on_error\":\"contineu\"}]",
     "steps[0].on_error: 'contineu' is unknown, did you mean 'continue'?"},
    {"[{\"name\":\"a\",\"on_error\":\"ignore\"}]",
     "steps[0].on_error: must be stop or continue, not 'ignore'"},
    {"[{\"name\":\"a\",\"final\":1}]", "steps[0].final: must be true or false, not 1"},
    {"[{\"name\":\"a\"},{\"name\":\"b\",\"on_success\":[\"c\",{\"jion\":\"d\"}]}]",
     "steps[1].on_success[1]: unknown key 'jion', did you mean 'join'?"},
    {"[{\"name\":\"a\",\"on_failure\":{\"join\":\"\"}}]",
     "steps[0].on_failure.join: a join's name must not be empty"},
    {"[{\"all\":[]}]", "steps[0].all: steps that run side by side are not built yet"},
};

static void mistakes_in_steps_are_told_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong_steps); i++)
        assert_refused(wrong_steps[i].json, wrong_steps[i].message);
}

static void commands_that_cannot_work_are_refused(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "\"echo '{date}'\"",
        "[\"sh\",\"-c\",\"echo {date}\"]",
        "\"  \"",
        "[]",
        "[\"\"]",
        "[\"a\",3]",
        "{}",
    };

    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        CLEANUP(buf) struct buf json = BUF_INIT(200);
        struct err err = ERR_INIT;
        struct route_step *steps;
        size_t n;

        buf_addf(&json, "[{\"name\":\"a\"},{\"name\":\"b\",\"command\":%s}]", commands[i]);
        if (route_steps_parse(checked(buf_text(&json)), 0, &arena, &steps, &n, &err) == E_OK)
            fail_msg("%s is accepted", commands[i]);
        if (strncmp(err.msg, "steps[1].command: ", 18) != 0)
            fail_msg("%s: %s", commands[i], err.msg);
    }
    assert_refused("[{\"name\":\"a\",\"command line\":[\"x\"]}]",
                   "steps[0].command line: must be a text, which is run by sh -c, not an array");
}

static void a_name_in_single_quotes_is_refused_in_seed_000s_words(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct route_step *steps;
    size_t n;

    assert_int_equal(route_steps_parse(checked("[{\"process name\":\"a\",\"command line\":"
                                               "\"echo '{date}'\"}]"),
                                       0, &arena, &steps, &n, &err),
                     E_INVALID);
    assert_memory_equal(err.msg, "steps[0].command line: ", 23);
    assert_non_null(strstr(err.msg, "{date}"));
}

static void add_steps(struct buf *json, int count)
{
    buf_add_char(json, '[');
    for (int i = 0; i < count; i++)
        buf_addf(json, "%s{\"name\":\"s\"}", i == 0 ? "" : ",");
    buf_add_char(json, ']');
}

static void a_thousand_steps_are_the_most(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf most = BUF_INIT(1 << 20);
    CLEANUP(buf) struct buf more = BUF_INIT(1 << 20);

    add_steps(&most, ROUTE_STEPS_MAX);
    assert_int_equal(parse(buf_text(&most)).steps[ROUTE_STEPS_MAX - 1].number, ROUTE_STEPS_MAX);
    add_steps(&more, ROUTE_STEPS_MAX + 1);
    assert_refused(buf_text(&more), "steps: must have at most 1000 steps, not 1001");
}

static void a_name_too_long_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf json = BUF_INIT(1000);

    buf_add_str(&json, "[{\"name\":\"");
    for (int i = 0; i <= STEP_NAME_MAX; i++)
        buf_add_char(&json, 'n');
    buf_add_str(&json, "\"}]");
    assert_refused(buf_text(&json), "steps[0].name: must have at most 200 bytes, not 201");
}

/* ---- records ---- */

static struct route_status *record(const char *json, size_t want)
{
    struct routing routing = parse(
        "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\",\"number\":9}]");
    struct route_status *entries;
    struct err err = ERR_INIT;
    size_t n;

    if (route_progress_parse(checked(json), &routing, &arena, &entries, &n, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    assert_int_equal(n, want);
    return entries;
}

static void assert_no_record(const char *steps, const char *json, const char *message)
{
    struct routing routing = {0};
    struct route_status *entries = NULL;
    struct err err = ERR_INIT;
    size_t n = 77;

    if (steps != NULL)
        routing = parse(steps);
    if (route_progress_parse(checked(json), &routing, &arena, &entries, &n, &err) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(n, 77);
}

static void a_record_as_it_is_shown_is_read(void **state)
{
    (void)state;
    const struct route_status *e = record(
        "[{\"number\":1,\"name\":\"a\",\"queue\":\"q\",\"attempt\":1,\"state\":\"done\","
        "\"status\":0,\"cause\":null,\"started_at\":\"1970-01-01T00:00:01Z\","
        "\"ended_at\":\"1970-01-01T00:00:02Z\","
        "\"worker\":\"w\",\"text\":\"fine\",\"set\":{ \"x\" : 1 }},"
        "{\"number\":9,\"status\":-9},{\"number\":2,\"status\":null,\"started_at\":null}]",
        3);

    assert_int_equal(e[0].number, 1);
    assert_true(e[0].has_status);
    assert_int_equal(e[0].status, 0);
    assert_int_equal(e[0].started_at, 1000000);
    assert_int_equal(e[0].ended_at, 2000000);
    assert_slice_is(e[0].text, "fine");
    assert_slice_is(e[0].set, "{\"x\":1}");
    assert_int_equal(e[1].status, -9);
    assert_int_equal(e[1].started_at, 0);
    assert_false(e[2].has_status);
    (void)record("[]", 0);
}

static void a_record_in_seed_000s_words_is_read(void **state)
{
    (void)state;
    const struct route_status *e = record("[{\"number\":2,\"status\":1,\"start time\":"
                                          "\"1970-01-01T01:00:00+01:00\",\"end time\":"
                                          "\"1970-01-01T00:00:03Z\",\"process name\":\"b\","
                                          "\"queue name\":\"b\"}]",
                                          1);

    assert_int_equal(e->started_at, 0);
    assert_int_equal(e->ended_at, 3000000);
    assert_int_equal(e->status, 1);
}

static void mistakes_in_a_record_are_told_with_their_place(void **state)
{
    (void)state;
    static const char steps[] = "[{\"name\":\"a\"}]";
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"{}", "progress: must be a list of entries, not an object"},
        {"[1]", "progress[0]: must be an object, not 1"},
        {"[{\"status\":0}]", "progress[0].number: is missing: the step of the entry"},
        {"[{\"number\":1,\"status\":0},{\"number\":1},{\"number\":2,\"status\":0}]",
         "progress[2].number: there is no step 2"},
        {"[{\"number\":\"1\"}]",
         "progress[0].number: must be a whole number from 1 to 1000000, not '1'"},
        {"[{\"number\":1,\"status\":256}]",
         "progress[0].status: must be a whole number from -64 to 255, not 256"},
        {"[{\"number\":1,\"status\":\"done\"}]",
         "progress[0].status: must be a whole number from -64 to 255, not 'done'"},
        {"[{\"number\":1,\"end time\":7}]",
         "progress[0].end time: must be a time such as \"2030-01-31T12:00:00Z\", not 7"},
        {"[{\"number\":1,\"started_at\":\"1970-01-01T00:00:02Z\",\"ended_at\":"
         "\"1970-01-01T00:00:01Z\"}]",
         "progress[0]: it ended before it started"},
        {"[{\"number\":1,\"ended_at\":null,\"end time\":\"1970-01-01T00:00:01Z\"}]",
         "progress[0]: 'ended_at' and 'end time' mean the same: give one of them"},
        {"[{\"number\":1,\"set\":[]}]", "progress[0].set: must be an object, not an array"},
        {"[{\"number\":1,\"text\":3}]", "progress[0].text: must be text, not 3 (put it in quotes)"},
        {"[{\"number\":1,\"stats\":0}]",
         "progress[0]: unknown key 'stats', did you mean 'status'?"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_no_record(steps, cases[i].json, cases[i].message);
    assert_no_record(NULL, "[{\"number\":1,\"status\":0}]",
                     "progress: is a record of steps, but the job has none");
}

static void an_instant_that_is_none_is_refused(void **state)
{
    (void)state;
    struct routing routing = parse("[{\"name\":\"a\"}]");
    struct route_status *entries;
    struct err err = ERR_INIT;
    size_t n;

    assert_int_equal(route_progress_parse(checked("[{\"number\":1,\"started_at\":\"yesterday\"}]"),
                                          &routing, &arena, &entries, &n, &err),
                     E_INVALID);
    assert_memory_equal(err.msg, "progress[0].started_at: ", 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_of_a_step_is_read),
        cmocka_unit_test(the_words_of_seed_000_are_understood),
        cmocka_unit_test(what_is_not_said_is_filled_in),
        cmocka_unit_test(final_steps_at_the_end_may_have_lower_numbers),
        cmocka_unit_test(a_step_alone_stands_for_a_list_of_one),
        cmocka_unit_test(values_lose_nothing_but_their_white_space),
        cmocka_unit_test(mistakes_in_steps_are_told_with_their_place),
        cmocka_unit_test(commands_that_cannot_work_are_refused),
        cmocka_unit_test(a_name_in_single_quotes_is_refused_in_seed_000s_words),
        cmocka_unit_test(a_thousand_steps_are_the_most),
        cmocka_unit_test(a_name_too_long_is_refused),
        cmocka_unit_test(a_record_as_it_is_shown_is_read),
        cmocka_unit_test(a_record_in_seed_000s_words_is_read),
        cmocka_unit_test(mistakes_in_a_record_are_told_with_their_place),
        cmocka_unit_test(an_instant_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
