/*
 * docs/definitions.md and docs/programs.md say what the tables of keys and words say, and their
 * examples work.
 *
 * A table in a document stands between two marks; after a change of src/core/queue/keys.c or
 * src/core/program/word.c take the new one from this test's output.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/buf.h"
#include "core/definition/definition.h"
#include "core/program/word.h"
#include "core/queue/keys.h"
#include "testing.h"

#define TABLE_BEGIN "<!-- queue keys: begin -->\n"
#define TABLE_END "<!-- queue keys: end -->\n"
#define WORDS_BEGIN "<!-- words: begin -->\n"
#define WORDS_END "<!-- words: end -->\n"

static struct buf doc = BUF_INIT(1 << 20);
static struct buf programs = BUF_INIT(1 << 20);

static void read_file(const char *name, struct buf *out)
{
    char path[1024];
    char chunk[4096];
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", SOURCE_ROOT, name);
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(out, chunk, n);
    assert_int_equal(fclose(f), 0);
    assert_false(out->overflowed);
}

static int read_doc(void **state)
{
    (void)state;
    read_file("docs/definitions.md", &doc);
    read_file("docs/programs.md", &programs);
    return 0;
}

static int free_doc(void **state)
{
    (void)state;
    buf_deinit(&doc);
    buf_deinit(&programs);
    return 0;
}

/* ---- the table ---- */

static const char *type_of(const struct field *f)
{
    static const char *const names[] = {
        [FIELD_T_TEXT] = "text of at most %MAX% bytes", [FIELD_T_INT] = "whole number, %BOUNDS%",
        [FIELD_T_INT64] = "whole number, %BOUNDS%",     [FIELD_T_REAL] = "number, %BOUNDS%",
        [FIELD_T_LENGTH] = "length of time, %BOUNDS%",  [FIELD_T_SIZE] = "size, %BOUNDS%",
        [FIELD_T_BOOL] = "`true` or `false`",
    };

    return f->form != NULL ? f->form : names[f->type];
}

static void add_type(const struct field *f, struct buf *out)
{
    for (const char *at = type_of(f); *at != '\0';) {
        if (strncmp(at, "%MAX%", 5) == 0) {
            buf_add_int(out, f->max);
            at += 5;
        } else if (strncmp(at, "%BOUNDS%", 8) == 0) {
            field_bounds(f, out);
            at += 8;
        } else {
            buf_add_char(out, *at++);
        }
    }
}

static void add_default(const struct field *f, struct buf *out)
{
    if (f->absent != NULL) {
        buf_add_str(out, f->absent);
        return;
    }
    assert_non_null(f->standard);
    struct slice text = slice_of(f->standard);

    if (text.data[0] == '"')
        text = slice_make(text.data + 1, text.size - 2);
    buf_add_char(out, '`');
    buf_add_slice(out, text);
    buf_add_char(out, '`');
}

static void add_rows(const char *prefix, const struct object *table, struct buf *out)
{
    const char *dot = prefix[0] != '\0' ? "." : "";

    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (f->ours)
            continue;
        buf_addf(out, "| `%s%s%s` | ", prefix, dot, f->name);
        if (f->type == FIELD_T_MEMBERS) {
            buf_addf(out, "map | | %s |\n", f->help);
            add_rows(f->name, f->of, out);
            continue;
        }
        add_type(f, out);
        buf_add_str(out, " | ");
        add_default(f, out);
        buf_addf(out, " | %s |\n", f->help);
    }
}

static void the_document_has_the_table_of_keys(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf want = BUF_INIT(1 << 16);

    buf_add_str(&want, TABLE_BEGIN "| key | value | default | meaning |\n|---|---|---|---|\n");
    add_rows("", &queue_object, &want);
    buf_add_str(&want, TABLE_END);
    if (strstr(buf_text(&doc), buf_text(&want)) == NULL) {
        fputs(buf_text(&want), stdout); /* too long for cmocka's messages */
        fail_msg("docs/definitions.md should have the table above");
    }
}

static void the_document_has_the_table_of_words(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf want = BUF_INIT(1 << 16);

    buf_add_str(&want, WORDS_BEGIN "| line | meaning |\n|---|---|\n");
    for (size_t i = 0; i < n_words; i++)
        buf_addf(&want, "| `%s` | %s |\n", words[i].syntax, words[i].meaning);
    buf_add_str(&want, WORDS_END);
    if (strstr(buf_text(&programs), buf_text(&want)) == NULL) {
        fputs(buf_text(&want), stdout);
        fail_msg("docs/programs.md should have the table above");
    }
}

static void the_words_that_are_not_answered_are_named(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf want = BUF_INIT(1 << 16);
    const char *between = "Each word but ";

    for (size_t i = 0; i < n_words; i++)
        if (words[i].reply == WORD_REPLY_NONE) {
            buf_addf(&want, "%s`%s`", between, words[i].name);
            between = " and ";
        }
    buf_add_str(&want, " is answered");
    assert_non_null(strstr(buf_text(&programs), buf_text(&want)));
}

/* ---- the examples ---- */

static void check_text(const char *file, struct slice text)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    if (definitions_add_from(&d, &(struct definition_source){.file = file}, text, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static size_t check_examples(const char *file, const struct buf *text)
{
    size_t count = 0;
    const char *at = buf_text(text);

    while ((at = strstr(at, "```yaml\n")) != NULL) {
        at += strlen("```yaml\n");
        const char *end = strstr(at, "```");

        assert_non_null(end);
        check_text(file, slice_make(at, (size_t)(end - at)));
        count++;
        at = end + 3;
    }
    return count;
}

static void every_example_of_the_documents_is_accepted(void **state)
{
    (void)state;
    assert_true(check_examples("docs/definitions.md", &doc) >= 3);
    assert_true(check_examples("docs/programs.md", &programs) >= 1);
}

static void the_example_file_is_accepted(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    read_file("examples/queues.yaml", &text);
    if (definitions_add_from(&d, &(struct definition_source){.file = "examples/queues.yaml"},
                             buf_slice(&text), &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(d.of[DEFINITION_QUEUE].count, 4);
    assert_slice_is(d.server.listen, "127.0.0.1:6769");
    assert_slice_is(d.of[DEFINITION_QUEUE].items[1].json,
                    "{\"description\":\"Takes links and text out of a stored page.\","
                    "\"command\":[\"./parse.py\"],\"retry\":{\"max\":5,\"exits\":"
                    "{\"64-74\":\"never\",\"75\":\"later\"}},\"resident\":true,\"idle\":\"5m\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_has_the_table_of_keys),
        cmocka_unit_test(the_document_has_the_table_of_words),
        cmocka_unit_test(the_words_that_are_not_answered_are_named),
        cmocka_unit_test(every_example_of_the_documents_is_accepted),
        cmocka_unit_test(the_example_file_is_accepted),
    };

    return cmocka_run_group_tests(tests, read_doc, free_doc);
}
