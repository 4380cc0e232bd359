/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/definition/instruction.h"

#define NOW_AT (INT64_C(1794787200) * US_PER_S) /* 2026-11-16 */

static const struct definition_source in_etc = {.file = "f.yaml", .dir = "/etc"};

struct run {
    struct definitions d;
    struct instruction in;
    struct instruction_value values[4];
    struct err err;
    struct buf out;
};

static void begin(struct run *r, const char *text)
{
    *r = (struct run){.err = ERR_INIT, .out = BUF_INIT(1 << 20)};
    definitions_init(&r->d);
    if (definitions_add_from(&r->d, &in_etc, slice_of(text), &r->err) != E_OK)
        fail_msg("%s", r->err.msg);
    assert_int_equal(instruction_init(&r->in, r->values, 0, NOW_AT, &r->err), E_OK);
}

/* Keys and JSON values in turn, up to a NULL. */
static void give(struct run *r, const char *const *pairs)
{
    size_t n = 0;

    for (; pairs[2 * n] != NULL; n++)
        r->values[n] = (struct instruction_value){.key = slice_of(pairs[2 * n]),
                                                  .json = slice_of(pairs[2 * n + 1])};
    assert_int_equal(instruction_init(&r->in, r->values, n, NOW_AT, &r->err), E_OK);
}

static void end(struct run *r)
{
    definitions_deinit(&r->d);
    buf_deinit(&r->out);
}

static void assert_filled(struct run *r, const char *group, const char *want)
{
    if (instruction_fill(&r->in, &r->d.start, slice_of(group), &r->out, &r->err) != E_OK)
        fail_msg("%s", r->err.msg);
    assert_string_equal(buf_text(&r->out), want);
    assert_true(jtext_type_of(buf_slice(&r->out)) == JTEXT_ARRAY);
    buf_clear(&r->out);
}

static void a_text_that_is_one_name_becomes_the_value(void **state)
{
    struct run r;

    (void)state;
    begin(&r,
          "start:\n  - {queue: a, priority: \"{p}\", params: {u: \"{url}\", n: \"{p} times\"}}\n");
    give(&r, (const char *const[]){"p", "3", "url", "\"x\\\"y\"", NULL});
    assert_filled(
        &r, "",
        "[{\"queue\":\"a\",\"priority\":3,\"params\":{\"u\":\"x\\\"y\",\"n\":\"3 times\"}}]");
    end(&r);
}

static void defaults_instants_and_literal_braces_are_filled(void **state)
{
    struct run r;

    (void)state;
    begin(&r, "start: {queue: a, params: {d: \"{depth:-2}\", on: \"{day}\", l: \"{{x} ${y}\"}}\n");
    assert_filled(&r, "",
                  "[{\"queue\":\"a\",\"params\":{\"d\":\"2\",\"on\":\"2026-11-16\","
                  "\"l\":\"{x} ${y}\"}}]");
    end(&r);
}

static void what_is_not_named_is_merged_into_the_params_of_all(void **state)
{
    struct run r;

    (void)state;
    begin(&r, "start:\n  - {queue: a, params: {k: 1, o: 2}}\n  - {queue: \"{q}\"}\n");
    give(&r, (const char *const[]){"q", "\"b\"", "o", "[3]", NULL});
    assert_filled(&r, "G1",
                  "[{\"queue\":\"a\",\"params\":{\"k\":1,\"o\":[3]},\"group\":\"G1\"},"
                  "{\"queue\":\"b\",\"params\":{\"o\":[3]},\"group\":\"G1\"}]");
    end(&r);
}

static void a_name_without_a_value_is_refused_with_its_line(void **state)
{
    struct run r;

    (void)state;
    begin(&r, "start:\n  - {queue: a}\n  - {queue: a, params: {u: \"{url}\"}}\n");
    assert_int_equal(instruction_fill(&r.in, &r.d.start, slice_of(""), &r.out, &r.err), E_INVALID);
    assert_string_equal(r.err.msg, "f.yaml:3: start[1]: {url} has no value: add url=VALUE to the "
                                   "command");
    end(&r);
}

static void the_name_is_the_values_by_key(void **state)
{
    struct run r;
    CLEANUP(buf) struct buf name = BUF_INIT(1000);

    (void)state;
    begin(&r, "start: {queue: a}\n");
    instruction_name(&r.in, &name);
    assert_string_equal(buf_text(&name), "start");
    give(&r, (const char *const[]){"url", "\"http://x/ y\"", "depth", "[1, 2]", NULL});
    buf_clear(&name);
    instruction_name(&r.in, &name);
    assert_string_equal(buf_text(&name), "depth:=[1,2] url=http://x/ y");
    end(&r);
}

static void long_names_and_controls_are_told_apart_by_a_hash(void **state)
{
    struct run r;
    CLEANUP(buf) struct buf one = BUF_INIT(1000);
    CLEANUP(buf) struct buf other = BUF_INIT(1000);

    (void)state;
    begin(&r, "start: {queue: a}\n");
    give(&r, (const char *const[]){"k", "\"a\\nb\"", NULL});
    instruction_name(&r.in, &one);
    give(&r, (const char *const[]){"k", "\"a\\tb\"", NULL});
    instruction_name(&r.in, &other);
    assert_true(strncmp(buf_text(&one), "k=a b… ", strlen("k=a b… ")) == 0);
    assert_string_not_equal(buf_text(&one), buf_text(&other));
    end(&r);
}

static void keys_are_names_and_given_once(void **state)
{
    struct instruction_value twice[] = {{.key = SLICE("a"), .json = SLICE("1")},
                                        {.key = SLICE("a"), .json = SLICE("2")}};
    struct instruction_value wrong[] = {{.key = SLICE("a b"), .json = SLICE("1")}};
    struct instruction in;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(instruction_init(&in, twice, 2, NOW_AT, &err), E_INVALID);
    assert_string_equal(err.msg, "'a' is given twice");
    assert_int_equal(instruction_init(&in, wrong, 1, NOW_AT, &err), E_INVALID);
    assert_string_equal(err.msg, "'a b' is no name: letters, digits, _ and -");
}

static void mistakes_in_start_are_told_with_their_line(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"start: 7\n", "f.yaml:1: start: must be a job or a list of jobs"},
        {"start: []\n", "f.yaml:1: start: must be a job or a list of jobs"},
        {"start:\n- fetch\n", "f.yaml:2: start: a job is a map like {queue: fetch, params: {…}}"},
        {"start:\n- {queue: a}\n- {quue: a}\n",
         "f.yaml:3: start[1]: unknown key 'quue', did you mean 'queue'?"},
        {"start: {queue: a}\n---\nstart: {queue: b}\n",
         "f.yaml:3: start: is given twice, first in f.yaml:1"},
        {"\nfinally: {quue: a}\n", "f.yaml:2: finally: unknown key 'quue', did you mean 'queue'?"},
        {"finally: report\n", "f.yaml:1: finally: must be a map like {queue: report, params: {…}}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(definitions) struct definitions d;
        struct err err = ERR_INIT;

        definitions_init(&d);
        assert_int_not_equal(definitions_add_from(&d, &in_etc, slice_of(cases[i].text), &err),
                             E_OK);
        assert_string_equal(err.msg, cases[i].message);
        assert_int_equal(d.start.jobs.count, 0);
        assert_int_equal(d.start.from.line, 0);
    }
}

static void queues_of_start_must_exist(void **state)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    (void)state;
    definitions_init(&d);
    assert_int_equal(definitions_add_from(&d, &in_etc,
                                          slice_of("queues: {fetch: }\nstart:\n- {queue: \"{q}\"}\n"
                                                   "- {queue: default}\n- {queue: fetsh}\n"),
                                          &err),
                     E_OK);
    assert_int_equal(definitions_check_names(&d, &err), E_INVALID);
    assert_string_equal(err.msg, "f.yaml:5: start[2]: queue: there is no queue 'fetsh', did you "
                                 "mean 'fetch'?");
}

static void the_queue_of_finally_must_exist(void **state)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    (void)state;
    definitions_init(&d);
    assert_int_equal(definitions_add_from(&d, &in_etc,
                                          slice_of("queues: {a: }\nfinally:\n  queue: nowhere\n"),
                                          &err),
                     E_OK);
    assert_int_equal(definitions_check_names(&d, &err), E_INVALID);
    assert_string_equal(err.msg, "f.yaml:2: finally: queue: there is no queue 'nowhere': define "
                                 "it, or see 'waybill queue list'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_that_is_one_name_becomes_the_value),
        cmocka_unit_test(defaults_instants_and_literal_braces_are_filled),
        cmocka_unit_test(what_is_not_named_is_merged_into_the_params_of_all),
        cmocka_unit_test(a_name_without_a_value_is_refused_with_its_line),
        cmocka_unit_test(the_name_is_the_values_by_key),
        cmocka_unit_test(long_names_and_controls_are_told_apart_by_a_hash),
        cmocka_unit_test(keys_are_names_and_given_once),
        cmocka_unit_test(mistakes_in_start_are_told_with_their_line),
        cmocka_unit_test(queues_of_start_must_exist),
        cmocka_unit_test(the_queue_of_finally_must_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
