/*
 * Placeholders in the words of a command: {} {.} {/} {//} {/.} {#} {1} {2} …
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "each/line/command.h"

struct placeholder_form {
    const char *text;
    const char *param; /* of the job, in the command's template */
};

extern const struct placeholder_form each_placeholders[EACH_PART_COUNT];

struct placeholder {
    enum each_part part;
    int column;  /* of EACH_COLUMN */
    size_t size; /* 0: it is none */
};

/* The placeholder at the brace `at` of a word; `${` belongs to the shell. */
struct placeholder each_placeholder_at(const struct each_command *c, const char *word,
                                       const char *at);

/* A line has columns, or a job several lines. */
bool each_has_columns(const struct each_command *c);

/* A word that is a placeholder of a line and nothing else: several lines make it several words. */
bool each_is_spread(const struct each_command *c, const char *word);

/* Calls `text` for each stretch of the word and `value` for each placeholder, in their order. */
struct word_parts {
    void (*text)(void *ctx, struct slice text);
    enum err_code (*value)(void *ctx, const struct placeholder *p, struct err *err);
    void *ctx;
};

MUST_CHECK enum err_code each_word_walk(const struct each_command *c, const char *word,
                                        const struct word_parts *parts, struct err *err);
