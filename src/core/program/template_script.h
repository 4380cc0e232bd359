/*
 * A command given as a text while it is read: the place in the script, and the names found so far.
 *
 * template_shell.c reads what opens and closes a place, template_names.c reads names, and quoted
 * text in which names are refused.  The functions advance `at` and write what they pass to `out`.
 *
 * For src/core/program/template*.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "core/program/template.h"
#include "core/program/template_words.h"

enum { SCRIPT_DEPTH_MAX = 64, SCRIPT_HERE_MAX = 8 };

enum place {
    IN_PLAIN, /* the script itself, or $(…) */
    IN_DOUBLE,
    IN_BACKTICK,
    IN_BRACE,      /* ${…} */
    IN_ARITHMETIC, /* $((…)), ((…)), $[…] */
    IN_SUBSCRIPT,  /* a[…] */
    IN_HERE,       /* a here-document whose parameters are filled in */
};

struct frame {
    enum place place;
    bool result;   /* IN_PLAIN, IN_BACKTICK: its output is part of the script: $(…), <(…) */
    bool quoted;   /* IN_BRACE: inside double quotes or a here-document */
    bool pattern;  /* IN_BRACE: quotes mean something, as after # and % */
    bool operand;  /* IN_BRACE: the variable's name has ended */
    bool offset;   /* IN_BRACE: offset and length follow, which are arithmetic */
    char closer;   /* IN_ARITHMETIC: `)` or `]` */
    size_t parens; /* open ones inside */
    struct shell_words words; /* IN_PLAIN, IN_BACKTICK */
};

struct here {
    struct slice end; /* the line that ends it */
    bool quoted;      /* nothing is filled in */
    bool code;        /* a shell runs it */
    bool indented;    /* <<- */
};

struct script {
    struct slice text;
    size_t at;      /* the byte of `text` that is read next */
    struct buf out; /* the script with parameters */
    struct frame stack[SCRIPT_DEPTH_MAX];
    size_t depth;
    struct here here[SCRIPT_HERE_MAX]; /* begun on this line, or being read */
    size_t n_here;
    bool line_start; /* IN_HERE: the next line may be its last */
    bool function;   /* `name()` was read: a body follows */
    size_t body;     /* braces open in a function's body */
    VEC(struct template_part) names;
    struct shell_facts facts;
    struct arena *arena;
    struct err *err;
};

static inline struct frame *script_top(struct script *s)
{
    return &s->stack[s->depth - 1];
}

static inline char script_peek(const struct script *s, size_t ahead)
{
    return s->at + ahead < s->text.size ? s->text.data[s->at + ahead] : '\0';
}

static inline void script_copy(struct script *s, size_t count)
{
    if (count > s->text.size - s->at)
        count = s->text.size - s->at;
    buf_add(&s->out, s->text.data + s->at, count);
    s->at += count;
}

static inline void script_pop(struct script *s)
{
    if (s->depth > 1)
        s->depth--;
}

/* Adds a character to the current word of the command line; in double quotes as well. */
static inline void script_literal(struct script *s, char c)
{
    struct frame *f = script_top(s);

    if (f->place == IN_DOUBLE && s->depth > 1)
        f--;
    if (f->place == IN_PLAIN || f->place == IN_BACKTICK)
        shell_word_add(&f->words, c);
}

/* E_INVALID: a name is misplaced; E_OK when there is no fault. */
MUST_CHECK enum err_code script_fault(struct script *s, struct shell_fault fault);

/* A command line in brackets has ended: what it prints is a value in their place. */
MUST_CHECK enum err_code script_end_brackets(struct script *s);

/* At a `{`: a name becomes a parameter.  E_INVALID: the shell would evaluate its value. */
MUST_CHECK enum err_code script_read_brace(struct script *s);

/* Copies text up to `end` in which the shell fills in nothing.  E_INVALID: it has a name; `where`
 * says what the text is. */
MUST_CHECK enum err_code script_copy_quoted(struct script *s, size_t end, const char *where);

MUST_CHECK enum err_code script_read_single(struct script *s);        /* '…' */
MUST_CHECK enum err_code script_read_dollar_single(struct script *s); /* $'…' */

/* One argument for each parameter. */
void script_take_names(const struct script *s, struct arena *arena, struct template_command *c);
