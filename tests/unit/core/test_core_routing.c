/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "json_testing.h"

static struct routing parse(const char *json)
{
    struct routing routing;

    routing_parse(slice_of(json), &arena, &routing);
    return routing;
}

static void assert_unchanged(const char *json)
{
    struct routing routing = parse(json);

    assert_slice_is(routing_format(&routing, &arena), json);
}

/* A route of such steps: 'f' is final, 'c' goes on after an error, anything else is plain. */
static struct routing route(const char *kinds)
{
    struct routing routing = {.n_steps = strlen(kinds)};

    routing.steps = arena_array(&arena, routing.n_steps + 1, sizeof(*routing.steps));
    for (size_t i = 0; i < routing.n_steps; i++)
        routing.steps[i] = (struct route_step){.number = (int)i + 1,
                                               .name = arena_copy(&arena, slice_make(kinds + i, 1)),
                                               .queue = SLICE("q"),
                                               .on_error = kinds[i] == 'c' ? STEP_CONTINUE
                                                                           : STEP_STOP,
                                               .final = kinds[i] == 'f'};
    return routing;
}

static int number_of(const struct route_step *step)
{
    return step == NULL ? 0 : step->number;
}

/* ---- kept as JSON ---- */

static void a_routing_reads_back_as_it_was_written(void **state)
{
    (void)state;
    assert_unchanged(
        "{\"steps\":[{\"number\":1,\"name\":\"a \\\"b\\\"\",\"queue\":\"q\","
        "\"command\":[\"x\",\"{y}\"],\"params\":{\"z\":[1,{}]},"
        "\"timeout\":\"5m\",\"retry\":{\"max\":1},\"on_error\":\"continue\","
        "\"final\":true,\"on_success\":[{\"queue\":\"s\"}],\"on_failure\":[{\"join\":\"j\"}]},"
        "{\"number\":7,\"name\":\"é\",\"queue\":\"p q\"}],"
        "\"options\":{\"retry\":{}},\"skip\":[1,7],\"on_success\":[{\"topic\":\"t\"}],"
        "\"on_failure\":[{\"signal\":\"s\"}],\"after\":[{\"signal\":\"NAME\",\"count\":10,"
        "\"take\":true}],\"parent\":\"0D3N7Q8R2S4T6\",\"depth\":3,\"topic\":\"a.b\"}");
    assert_unchanged("{\"parent\":\"0000000000001\"}");
    assert_unchanged("{\"topic\":\"\\\"\\\\\"}");
}

static void a_routing_is_read_into_its_parts(void **state)
{
    (void)state;
    struct routing routing = parse(
        "{\"steps\":[{\"number\":3,\"name\":\"n\",\"queue\":\"q\",\"final\":true}],"
        "\"skip\":[3],\"parent\":\"0000000000001\",\"depth\":999}");

    assert_int_equal(routing.n_steps, 1);
    assert_int_equal(routing.steps[0].number, 3);
    assert_true(routing.steps[0].final);
    assert_int_equal(routing.steps[0].on_error, STEP_STOP);
    assert_int_equal(routing.n_skip, 1);
    assert_int_equal(routing.parent, 1);
    assert_int_equal(routing.depth, 999);
    assert_int_equal(routing.topic.size, 0);
}

static void a_routing_with_nothing_to_say_is_empty(void **state)
{
    (void)state;
    struct routing routing = parse("");

    assert_int_equal(routing_format(&routing, &arena).size, 0);
    assert_false(routing_is_followed(&routing));
}

static void what_a_newer_version_has_added_does_no_harm(void **state)
{
    (void)state;
    struct routing routing = parse(
        "{\"group\":{\"x\":1},\"steps\":[{\"number\":1,\"name\":\"n\",\"queue\":\"q\","
        "\"all\":[]}]}");

    assert_int_equal(routing.n_steps, 1);
    assert_slice_is(routing.steps[0].queue, "q");
}

static void steps_and_chains_make_a_job_followed(void **state)
{
    (void)state;
    struct routing waits = parse(
        "{\"after\":[],\"parent\":\"0000000000001\",\"depth\":1,\"topic\":\"t\"}");
    struct routing steps = route("a");
    struct routing chain = parse("{\"on_failure\":[{\"queue\":\"q\"}]}");
    struct routing other = parse("{\"on_success\":[{\"queue\":\"q\"}]}");

    assert_false(routing_is_followed(&waits));
    assert_true(routing_is_followed(&steps));
    assert_true(routing_is_followed(&chain));
    assert_true(routing_is_followed(&other));
}

/* ---- what comes next ---- */

static void steps_come_one_after_the_other(void **state)
{
    (void)state;
    struct routing routing = route("abc");

    assert_int_equal(number_of(route_first(&routing)), 1);
    assert_int_equal(number_of(route_next(&routing, 1, false)), 2);
    assert_int_equal(number_of(route_next(&routing, 3, false)), 0);
    assert_int_equal(number_of(route_find(&routing, 2)), 2);
    assert_null(route_find(&routing, 4));
    assert_null(route_find(&routing, 0));
}

static void of_a_route_that_has_failed_only_final_steps_are_left(void **state)
{
    (void)state;
    struct routing routing = route("afbff");

    assert_int_equal(number_of(route_next(&routing, 1, true)), 2);
    assert_int_equal(number_of(route_next(&routing, 2, true)), 4);
    assert_int_equal(number_of(route_next(&routing, 4, true)), 5);
    assert_int_equal(number_of(route_next(&routing, 5, true)), 0);
    assert_int_equal(number_of(route_next(&routing, 2, false)), 3);
    routing = route("abc");
    assert_int_equal(number_of(route_next(&routing, 1, true)), 0);
}

static void steps_with_a_status_are_passed_over(void **state)
{
    (void)state;
    struct routing routing = route("abcdf");
    struct route_status entries[] = {{.number = 5, .has_status = true},
                                     {.number = 1, .has_status = true},
                                     {.number = 1, .has_status = true, .status = 1},
                                     {.number = 2},
                                     {.number = 3, .has_status = true}};

    route_skip(&routing, entries, ARRAY_LEN(entries), &arena);
    assert_int_equal(routing.n_skip, 3);
    assert_int_equal(number_of(route_first(&routing)), 2);
    assert_int_equal(number_of(route_next(&routing, 2, false)), 4);
    assert_int_equal(number_of(route_next(&routing, 4, false)), 0);
    assert_int_equal(number_of(route_next(&routing, 2, true)), 0);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        entries[i] = (struct route_status){.number = (int)i + 1, .has_status = true};
    route_skip(&routing, entries, ARRAY_LEN(entries), &arena);
    assert_null(route_first(&routing));
}

/* ---- by number or name ---- */

static int selected(const struct routing *routing, const char *text)
{
    const struct route_step *step = NULL;
    struct err err = ERR_INIT;

    if (route_select(routing, slice_of(text), &step, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return step->number;
}

static void assert_none(const struct routing *routing, const char *text, const char *message)
{
    const struct route_step *step = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(route_select(routing, slice_of(text), &step, &err), E_INVALID);
    assert_string_equal(err.msg, message);
    assert_null(step);
}

static void a_step_is_found_by_number_or_name(void **state)
{
    (void)state;
    struct routing routing = parse(
        "{\"steps\":[{\"number\":2,\"name\":\"extract\",\"queue\":\"q\"},"
        "{\"number\":10,\"name\":\"main\",\"queue\":\"q\"},"
        "{\"number\":11,\"name\":\"2\",\"queue\":\"q\"},"
        "{\"number\":12,\"name\":\"77\",\"queue\":\"q\"},"
        "{\"number\":13,\"name\":\"log\",\"queue\":\"q\"},"
        "{\"number\":14,\"name\":\"log\",\"queue\":\"q\"}]}");
    struct routing none = {0};

    assert_int_equal(selected(&routing, "10"), 10);
    assert_int_equal(selected(&routing, "main"), 10);
    assert_int_equal(selected(&routing, "2"), 2); /* the number is looked at first */
    assert_int_equal(selected(&routing, "77"), 12);
    assert_none(&routing, "mian", "there is no step 'mian', did you mean 'main'?");
    assert_none(&routing, "4", "there is no step '4'");
    assert_none(&routing, "", "there is no step ''");
    assert_none(&routing, "99999999999999999999", "there is no step '99999999999999999999'");
    assert_none(&routing, "-1", "there is no step '-1'");
    assert_none(&routing, "log",
                "several steps are called 'log' (13 and 14): name it by its number");
    assert_none(&none, "1", "there is no step '1': the job has none");
}

/* ---- added steps ---- */

static enum err_code add(struct routing *routing, int at, const char *json, struct err *err)
{
    struct slice value;

    assert_int_equal(jtext_check(slice_of(json), &value, err), E_OK);
    return route_add(routing, at, value, &arena, err);
}

/* "1a 2b": numbers and names. */
static void assert_route(const struct routing *routing, const char *want)
{
    CLEANUP(buf) struct buf got = BUF_INIT(1000);

    for (size_t i = 0; i < routing->n_steps; i++)
        buf_addf(&got, "%s%d%.*s", i == 0 ? "" : " ", routing->steps[i].number,
                 (int)routing->steps[i].name.size, routing->steps[i].name.data);
    assert_string_equal(buf_text(&got), want);
}

static void added_steps_come_before_the_final_ones(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct routing routing = route("abff");

    assert_int_equal(add(&routing, 1, "[{\"name\":\"x\"},{\"name\":\"y\"}]", &err), E_OK);
    assert_route(&routing, "1a 2b 5x 6y 3f 4f");
    assert_true(routing.steps[5].final);
    assert_int_equal(add(&routing, 6, "{\"name\":\"z\"}", &err), E_OK);
    assert_route(&routing, "1a 2b 5x 6y 7z 3f 4f");
    assert_int_equal(number_of(route_next(&routing, 2, false)), 5);
    assert_int_equal(number_of(route_next(&routing, 7, false)), 3);
    assert_int_equal(number_of(route_next(&routing, 5, true)), 3);
    routing = route("a");
    assert_int_equal(add(&routing, 1, "[{\"name\":\"x\",\"number\":9},{\"name\":\"y\"}]", &err),
                     E_OK);
    assert_route(&routing, "1a 9x 10y");
    routing = route("afb");
    assert_int_equal(add(&routing, 1, "{\"name\":\"x\"}", &err), E_OK);
    assert_route(&routing, "1a 2f 3b 4x");
}

static void an_added_step_that_is_final_stays_before_the_final_ones(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct routing routing = route("af");

    assert_int_equal(add(&routing, 1, "[{\"name\":\"x\"},{\"name\":\"y\",\"final\":true}]", &err),
                     E_OK);
    assert_route(&routing, "1a 3x 4y 2f");
}

static void assert_not_added(struct routing routing, int at, const char *json, const char *message)
{
    struct err err = ERR_INIT;
    struct slice before = routing_format(&routing, &arena);

    assert_int_equal(add(&routing, at, json, &err), E_INVALID);
    assert_string_equal(err.msg, message);
    assert_true(slice_equal(routing_format(&routing, &arena), before));
}

static void a_step_that_cannot_be_added_is_refused(void **state)
{
    (void)state;
    struct routing high = route("af");

    high.steps[0].number = STEP_NUMBER_MAX - 1;
    high.steps[1].number = STEP_NUMBER_MAX;
    assert_not_added(route("af"), 2, "{\"name\":\"x\"}", "the route has come to its final steps");
    assert_not_added(route("afb"), 2, "{\"name\":\"x\"}", "the route has come to its final steps");
    assert_not_added((struct routing){0}, 0, "{\"name\":\"x\"}",
                     "the job has no route that a step could be added to");
    assert_not_added(route("ab"), 1, "{\"name\":\"x\",\"number\":2}",
                     "steps[0].number: must be above 2, the number before it, not 2");
    assert_not_added(route("ab"), 1, "{\"nme\":\"x\"}",
                     "steps: unknown key 'nme', did you mean 'name'?");
    assert_not_added(high, STEP_NUMBER_MAX - 1, "{\"name\":\"x\"}",
                     "steps[0].number: would be above 1000000");
}

static void a_route_that_has_grown_can_be_handed_in_again(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct routing routing = route("abff");
    struct routing again = {0};
    struct slice steps;

    assert_int_equal(add(&routing, 1, "[{\"name\":\"x\"},{\"name\":\"y\",\"final\":true}]", &err),
                     E_OK);
    assert_int_equal(add(&routing, 1, "{\"name\":\"z\"}", &err), E_OK);
    assert_route(&routing, "1a 2b 5x 7z 6y 3f 4f");
    assert_true(jtext_find(routing_format(&routing, &arena), "steps", &steps));
    if (route_steps_parse(steps, 0, &arena, &again.steps, &again.n_steps, &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_route(&again, "1a 2b 5x 7z 6y 3f 4f");
}

static void a_route_does_not_grow_without_end(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct routing routing = route("a");

    for (int i = 1; i < ROUTE_STEPS_MAX; i++)
        assert_int_equal(add(&routing, 1, "{\"name\":\"x\"}", &err), E_OK);
    assert_int_equal(routing.n_steps, ROUTE_STEPS_MAX);
    assert_not_added(
        routing, 1, "{\"name\":\"x\"}",
        "the route becomes too long: it would have 1001 steps, at most 1000 are allowed");
}

static void the_bytes_of_a_route_are_bounded_too(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf step = BUF_INIT(8 << 20);
    struct err err = ERR_INIT;
    struct routing routing = route("a");

    buf_add_str(&step, "{\"name\":\"x\",\"params\":{\"p\":\"");
    for (int i = 0; i < 6 << 20; i++)
        buf_add_char(&step, 'p');
    buf_add_str(&step, "\"}}");
    assert_int_equal(add(&routing, 1, buf_text(&step), &err), E_OK);
    assert_int_equal(add(&routing, 1, buf_text(&step), &err), E_OK);
    assert_int_equal(add(&routing, 1, buf_text(&step), &err), E_INVALID);
    assert_non_null(strstr(err.msg, "the route becomes too long: its steps would have"));
    assert_int_equal(routing.n_steps, 3);
}

/* ---- options ---- */

static void assert_options(const char *job, const char *step, const char *want)
{
    struct routing routing = {.options = slice_of(job)};
    struct route_step *steps;
    struct slice value;
    struct err err = ERR_INIT;
    size_t n;

    assert_int_equal(jtext_check(slice_of(step), &value, &err), E_OK);
    if (route_steps_parse(value, 0, &arena, &steps, &n, &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_slice_is(route_options(&routing, steps, &arena), want);
}

static void options_of_a_step_lie_over_those_of_its_job(void **state)
{
    (void)state;
    const char *job = "{\"timeout\":\"5m\",\"retry\":{\"max\":5,\"first\":\"1s\"}}";

    assert_options("", "{\"name\":\"a\"}", "");
    assert_options(job, "{\"name\":\"a\"}", job);
    assert_options(job, "{\"name\":\"a\",\"timeout\":60}",
                   "{\"timeout\":\"1m\",\"retry\":{\"max\":5,\"first\":\"1s\"}}");
    assert_options(job, "{\"name\":\"a\",\"retry\":{\"max\":0,\"cap\":\"2h\"}}",
                   "{\"timeout\":\"5m\",\"retry\":{\"max\":0,\"first\":\"1s\",\"cap\":\"2h\"}}");
    assert_options(
        "", "{\"name\":\"a\",\"retry\":{\"exits\":{\"75\":\"later\"}},\"command\":[ \"x\" ]}",
        "{\"retry\":{\"exits\":{\"75\":\"later\"}},\"command\":[\"x\"]}");
    assert_options("{\"command\":\"y\"}", "{\"name\":\"a\",\"command\":\"x\"}",
                   "{\"command\":\"x\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_routing_reads_back_as_it_was_written),
        cmocka_unit_test(a_routing_is_read_into_its_parts),
        cmocka_unit_test(a_routing_with_nothing_to_say_is_empty),
        cmocka_unit_test(what_a_newer_version_has_added_does_no_harm),
        cmocka_unit_test(steps_and_chains_make_a_job_followed),
        cmocka_unit_test(steps_come_one_after_the_other),
        cmocka_unit_test(of_a_route_that_has_failed_only_final_steps_are_left),
        cmocka_unit_test(steps_with_a_status_are_passed_over),
        cmocka_unit_test(a_step_is_found_by_number_or_name),
        cmocka_unit_test(added_steps_come_before_the_final_ones),
        cmocka_unit_test(an_added_step_that_is_final_stays_before_the_final_ones),
        cmocka_unit_test(a_step_that_cannot_be_added_is_refused),
        cmocka_unit_test(a_route_that_has_grown_can_be_handed_in_again),
        cmocka_unit_test(a_route_does_not_grow_without_end),
        cmocka_unit_test(the_bytes_of_a_route_are_bounded_too),
        cmocka_unit_test(options_of_a_step_lie_over_those_of_its_job),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
