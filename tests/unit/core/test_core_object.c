/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "json_testing.h"

/* ---- an object with one of everything ---- */

enum colour { RED = 1, GREEN };

struct thing {
    struct slice text, json, map;
    int small;
    int64_t large, length, size, at, id;
    double real;
    bool flag, told;
    enum colour colour;
    int64_t inner;
    struct part {
        int number;
    } * parts;
    size_t n_parts;
};

static const char *const colours[] = {[RED] = "red", [GREEN] = "green"};

static const struct field inner_fields[] = {
    FIELD_INT64("deep", thing, inner, .min = 0, .max = 9, .standard = "3"),
};
static const struct object inner_object = {.what = "an inner",
                                           OBJECT_FIELDS(inner_fields),
                                           .alone = "deep"};

static const struct field part_fields[] = {
    FIELD_INT("number", part, number, .required = true, .min = 1, .max = 99),
};

static enum err_code check_part(struct object_read *r, struct slice value)
{
    (void)value;
    if (((struct part *)r->to)->number != 13)
        return E_OK;
    r->key = "number";
    return err_set(r->err, E_INVALID, "is unlucky");
}

static const struct object part_object = {
    .what = "a part", OBJECT_FIELDS(part_fields), .needs = true, .check = check_part};

static enum err_code read_parts(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct object_list how = {
        .what = "parts", .size = sizeof(struct part), .max = 3, .of = &part_object};
    struct thing *t = r->to;

    (void)f;
    return object_read_list(r, &how, value, &t->parts, &t->n_parts);
}

static const struct field thing_fields[] = {
    FIELD_TEXT("text", thing, text, .min = 1, .max = 5, .other = "old text"),
    FIELD_INT("small", thing, small, FIELD_GIVEN(thing, told), .min = -3, .max = 3, .null = true),
    FIELD_INT64("large", thing, large, .min = 0, .max = INT64_MAX, .standard = "7"),
    FIELD_REAL("real", thing, real, .min = 0, .max = 1),
    FIELD_LENGTH("length", thing, length, .min = US_PER_MS, .max = US_PER_DAY),
    FIELD_SIZE("size", thing, size, .min = 0, .max = 1 << 20),
    FIELD_TIME("at", thing, at, .null = true),
    FIELD_ID("id", thing, id, .min = 1),
    FIELD_BOOL("flag", thing, flag, .null = true),
    FIELD_WORD("colour", thing, colour, .words = colours, .min = RED, .max = GREEN),
    FIELD_OBJECT("map", thing, map, .null = true),
    FIELD_JSON("json", thing, json, .null = false),
    FIELD_MEMBERS("inner", &inner_object, .null = true),
    FIELD_CUSTOM("parts", read_parts, .null = true),
    FIELD_IGNORED("noise"),
    FIELD_ROW("later", FIELD_T_UNBUILT, .null = true),
    FIELD_BOOL("own", thing, flag, .ours = true, .help = "the server makes it"),
};
static const struct object thing_object = {.what = "a thing", OBJECT_FIELDS(thing_fields)};

static struct thing parse(const char *json)
{
    struct err err = ERR_INIT;
    struct thing t = {0};
    struct object_read r = {.to = &t, .arena = &arena, .err = &err};

    if (object_read(&r, &thing_object, checked(json)) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return t;
}

/* `at` is what the fault begins with. */
static void assert_refused(const char *json, const char *message, const char *at)
{
    struct err err = ERR_INIT;
    struct thing t = {0};
    struct object_read r = {.to = &t, .arena = &arena, .err = &err};

    if (object_read(&r, &thing_object, checked(json)) == E_OK)
        fail_msg("%s is accepted", json);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    if (at != NULL)
        assert_memory_equal(r.fault_at, at, strlen(at));
}

/* ---- values ---- */

static void every_type_has_its_value(void **state)
{
    (void)state;
    struct thing t = parse("{\"text\":\"a\\u0062\",\"small\":-3,\"large\":9,\"real\":0.5,"
                           "\"length\":\"2s\",\"size\":\"64K\",\"at\":\"1970-01-01T00:00:01Z\","
                           "\"id\":\"000000000000A\",\"flag\":true,\"colour\":\"green\","
                           "\"map\":{ \"x\" : 1 },\"json\":null,\"inner\":{\"deep\":4},"
                           "\"parts\":[{\"number\":1},{\"number\":2}],\"noise\":[]}");

    assert_slice_is(t.text, "ab");
    assert_int_equal(t.small, -3);
    assert_true(t.told);
    assert_int_equal(t.large, 9);
    assert_true(t.real == 0.5);
    assert_int_equal(t.length, 2 * US_PER_S);
    assert_int_equal(t.size, 64 << 10);
    assert_int_equal(t.at, US_PER_S);
    assert_int_equal(t.id, 10);
    assert_true(t.flag);
    assert_int_equal(t.colour, GREEN);
    assert_slice_is(t.map, "{ \"x\" : 1 }");
    assert_slice_is(t.json, "null");
    assert_int_equal(t.inner, 4);
    assert_int_equal(t.n_parts, 2);
    assert_int_equal(t.parts[1].number, 2);
}

static void null_is_not_given_where_the_row_says_so(void **state)
{
    (void)state;
    assert_false(parse("{\"small\":null,\"later\":null}").told);
    assert_refused("{\"large\":null}", "large: must be a whole number, 0 or more, not null",
                   "null");
}

static void a_key_may_be_escaped_and_may_have_another_name(void **state)
{
    (void)state;
    assert_slice_is(parse("{\"\\u0074ext\":\"x\"}").text, "x");
    assert_slice_is(parse("{\"old text\":\"y\"}").text, "y");
    assert_refused("{\"old text\":\"y\",\"text\":\"x\"}",
                   "'text' and 'old text' mean the same: give one of them", "\"y\"");
    assert_refused("{\"old text\":7}", "old text: must be text, not 7 (put it in quotes)", "7");
}

static void copies_have_no_white_space(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct thing t = {0};
    struct object_read r = {.to = &t, .arena = &arena, .err = &err, .copies = true};
    char text[] = "{\"text\":\"abc\",\"map\":{ \"x\" : 1 }}";

    assert_int_equal(object_read(&r, &thing_object, slice_of(text)), E_OK);
    memset(text, 'x', sizeof(text) - 1);
    assert_slice_is(t.text, "abc");
    assert_slice_is(t.map, "{\"x\":1}");
}

/* ---- mistakes ---- */

static void mistakes_say_what_must_be_and_what_is(void **state)
{
    (void)state;
    assert_refused("[]", "a thing must be an object, not an array", NULL);
    assert_refused("{\"text\":\"\"}", "text: must not be empty", "\"\"");
    assert_refused("{\"text\":\"abcdef\"}", "text: must have at most 5 bytes, not 6", "\"abc");
    assert_refused("{\"text\":[]}", "text: must be text, not an array", "[");
    assert_refused("{\"small\":4}", "small: must be a whole number from -3 to 3, not 4", "4");
    assert_refused("{\"small\":1.0}", "small: must be a whole number from -3 to 3, not 1.0", "1");
    assert_refused("{\"real\":1.5}", "real: must be a number from 0 to 1, not 1.5", "1.5");
    assert_refused("{\"length\":0}", "length: must be a length of time from 1ms to 1d, not 0", "0");
    assert_refused("{\"length\":true}",
                   "length: must be a length of time such as \"30s\" or a number of seconds, "
                   "not true",
                   "true");
    assert_refused("{\"size\":\"2M\"}", "size: must be a size from 0 to 1M, not '2M'", "\"2M");
    assert_refused("{\"size\":\"2X\"}",
                   "size: '2X' is not a size like 64K, 512M, 2G or a number of bytes", "\"2X");
    assert_refused("{\"at\":5}", "at: must be a time such as \"2030-01-31T12:00:00Z\", not 5", "5");
    assert_refused("{\"id\":\"0000000000000\"}",
                   "id: must be an id of 13 letters and digits, not '0000000000000'", "\"0");
    assert_refused("{\"flag\":0}", "flag: must be true or false, not 0", "0");
    assert_refused("{\"colour\":\"gren\"}", "colour: 'gren' is unknown, did you mean 'green'?",
                   "\"gren");
    assert_refused("{\"colour\":5}", "colour: must be red or green, not 5", "5");
    assert_refused("{\"map\":[]}", "map: must be an object, not an array", "[");
    assert_refused("{\"later\":1}", "later: is not built yet", "1");
    assert_refused("{\"own\":true}", "own: is written by the server only: the server makes it",
                   "true");
}

static void unknown_keys_are_told_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("{\"colur\":1}", "unknown key 'colur', did you mean 'colour'?", "\"colur");
    assert_refused("{\"zzz\":1}",
                   "unknown key 'zzz', the keys are: text small large real length size at id flag "
                   "colour map json inner parts",
                   "\"zzz");
}

static void places_are_read_from_the_outside_in(void **state)
{
    (void)state;
    assert_refused("{\"inner\":{\"deep\":10}}",
                   "inner.deep: must be a whole number from 0 to 9, not 10", "10");
    assert_refused("{\"inner\":{\"depe\":1}}", "inner: unknown key 'depe', did you mean 'deep'?",
                   "\"depe");
    assert_refused("{\"inner\":5}", "inner: must be an object, not 5: write {deep: 5}", "5");
    assert_refused("{\"parts\":[{\"number\":1},{\"number\":0}]}",
                   "parts[1].number: must be a whole number from 1 to 99, not 0", "0");
    assert_refused("{\"parts\":[{\"number\":13}]}", "parts[0].number: is unlucky", "13");
    assert_refused("{\"parts\":[{}]}", "parts[0].number: is missing", "{}");
    assert_refused("{\"parts\":[7]}", "parts[0]: must be an object, not 7", "7");
    assert_refused("{\"parts\":7}", "parts: must be a list of parts, not 7", "7");
    assert_refused("{\"parts\":[{},{},{},{}]}", "parts: must have at most 3 parts, not 4", "[");
}

/* ---- several mistakes ---- */

struct taken {
    struct buf text;
    const char *json;
    size_t enough;
};

static bool take(void *ctx, const char *fault_at, const struct err *err)
{
    struct taken *taken = ctx;

    if (taken->enough-- == 0)
        return false;
    buf_addf(&taken->text, "%d %s\n", (int)(fault_at - taken->json), err->msg);
    return true;
}

static void all_mistakes_of_a_text_are_taken(void **state)
{
    (void)state;
    const char *json = "{\"zzzzzzz\":1,\"inner\":{\"deep\":10,\"depe\":1},"
                       "\"parts\":[{\"number\":0},{\"number\":13},{\"number\":5}],\"small\":1}";
    struct taken taken = {.text = BUF_INIT(10000), .json = json, .enough = 9};
    struct object_faults faults = {.take = take, .ctx = &taken};
    struct err err = ERR_INIT;
    struct thing t = {0};
    struct object_read r = {.to = &t, .arena = &arena, .err = &err, .faults = &faults};

    assert_int_equal(object_read(&r, &thing_object, checked(json)), E_OK);
    assert_int_equal(faults.count, 5);
    assert_string_equal(
        buf_text(&taken.text),
        "1 unknown key 'zzzzzzz', the keys are: text small large real length size at id flag "
        "colour map json inner parts\n"
        "29 inner.deep: must be a whole number from 0 to 9, not 10\n"
        "32 inner: unknown key 'depe', did you mean 'deep'?\n"
        "61 parts[0].number: must be a whole number from 1 to 99, not 0\n"
        "74 parts[1].number: is unlucky\n");
    assert_int_equal(t.small, 1);
    assert_int_equal(t.parts[1].number, 0); /* what has a mistake is zero */
    assert_int_equal(t.parts[2].number, 5);
    buf_clear(&taken.text);
    taken.enough = 1;
    assert_int_equal(object_read(&r, &thing_object, checked(json)), E_INVALID);
    assert_string_equal(err.msg, "inner.deep: must be a whole number from 0 to 9, not 10");
    buf_deinit(&taken.text);
}

/* ---- defaults and canonical JSON ---- */

static void defaults_and_canonical_json_follow_the_table(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf out = BUF_INIT(10000);
    struct err err = ERR_INIT;
    struct thing t = {0};
    struct object_read r = {.to = &t, .arena = &arena, .err = &err, .copies = true};
    struct slice json = checked("{\"colour\":\"red\",\"inner\":{},\"size\":2048,\"length\":90,"
                                "\"real\":0.10,\"map\":{ \"a\":1},\"text\":\"\\u0041\"}");

    object_defaults(&r, &thing_object);
    assert_int_equal(t.large, 7);
    assert_int_equal(t.inner, 3);
    assert_int_equal(object_read(&r, &thing_object, json), E_OK);
    object_write(&t, &thing_object, json, &out);
    assert_string_equal(buf_text(&out), "{\"text\":\"A\",\"real\":0.1,\"length\":\"90s\","
                                        "\"size\":\"2K\",\"colour\":\"red\",\"map\":{\"a\":1}}");
}

/* ---- schemas ---- */

static void the_schema_follows_the_table(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf out = BUF_INIT(10000);
    struct err err = ERR_INIT;
    struct slice whole;
    struct slice rows;
    struct slice row;

    object_schema(&part_object, &out);
    assert_string_equal(buf_text(&out),
                        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":"
                        "[\"number\"],\"properties\":{\"number\":{\"type\":\"integer\","
                        "\"minimum\":1,\"maximum\":99}}}");
    buf_clear(&out);
    object_schema(&thing_object, &out);
    assert_int_equal(jtext_check(buf_slice(&out), &whole, &err), E_OK);
    assert_true(jtext_find(whole, "properties", &rows));
    assert_true(jtext_find(rows, "old text", &row));
    assert_slice_is(row, "{\"type\":\"string\",\"minLength\":1,\"maxLength\":5}");
    assert_true(jtext_find(rows, "small", &row));
    assert_slice_is(row, "{\"type\":[\"integer\",\"null\"],\"minimum\":-3,\"maximum\":3}");
    assert_true(jtext_find(rows, "colour", &row));
    assert_slice_is(row, "{\"enum\":[\"red\",\"green\"]}");
    assert_true(jtext_find(rows, "id", &row));
    assert_slice_is(row, "{\"$ref\":\"#/components/schemas/Id\"}");
    assert_false(jtext_find(rows, "own", &row));
    assert_false(jtext_find(rows, "later", &row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_its_value),
        cmocka_unit_test(null_is_not_given_where_the_row_says_so),
        cmocka_unit_test(a_key_may_be_escaped_and_may_have_another_name),
        cmocka_unit_test(copies_have_no_white_space),
        cmocka_unit_test(mistakes_say_what_must_be_and_what_is),
        cmocka_unit_test(unknown_keys_are_told_with_the_nearest),
        cmocka_unit_test(places_are_read_from_the_outside_in),
        cmocka_unit_test(all_mistakes_of_a_text_are_taken),
        cmocka_unit_test(defaults_and_canonical_json_follow_the_table),
        cmocka_unit_test(the_schema_follows_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
