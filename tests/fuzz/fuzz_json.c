/*
 * The JSON checker beside jansson.
 *
 * What it takes jansson takes, and the other way round but for depth and NUL; a walk over the
 * checked text finds exactly what jansson's tree has; what the writer makes of it is the same
 * document.
 */
/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "driver.h"

static const struct slice seeds[] = {
    SLICE("null"),
    SLICE("[]"),
    SLICE("{}"),
    SLICE("\"\""),
    SLICE("-12.5e-3"),
    SLICE("[1,2.5,-3e10,true,false,null,\"text\"]"),
    SLICE("{\"queue\":\"fetch\",\"params\":{\"url\":\"https://example.org/\",\"depth\":3},"
          "\"labels\":{\"a\":\"b\"},\"delay\":\"10s\",\"priority\":-5,\"key\":\"k-1\"}"),
    SLICE("{\"finish\":[{\"id\":\"0HB3XKQ2M1R00\",\"lease\":17,\"state\":\"done\",\"exit\":0},"
          "{\"id\":\"0HB3XKQ2M1R01\",\"lease\":18,\"state\":\"failed\",\"text\":\"no\\nroute\"}]}"),
    SLICE(" { \"a\" : [ { \"b\" : [ [ ] , { } ] } ] , \"c\" : \"d\" } \r\n"),
    SLICE("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD83D\\uDE00\",\"ä€😀 and plain text of some "
          "length\"]"),
    SLICE("[9223372036854775807,-9223372036854775808,1.7976931348623157e308,4.9e-324,0,-0,-0.0]"),
    SLICE(
        "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10,"
        "\"k\":11,"
        "\"l\":12,\"m\":13,\"n\":14,\"o\":15,\"p\":16,\"q\":17,\"r\":18,\"s\":{\"a\":1,\"b\":2}}"),
    SLICE("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
          "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
    SLICE("{\"member-name\":{\"member-nam\\u0065\":{\"m\\u0065mber-name\":\"\\u006d\"}}}"),
};

static const struct slice words[] = {
    SLICE("{"),
    SLICE("}"),
    SLICE("["),
    SLICE("]"),
    SLICE("[["),
    SLICE("]]"),
    SLICE(","),
    SLICE(":"),
    SLICE("\""),
    SLICE("\\"),
    SLICE("\\\""),
    SLICE("\\u0000"),
    SLICE("\\u0061"),
    SLICE("\\uD83D"),
    SLICE("\\uDE00"),
    SLICE("\\ud83d\\ude00"),
    SLICE("\\n"),
    SLICE("\\/"),
    SLICE("true"),
    SLICE("null"),
    SLICE("false"),
    SLICE("-"),
    SLICE("0"),
    SLICE("1e400"),
    SLICE("e308"),
    SLICE("E+"),
    SLICE("e-400"),
    SLICE(".5"),
    SLICE("9223372036854775808"),
    SLICE("18446744073709551616"),
    SLICE("17976931348623158"),
    SLICE("179769313486231570000"),
    SLICE("\"a\":1,"),
    SLICE(",\"a\":1"),
    SLICE("\"\":"),
    SLICE("\xEF\xBB\xBF"),
    SLICE("\xC3\xA4"),
    SLICE("\xE2\x82\xAC"),
    SLICE("\xF0\x9F\x98\x80"),
    SLICE("\xED\xA0\x80"),
    SLICE("\xC0\x80"),
    SLICE("\xF4\x90\x80\x80"),
    SLICE("\n"),
    SLICE(" "),
    SLICE("\t"),
    SLICE("{\"a\":"),
    SLICE("0000000000000000000000"),
};

static size_t depth_of(json_t *tree)
{
    size_t deepest = 0;
    const char *key;
    json_t *item;
    size_t i;

    json_object_foreach(tree, key, item)
    {
        size_t depth = depth_of(item);

        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(tree, i, item)
    {
        size_t depth = depth_of(item);

        deepest = depth > deepest ? depth : deepest;
    }
    return json_is_object(tree) || json_is_array(tree) ? deepest + 1 : 0;
}

/* What a comparison of text and tree needs on its way down. */
struct walk {
    struct slice text;
    struct arena arena;
    struct buf copy; /* the document, written anew */
};

static void compare(struct walk *w, struct slice value, json_t *tree);

static void compare_string(struct walk *w, struct slice value, json_t *tree)
{
    struct slice text = jtext_text(value, &w->arena);

    if (!slice_equal(text, slice_make(json_string_value(tree), json_string_length(tree))))
        fuzz_fail("a string is read differently: %.*s", (int)value.size, value.data);
    if (!utf8_valid(text))
        fuzz_fail("a string is not UTF-8: %.*s", (int)value.size, value.data);
    jtext_add_string(&w->copy, text);
}

static void compare_member(struct walk *w, struct slice key, struct slice value, json_t *object)
{
    const char *name = arena_strdup(&w->arena, jtext_text(key, &w->arena));
    json_t *member = json_object_get(object, name);

    if (member == NULL)
        fuzz_fail("member %s is not in the tree", name);
    if (!jtext_key_is(key, name))
        fuzz_fail("member %s is not its own name", name);
    jtext_add_key(&w->copy, name);
    compare(w, value, member);
}

static void compare_object(struct walk *w, struct slice value, json_t *tree)
{
    struct slice key;
    struct slice member;
    size_t count = 0;

    buf_add_char(&w->copy, '{');
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &member);
         count++)
        compare_member(w, key, member, tree);
    buf_add_char(&w->copy, '}');
    if (count != json_object_size(tree))
        fuzz_fail("%zu members instead of %zu", count, json_object_size(tree));
    if (count > 0) {
        const char *name = json_object_iter_key(json_object_iter(tree));

        if (!jtext_find(value, name, &member))
            fuzz_fail("member %s is not found", name);
    }
}

static void compare_array(struct walk *w, struct slice value, json_t *tree)
{
    struct slice item;
    size_t count = 0;

    buf_add_char(&w->copy, '[');
    for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item); count++) {
        if (count >= json_array_size(tree))
            break;
        jtext_add_comma(&w->copy);
        compare(w, item, json_array_get(tree, count));
    }
    buf_add_char(&w->copy, ']');
    if (count != json_array_size(tree))
        fuzz_fail("%zu items instead of %zu", count, json_array_size(tree));
}

static void compare_number(struct walk *w, struct slice value, json_t *tree)
{
    if (json_is_integer(tree) && jtext_int(value) != json_integer_value(tree))
        fuzz_fail("a whole number is read differently: %.*s", (int)value.size, value.data);
    if (jtext_number(value) != json_number_value(tree))
        fuzz_fail("a number is read differently: %.*s", (int)value.size, value.data);
    buf_add_slice(&w->copy, value);
}

static enum jtext_type type_in_tree(const json_t *tree)
{
    static const enum jtext_type types[] = {
        [JSON_OBJECT] = JTEXT_OBJECT, [JSON_ARRAY] = JTEXT_ARRAY, [JSON_STRING] = JTEXT_STRING,
        [JSON_INTEGER] = JTEXT_INT,   [JSON_REAL] = JTEXT_REAL,   [JSON_TRUE] = JTEXT_TRUE,
        [JSON_FALSE] = JTEXT_FALSE,   [JSON_NULL] = JTEXT_NULL,
    };

    return types[json_typeof(tree)];
}

static void compare(struct walk *w, struct slice value, json_t *tree)
{
    if (value.size == 0 || value.data < w->text.data ||
        value.data + value.size > w->text.data + w->text.size)
        fuzz_fail("a value lies outside the text");
    enum jtext_type type = jtext_type_of(value);

    if (type != type_in_tree(tree))
        fuzz_fail("%s is taken for %s", jtext_type_name(type_in_tree(tree)), jtext_type_name(type));
    switch (type) {
    case JTEXT_OBJECT: compare_object(w, value, tree); break;
    case JTEXT_ARRAY: compare_array(w, value, tree); break;
    case JTEXT_STRING: compare_string(w, value, tree); break;
    case JTEXT_INT:
    case JTEXT_REAL: compare_number(w, value, tree); break;
    case JTEXT_NULL:
    case JTEXT_FALSE:
    case JTEXT_TRUE: buf_add_slice(&w->copy, value); break;
    }
}

static json_t *load(struct slice text)
{
    return json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

static void check_taken(struct slice input, struct slice value, json_t *tree)
{
    struct walk w = {.text = input, .arena = ARENA_INIT, .copy = BUF_INIT(FUZZ_INPUT_MAX * 6)};
    struct slice again;
    struct err err = ERR_INIT;

    if (tree == NULL)
        fuzz_fail("taken, but not by jansson");
    if (depth_of(tree) > JTEXT_DEPTH_MAX)
        fuzz_fail("taken although it is %zu levels deep", depth_of(tree));
    compare(&w, value, tree);
    if (jtext_check(buf_slice(&w.copy), &again, &err) != E_OK)
        fuzz_fail("what was written is refused: %s: %s", err.msg, buf_text(&w.copy));
    json_t *copy = load(again);

    if (copy == NULL || !json_equal(copy, tree))
        fuzz_fail("what was written differs: %s", buf_text(&w.copy));
    json_decref(copy);
    arena_deinit(&w.arena);
    buf_deinit(&w.copy);
}

static void check_refused(struct slice input, const struct err *err, json_t *tree)
{
    if (err->code != E_BAD_REQUEST || strncmp(err->msg, "line ", 5) != 0 ||
        !utf8_valid(slice_of(err->msg)))
        fuzz_fail("refused with a bad message: %s", err->msg);
    if (tree != NULL && depth_of(tree) <= JTEXT_DEPTH_MAX &&
        memchr(input.data, '\0', input.size) == NULL)
        fuzz_fail("refused, but not by jansson: %s", err->msg);
}

static void run(struct slice input)
{
    struct slice value = {NULL, 0};
    struct err err = ERR_INIT;
    enum err_code code = jtext_check(input, &value, &err);
    json_t *tree = load(input);

    if (code == E_OK)
        check_taken(input, value, tree);
    else
        check_refused(input, &err, tree);
    json_decref(tree);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
