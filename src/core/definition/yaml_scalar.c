/* SPDX-License-Identifier: MIT */
#include "core/definition/yaml_scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/object/quote.h"

enum { NUMBER_TEXT_SIZE = 40 };

/* Words of the core schema, and their JSON; NULL: a number that JSON does not have. */
static const struct {
    const char *word, *json;
} words[] = {
    {"", "null"},       {"~", "null"},    {"null", "null"}, {"Null", "null"},   {"NULL", "null"},
    {"true", "true"},   {"True", "true"}, {"TRUE", "true"}, {"false", "false"}, {"False", "false"},
    {"FALSE", "false"}, {".nan", NULL},   {".NaN", NULL},   {".NAN", NULL},     {".inf", NULL},
    {".Inf", NULL},     {".INF", NULL},   {"-.inf", NULL},  {"-.Inf", NULL},    {"-.INF", NULL},
    {"+.inf", NULL},    {"+.Inf", NULL},  {"+.INF", NULL},
};

static struct slice skip_sign(struct slice s)
{
    if (s.size > 0 && (s.data[0] == '-' || s.data[0] == '+'))
        return slice_make(s.data + 1, s.size - 1);
    return s;
}

static size_t span(struct slice s, size_t from, const char *set)
{
    size_t n = 0;

    while (from + n < s.size && s.data[from + n] != '\0' && strchr(set, s.data[from + n]) != NULL)
        n++;
    return n;
}

#define DIGITS "0123456789"

/* The base of a whole number, with its digits; 0 when it is none. */
static int whole_base(struct slice s, struct slice *ret_digits)
{
    struct slice digits = skip_sign(s);

    if (digits.size > 0 && span(digits, 0, DIGITS) == digits.size) {
        *ret_digits = digits;
        return 10;
    }
    if (s.size < 3 || s.data[0] != '0')
        return 0;
    *ret_digits = slice_make(s.data + 2, s.size - 2);
    if (s.data[1] == 'o' && span(s, 2, "01234567") == s.size - 2)
        return 8;
    if (s.data[1] == 'x' && span(s, 2, DIGITS "abcdefABCDEF") == s.size - 2)
        return 16;
    return 0;
}

static bool whole_value(struct slice digits, int base, bool negative, int64_t *ret_n)
{
    int64_t n = 0;

    for (size_t i = 0; i < digits.size; i++) {
        char c = digits.data[i];
        int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

        if (__builtin_mul_overflow(n, base, &n) ||
            __builtin_sub_overflow(n, negative ? digit : -digit, &n))
            return false;
    }
    *ret_n = n;
    return true;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before or behind the point. */
static bool is_real(struct slice s)
{
    struct slice rest = skip_sign(s);
    size_t before = span(rest, 0, DIGITS);
    size_t at = before;
    size_t behind = 0;

    if (at < rest.size && rest.data[at] == '.') {
        behind = span(rest, at + 1, DIGITS);
        at += 1 + behind;
    }
    if (before + behind == 0)
        return false;
    if (at < rest.size && (rest.data[at] == 'e' || rest.data[at] == 'E')) {
        at++;
        at += at < rest.size && (rest.data[at] == '-' || rest.data[at] == '+');
        size_t exponent = span(rest, at, DIGITS);

        if (exponent == 0)
            return false;
        at += exponent;
    }
    return at == rest.size;
}

static enum err_code resolve_real(struct slice s, struct arena *arena, struct yaml_value *v,
                                  struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(NUMBER_TEXT_SIZE);
    struct quote quote;
    double n = strtod(arena_strdup(arena, s), NULL);

    if (!isfinite(n))
        return err_set(err, E_INVALID, "%s is too large for a number", quote_text(&quote, s));
    buf_add_real(&text, n);
    if (strpbrk(buf_text(&text), ".e") == NULL)
        buf_add_str(&text, ".0"); /* it stays a real */
    v->type = YAML_T_PLAIN;
    v->text = arena_copy(arena, buf_slice(&text));
    return E_OK;
}

static enum err_code resolve_whole(struct slice s, struct slice digits, int base,
                                   struct arena *arena, struct yaml_value *v, struct err *err)
{
    char text[NUMBER_TEXT_SIZE];
    struct quote quote;
    int64_t n;

    if (!whole_value(digits, base, s.data[0] == '-', &n))
        return err_set(err, E_INVALID, "%s does not fit 64 bits; for text put it in quotes",
                       quote_text(&quote, s));
    snprintf(text, sizeof(text), "%" PRId64, n);
    v->type = YAML_T_PLAIN;
    v->text = arena_copy(arena, slice_of(text));
    return E_OK;
}

enum err_code yaml_scalar_resolve(struct slice plain, struct arena *arena, struct yaml_value *v,
                                  struct err *err)
{
    struct slice digits;
    struct quote quote;
    size_t i = 0;

    while (i < ARRAY_LEN(words) && !slice_is(plain, words[i].word))
        i++;
    if (i < ARRAY_LEN(words) && words[i].json == NULL)
        return err_set(err, E_INVALID,
                       "%s is not a number that can be kept; for text put it in quotes",
                       quote_text(&quote, plain));
    if (i < ARRAY_LEN(words)) {
        v->type = YAML_T_PLAIN;
        v->text = slice_of(words[i].json);
        return E_OK;
    }
    int base = whole_base(plain, &digits);

    if (base != 0)
        return resolve_whole(plain, digits, base, arena, v, err);
    if (is_real(plain))
        return resolve_real(plain, arena, v, err);
    v->type = YAML_T_TEXT;
    v->text = arena_copy(arena, plain);
    return E_OK;
}
