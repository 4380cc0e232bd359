/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/definition/definition.h"
#include "testing.h"

static void add(struct definitions *d, const char *file, const char *text)
{
    struct err err = ERR_INIT;

    if (definitions_add_from(d, &(struct definition_source){.file = file}, slice_of(text), &err) !=
        E_OK)
        fail_msg("%s", err.msg);
}

static void assert_refused(const char *text, const char *message)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    if (definitions_add_from(&d, &(struct definition_source){.file = "q.yaml"}, slice_of(text),
                             &err) == E_OK)
        fail_msg("%s is accepted", text);
    assert_string_equal(err.msg, message);
    assert_int_equal(definitions_count(&d) + d.refs.count + d.server.triggers.count, 0);
}

static void assert_json(const struct definitions *d, const char *want)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 20);
    struct slice whole;
    struct err err = ERR_INIT;

    definitions_json(d, &json);
    assert_string_equal(buf_text(&json), want);
    assert_int_equal(jtext_check(buf_slice(&json), &whole, &err), E_OK);
}

/* ---- joins ---- */

static void joins_become_canonical_json(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "a.yaml",
        "queues:\n"
        "  summary:\n"
        "joins:\n"
        "  report:\n"
        "    then: [summary, {signal: ready, count: 2}]\n"
        "    count: 10\n"
        "    key: '{date}'\n");
    add(&d, "b.yaml", "joins:\n  'two \"words\"': {count: 1, then: {topic: t, params: {a: 1}}}\n");
    assert_json(&d, "{\"queues\":{\"summary\":{}},\"joins\":{"
                    "\"report\":{\"key\":\"{date}\",\"count\":10,\"then\":[{\"queue\":\"summary\"},"
                    "{\"signal\":\"ready\",\"count\":2}]},"
                    "\"two \\\"words\\\"\":{\"count\":1,\"then\":[{\"topic\":\"t\",\"params\":"
                    "{\"a\":1}}]}}}");
    assert_int_equal(d.of[DEFINITION_JOIN].items[0].from.line, 4);
    assert_slice_is(d.of[DEFINITION_JOIN].items[1].from.file, "b.yaml");
}

static void sections_of_which_nothing_is_said_are_empty(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "a", "joins:\ntriggers:\n");
    add(&d, "b", "joins: {}\ntriggers: {}\n");
    assert_json(&d, "{\"queues\":{}}");
}

static void mistakes_in_joins_are_told_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"joins:\n  - a\n", "q.yaml:2: joins: must be a map of names and definitions"},
        {"joins:\n  a:\n",
         "q.yaml:2: join 'a': a join must be an object like {count: 10, then: [summary]}, "
         "not null"},
        {"joins:\n  a:\n    cuont: 3\n",
         "q.yaml:3: join 'a': unknown key 'cuont', did you mean 'count'?"},
        {"joins:\n  a:\n    then: b\n",
         "q.yaml:2: join 'a': count: is missing: number of arrivals that make it fire"},
        {"joins:\n  a:\n    count: 1\n    then:\n      - b\n      - {quue: c}\n",
         "q.yaml:6: join 'a': then[1]: unknown key 'quue', did you mean 'queue'?"},
        {"joins:\n  a:\n    count: 0\n    then: b\n",
         "q.yaml:3: join 'a': count: must be a whole number from 1 to 1000000, not 0"},
        {"joins:\n  a/b: {count: 1, then: c}\n",
         "q.yaml:2: a join's name must not have a '/' in it: 'a/b'"},
        {"joins:\n  a: {count: 1, then: c}\n---\njoins:\n  a: {count: 2, then: c}\n",
         "q.yaml:5: join 'a' is defined twice, first in q.yaml:2"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
}

/* ---- triggers ---- */

static void triggers_have_networks(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "a.yaml",
        "triggers:\n"
        "  import: {from: [10.0.0.0/8, '::1']}\n"
        "  alarm:\n"
        "    from: 192.0.2.7\n");
    assert_int_equal(d.server.triggers.count, 2);
    assert_slice_is(d.server.triggers.items[0].name, "import");
    assert_int_equal(d.server.triggers.items[0].n_from, 2);
    assert_int_equal(d.server.triggers.items[0].from[0].bits, 96 + 8);
    assert_int_equal(d.server.triggers.items[0].from[1].bits, 128);
    assert_int_equal(d.server.triggers.items[1].n_from, 1);
    assert_json(&d, "{\"queues\":{}}");
}

static void mistakes_in_triggers_are_told_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"triggers: a\n", "q.yaml:1: triggers: must be a map of names and {from: [network…]}"},
        {"triggers:\n  a:\n",
         "q.yaml:2: trigger 'a': must say which networks may use it, like {from: [10.0.0.0/8]}"},
        {"triggers:\n  a: {form: x}\n", "q.yaml:2: unknown key 'form', did you mean 'from'?"},
        {"triggers:\n  a: {from: []}\n",
         "q.yaml:2: trigger 'a': from: must have 1 to 1000 networks, not 0"},
        {"triggers:\n  a:\n    from:\n      - 10.0.0.0/8\n      - 10.0.0.1/8\n",
         "q.yaml:5: trigger 'a': from: '10.0.0.1/8' names a host, not a network: it has bits "
         "beyond the first 8"},
        {"triggers:\n  a: {from: [7]}\n",
         "q.yaml:2: trigger 'a': from: must be a network or a list of them, in quotes"},
        {"triggers:\n  a: {from: everywhere}\n",
         "q.yaml:2: trigger 'a': from: 'everywhere' is not a network like 10.0.0.0/8, 192.0.2.7 or "
         "fd00::/8"},
        {"triggers:\n  .a: {from: '::/0'}\n",
         "q.yaml:2: a trigger's name must not begin with a '.': '.a'"},
        {"triggers:\n  a: {from: '::1'}\n---\ntriggers:\n  a: {from: '::1'}\n",
         "q.yaml:5: trigger 'a' is defined twice, first in q.yaml:2"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
}

static void a_failed_file_leaves_nothing_behind(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;
    const char *text = "queues: {a: {on_success: b}}\n"
                       "joins: {j: {count: 1, then: a}}\n"
                       "triggers: {t: {from: '::1'}}\n"
                       "server: {names: [x], listen: here}\n";

    definitions_init(&d);
    add(&d, "a", "joins: {i: {count: 1, then: a}}\ntriggers: {s: {from: '::1'}}\n");
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "b"},
                                          slice_of(text), &err),
                     E_INVALID);
    assert_int_equal(d.of[DEFINITION_QUEUE].count, 0);
    assert_int_equal(d.of[DEFINITION_JOIN].count, 1);
    assert_int_equal(d.refs.count, 1);
    assert_int_equal(d.server.triggers.count, 1);
    assert_int_equal(d.server.names.count, 0);
    add(&d, "b", "joins: {j: {count: 1, then: a}}\ntriggers: {t: {from: '::1'}}\n");
    assert_slice_is(d.server.triggers.items[1].name, "t");
}

/* ---- names that lead nowhere ---- */

static void names_that_lead_somewhere_are_right(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    add(&d, "a",
        "queues:\n"
        "  fetch: {on_success: [parse, {join: report}], on_failure: [{topic: none}, default]}\n");
    add(&d, "b",
        "queues: {parse: {on_failure: {signal: s}}}\n"
        "joins: {report: {count: 2, then: fetch}}\n");
    if (definitions_check_names(&d, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static void assert_dangles(const char *text, const char *message)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    add(&d, "q.yaml", text);
    assert_int_equal(definitions_check_names(&d, &err), E_INVALID);
    assert_string_equal(err.msg, message);
}

static void names_that_lead_nowhere_are_told_with_their_line(void **state)
{
    (void)state;
    assert_dangles(
        "queues:\n  parse:\n  fetch:\n    on_success:\n      - parse\n      - prase\n",
        "q.yaml:6: queue 'fetch': on_success[1]: there is no queue 'prase', did you mean "
        "'parse'?");
    assert_dangles(
        "queues:\n  fetch:\n    slots: 1\n    on_failure: {join: mail}\n",
        "q.yaml:4: queue 'fetch': on_failure[0]: there is no join 'mail' in these files");
    assert_dangles("joins:\n  j:\n    count: 1\n    then:\n      [{queue: x}]\n",
                   "q.yaml:5: join 'j': then[0]: there is no queue 'x' in these files");
    assert_dangles("queues:\n  a: {on_success: defualt}\n",
                   "q.yaml:2: queue 'a': on_success[0]: there is no queue 'defualt', did you mean "
                   "'default'?");
}

static void a_refusal_of_the_engine_gets_its_place(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    add(&d, "q.yaml",
        "queues:\n  b:\n    on_failure: x\n  a:\n    on_success:\n      - a\n      - y\n");
    err_set(&err, E_INVALID, "queue 'a': on_success[1]: there is no queue 'y'");
    definitions_locate(&d, &err);
    assert_string_equal(err.msg, "q.yaml:7: queue 'a': on_success[1]: there is no queue 'y'");
    err_set(&err, E_INVALID, "queue 'b': on_failure[0]: there is no queue 'x'");
    definitions_locate(&d, &err);
    assert_string_equal(err.msg, "q.yaml:3: queue 'b': on_failure[0]: there is no queue 'x'");
    err_set(&err, E_CONFLICT, "queue 'a' is where queue 'c' leads to");
    definitions_locate(&d, &err);
    assert_string_equal(err.msg, "queue 'a' is where queue 'c' leads to");
    assert_int_equal(err.code, E_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_become_canonical_json),
        cmocka_unit_test(sections_of_which_nothing_is_said_are_empty),
        cmocka_unit_test(mistakes_in_joins_are_told_with_their_line),
        cmocka_unit_test(triggers_have_networks),
        cmocka_unit_test(mistakes_in_triggers_are_told_with_their_line),
        cmocka_unit_test(a_failed_file_leaves_nothing_behind),
        cmocka_unit_test(names_that_lead_somewhere_are_right),
        cmocka_unit_test(names_that_lead_nowhere_are_told_with_their_line),
        cmocka_unit_test(a_refusal_of_the_engine_gets_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
