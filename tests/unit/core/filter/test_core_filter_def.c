/*
 * Filters and conditions: read, written, refused, judged.
 */
/* SPDX-License-Identifier: MIT */
#include "core/filter/filter_def.h"

#include "base/clock.h"
#include "base/rng.h"
#include "core/object/object.h"
#include "json_testing.h"

static enum err_code read_filters(struct slice json, struct filters *f, struct err *err)
{
    struct object_read r = {.arena = &arena, .err = err, .key = "filters", .copies = true};

    return filters_read(&r, json, f) == E_OK ? E_OK : object_blame(&r);
}

static enum err_code canonical(struct slice json, struct buf *out, struct err *err)
{
    struct filters f;

    if (read_filters(json, &f, err) != E_OK)
        return err->code;
    filters_json(&f, out);
    return E_OK;
}

static struct filters filters_of(const char *json)
{
    struct err err = ERR_INIT;
    struct filters f;

    if (read_filters(checked(json), &f, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return f;
}

/* ---- definitions ---- */

static void filters_of_all_kinds_are_read(void **state)
{
    struct filters f = filters_of(
        "[{\"unique\":{\"key\":\"{url}\",\"scope\":{\"group\":\"site\"},\"for\":\"24h\","
        "\"on_clash\":\"join\"}},{\"limit\":{\"pending\":5}},{\"match\":{\"a\":{\"max\":5}}},"
        "{\"command\":[\"./keep.sh\",\"{queue}\"]}]");
    struct template_values values = {.objects = (struct slice[]){SLICE("{\"url\":\"u\"}")},
                                     .n_objects = 1};
    struct err err = ERR_INIT;
    struct slice key;

    (void)state;
    assert_int_equal(f.count, 4);
    assert_int_equal(f.items[0].unique.where.scope, SCOPE_GROUP_KIND);
    assert_slice_is(filter_group_kind(&f.items[0]), "site");
    assert_int_equal(f.items[0].unique.for_us, 24 * US_PER_HOUR);
    assert_int_equal(f.items[0].unique.on_clash, CLASH_JOIN);
    assert_int_equal(unique_key(&f.items[0].unique, &values, &arena, &key, &err), E_OK);
    assert_slice_is(key, "u");
    assert_int_equal(f.items[1].limit.pending, 5);
    assert_int_equal(f.items[1].limit.where.scope, SCOPE_QUEUE);
    assert_int_equal(filter_group_kind(&f.items[1]).size, 0);
    assert_int_equal(f.items[2].match.count, 1);
    assert_int_equal(f.items[3].command.timeout_us, 5 * US_PER_S);
    assert_true(filters_run_program(&f));
    f.count--;
    assert_false(filters_run_program(&f));
    values.n_objects = 0;
    assert_int_equal(unique_key(&f.items[0].unique, &values, &arena, &key, &err), E_INVALID);
}

static void canonical_filters_have_no_defaults(void **state)
{
    (void)state;
    assert_canonical_by(
        canonical,
        "[ {\"unique\":{\"on_clash\":\"drop\",\"counts\":\"all\",\"scope\":\"group\","
        "\"key\":\"{a}\"}}, {\"limit\":{\"on_clash\":\"reject\",\"pending\":1,"
        "\"scope\":\"queue\"}} ]",
        "[{\"unique\":{\"key\":\"{a}\"}},{\"limit\":{\"pending\":1,\"on_clash\":\"reject\"}}]");
    assert_canonical_by(canonical,
                        "[{\"unique\":{\"key\":\"{a}\",\"max\":60,\"on_clash\":\"replace\","
                        "\"scope\":\"all\"}},{\"limit\":{\"pending\":1,\"scope\":\"group\"}}]",
                        "[{\"unique\":{\"key\":\"{a}\",\"scope\":\"all\",\"on_clash\":\"replace\","
                        "\"max\":\"1m\"}},{\"limit\":{\"pending\":1,\"scope\":\"group\"}}]");
    assert_canonical_by(canonical,
                        "[{\"match\":{\"b\":{\"in\":[ 1, \"x\" ]},\"a\":{\"max\":5,\"min\":1}}},"
                        "{\"timeout\":\"1s\",\"command\":\"keep\"}]",
                        "[{\"match\":{\"a\":{\"min\":1,\"max\":5},\"b\":{\"in\":[1,\"x\"]}}},"
                        "{\"command\":\"keep\",\"timeout\":\"1s\"}]");
    assert_canonical_by(canonical, "[]", "[]");
}

static const struct {
    const char *json, *message;
} bad_filters[] = {
    {"{}", "filters: must be a list of filters, not an object"},
    {"[{}]", "filters[0]: must have one of unique, limit, match and command"},
    {"[{\"uniqe\":1}]", "filters[0]: unknown key 'uniqe', did you mean 'unique'?"},
    {"[{\"limit\":{\"pending\":1},\"match\":{\"a\":{\"eq\":1}}}]",
     "filters[0]: must have one of unique, limit, match and command"},
    {"[{\"unique\":{}}]", "filters[0].unique.key: is missing: jobs with the same key clash; "
                          "params fill the names in braces"},
    {"[{\"unique\":{\"key\":\"{a}\",\"on_clash\":\"replce\"}}]",
     "filters[0].unique.on_clash: 'replce' is unknown, did you mean 'replace'?"},
    {"[{\"unique\":{\"key\":\"{a}\",\"max\":\"1h\"}}]",
     "filters[0].unique.max: is for on_clash: replace, not for drop"},
    {"[{\"unique\":{\"key\":\"{a}\",\"counts\":\"living\",\"on_clash\":\"reuse\"}}]",
     "filters[0].unique.counts: must be all with on_clash: reuse, which takes the result of a "
     "job that is done"},
    {"[{\"unique\":{\"key\":\"{a}\",\"counts\":\"living\",\"for\":\"1h\"}}]",
     "filters[0].unique.for: is for counts: all; living jobs clash as long as they live"},
    {"[{\"unique\":{\"key\":\"{a}\",\"scope\":\"site\"}}]",
     "filters[0].unique.scope: must be group, queue, all or {group: KIND}, not 'site'"},
    {"[{\"unique\":{\"key\":\"{a}\",\"scope\":{\"grp\":\"site\"}}}]",
     "filters[0].unique.scope: must be group, queue, all or {group: KIND}, not another object"},
    {"[{\"limit\":10}]", "filters[0].limit: must be an object like {pending: 100000}, not 10: "
                         "write {pending: 10}"},
    {"[{\"limit\":{\"pending\":1,\"on_clash\":\"join\"}}]",
     "filters[0].limit.on_clash: must be drop or reject, not 'join'"},
    {"[{\"command\":[]}]", "filters[0].command: must name a program"},
    {"[{\"command\":\"keep {url}\"}]",
     "filters[0].command: {url} cannot be filled in: the filter is started before it gets a "
     "job, which comes on its standard input"},
    {"[{\"limit\":{\"pending\":1},\"timeout\":\"1s\"}]",
     "filters[0].timeout: is for a command, not for limit"},
    {"[{\"match\":{}}]", "filters[0].match: must have a condition like {depth: {max: 5}}"},
    {"[{\"match\":{\"depth\":5}}]",
     "filters[0].match.depth: must be an object like {max: 5}, not 5: write {eq: 5}"},
    {"[{\"match\":{\"depth\":{}}}]",
     "filters[0].match.depth: must say what to test, like {max: 5}"},
    {"[{\"match\":{\"depth\":{\"mx\":5}}}]",
     "filters[0].match.depth: unknown key 'mx', did you mean 'max'?"},
    {"[{\"match\":{\"a\":{\"max\":true}}}]",
     "filters[0].match.a.max: must be a number or a text, not true"},
    {"[{\"match\":{\"a\":{\"in\":[1,[2]]}}}]",
     "filters[0].match.a.in[1]: must be a text, a number, true, false or null, not an array"},
    {"[{\"match\":{\"a\":{\"in\":[]}}}]",
     "filters[0].match.a.in: must not be empty: no job would be kept"},
    {"[{\"match\":{\"a\":{\"regex\":\"(\"}}}]",
     "filters[0].match.a.regex: the parenthesis at byte 0 of the regex is not closed"},
    {"[{\"match\":{\"a\":{\"exists\":1}}}]",
     "filters[0].match.a.exists: must be true or false, not 1"},
};

static void mistakes_in_filters_are_told_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_filters); i++) {
        struct err err = ERR_INIT;
        struct filters f;

        if (read_filters(checked(bad_filters[i].json), &f, &err) != E_INVALID)
            fail_msg("%s is accepted", bad_filters[i].json);
        assert_string_equal(err.msg, bad_filters[i].message);
    }
}

/* ---- conditions ---- */

/* NULL: it holds. */
static void assert_match(const char *conditions, const char *params, const char *reason)
{
    struct object_read r = {.arena = &arena, .err = &(struct err){.code = E_OK}, .copies = true};
    CLEANUP(buf) struct buf text = BUF_INIT(1000);
    struct match m;

    if (match_read(&r, checked(conditions), &m) != E_OK)
        fail_msg("%s: %s", conditions, r.err->msg);
    const struct match_test *t = match_fails(&m, checked(params));

    if (t != NULL)
        match_reason(t, checked(params), &text);
    if (t == NULL && reason != NULL)
        fail_msg("%s holds for %s", conditions, params);
    assert_string_equal(buf_text(&text), reason == NULL ? "" : reason);
}

static void all_conditions_must_hold(void **state)
{
    static const char contract[] = "{\"depth\":{\"max\":5},\"url\":{\"glob\":\"https://*\"},"
                                   "\"kind\":{\"in\":[\"a\",\"b\"]}}";

    (void)state;
    assert_match(contract, "{\"depth\":5,\"url\":\"https://x\",\"kind\":\"b\"}", NULL);
    assert_match(contract, "{\"depth\":5.5,\"url\":\"https://x\",\"kind\":\"b\"}",
                 "depth is 5.5, which is not 5 or less");
    assert_match(contract, "{\"depth\":1,\"url\":\"http://x\",\"kind\":\"b\"}",
                 "url is 'http://x', which does not match the glob 'https://*'");
    assert_match(contract, "{\"depth\":1,\"url\":\"https://x\",\"kind\":\"c\"}",
                 "kind is 'c', which is none of 'a', 'b'");
    assert_match(contract, "{\"depth\":1,\"url\":\"https://x\"}", "kind is missing");
}

static void a_missing_name_fails_all_but_ne_and_exists_false(void **state)
{
    (void)state;
    assert_match("{\"a\":{\"eq\":null}}", "{}", "a is missing");
    assert_match("{\"a\":{\"eq\":null}}", "{\"a\":null}", NULL);
    assert_match("{\"a\":{\"ne\":1}}", "{}", NULL);
    assert_match("{\"a\":{\"ne\":1}}", "{\"a\":1.0}", "a is 1.0, which is excluded");
    assert_match("{\"a\":{\"exists\":false}}", "{}", NULL);
    assert_match("{\"a\":{\"exists\":false}}", "{\"a\":null}", "a is null, which is excluded");
    assert_match("{\"a\":{\"exists\":true}}", "{\"a\":null}", NULL);
    assert_match("{\"a\":{\"exists\":true}}", "{}", "a is missing");
    assert_match("{\"a\":{\"min\":1}}", "{}", "a is missing");
    assert_match("{\"a\":{\"glob\":\"*\"}}", "{}", "a is missing");
    assert_match("{\"a\":{\"regex\":\"\"}}", "{}", "a is missing");
    assert_match("{\"a\":{\"in\":[1]}}", "{}", "a is missing");
}

static void values_are_compared_by_type(void **state)
{
    (void)state;
    assert_match("{\"a\":{\"eq\":1}}", "{\"a\":1.0}", NULL);
    assert_match("{\"a\":{\"eq\":\"1\"}}", "{\"a\":1}", "a is 1, not '1'");
    assert_match("{\"a\":{\"eq\":true}}", "{\"a\":false}", "a is false, not true");
    assert_match("{\"a\":{\"eq\":\"\\u00e4\"}}", "{\"a\":\"ä\"}", NULL);
    assert_match("{\"a\":{\"ne\":\"x\"}}", "{\"a\":[]}", NULL);
    assert_match("{\"a\":{\"eq\":9007199254740993}}", "{\"a\":9007199254740992}",
                 "a is 9007199254740992, not 9007199254740993");
    assert_match("{\"a\":{\"min\":\"2026-01-01\"}}", "{\"a\":\"2026-11-18\"}", NULL);
    assert_match("{\"a\":{\"min\":\"2026-01-01\"}}", "{\"a\":\"2025-11-18\"}",
                 "a is '2025-11-18', which is not '2026-01-01' or more");
    assert_match("{\"a\":{\"max\":5}}", "{\"a\":\"3\"}", "a is '3', which is not 5 or less");
    assert_match("{\"a\":{\"regex\":\"^[0-9]+$\"}}", "{\"a\":\"12\"}", NULL);
    assert_match("{\"a\":{\"regex\":\"^[0-9]+$\"}}", "{\"a\":12}",
                 "a is 12, which does not match the regex '^[0-9]+$'");
    assert_match("{\"a\":{\"in\":[1,2,3,4,5,6]}}", "{\"a\":[1]}",
                 "a is an array, which is none of 1, 2, 3, 4, 5, …");
}

/* ---- globs ---- */

/* Tries everything that a star could stand for. */
static bool slow_glob(const char *glob, const char *text)
{
    if (*glob == '\0')
        return *text == '\0';
    if (*glob == '*')
        return slow_glob(glob + 1, text) || (*text != '\0' && slow_glob(glob, text + 1));
    return *text != '\0' && (*glob == '?' || *glob == *text) && slow_glob(glob + 1, text + 1);
}

static void globs_match_what_their_stars_could_stand_for(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int round = 0; round < 20000; round++) {
        char glob[8] = "";
        char text[9] = "";
        size_t n = rng_below(&rng, sizeof(glob));
        size_t m = rng_below(&rng, sizeof(text));

        for (size_t i = 0; i < n; i++)
            glob[i] = "ab*?*"[rng_below(&rng, 5)];
        for (size_t i = 0; i < m; i++)
            text[i] = "ab"[rng_below(&rng, 2)];
        if (glob_matches(slice_of(glob), slice_of(text)) != slow_glob(glob, text))
            fail_msg("%s and %s", glob, text);
    }
    assert_true(glob_matches(SLICE("?"), SLICE("ä")));
    assert_true(glob_matches(SLICE("\\*?"), SLICE("*a")));
    assert_false(glob_matches(SLICE("\\*"), SLICE("a")));
    assert_false(glob_matches(SLICE("\\?"), SLICE("a")));
    assert_true(glob_matches(SLICE("a\\"), SLICE("a\\")));
    assert_true(glob_matches(SLICE("[a]"), SLICE("[a]")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_of_all_kinds_are_read),
        cmocka_unit_test(canonical_filters_have_no_defaults),
        cmocka_unit_test(mistakes_in_filters_are_told_with_their_place),
        cmocka_unit_test(all_conditions_must_hold),
        cmocka_unit_test(a_missing_name_fails_all_but_ne_and_exists_false),
        cmocka_unit_test(values_are_compared_by_type),
        cmocka_unit_test(globs_match_what_their_stars_could_stand_for),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
