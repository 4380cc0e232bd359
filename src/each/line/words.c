/* SPDX-License-Identifier: MIT */
#include "each/line/words.h"

#include <stdbool.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "cli/view/command_text.h"
#include "cli/view/screen.h"

struct shell_line {
    struct buf *out;
    bool begun;
};

static void add_quoted_word(void *ctx, struct slice word)
{
    struct shell_line *l = ctx;

    if (l->begun)
        buf_add_char(l->out, ' ');
    l->begun = true;
    command_add_word(l->out, word);
}

enum err_code each_add_shell(const struct each_command *c, const struct each_item *item,
                             struct buf *out, struct err *err)
{
    struct shell_line l = {.out = out};

    return each_command_fill(c, item, add_quoted_word, &l, err);
}

static void add_json_word(void *ctx, struct slice word)
{
    struct buf *out = ctx;

    jtext_add_comma(out);
    if (utf8_valid(word)) {
        jtext_add_string(out, word);
        return;
    }
    CLEANUP(buf) struct buf shown = BUF_INIT(word.size * 4);

    clean_text(&shown, word);
    jtext_add_string(out, buf_slice(&shown));
}

enum err_code each_add_words(const struct each_command *c, const struct each_item *item,
                             struct buf *out, struct err *err)
{
    buf_add_char(out, '[');
    if (each_command_fill(c, item, add_json_word, out, err) != E_OK)
        return err->code;
    buf_add_char(out, ']');
    return E_OK;
}

/* ---- bytes that are no text ---- */

/* Each argument is decoded and goes to the end of the list; then the list is the command.  The dot
 * keeps newlines at the end of a value. */
#define DECODER                                                                                \
    "n=$#; while [ $n -gt 0 ]; do v=$(printf '%b.' \"$1\"); shift; set -- \"$@\" \"${v%.}\"; " \
    "n=$((n - 1)); done; exec \"$@\""

/* As printf's %b reads it; braces would be read as a template. */
static void add_encoded_word(void *ctx, struct slice word)
{
    struct buf *out = ctx;

    buf_add_str(out, ",\"");
    for (size_t i = 0; i < word.size; i++) {
        unsigned char byte = (unsigned char)word.data[i];

        if (byte > ' ' && byte < 0x7F && strchr("\\\"{}", byte) == NULL)
            buf_add_char(out, (char)byte);
        else
            buf_addf(out, "\\\\0%03o", byte);
    }
    buf_add_char(out, '"');
}

enum err_code each_add_encoded(const struct each_command *c, const struct each_item *item,
                               struct buf *out, struct err *err)
{
    buf_add_str(out, "[\"sh\",\"-c\",");
    jtext_add_string(out, SLICE(DECODER));
    buf_add_str(out, ",\"sh\"");
    if (each_command_fill(c, item, add_encoded_word, out, err) != E_OK)
        return err->code;
    buf_add_char(out, ']');
    return E_OK;
}
