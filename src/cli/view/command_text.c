/* SPDX-License-Identifier: MIT */
#include "cli/view/command_text.h"

#include <stdbool.h>
#include <string.h>

#include "core/program/template.h"

static bool is_plain(struct slice word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";

    for (size_t i = 0; i < word.size; i++)
        if (word.data[i] == '\0' || strchr(plain, word.data[i]) == NULL)
            return false;
    return word.size > 0;
}

void command_add_word(struct buf *out, struct slice word)
{
    if (is_plain(word)) {
        buf_add_slice(out, word);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'')
            buf_add_str(out, "'\\''");
        else
            buf_add_char(out, word.data[i]);
    }
    buf_add_char(out, '\'');
}

static void add_template(struct buf *out, const char *text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf word = BUF_INIT(out->limit);
    struct template_text template = {.n_parts = 0};
    struct err err = ERR_INIT;

    if (template_text_parse(slice_of(text), &arena, &template, &err) != E_OK)
        buf_add_str(&word, text);
    for (size_t i = 0; i < template.n_parts; i++) {
        if (template.parts[i].named)
            buf_add_char(&word, '{');
        buf_add_slice(&word, template.parts[i].text);
        if (template.parts[i].has_fallback) {
            buf_add_str(&word, ":-");
            buf_add_slice(&word, template.parts[i].fallback);
        }
        if (template.parts[i].named)
            buf_add_char(&word, '}');
    }
    command_add_word(out, buf_slice(&word));
}

typedef void add_word_fn(struct buf *out, const char *word);

static void add_words(struct buf *out, const json_t *command, add_word_fn *add)
{
    const json_t *word = NULL;

    if (json_is_string(command))
        buf_add_str(out, json_string_value(command));
    for (size_t i = 0; (word = json_array_get(command, i)) != NULL; i++) {
        if (i > 0)
            buf_add_char(out, ' ');
        add(out, json_is_string(word) ? json_string_value(word) : "");
    }
}

static void add_filled(struct buf *out, const char *word)
{
    command_add_word(out, slice_of(word));
}

void command_add_words(struct buf *out, const json_t *command)
{
    add_words(out, command, add_filled);
}

void command_add_text(struct buf *out, const json_t *command)
{
    add_words(out, command, add_template);
}
