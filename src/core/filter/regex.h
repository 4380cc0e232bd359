/*
 * Regular expressions: POSIX extended ones, matched in bounded time and memory.
 *
 * The time of a match is at most proportional to the size of the expression times that of the text,
 * and nothing depends on the locale or on memory that must be released, unlike regcomp.
 *
 * As in POSIX: . [abc] [^a-z] [[:digit:]] ( ) | * + ? {2} {2,} {2,5} ^ $ and a match anywhere in
 * the text.  A `.` is any character, also a newline; characters are those of UTF-8.  Besides, \d \w
 * \s and \D \W \S stand for ASCII digits, words and white space, and in brackets a backslash
 * escapes.  Back references, \b and their like are refused.
 *
 * Pure; all of it lives in the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

enum {
    REGEX_TEXT_MAX = 1000,     /* bytes of an expression */
    REGEX_STEPS_MAX = 1000,    /* of its program: repeats are copies */
    REGEX_REPEAT_MAX = 255,    /* as POSIX says */
    REGEX_SUBJECT_MAX = 16384, /* bytes of a text that is matched */
};

struct regex;

/* E_INVALID: what is wrong, and at which byte. */
MUST_CHECK enum err_code regex_parse(struct slice text, struct arena *arena,
                                     const struct regex **ret_regex, struct err *err);

/* The text is UTF-8, of at most REGEX_SUBJECT_MAX bytes. */
bool regex_matches(const struct regex *re, struct slice text);
