/*
 * Outside text inside an error message: short, one line, harmless to a terminal.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

#define QUOTE_TEXT_MAX 40

struct quote {
    char text[QUOTE_TEXT_MAX + 8];
};

/* 'text' in quotes, at most QUOTE_TEXT_MAX bytes of it, `?` for each character that is not
 * printable (base/text/printable.h).  Returns q->text. */
const char *quote_text(struct quote *q, struct slice text);

/* A checked JSON value: strings as above, numbers, words and null as they are, else "an object". */
const char *quote_json(struct quote *q, struct slice value);

/* Refuses an unknown key: names the nearest known one, or lists them.  E_INVALID.  Only the first
 * `n_shown` of `words` are listed; the nearest may be any of them. */
enum err_code unknown_key(struct slice name, const char *const *words, size_t n, size_t n_shown,
                          struct err *err);

/* Whether a control character is in it: C0, DEL or C1. */
bool text_has_control(struct slice utf8);
