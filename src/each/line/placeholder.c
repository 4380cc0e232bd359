/* SPDX-License-Identifier: MIT */
#include "each/line/placeholder.h"

#include <string.h>

const struct placeholder_form each_placeholders[] = {
    [EACH_LINE] = {"{}", "line"},   [EACH_NO_SUFFIX] = {"{.}", "no_suffix"},
    [EACH_BASE] = {"{/}", "base"},  [EACH_DIR] = {"{//}", "dir"},
    [EACH_STEM] = {"{/.}", "stem"}, [EACH_NUMBER] = {"{#}", "number"},
    [EACH_COLUMN] = {NULL, "c"},
};

_Static_assert(ARRAY_LEN(each_placeholders) == EACH_PART_COUNT, "one a part");

bool each_has_columns(const struct each_command *c)
{
    return c->separator.size > 0 || c->lines > 1;
}

struct placeholder each_placeholder_at(const struct each_command *c, const char *word,
                                       const char *at)
{
    if (at > word && at[-1] == '$')
        return (struct placeholder){.size = 0};
    for (enum each_part part = EACH_LINE; part < EACH_COLUMN; part++) {
        size_t size = strlen(each_placeholders[part].text);

        if (strncmp(at, each_placeholders[part].text, size) == 0)
            return (struct placeholder){.part = part, .size = size};
    }
    /* {1}, {2}, …: of a line without columns {1} is all of it. */
    struct placeholder p = {.part = EACH_COLUMN};
    const char *digit = at + 1;

    if (*digit == '0')
        return p;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        if (p.column <= EACH_LINES_MAX)
            p.column = p.column * 10 + (*digit - '0');
    if (digit > at + 1 && *digit == '}')
        p.size = (size_t)(digit + 1 - at);
    if (p.column == 1 && !each_has_columns(c))
        return (struct placeholder){.part = EACH_LINE, .size = p.size};
    return p;
}

enum err_code each_word_walk(const struct each_command *c, const char *word,
                             const struct word_parts *parts, struct err *err)
{
    const char *from = word;
    const char *at = word;

    while ((at = strchr(at, '{')) != NULL) {
        struct placeholder p = each_placeholder_at(c, word, at);

        if (p.size == 0) {
            at++;
            continue;
        }
        parts->text(parts->ctx, slice_make(from, (size_t)(at - from)));
        if (parts->value(parts->ctx, &p, err) != E_OK)
            return err->code;
        from = at += p.size;
    }
    parts->text(parts->ctx, slice_of(from));
    return E_OK;
}

/* What follows `{` or `{N` in replacement strings of GNU parallel that are none here. */
static const char *const foreign_ends[] = {
    ".}",    "/}",  "//}", "/.}",  "..}",   "...}", "/..}",
    "/...}", "+/}", "+.}", "+..}", "+...}", "%}",   "##}",
};

struct slice each_command_foreign(const struct each_command *c)
{
    for (size_t i = 0; i < c->n_words; i++) {
        const char *word = c->words[i];

        for (const char *at = word; (at = strchr(at, '{')) != NULL; at++) {
            const char *end = at + 1 + (at[1] == '-');

            end += strspn(end, "0123456789");
            if ((at > word && at[-1] == '$') || each_placeholder_at(c, word, at).size > 0)
                continue;
            if (at[1] == '-' && end > at + 2 && *end == '}')
                return slice_make(at, (size_t)(end + 1 - at));
            for (size_t n = 0; n < ARRAY_LEN(foreign_ends); n++)
                if (strncmp(end, foreign_ends[n], strlen(foreign_ends[n])) == 0)
                    return slice_make(at, (size_t)(end - at) + strlen(foreign_ends[n]));
        }
    }
    return slice_make(NULL, 0);
}

bool each_is_spread(const struct each_command *c, const char *word)
{
    struct placeholder p = *word == '{' ? each_placeholder_at(c, word, word)
                                        : (struct placeholder){.size = 0};

    return c->lines > 1 && p.size > 0 && p.part < EACH_NUMBER && word[p.size] == '\0';
}

/* ---- paths ---- */

static struct slice without_suffix(struct slice path)
{
    for (size_t i = path.size; i > 0 && path.data[i - 1] != '/'; i--)
        if (path.data[i - 1] == '.')
            return slice_make(path.data, i - 1);
    return path;
}

static struct slice base_of(struct slice path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;

    return slash == NULL ? path : slice_make(slash + 1, (size_t)(slice_end(path) - slash - 1));
}

static struct slice without_slashes(struct slice path)
{
    while (path.size > 1 && path.data[path.size - 1] == '/')
        path.size--;
    return path;
}

/* As dirname(1). */
static struct slice dir_of(struct slice path)
{
    path = without_slashes(path);
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;

    return slash == NULL ? SLICE(".")
                         : without_slashes(slice_make(path.data, (size_t)(slash + 1 - path.data)));
}

struct slice each_path_part(enum each_part part, struct slice line)
{
    switch (part) {
    case EACH_NO_SUFFIX: return without_suffix(line);
    case EACH_BASE: return base_of(line);
    case EACH_DIR: return dir_of(line);
    case EACH_STEM: return without_suffix(base_of(line));
    case EACH_LINE:
    case EACH_NUMBER:
    case EACH_COLUMN:
    case EACH_PART_COUNT: break;
    }
    return line;
}
