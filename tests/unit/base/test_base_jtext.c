/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "testing.h"

static bool jansson_takes(struct slice text)
{
    json_t *tree = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

    json_decref(tree);
    return tree != NULL;
}

/* Both judges, on a copy that ends exactly where the text ends: reading past it is seen by ASan. */
static bool taken(struct slice text, struct err *err)
{
    char *copy = malloc(text.size > 0 ? text.size : 1);

    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    struct slice value = SLICE("untouched");
    enum err_code code = jtext_check(slice_make(copy, text.size), &value, err);

    if ((code == E_OK) != jansson_takes(slice_make(copy, text.size)))
        fail_msg("%s, but jansson differs: %.*s", code == E_OK ? "taken" : err->msg, (int)text.size,
                 text.data);
    if (code == E_OK)
        assert_true(value.data >= copy && value.data + value.size <= copy + text.size);
    else
        assert_slice_is(value, "untouched");
    free(copy);
    return code == E_OK;
}

static void assert_taken(struct slice text)
{
    struct err err = ERR_INIT;

    if (!taken(text, &err))
        fail_msg("refused: %.*s: %s", (int)text.size, text.data, err.msg);
}

static void assert_refused(struct slice text)
{
    struct err err = ERR_INIT;

    if (taken(text, &err))
        fail_msg("taken: %.*s", (int)text.size, text.data);
    assert_int_equal(err.code, E_BAD_REQUEST);
    assert_true(strncmp(err.msg, "line ", 5) == 0);
}

static const struct slice good[] = {
    SLICE("null"),
    SLICE("true"),
    SLICE("false"),
    SLICE(" \t\r\n0\n"),
    SLICE("-0"),
    SLICE("-0.0"),
    SLICE("0e0"),
    SLICE("1E+2"),
    SLICE("1e-2"),
    SLICE("1.5e-400"),
    SLICE("0e999999999999999999999999"),
    SLICE("0.00e400"),
    SLICE("1e308"),
    SLICE("1e00000308"),
    SLICE("0.1e309"),
    SLICE("1.7976931348623157e308"),
    SLICE("1.7976931348623158e308"),
    SLICE("-179769313486231580000000000000000e276"),
    SLICE("1000000000000e-400000000000000000000000"),
    SLICE("9223372036854775807"),
    SLICE("-9223372036854775808"),
    SLICE("999999999999999999"),
    SLICE("9223372036854775808.0"),
    SLICE("\"\""),
    SLICE("\"\x7F\""),
    SLICE("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    SLICE("\"\\u0001\\u00e4\\uD83D\\uDE00\\uffff\""),
    SLICE("\"ä€😀\xF4\x8F\xBF\xBF\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80\""),
    SLICE("[]"),
    SLICE("[ ]"),
    SLICE("{}"),
    SLICE("{ }"),
    SLICE("[[],{},[{}],1,\"a\",null]"),
    SLICE("{\"\":0}"),
    SLICE("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}]}"),
    SLICE("{\"a\":1,\"A\":2,\"aa\":3,\"a \":4}"),
    SLICE(" { \"a\" : [ 1 , 2 ] , \"b\" : \"c\" } "),
    SLICE("{\"queue\":\"fetch\",\"params\":{\"url\":\"https://example.org/\",\"n\":3},"
          "\"delay\":1.5}"),
};

static void what_jansson_takes_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_taken(good[i]);
}

static const struct slice bad[] = {
    SLICE(""),
    SLICE("  "),
    SLICE("\xEF\xBB\xBF{}"),
    SLICE("nul"),
    SLICE("nulls"),
    SLICE("True"),
    SLICE("NaN"),
    SLICE("Infinity"),
    SLICE("-Infinity"),
    SLICE("'a'"),
    SLICE("+1"),
    SLICE("-"),
    SLICE("01"),
    SLICE("-01"),
    SLICE("00"),
    SLICE(".5"),
    SLICE("1."),
    SLICE("1.e1"),
    SLICE("1e"),
    SLICE("1e+"),
    SLICE("1e1.5"),
    SLICE("0x10"),
    SLICE("1 2"),
    SLICE("9223372036854775808"),
    SLICE("-9223372036854775809"),
    SLICE("10000000000000000000"),
    SLICE("18446744073709551616"),
    SLICE("1e400"),
    SLICE("-1e400"),
    SLICE("1e309"),
    SLICE("10e308"),
    SLICE("1.7976931348623159e308"),
    SLICE("1797693134862315900e290"),
    SLICE("1e99999999999999999999999"),
    SLICE("\""),
    SLICE("\"a"),
    SLICE("\"\\"),
    SLICE("\"\\\""),
    SLICE("\"\\x41\""),
    SLICE("\"\\u\""),
    SLICE("\"\\u12\""),
    SLICE("\"\\u12G4\""),
    SLICE("\"\\U0041\""),
    SLICE("\"\\u0000\""),
    SLICE("{\"a\\u0000\":1}"),
    SLICE("\"\\uD83D\""),
    SLICE("\"\\uDE00\""),
    SLICE("\"\\uD83Dx\""),
    SLICE("\"\\uD83D\\n\""),
    SLICE("\"\\uD83D\\u0041\""),
    SLICE("\"\\uD83D\\uD83D\\uDE00\""),
    SLICE("\"\\uDE00\\uD83D\""),
    SLICE("\"a\nb\""),
    SLICE("\"a\x1F\""),
    SLICE("\"a\0b\""),
    SLICE("\"\x80\""),
    SLICE("\"\xC0\x80\""),
    SLICE("\"\xC1\xBF\""),
    SLICE("\"\xC3\""),
    SLICE("\"\xE0\x9F\xBF\""),
    SLICE("\"\xED\xA0\x80\""),
    SLICE("\"\xF0\x8F\xBF\xBF\""),
    SLICE("\"\xF4\x90\x80\x80\""),
    SLICE("\"\xF5\x80\x80\x80\""),
    SLICE("\"\xE2\x82\""),
    SLICE("\"\xE2\x82"),
    SLICE("\xC3\xA4"),
    SLICE("["),
    SLICE("[1"),
    SLICE("[1,"),
    SLICE("[1,]"),
    SLICE("[,1]"),
    SLICE("[1 2]"),
    SLICE("[1}"),
    SLICE("]"),
    SLICE("}"),
    SLICE("[]]"),
    SLICE("{"),
    SLICE("{\"a\""),
    SLICE("{\"a\":"),
    SLICE("{\"a\":1"),
    SLICE("{\"a\":1,"),
    SLICE("{\"a\":1,}"),
    SLICE("{\"a\" 1}"),
    SLICE("{\"a\",1}"),
    SLICE("{\"a\":1]"),
    SLICE("{\"a\":1 \"b\":2}"),
    SLICE("{,}"),
    SLICE("{a:1}"),
    SLICE("{1:1}"),
    SLICE("{\"a\":}"),
    SLICE("{\"a\"::1}"),
    SLICE("[1,/* no */2]"),
    SLICE("{\"a\":1,\"a\":1}"),
    SLICE("{\"a\":1,\"b\":{\"a\":1},\"a\":1}"),
    SLICE("{\"\":1,\"\":2}"),
    SLICE("{\"a\":1,\"\\u0061\":1}"),
    SLICE("{\"\\n\":1,\"\\u000a\":1}"),
    SLICE("{\"ä\":1,\"\\u00E4\":1}"),
    SLICE("{\"😀\":1,\"\\uD83D\\uDE00\":1}"),
    SLICE("{\"a/b\":1,\"a\\/b\":1}"),
    SLICE("{\"01234567\":1,\"0123456\\u0037\":1}"),
    SLICE("{\"0123456789abcdef\":1,\"\\u00300123456789abcde\":1,\"0123456789abcde\\u0066\":1}"),
};

static void what_jansson_refuses_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_refused(bad[i]);
}

/* jansson loses a NUL that follows a number or a word; here it is refused wherever it stands. */
static void a_zero_byte_is_refused_everywhere(void **state)
{
    (void)state;
    static const struct slice texts[] = {SLICE("\0"),     SLICE("1\0"),  SLICE("[1\0]"),
                                         SLICE("true\0"), SLICE("{\0}"), SLICE("\"a\"\0")};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct slice value;
        struct err err = ERR_INIT;

        assert_int_equal(jtext_check(texts[i], &value, &err), E_BAD_REQUEST);
        assert_non_null(strstr(err.msg, "byte 0x00"));
    }
}

static const struct {
    struct slice text;
    const char *message;
} causes[] = {
    {SLICE("{\n  \"a\": 1,\n  \"queue\": 2,  \"queue\": 3}"),
     "line 3, column 16: a member 'queue' appears twice"},
    {SLICE("{\"ä\": \"ö\", \"ä\": 1}"), "line 1, column 12: a member 'ä' appears twice"},
    {SLICE(""), "line 1, column 1: ends too early, a value should follow"},
    {SLICE("{\"a\": [1, 2"), "line 1, column 12: ends too early, ',' or ']' should follow"},
    {SLICE("{\"a\": \"xyz"),
     "line 1, column 11: ends too early, the end of a string should follow"},
    {SLICE("[tru"), "line 1, column 5: ends too early, a value should follow"},
    {SLICE("[\"\\u12"), "line 1, column 7: ends too early, a hexadecimal digit should follow"},
    {SLICE("[\"\\uD83D"),
     "line 1, column 9: ends too early, the other half of a surrogate pair should follow"},
    {SLICE("[1,\n]"), "line 2, column 1: ']', where a value should stand"},
    {SLICE("{\"a\": é}"), "line 1, column 7: 'é', where a value should stand"},
    {SLICE("{\"a\"\x01: 1}"), "line 1, column 5: byte 0x01, where ':' should stand"},
    {SLICE("{} x"), "line 1, column 4: 'x', where the end should stand"},
    {SLICE("\xEF\xBB\xBF{}"), "line 1, column 1: a byte order mark, where a value should stand"},
    {SLICE("[\"\\u0000\"]"), "line 1, column 3: \\u0000 is not allowed"},
    {SLICE("[\"a\tb\"]"),
     "line 1, column 4: control character 0x09 in a string, write it as an escape"},
    {SLICE("[\"\xFF\"]"), "line 1, column 3: not UTF-8 (byte 0xFF)"},
    {SLICE("[18446744073709551616]"), "line 1, column 2: the whole number does not fit 64 bits"},
    {SLICE("[1e400]"), "line 1, column 2: the number is too large for a double"},
    {SLICE("[007]"), "line 1, column 2: a number does not begin with 0"},
    {SLICE("[-]"), "line 1, column 3: ']', where a digit should stand"},
};

static void the_message_names_cause_line_and_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(causes); i++) {
        struct err err = ERR_INIT;

        assert_false(taken(causes[i].text, &err));
        assert_string_equal(err.msg, causes[i].message);
    }
}

static void the_value_comes_without_the_space_around_it(void **state)
{
    (void)state;
    struct slice value;
    struct err err = ERR_INIT;

    assert_int_equal(jtext_check(SLICE(" \n[1, 2] \t"), &value, &err), E_OK);
    assert_slice_is(value, "[1, 2]");
    assert_int_equal(jtext_check(SLICE("17"), &value, &err), E_OK);
    assert_slice_is(value, "17");
}

static void nest(struct buf *b, const char *open, const char *close, size_t levels)
{
    for (size_t i = 0; i < levels; i++)
        buf_add_str(b, open);
    buf_add_str(b, "1");
    for (size_t i = 0; i < levels; i++)
        buf_add_str(b, close);
}

static void sixty_four_levels_are_taken_and_one_more_is_not(void **state)
{
    (void)state;
    static const struct {
        const char *open;
        const char *close;
    } kinds[] = {{"[", "]"}, {"{\"a\":", "}"}, {"[0,", "]"}};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CLEANUP(buf) struct buf b = BUF_INIT(4096);
        struct slice value;
        struct err err = ERR_INIT;

        nest(&b, kinds[i].open, kinds[i].close, JTEXT_DEPTH_MAX);
        assert_taken(buf_slice(&b));
        buf_clear(&b);
        nest(&b, kinds[i].open, kinds[i].close, JTEXT_DEPTH_MAX + 1);
        assert_int_equal(jtext_check(buf_slice(&b), &value, &err), E_BAD_REQUEST);
        assert_non_null(strstr(err.msg, "nested deeper than 64 levels"));
    }
}

static void levels_that_were_closed_do_not_count(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 16);

    buf_add_char(&b, '[');
    for (int i = 0; i < 1000; i++) {
        jtext_add_comma(&b);
        buf_add_str(&b, i % 2 ? "[{}]" : "{\"a\":[]}");
    }
    buf_add_char(&b, ']');
    assert_taken(buf_slice(&b));
}

static void nothing_at_all_is_refused(void **state)
{
    (void)state;
    struct slice value;
    struct err err = ERR_INIT;

    assert_int_equal(jtext_check((struct slice){NULL, 0}, &value, &err), E_BAD_REQUEST);
    assert_string_equal(err.msg, "line 1, column 1: ends too early, a value should follow");
}

/* Broken or whole, at every length: never a byte too far, and only the whole is taken. */
static void every_beginning_of_a_document_is_refused(void **state)
{
    (void)state;
    const struct slice whole = SLICE(
        "{\"a\":[1.5e3,-7,true,null,\"\\uD83D\\uDE00\\n 0123456789 ä€\"],"
        "\"b\":{\"c\":false}}");

    for (size_t n = 0; n < whole.size; n++)
        assert_refused(slice_make(whole.data, n));
    assert_taken(whole);
}

/* Each special byte at each offset of the eight that are looked at together. */
static void a_special_byte_is_seen_at_every_offset(void **state)
{
    (void)state;
    static const char special[] = {0x00, 0x01, 0x1F, '\n', '"', '\\', (char)0x80, (char)0xFF};

    for (size_t length = 1; length < 40; length++)
        for (size_t at = 0; at < length; at++)
            for (size_t i = 0; i < sizeof(special); i++) {
                char text[64] = "\"";

                memset(text + 1, 'x', length);
                text[1 + at] = special[i];
                text[1 + length] = '"';
                assert_refused(slice_make(text, length + 2));
                text[1 + at] = 0x7F;
                assert_taken(slice_make(text, length + 2));
            }
}

static void add_members(struct buf *b, size_t count, const char *last)
{
    buf_clear(b);
    buf_add_char(b, '{');
    for (size_t i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "member-%zu", i * 7919 % 1000003);
        jtext_add_key(b, name);
        buf_add_char(b, '0');
    }
    if (last != NULL)
        buf_addf(b, ",\"%s\":0", last);
    buf_add_char(b, '}');
}

/* Around the step from comparing to sorting, and around the step from the stack to the heap. */
static void a_repeated_member_is_found_in_objects_of_any_size(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 24);
    static const size_t sizes[] = {1, 2, 15, 16, 17, 18, 127, 128, 129, 1000, 100000};

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct err err = ERR_INIT;
        char last[32];

        add_members(&b, sizes[i], NULL);
        assert_taken(buf_slice(&b));
        add_members(&b, sizes[i], "member-0");
        assert_false(taken(buf_slice(&b), &err));
        assert_non_null(strstr(err.msg, ": a member 'member-0' appears twice"));
        snprintf(last, sizeof(last), "member-\\u003%zu", (sizes[i] - 1) * 7919 % 1000003 % 10);
        add_members(&b, sizes[i], sizes[i] <= 1 ? last : "m\\u0065mber-0");
        assert_refused(buf_slice(&b));
    }
}

static void of_several_repetitions_the_first_is_named(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 16);
    struct err err = ERR_INIT;

    add_members(&b, 30, NULL);
    b.size--;
    size_t column = b.size + 2;

    buf_add_str(&b, ",\"member-0\":1,\"member-7919\":1,\"member-0\":1,\"member-15838\":1}");
    assert_false(taken(buf_slice(&b), &err));
    char message[80];

    snprintf(message, sizeof(message), "line 1, column %zu: a member 'member-0' appears twice",
             column);
    assert_string_equal(err.msg, message);
}

/* The hash of names is no secret: these are as an attacker would choose them, 16 bytes that all
 * have the same.  The second half makes up for what the first half did to the hash of
 * base/jtext/keys.c. */
static void colliding_name(struct rng *rng, char name[static 17])
{
    bool plain = false;

    while (!plain) {
        for (int i = 0; i < 8; i++)
            name[i] = (char)('a' + rng_below(rng, 26));
        uint64_t first;

        memcpy(&first, name, 8);
        uint64_t hash = first * UINT64_C(0x9E3779B97F4A7C15);
        uint64_t second = (hash ^ hash >> 32) ^ UINT64_C(0x4242424242424242);

        memcpy(name + 8, &second, 8);
        plain = true;
        for (int i = 8; i < 16; i++)
            plain = plain && name[i] > 0x20 && name[i] < 0x7F && name[i] != '"' && name[i] != '\\';
    }
    name[16] = '\0';
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void names_chosen_to_collide_are_told_apart(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    char names[4][17];
    struct rng rng;

    rng_init(&rng, 4);
    buf_add_char(&b, '{');
    for (int i = 0; i < 3000; i++) {
        char *name = names[i < 3 ? i : 3];

        colliding_name(&rng, name);
        jtext_add_key(&b, name);
        buf_add_char(&b, '0');
    }
    buf_add_char(&b, '}');
    assert_taken(buf_slice(&b));
    qsort(names, 3, sizeof(names[0]), by_text);
    b.size--;
    for (size_t i = 0; i < 6; i++) { /* the last in the order of names comes first */
        jtext_add_key(&b, names[2 - i % 3]);
        buf_add_char(&b, '0');
    }
    buf_add_char(&b, '}');
    struct err err = ERR_INIT;

    assert_false(taken(buf_slice(&b), &err));
    char message[80];

    snprintf(message, sizeof(message), ": a member '%s' appears twice", names[2]);
    assert_non_null(strstr(err.msg, message));
}

/* Names of open objects share one pool: an inner object must not see the outer one's, nor leave its
 * own. */
static void nested_objects_keep_their_members_apart(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

    for (int level = 0; level < 40; level++) {
        buf_add_char(&b, '{');
        for (int i = 0; i < 20; i++)
            buf_addf(&b, "\"m%d\":{\"m0\":0,\"m1\":1},", i);
        buf_add_str(&b, "\"inner\":");
    }
    buf_add_str(&b, "0");
    for (int level = 0; level < 40; level++)
        buf_add_str(&b, ",\"after\":1}");
    assert_taken(buf_slice(&b));
    b.size--;
    buf_add_str(&b, ",\"m3\":1}");
    assert_refused(buf_slice(&b));
}

static void a_long_repeated_name_is_cut_between_characters(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(4096);
    struct err err = ERR_INIT;

    buf_add_char(&b, '{');
    for (int i = 0; i < 2; i++) {
        buf_add_str(&b, i == 0 ? "\"x" : ",\"x");
        for (int j = 0; j < 100; j++)
            buf_add_str(&b, "ä");
        buf_add_str(&b, "\":1");
    }
    buf_add_char(&b, '}');
    assert_false(taken(buf_slice(&b), &err));
    assert_true(utf8_valid(slice_of(err.msg)));
    assert_non_null(strstr(err.msg, "ä…' appears twice"));
}

static void the_largest_double_is_told_from_infinity_to_the_last_digit(void **state)
{
    (void)state;
    /* 2^1024 - 2^970, the first that rounds to infinity, and the number before it. */
    static const char limit[] =
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
        "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
        "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
        "34271155969950809304288017790417449779";
    char text[400];

    snprintf(text, sizeof(text), "%s2.0", limit);
    assert_refused(slice_of(text));
    snprintf(text, sizeof(text), "%s1.999", limit);
    assert_taken(slice_of(text));
    snprintf(text, sizeof(text), "%s2e0", limit);
    assert_refused(slice_of(text));
    snprintf(text, sizeof(text), "0.00%s2e311", limit);
    assert_refused(slice_of(text));
    snprintf(text, sizeof(text), "0.00%s1e311", limit);
    assert_taken(slice_of(text));
    snprintf(text, sizeof(text), "-%s200e-2", limit);
    assert_refused(slice_of(text));
}

static void a_number_of_many_digits_is_judged_without_loss(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

    buf_add_str(&b, "0.");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&b, '0');
    buf_add_str(&b, "1e100000");
    assert_taken(buf_slice(&b));
    buf_add_char(&b, '0');
    assert_refused(buf_slice(&b));
    buf_clear(&b);
    for (int i = 0; i < 400; i++)
        buf_add_char(&b, '9');
    buf_add_str(&b, ".5");
    assert_refused(buf_slice(&b));
    buf_add_str(&b, "e-9");
    assert_refused(buf_slice(&b));
    buf_add_char(&b, '1');
    assert_refused(buf_slice(&b));
    b.size--;
    buf_add_char(&b, '2');
    assert_taken(buf_slice(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_jansson_takes_is_taken),
        cmocka_unit_test(what_jansson_refuses_is_refused),
        cmocka_unit_test(a_zero_byte_is_refused_everywhere),
        cmocka_unit_test(the_message_names_cause_line_and_column),
        cmocka_unit_test(the_value_comes_without_the_space_around_it),
        cmocka_unit_test(sixty_four_levels_are_taken_and_one_more_is_not),
        cmocka_unit_test(levels_that_were_closed_do_not_count),
        cmocka_unit_test(nothing_at_all_is_refused),
        cmocka_unit_test(every_beginning_of_a_document_is_refused),
        cmocka_unit_test(a_special_byte_is_seen_at_every_offset),
        cmocka_unit_test(a_repeated_member_is_found_in_objects_of_any_size),
        cmocka_unit_test(of_several_repetitions_the_first_is_named),
        cmocka_unit_test(names_chosen_to_collide_are_told_apart),
        cmocka_unit_test(nested_objects_keep_their_members_apart),
        cmocka_unit_test(a_long_repeated_name_is_cut_between_characters),
        cmocka_unit_test(the_largest_double_is_told_from_infinity_to_the_last_digit),
        cmocka_unit_test(a_number_of_many_digits_is_judged_without_loss),
    };

    return cmocka_run_group_tests_name("jtext", tests, NULL, NULL);
}
