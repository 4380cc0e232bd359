/*
 * Definitions of resources and lanes, and the needs of jobs.
 */
/* SPDX-License-Identifier: MIT */
#include "core/gate/resource_def.h"

#include "core/gate/lane_def.h"
#include "core/gate/needs.h"
#include "core/object/object.h"
#include "json_testing.h"

/* ---- resources ---- */

#define CONTRACT                                                                        \
    "{\"slots\":2,\"rate\":[\"100/1h\",\"1/500ms\"],\"open\":[\"22:00-06:00 Mon-Fri\"," \
    "\"00:00-24:00 Sat,Sun\"],\"closed\":[\"2026-12-24..2026-12-26\"],"                 \
    "\"zone\":\"Europe/Berlin\",\"probe\":{\"command\":[\"./ok.sh\"],\"every\":\"5m\"}}"

static void the_resource_of_the_contract_is_read(void **state)
{
    struct err err = ERR_INIT;
    struct resource_def def;

    (void)state;
    assert_int_equal(resource_def_parse(checked(CONTRACT), &arena, &def, NULL, NULL, &err), E_OK);
    assert_int_equal(def.slots, 2);
    assert_int_equal(def.rates.count, 2);
    assert_int_equal(def.hours.n_ranges, 2);
    assert_int_equal(def.hours.n_closed, 1);
    assert_slice_is(def.zone, "Europe/Berlin");
    assert_slice_is(def.probe.command, "[\"./ok.sh\"]");
    assert_int_equal(def.probe.every_us, 5 * US_PER_MIN);
    assert_int_equal(def.probe.timeout_us, 30 * US_PER_S);
    struct gate_rules rules = resource_rules(&def, NULL);

    assert_ptr_equal(rules.hours, &def.hours);
    assert_canonical_by(resource_def_canonical, CONTRACT, CONTRACT);
    assert_int_equal(resource_def_parse(checked("{}"), &arena, &def, NULL, NULL, &err), E_OK);
    assert_null(resource_rules(&def, NULL).hours);
}

static void canonical_resources_have_lists_in_one_order(void **state)
{
    (void)state;
    assert_canonical_by(resource_def_canonical,
                        "{ \"probe\":{\"timeout\":5,\"command\":\"ok\"}, \"closed\":[],"
                        "\"open\":\"10:00-12:00\", \"rate\":\"7/60\", \"slots\":1 }",
                        "{\"slots\":1,\"rate\":[\"7/1m\"],\"open\":[\"10:00-12:00\"],"
                        "\"probe\":{\"command\":\"ok\",\"timeout\":\"5s\"}}");
    assert_canonical_by(resource_def_canonical, "{}", "{}");
}

static void a_probe_knows_the_directory_of_its_file(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        resource_def_canonical_in(checked("{\"probe\":{\"command\":[\"./ok\"]},\"slots\":1}"),
                                  SLICE("/srv"), &out, &err),
        E_OK);
    assert_string_equal(buf_text(&out),
                        "{\"slots\":1,\"probe\":{\"command\":[\"./ok\"],\"dir\":\"/srv\"}}");
    buf_clear(&out);
    assert_int_equal(resource_def_canonical_in(checked("{\"slots\":1}"), SLICE("/srv"), &out, &err),
                     E_OK);
    assert_string_equal(buf_text(&out), "{\"slots\":1}");
}

static void mistakes_in_resources_are_told_with_their_place(void **state)
{
    static const struct {
        const char *json, *message, *at;
    } bad[] = {
        {"2", "a resource must be an object like {slots: 2, rate: 100/1h}, not 2: write {slots: 2}",
         "2"},
        {"{\"slots\":0}", "slots: must be a whole number from 1 to 10000, not 0", "0"},
        {"{\"slot\":1}", "unknown key 'slot', did you mean 'slots'?", "\"slot\""},
        {"{\"rate\":[\"1/1s\",\"1/h\"]}", NULL, "\"1/h\""},
        {"{\"rate\":5}", "rate: must be a rate like 100/1h, not 5", "5"},
        {"{\"rate\":[\"1/1\",\"1/1\",\"1/1\",\"1/1\",\"1/1\",\"1/1\",\"1/1\",\"1/1\",\"1/1\"]}",
         "rate: must have at most 8 rates, not 9", "["},
        {"{\"open\":[\"10:00-12:00\",\"25:00-26:00\"]}",
         "open[1]: '25:00' is not a time of day: they go from 00:00 to 24:00", "\"25:00"},
        {"{\"open\":\"22:00-22:00\"}",
         "open: '22:00-22:00' is empty; write 00:00-24:00 for the whole day", "\"22"},
        {"{\"open\":[]}", "open: never opens: give a range, or leave the key out", "[]"},
        {"{\"closed\":\"2026-02-30\"}", "closed: the date '2026-02-30' does not exist", "\"2026"},
        {"{\"closed\":\"1970-01-01..9999-12-31\"}", "closed: never opens: all dates are closed",
         "\"1970"},
        {"{\"zone\":\"../etc\"}",
         "zone: '../etc' is not the name of a time zone like Europe/Berlin", "\"../"},
        {"{\"probe\":{\"every\":\"5m\"}}", NULL, "{\"every"},
        {"{\"probe\":{\"command\":[\"./ok\",\"{url}\"]}}",
         "probe.command: {url} cannot be filled in: a probe runs without a job", "[\"./ok"},
        {"{\"probe\":{\"command\":\"ok\",\"every\":0}}",
         "probe.every: must be a length of time from 1s to 366d, not 0", "0}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        const char *fault_at = NULL;
        struct resource_def def;

        if (resource_def_parse(checked(bad[i].json), &arena, &def, NULL, &fault_at, &err) !=
            E_INVALID)
            fail_msg("%s is accepted", bad[i].json);
        if (bad[i].message != NULL)
            assert_string_equal(err.msg, bad[i].message);
        assert_memory_equal(fault_at, bad[i].at, strlen(bad[i].at));
    }
}

static void words_with_a_meaning_are_no_names_of_resources(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(resource_name_check(SLICE("search api"), &err), E_OK);
    assert_int_equal(resource_name_check(SLICE("memory"), &err), E_INVALID);
    assert_string_equal(err.msg, "a resource cannot be called memory: every worker counts its own");
    assert_int_equal(resource_name_check(SLICE("lane"), &err), E_INVALID);
    assert_int_equal(resource_name_check(SLICE("a/b"), &err), E_INVALID);
}

/* ---- lanes ---- */

static enum err_code read_lane(const char *json, struct lane_def *def, struct err *err)
{
    struct object_read r = {.arena = &arena, .err = err, .key = "lane", .copies = true};

    return lane_def_read(&r, checked(json), def) == E_OK ? E_OK : object_blame(&r);
}

static void lanes_have_a_key_a_limit_and_rates(void **state)
{
    struct template_values values = {.objects = (struct slice[]){SLICE("{\"host\":\"x.org\"}")},
                                     .n_objects = 1};
    CLEANUP(buf) struct buf json = BUF_INIT(1000);
    struct err err = ERR_INIT;
    struct lane_def def;
    struct slice key;

    (void)state;
    assert_int_equal(read_lane("{\"rate\":\"1/2s\",\"limit\":1,\"key\":\"{host}:{port:-80}\"}",
                               &def, &err),
                     E_OK);
    assert_int_equal(lane_key(&def, &values, &arena, &key, &err), E_OK);
    assert_slice_is(key, "x.org:80");
    assert_int_equal(lane_rules(&def).slots, 1);
    assert_int_equal(lane_rules(&def).rates.count, 1);
    lane_def_json(&def, &json);
    assert_string_equal(buf_text(&json),
                        "{\"key\":\"{host}:{port:-80}\",\"limit\":1,\"rate\":[\"1/2s\"]}");
    assert_int_equal(read_lane("{\"key\":\"{site}\"}", &def, &err), E_OK);
    assert_int_equal(lane_key(&def, &values, &arena, &key, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "lane.key: "));
}

static void mistakes_in_lanes_are_told_with_their_place(void **state)
{
    struct err err = ERR_INIT;
    struct lane_def def;

    (void)state;
    assert_int_equal(read_lane("{\"limit\":1}", &def, &err), E_INVALID);
    assert_string_equal(err.msg, "lane.key: is missing: jobs with the same key are in one lane; "
                                 "params fill the names in braces");
    assert_int_equal(read_lane("{\"key\":\"{a}\",\"rate\":[\"0/1s\"]}", &def, &err), E_INVALID);
    assert_string_equal(err.msg, "lane.rate[0]: the rate '0/1s' must allow 1 to 10000 starts");
    assert_int_equal(read_lane("{\"key\":\"{a:-\"}", &def, &err), E_INVALID);
}

/* ---- needs ---- */

static void needs_of_queue_step_and_job_are_added(void **state)
{
    struct template_values values = {
        .objects = (struct slice[]){SLICE("{\"tokens\":500,\"mem\":\"2M\",\"bad\":\"x\"}")},
        .n_objects = 1};
    CLEANUP(buf) struct buf json = BUF_INIT(1000);
    struct needs sum = {.count = 0};
    struct err err = ERR_INIT;
    struct needs more;

    (void)state;
    assert_int_equal(
        needs_parse(checked("{\"search-api\":1,\"llm\":\"{tokens}\"}"), &arena, &more, &err), E_OK);
    needs_json(&more, &json);
    assert_string_equal(buf_text(&json), "{\"llm\":\"{tokens}\",\"search-api\":1}");
    assert_int_equal(needs_add(&sum, &more, &values, &arena, &err), E_OK);
    assert_int_equal(needs_parse(checked("{\"search-api\":2,\"memory\":\"{mem}\",\"disk\":\"1K\"}"),
                                 &arena, &more, &err),
                     E_OK);
    assert_int_equal(needs_add(&sum, &more, &values, &arena, &err), E_OK);
    buf_clear(&json);
    needs_json(&sum, &json);
    assert_string_equal(buf_text(&json),
                        "{\"disk\":1024,\"llm\":500,\"memory\":2097152,\"search-api\":3}");
    assert_int_equal(needs_parse(checked("{\"a\":1,\"llm\":\"{bad}\"}"), &arena, &more, &err),
                     E_OK);
    assert_int_equal(needs_add(&sum, &more, &values, &arena, &err), E_INVALID);
    assert_string_equal(err.msg, "needs.llm: {bad} gives 'x', which is not a whole number from 1 "
                                 "on or a size like 512M");
    assert_int_equal(sum.count, 4);
    assert_int_equal(needs_parse(slice_make(NULL, 0), &arena, &more, &err), E_OK);
    assert_int_equal(more.count, 0);
}

static void weights_that_are_no_numbers_are_refused(void **state)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"{\"a\":0}", "needs.a: must be a whole number from 1 on, a size like 512M, or a param "
                      "like \"{tokens}\" that gives one, not 0"},
        {"{\"a\":1.5}", "needs.a: must be a whole number from 1 on, a size like 512M, or a param "
                        "like \"{tokens}\" that gives one, not 1.5"},
        {"{\"a\":\"many\"}", "needs.a: must be a whole number from 1 on, a size like 512M, or a "
                             "param like \"{tokens}\" that gives one, not 'many'"},
        {"{\"a\":true}", "needs.a: must be a whole number from 1 on, a size like 512M, or a param "
                         "like \"{tokens}\" that gives one, not true"},
        {"{\"\":1}", "needs: a resource's name must not be empty"},
        {"[\"a\"]", "needs: must be an object like {search-api: 1}, not an array"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        struct needs needs;

        assert_int_equal(needs_parse(checked(bad[i].json), &arena, &needs, &err), E_INVALID);
        assert_string_equal(err.msg, bad[i].message);
    }
}

static void at_most_sixteen_resources_are_needed(void **state)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1000);
    struct needs sum = {.count = 0};
    struct err err = ERR_INIT;
    struct needs needs;

    (void)state;
    for (int i = 0; i < 16; i++)
        buf_addf(&json, "%s\"r%d\":1", i == 0 ? "{" : ",", i);
    buf_add_char(&json, '}');
    assert_int_equal(needs_parse(checked(buf_text(&json)), &arena, &needs, &err), E_OK);
    assert_int_equal(needs_add(&sum, &needs, NULL, &arena, &err), E_OK);
    assert_int_equal(needs_add(&sum, &needs, NULL, &arena, &err), E_OK);
    assert_int_equal(needs_parse(checked("{\"x\":1}"), &arena, &needs, &err), E_OK);
    assert_int_equal(needs_add(&sum, &needs, NULL, &arena, &err), E_INVALID);
    assert_string_equal(err.msg, "needs: must name at most 16 resources");
    json.size--;
    buf_add_str(&json, ",\"r16\":1}");
    assert_int_equal(needs_parse(checked(buf_text(&json)), &arena, &needs, &err), E_INVALID);
    assert_string_equal(err.msg, "needs: must name at most 16 resources");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_resource_of_the_contract_is_read),
        cmocka_unit_test(canonical_resources_have_lists_in_one_order),
        cmocka_unit_test(a_probe_knows_the_directory_of_its_file),
        cmocka_unit_test(mistakes_in_resources_are_told_with_their_place),
        cmocka_unit_test(words_with_a_meaning_are_no_names_of_resources),
        cmocka_unit_test(lanes_have_a_key_a_limit_and_rates),
        cmocka_unit_test(mistakes_in_lanes_are_told_with_their_place),
        cmocka_unit_test(needs_of_queue_step_and_job_are_added),
        cmocka_unit_test(weights_that_are_no_numbers_are_refused),
        cmocka_unit_test(at_most_sixteen_resources_are_needed),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
