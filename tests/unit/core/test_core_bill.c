/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "core/route/bill.h"
#include "testing.h"

static struct arena arena = ARENA_INIT;

static int release_memory(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static struct bill parse(const char *json)
{
    struct bill bill;

    bill_parse(slice_of(json), &arena, &bill);
    return bill;
}

static void assert_unchanged(const char *json)
{
    struct bill bill = parse(json);

    assert_slice_is(bill_format(&bill, &arena), json);
}

/* A route of such steps: 'f' is final, 'c' goes on after an error, anything else is plain. */
static struct bill route(const char *kinds)
{
    struct bill bill = {.n_steps = strlen(kinds)};

    bill.steps = arena_array(&arena, bill.n_steps + 1, sizeof(*bill.steps));
    for (size_t i = 0; i < bill.n_steps; i++)
        bill.steps[i] = (struct route_step){.number = (int)i + 1,
                                            .name = arena_copy(&arena, slice_make(kinds + i, 1)),
                                            .queue = SLICE("q"),
                                            .on_error = kinds[i] == 'c' ? STEP_CONTINUE : STEP_STOP,
                                            .final = kinds[i] == 'f'};
    return bill;
}

static int number_of(const struct route_step *step)
{
    return step == NULL ? 0 : step->number;
}

/* ---- kept as JSON ---- */

static void a_bill_reads_back_as_it_was_written(void **state)
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

static void a_bill_is_read_into_its_parts(void **state)
{
    (void)state;
    struct bill bill = parse(
        "{\"steps\":[{\"number\":3,\"name\":\"n\",\"queue\":\"q\",\"final\":true}],"
        "\"skip\":[3],\"parent\":\"0000000000001\",\"depth\":999}");

    assert_int_equal(bill.n_steps, 1);
    assert_int_equal(bill.steps[0].number, 3);
    assert_true(bill.steps[0].final);
    assert_int_equal(bill.steps[0].on_error, STEP_STOP);
    assert_int_equal(bill.n_skip, 1);
    assert_int_equal(bill.parent, 1);
    assert_int_equal(bill.depth, 999);
    assert_int_equal(bill.topic.size, 0);
}

static void a_bill_with_nothing_to_say_is_empty(void **state)
{
    (void)state;
    struct bill bill = parse("");

    assert_int_equal(bill_format(&bill, &arena).size, 0);
    assert_false(bill_is_followed(&bill));
}

static void what_a_newer_version_has_added_does_no_harm(void **state)
{
    (void)state;
    struct bill bill = parse(
        "{\"group\":{\"x\":1},\"steps\":[{\"number\":1,\"name\":\"n\",\"queue\":\"q\","
        "\"all\":[]}]}");

    assert_int_equal(bill.n_steps, 1);
    assert_slice_is(bill.steps[0].queue, "q");
}

static void steps_and_chains_make_a_job_followed(void **state)
{
    (void)state;
    struct bill waits = parse(
        "{\"after\":[],\"parent\":\"0000000000001\",\"depth\":1,\"topic\":\"t\"}");
    struct bill steps = route("a");
    struct bill chain = parse("{\"on_failure\":[{\"queue\":\"q\"}]}");
    struct bill other = parse("{\"on_success\":[{\"queue\":\"q\"}]}");

    assert_false(bill_is_followed(&waits));
    assert_true(bill_is_followed(&steps));
    assert_true(bill_is_followed(&chain));
    assert_true(bill_is_followed(&other));
}

/* ---- what comes next ---- */

static void steps_come_one_after_the_other(void **state)
{
    (void)state;
    struct bill bill = route("abc");

    assert_int_equal(number_of(route_first(&bill)), 1);
    assert_int_equal(number_of(route_next(&bill, 1, false)), 2);
    assert_int_equal(number_of(route_next(&bill, 3, false)), 0);
    assert_int_equal(number_of(route_find(&bill, 2)), 2);
    assert_null(route_find(&bill, 4));
    assert_null(route_find(&bill, 0));
}

static void of_a_route_that_has_failed_only_final_steps_are_left(void **state)
{
    (void)state;
    struct bill bill = route("afbff");

    assert_int_equal(number_of(route_next(&bill, 1, true)), 2);
    assert_int_equal(number_of(route_next(&bill, 2, true)), 4);
    assert_int_equal(number_of(route_next(&bill, 4, true)), 5);
    assert_int_equal(number_of(route_next(&bill, 5, true)), 0);
    assert_int_equal(number_of(route_next(&bill, 2, false)), 3);
    bill = route("abc");
    assert_int_equal(number_of(route_next(&bill, 1, true)), 0);
}

static void steps_with_a_status_are_passed_over(void **state)
{
    (void)state;
    struct bill bill = route("abcdf");
    struct route_status entries[] = {{.number = 5, .has_status = true},
                                     {.number = 1, .has_status = true},
                                     {.number = 1, .has_status = true, .status = 1},
                                     {.number = 2},
                                     {.number = 3, .has_status = true}};

    route_skip(&bill, entries, ARRAY_LEN(entries), &arena);
    assert_int_equal(bill.n_skip, 3);
    assert_int_equal(number_of(route_first(&bill)), 2);
    assert_int_equal(number_of(route_next(&bill, 2, false)), 4);
    assert_int_equal(number_of(route_next(&bill, 4, false)), 0);
    assert_int_equal(number_of(route_next(&bill, 2, true)), 0);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++)
        entries[i] = (struct route_status){.number = (int)i + 1, .has_status = true};
    route_skip(&bill, entries, ARRAY_LEN(entries), &arena);
    assert_null(route_first(&bill));
}

/* ---- by number or name ---- */

static int selected(const struct bill *bill, const char *text)
{
    const struct route_step *step = NULL;
    struct err err = ERR_INIT;

    if (route_select(bill, slice_of(text), &step, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return step->number;
}

static void assert_none(const struct bill *bill, const char *text, const char *message)
{
    const struct route_step *step = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(route_select(bill, slice_of(text), &step, &err), E_INVALID);
    assert_string_equal(err.msg, message);
    assert_null(step);
}

static void a_step_is_found_by_number_or_name(void **state)
{
    (void)state;
    struct bill bill = parse("{\"steps\":[{\"number\":2,\"name\":\"extract\",\"queue\":\"q\"},"
                             "{\"number\":10,\"name\":\"main\",\"queue\":\"q\"},"
                             "{\"number\":11,\"name\":\"2\",\"queue\":\"q\"},"
                             "{\"number\":12,\"name\":\"77\",\"queue\":\"q\"},"
                             "{\"number\":13,\"name\":\"log\",\"queue\":\"q\"},"
                             "{\"number\":14,\"name\":\"log\",\"queue\":\"q\"}]}");
    struct bill none = {0};

    assert_int_equal(selected(&bill, "10"), 10);
    assert_int_equal(selected(&bill, "main"), 10);
    assert_int_equal(selected(&bill, "2"), 2); /* the number is looked at first */
    assert_int_equal(selected(&bill, "77"), 12);
    assert_none(&bill, "mian", "there is no step 'mian', did you mean 'main'?");
    assert_none(&bill, "4", "there is no step '4'");
    assert_none(&bill, "", "there is no step ''");
    assert_none(&bill, "99999999999999999999", "there is no step '99999999999999999999'");
    assert_none(&bill, "-1", "there is no step '-1'");
    assert_none(&bill, "log", "several steps are called 'log' (13 and 14): name it by its number");
    assert_none(&none, "1", "there is no step '1': the job has none");
}

/* ---- added steps ---- */

static enum err_code add(struct bill *bill, int at, const char *json, struct err *err)
{
    struct slice value;

    assert_int_equal(json_check(slice_of(json), &value, err), E_OK);
    return route_add(bill, at, value, &arena, err);
}

/* "1a 2b": numbers and names. */
static void assert_route(const struct bill *bill, const char *want)
{
    CLEANUP(buf) struct buf got = BUF_INIT(1000);

    for (size_t i = 0; i < bill->n_steps; i++)
        buf_addf(&got, "%s%d%.*s", i == 0 ? "" : " ", bill->steps[i].number,
                 (int)bill->steps[i].name.size, bill->steps[i].name.data);
    assert_string_equal(buf_text(&got), want);
}

static void added_steps_come_before_the_final_ones(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct bill bill = route("abff");

    assert_int_equal(add(&bill, 1, "[{\"name\":\"x\"},{\"name\":\"y\"}]", &err), E_OK);
    assert_route(&bill, "1a 2b 5x 6y 3f 4f");
    assert_true(bill.steps[5].final);
    assert_int_equal(add(&bill, 6, "{\"name\":\"z\"}", &err), E_OK);
    assert_route(&bill, "1a 2b 5x 6y 7z 3f 4f");
    assert_int_equal(number_of(route_next(&bill, 2, false)), 5);
    assert_int_equal(number_of(route_next(&bill, 7, false)), 3);
    assert_int_equal(number_of(route_next(&bill, 5, true)), 3);
    bill = route("a");
    assert_int_equal(add(&bill, 1, "[{\"name\":\"x\",\"number\":9},{\"name\":\"y\"}]", &err), E_OK);
    assert_route(&bill, "1a 9x 10y");
    bill = route("afb");
    assert_int_equal(add(&bill, 1, "{\"name\":\"x\"}", &err), E_OK);
    assert_route(&bill, "1a 2f 3b 4x");
}

static void an_added_step_that_is_final_stays_before_the_final_ones(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct bill bill = route("af");

    assert_int_equal(add(&bill, 1, "[{\"name\":\"x\"},{\"name\":\"y\",\"final\":true}]", &err),
                     E_OK);
    assert_route(&bill, "1a 3x 4y 2f");
}

static void assert_not_added(struct bill bill, int at, const char *json, const char *message)
{
    struct err err = ERR_INIT;
    struct slice before = bill_format(&bill, &arena);

    assert_int_equal(add(&bill, at, json, &err), E_INVALID);
    assert_string_equal(err.msg, message);
    assert_true(slice_equal(bill_format(&bill, &arena), before));
}

static void a_step_that_cannot_be_added_is_refused(void **state)
{
    (void)state;
    struct bill high = route("af");

    high.steps[0].number = STEP_NUMBER_MAX - 1;
    high.steps[1].number = STEP_NUMBER_MAX;
    assert_not_added(route("af"), 2, "{\"name\":\"x\"}", "the route has come to its final steps");
    assert_not_added(route("afb"), 2, "{\"name\":\"x\"}", "the route has come to its final steps");
    assert_not_added((struct bill){0}, 0, "{\"name\":\"x\"}",
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
    struct bill bill = route("abff");
    struct bill again = {0};
    struct slice steps;

    assert_int_equal(add(&bill, 1, "[{\"name\":\"x\"},{\"name\":\"y\",\"final\":true}]", &err),
                     E_OK);
    assert_int_equal(add(&bill, 1, "{\"name\":\"z\"}", &err), E_OK);
    assert_route(&bill, "1a 2b 5x 7z 6y 3f 4f");
    assert_true(json_find(bill_format(&bill, &arena), "steps", &steps));
    if (route_steps_parse(steps, 0, &arena, &again.steps, &again.n_steps, &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_route(&again, "1a 2b 5x 7z 6y 3f 4f");
}

static void a_route_does_not_grow_without_end(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct bill bill = route("a");

    for (int i = 1; i < ROUTE_STEPS_MAX; i++)
        assert_int_equal(add(&bill, 1, "{\"name\":\"x\"}", &err), E_OK);
    assert_int_equal(bill.n_steps, ROUTE_STEPS_MAX);
    assert_not_added(
        bill, 1, "{\"name\":\"x\"}",
        "the route becomes too long: it would have 1001 steps, at most 1000 are allowed");
}

static void the_bytes_of_a_route_are_bounded_too(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf step = BUF_INIT(8 << 20);
    struct err err = ERR_INIT;
    struct bill bill = route("a");

    buf_add_str(&step, "{\"name\":\"x\",\"params\":{\"p\":\"");
    for (int i = 0; i < 6 << 20; i++)
        buf_add_char(&step, 'p');
    buf_add_str(&step, "\"}}");
    assert_int_equal(add(&bill, 1, buf_text(&step), &err), E_OK);
    assert_int_equal(add(&bill, 1, buf_text(&step), &err), E_OK);
    assert_int_equal(add(&bill, 1, buf_text(&step), &err), E_INVALID);
    assert_non_null(strstr(err.msg, "the route becomes too long: its steps would have"));
    assert_int_equal(bill.n_steps, 3);
}

/* ---- options ---- */

static void assert_options(const char *job, const char *step, const char *want)
{
    struct bill bill = {.options = slice_of(job)};
    struct route_step *steps;
    struct slice value;
    struct err err = ERR_INIT;
    size_t n;

    assert_int_equal(json_check(slice_of(step), &value, &err), E_OK);
    if (route_steps_parse(value, 0, &arena, &steps, &n, &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_slice_is(route_options(&bill, steps, &arena), want);
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
        cmocka_unit_test(a_bill_reads_back_as_it_was_written),
        cmocka_unit_test(a_bill_is_read_into_its_parts),
        cmocka_unit_test(a_bill_with_nothing_to_say_is_empty),
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
