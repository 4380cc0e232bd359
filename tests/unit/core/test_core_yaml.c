/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/definition/yaml.h"
#include "json_testing.h"

static struct yaml_value *parse(const char *text)
{
    struct yaml_value *documents = NULL;
    struct err err = ERR_INIT;

    if (yaml_parse("f.yaml", slice_of(text), &arena, &documents, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return documents;
}

static void assert_json(const char *text, const char *want)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct slice whole;

    assert_int_equal(yaml_json(parse(text), &json, &err), E_OK);
    assert_string_equal(buf_text(&json), want);
    assert_int_equal(jtext_check(buf_slice(&json), &whole, &err), E_OK);
}

static void assert_refused_text(struct slice text, const char *message)
{
    struct yaml_value *documents = NULL;
    struct err err = ERR_INIT;

    assert_int_not_equal(yaml_parse("f.yaml", text, &arena, &documents, &err), E_OK);
    assert_string_equal(err.msg, message);
}

static void assert_refused(const char *text, const char *message)
{
    assert_refused_text(slice_of(text), message);
}

/* ---- scalars ---- */

static void words_of_the_core_schema_are_null_and_booleans(void **state)
{
    (void)state;
    assert_json("[null, Null, NULL, ~, true, True, TRUE, false, False, FALSE]",
                "[null,null,null,null,true,true,true,false,false,false]");
}

static void words_of_older_yaml_are_text(void **state)
{
    (void)state;
    assert_json("[yes, No, on, OFF, y, nUll, tRUE, 12:30, 2026-11-15, 1_000, 0b1]",
                "[\"yes\",\"No\",\"on\",\"OFF\",\"y\",\"nUll\",\"tRUE\",\"12:30\",\"2026-11-15\","
                "\"1_000\",\"0b1\"]");
}

static void whole_numbers_are_read_in_three_bases(void **state)
{
    (void)state;
    assert_json("[0, -0, +7, 007, 0x1F, 0xaB, 0o17, -42]", "[0,0,7,7,31,171,15,-42]");
    assert_json("[9223372036854775807, -9223372036854775808, 0x7fffffffffffffff]",
                "[9223372036854775807,-9223372036854775808,9223372036854775807]");
    assert_json("[0x, 0o8, -0x1, 0xg, +, -]", "[\"0x\",\"0o8\",\"-0x1\",\"0xg\",\"+\",\"-\"]");
}

static void broken_numbers_are_read_and_written_shortly(void **state)
{
    (void)state;
    assert_json("[1.5, .5, 5., +1.5, -1.50, 1e3, 1E-3, 1.0, 0.1, 1e22, 12e+1]",
                "[1.5,0.5,5.0,1.5,-1.5,1e+03,0.001,1.0,0.1,1e+22,1.2e+02]");
    assert_json("[0.1234567890123456789, 1e-400]", "[0.12345678901234568,0.0]");
    assert_json("[., 1e, e1, 1.2.3, 1e+, .e1, -.]",
                "[\".\",\"1e\",\"e1\",\"1.2.3\",\"1e+\",\".e1\",\"-.\"]");
}

static void what_is_quoted_is_text(void **state)
{
    (void)state;
    assert_json("['1', \"null\", \"true\", '', \"a\\tb\\u00e4\", '''']",
                "[\"1\",\"null\",\"true\",\"\",\"a\\tb\xc3\xa4\",\"'\"]");
    assert_json("a: |\n  75\nb: >-\n  x\n  y\n", "{\"a\":\"75\\n\",\"b\":\"x y\"}");
    assert_json("[!!str 75, !!str null]", "[\"75\",\"null\"]");
}

static void numbers_that_cannot_be_kept_are_refused(void **state)
{
    (void)state;
    assert_refused("a:\n - 1e400\n", "f.yaml:2: '1e400' is too large for a number");
    assert_refused("-1e400", "f.yaml:1: '-1e400' is too large for a number");
    assert_refused("18446744073709551616", "f.yaml:1: '18446744073709551616' does not fit 64 bits; "
                                           "for text put it in quotes");
    assert_refused("9223372036854775808", "f.yaml:1: '9223372036854775808' does not fit 64 bits; "
                                          "for text put it in quotes");
    assert_refused("-9223372036854775809", "f.yaml:1: '-9223372036854775809' does not fit 64 bits; "
                                           "for text put it in quotes");
    assert_refused("0x8000000000000000", "f.yaml:1: '0x8000000000000000' does not fit 64 bits; "
                                         "for text put it in quotes");
    static const char *const unbounded[] = {".inf", "-.INF", "+.Inf", ".nan", ".NaN"};

    for (size_t i = 0; i < ARRAY_LEN(unbounded); i++) {
        char message[100];

        snprintf(message, sizeof(message),
                 "f.yaml:1: '%s' is not a number that can be kept; for text put it in quotes",
                 unbounded[i]);
        assert_refused(unbounded[i], message);
    }
}

/* ---- maps, lists, documents ---- */

static void names_of_members_are_text_as_written(void **state)
{
    (void)state;
    assert_json(
        "{75: later, 64-74: never, 0x10: a, true: b, null: c, 1.0: d, '': e}",
        "{\"75\":\"later\",\"64-74\":\"never\",\"0x10\":\"a\",\"true\":\"b\",\"null\":\"c\","
        "\"1.0\":\"d\",\"\":\"e\"}");
}

static void a_name_without_a_value_has_null(void **state)
{
    (void)state;
    assert_json("a:\nb: {c, d: }\n", "{\"a\":null,\"b\":{\"c\":null,\"d\":null}}");
    assert_json("{}", "{}");
    assert_json("[]", "[]");
    assert_json("- \n- {}\n", "[null,{}]");
}

static void the_same_name_twice_is_refused_with_both_lines(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: 2\na: 3\n", "f.yaml:3: 'a' appears twice, first in line 1");
    assert_refused("x:\n  '75': 1\n  75: 2\n", "f.yaml:3: '75' appears twice, first in line 2");
    assert_refused("{\"\\x61\": 1, a: 2}", "f.yaml:1: 'a' appears twice, first in line 1");
    assert_json("a: {x: 1}\nb: {x: 2}\nab: 3\n", "{\"a\":{\"x\":1},\"b\":{\"x\":2},\"ab\":3}");
}

static void a_name_that_is_no_text_is_refused(void **state)
{
    (void)state;
    assert_refused("? [a]\n: b\n", "f.yaml:1: the name of a member must be plain text");
    assert_refused("a: &x b\n*x : c\n", "f.yaml:2: the name of a member must be plain text");
    assert_refused("a: 1\n? \n: 2\n", "f.yaml:2: a name is missing before the ':'");
    assert_refused("a:\n  <<: {b: 1}\n",
                   "f.yaml:2: merge keys (<<) are not understood, write the members out");
    assert_json("'<<': 1", "{\"<<\":1}");
}

static void several_documents_are_a_list(void **state)
{
    (void)state;
    struct yaml_value *v = parse("a: 1\n---\n# nothing\n---\n[b]\n");

    assert_non_null(v);
    assert_int_equal(v->type, YAML_T_MAP);
    assert_true(yaml_is_null(v->next));
    assert_int_equal(v->next->next->type, YAML_T_LIST);
    assert_int_equal(v->next->next->line, 5);
    assert_null(v->next->next->next);
    assert_null(parse(""));
    assert_null(parse("# only a comment\n"));
    assert_json("\xEF\xBB\xBF"
                "a: 1\n",
                "{\"a\":1}");
}

/* ---- anchors ---- */

static void an_alias_is_a_copy_of_its_anchor(void **state)
{
    (void)state;
    assert_json(
        "a: &x {n: [1, two]}\nb: *x\nc: [*x]\n",
        "{\"a\":{\"n\":[1,\"two\"]},\"b\":{\"n\":[1,\"two\"]},\"c\":[{\"n\":[1,\"two\"]}]}");
    assert_json("[&x 1, *x, &x 2, *x]", "[1,1,2,2]");
}

static void an_alias_without_its_anchor_is_refused(void **state)
{
    (void)state;
    assert_refused("a:\n  b: *x\n", "f.yaml:2: there is no anchor 'x' before this");
    assert_refused("a: &x [1, *x]\n", "f.yaml:1: there is no anchor 'x' before this");
    assert_refused("a: &x 1\n---\nb: *x\n", "f.yaml:3: there is no anchor 'x' before this");
    assert_refused("&x a: 1\n", "f.yaml:1: the name of a member has no anchor");
}

static void aliases_of_aliases_meet_a_ceiling(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf bomb = BUF_INIT(10000);

    buf_add_str(&bomb, "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for (int i = 1; i < 20; i++) {
        buf_addf(&bomb, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            buf_addf(&bomb, "%s*a%d", j > 0 ? "," : "", i - 1);
        buf_add_str(&bomb, "]\n");
    }
    assert_refused(buf_text(&bomb), "f.yaml:1: more than 200000 values, aliases replaced");
}

static void anchors_meet_a_ceiling(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(100000);

    for (int i = 0; i <= YAML_ANCHORS_MAX; i++)
        buf_addf(&text, "- &a%d 1\n", i);
    assert_refused(buf_text(&text), "f.yaml:1001: more than 1000 anchors");
}

/* ---- depth ---- */

static void add_nested(struct buf *b, const char *inside, int levels)
{
    for (int i = 0; i < levels; i++)
        buf_add_char(b, '[');
    buf_add_str(b, inside);
    for (int i = 0; i < levels; i++)
        buf_add_char(b, ']');
}

static void sixty_four_levels_are_taken_and_no_more(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1000);

    add_nested(&text, "1", 64);
    assert_json(buf_text(&text), buf_text(&text));
    buf_clear(&text);
    add_nested(&text, "", 65);
    assert_refused(buf_text(&text), "f.yaml:1: more than 64 levels deep");
    buf_clear(&text);
    for (int i = 0; i < 100; i++)
        buf_addf(&text, "%s", "- ");
    assert_refused(buf_text(&text), "f.yaml:1: more than 64 levels deep");
}

static void an_alias_counts_with_its_depth(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1000);

    buf_add_str(&text, "- &x [[]]\n- ");
    add_nested(&text, "*x", 61);
    (void)parse(buf_text(&text));
    buf_clear(&text);
    buf_add_str(&text, "- &x [[]]\n- ");
    add_nested(&text, "*x", 62);
    assert_refused(buf_text(&text), "f.yaml:1: more than 64 levels deep");
}

/* ---- what is not YAML ---- */

static void broken_text_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: [1, 2\n", "f.yaml:3: did not find expected ',' or ']' "
                                       "(while parsing a flow sequence that began in line 2)");
    assert_refused(
        "a: b: c\n",
        "f.yaml:1: mapping values are not allowed in this context: a text with ': ' in it must "
        "be in quotes");
    assert_refused("a: 1\n\tb: 2\n", "f.yaml:2: a tab cannot indent, use spaces");
    assert_refused("a:\n  \tb: 2\n", "f.yaml:2: a tab cannot indent, use spaces");
    assert_refused("a: @b\n", "f.yaml:1: found character that cannot start any token: a text that "
                              "begins with @ must be in quotes as a whole");
    assert_refused("q:\n  command: {x} foo\n  b: 1\n",
                   "f.yaml:2: did not find expected key: a text that begins with { must be in "
                   "quotes as a whole");
    assert_refused("q:\n  - [a, b] c\n", "f.yaml:2: did not find expected '-' indicator (while "
                                         "parsing a block collection that began in line 2)");
    assert_refused("q:\n  command: \"{x}\" foo\n",
                   "f.yaml:2: did not find expected key: a text that begins with \" must be in "
                   "quotes as a whole");
}

static void text_that_is_not_utf8_is_refused(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: \xFF\n",
                   "f.yaml:2: this is not text in UTF-8: invalid leading UTF-8 octet");
    assert_refused("a: \xC0\x80\n",
                   "f.yaml:1: this is not text in UTF-8: invalid length of a UTF-8 sequence");
    assert_refused("a: \x01\n",
                   "f.yaml:1: this is not text in UTF-8: control characters are not allowed");
    assert_refused_text(SLICE("\xFF\xFE"
                              "a\0:\0"),
                        "f.yaml:1: this is not text in UTF-8: invalid leading UTF-8 octet");
}

static void nul_is_refused_wherever_it_hides(void **state)
{
    (void)state;
    assert_refused("a:\n  \"x\\0y\"\n", "f.yaml:2: a text must not have a NUL in it");
    assert_refused("\"x\\0y\": 1\n", "f.yaml:1: a name must not have a NUL in it");
    assert_refused_text(SLICE("a: b\0c"), "f.yaml:1: this is not text in UTF-8: control characters "
                                          "are not allowed");
}

static void tags_are_refused(void **state)
{
    (void)state;
    assert_refused("a: !!int 3", "f.yaml:1: the tag !!'int' is not understood, leave it out");
    assert_refused("a:\n  !!python/object:os.system [x]",
                   "f.yaml:2: the tag !!'python/object:os.system' is not understood, leave it out");
    assert_refused("a: !mine {}", "f.yaml:1: the tag '!mine' is not understood, leave it out");
}

static void a_long_path_loses_its_beginning(void **state)
{
    (void)state;
    struct yaml_value *documents;
    struct err err = ERR_INIT;
    const char *file =
        "/a/very/long/path/that/leaves/no/room/for/what/really/matters/to/the/reader/"
        "of/a/message/queues.yaml";

    assert_int_equal(yaml_parse(file, SLICE("a: @"), &arena, &documents, &err), E_INVALID);
    assert_ptr_equal(strstr(err.msg, "…"), err.msg);
    assert_non_null(strstr(err.msg, "/a/message/queues.yaml:1: found character that"));
}

/* ---- JSON and lines ---- */

static void json_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf small = BUF_INIT(8);
    struct err err = ERR_INIT;

    assert_int_equal(yaml_json(parse("[aaaa, bbbb]"), &small, &err), E_TOO_LARGE);
    assert_string_equal(err.msg, "this is larger than 8 bytes");
}

static int line_of(struct yaml_value *v, const char *part)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1000);
    struct err err = ERR_INIT;

    assert_int_equal(yaml_json(v, &json, &err), E_OK);
    const char *at = strstr(buf_text(&json), part);

    assert_non_null(at);
    return yaml_line_at(v, (size_t)(at - json.data));
}

static void every_place_in_the_json_has_its_line(void **state)
{
    (void)state;
    struct yaml_value *v = parse("one:\n"        /* 1 */
                                 "  two: 22\n"   /* 2 */
                                 "  three:\n"    /* 3 */
                                 "    - 33\n"    /* 4 */
                                 "    - four:\n" /* 5 */
                                 "        44\n"  /* 6 */
                                 "five: {six:\n" /* 7 */
                                 "  66}\n");     /* 8 */

    assert_int_equal(line_of(v, "{\"one\""), 1);
    assert_int_equal(line_of(v, "\"one\""), 1);
    assert_int_equal(line_of(v, "{\"two\""), 2);
    assert_int_equal(line_of(v, "\"two\""), 2);
    assert_int_equal(line_of(v, "22"), 2);
    assert_int_equal(line_of(v, "\"three\""), 3);
    assert_int_equal(line_of(v, "33"), 4);
    assert_int_equal(line_of(v, "\"four\""), 5);
    assert_int_equal(line_of(v, "44"), 6);
    assert_int_equal(line_of(v, "\"five\""), 7);
    assert_int_equal(line_of(v, "\"six\""), 7);
    assert_int_equal(line_of(v, "66"), 8);
}

static void a_copy_has_the_lines_of_what_was_copied(void **state)
{
    (void)state;
    struct yaml_value *v = parse("a: &x\n"
                                 "  b: 11\n"
                                 "c: *x\n");

    assert_int_equal(line_of(v, "11},"), 2);
    assert_int_equal(line_of(v, "\"c\""), 3);
    assert_int_equal(line_of(v, "11}}"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_core_schema_are_null_and_booleans),
        cmocka_unit_test(words_of_older_yaml_are_text),
        cmocka_unit_test(whole_numbers_are_read_in_three_bases),
        cmocka_unit_test(broken_numbers_are_read_and_written_shortly),
        cmocka_unit_test(what_is_quoted_is_text),
        cmocka_unit_test(numbers_that_cannot_be_kept_are_refused),
        cmocka_unit_test(names_of_members_are_text_as_written),
        cmocka_unit_test(a_name_without_a_value_has_null),
        cmocka_unit_test(the_same_name_twice_is_refused_with_both_lines),
        cmocka_unit_test(a_name_that_is_no_text_is_refused),
        cmocka_unit_test(several_documents_are_a_list),
        cmocka_unit_test(an_alias_is_a_copy_of_its_anchor),
        cmocka_unit_test(an_alias_without_its_anchor_is_refused),
        cmocka_unit_test(aliases_of_aliases_meet_a_ceiling),
        cmocka_unit_test(anchors_meet_a_ceiling),
        cmocka_unit_test(sixty_four_levels_are_taken_and_no_more),
        cmocka_unit_test(an_alias_counts_with_its_depth),
        cmocka_unit_test(broken_text_is_refused_with_its_line),
        cmocka_unit_test(text_that_is_not_utf8_is_refused),
        cmocka_unit_test(nul_is_refused_wherever_it_hides),
        cmocka_unit_test(tags_are_refused),
        cmocka_unit_test(a_long_path_loses_its_beginning),
        cmocka_unit_test(json_that_does_not_fit_is_refused),
        cmocka_unit_test(every_place_in_the_json_has_its_line),
        cmocka_unit_test(a_copy_has_the_lines_of_what_was_copied),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
