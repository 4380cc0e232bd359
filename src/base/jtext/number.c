/*
 * Numbers, judged without converting them: a whole number must fit 64 bits, a real must be finite
 * as a double.  Digits are compared as text, so that no length of them costs memory or precision.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/scan.h"

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && jtext_is_digit(*at))
        at++;
    return at;
}

static const char *digit_missing(const char *at, struct jtext_flaw *ret_flaw)
{
    *ret_flaw = (struct jtext_flaw){.at = at, .wanted = "a digit"};
    return NULL;
}

/* The smallest number that a double rounds to infinity, half a step above the largest double:
 * 2^1024 - 2^970, in full. */
static const char too_large[] =
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
    "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
    "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
    "342711559699508093042880177904174497792";

/* `digits` begins with one that is not 0 and counts 10^308. */
static bool below_too_large(const char *digits, const char *end)
{
    const char *limit = too_large;

    for (; digits < end && *limit != '\0'; digits++) {
        if (*digits == '.')
            continue;
        if (*digits != *limit)
            return *digits < *limit;
        limit++;
    }
    return strspn(limit, "0") != strlen(limit);
}

/* Digits of an exponent, or as good as: no text is long enough to make up for more. */
static int64_t exponent_of(const char *at, const char *end)
{
    const int64_t enough = INT64_C(1) << 40;
    bool negative = at < end && *at == '-';
    int64_t value = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && value < enough; at++)
        value = value * 10 + (*at - '0');
    return negative ? -value : value;
}

/* Is a number finite as a double?  Its digits go on to mantissa_end, perhaps with a point at
 * whole_end; the exponent, if there is one, follows its letter. */
static bool is_finite(const char *digits, const char *whole_end, const char *mantissa_end,
                      const char *end)
{
    if (mantissa_end == end && whole_end - digits <= 308)
        return true;
    const char *first = digits;

    while (first < mantissa_end && (*first == '0' || *first == '.'))
        first++;
    if (first == mantissa_end)
        return true;
    int64_t power = first < whole_end ? whole_end - first - 1 : whole_end - first;

    if (mantissa_end < end)
        power += exponent_of(mantissa_end + 1, end);
    return power < 308 || (power == 308 && below_too_large(first, mantissa_end));
}

/* The rest of a number whose whole part, beginning at `digits`, ends at `at`. */
static const char *real_end(const char *digits, const char *at, const char *end,
                            struct jtext_flaw *ret_flaw)
{
    const char *whole_end = at;

    if (*at == '.') {
        at = skip_digits(at + 1, end);
        if (at == whole_end + 1)
            return digit_missing(at, ret_flaw);
    }
    const char *mantissa_end = at;

    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        const char *power = at;

        at = skip_digits(at, end);
        if (at == power)
            return digit_missing(at, ret_flaw);
    }
    if (is_finite(digits, whole_end, mantissa_end, at))
        return at;
    *ret_flaw = (struct jtext_flaw){.at = digits, .cause = "the number is too large for a double"};
    return NULL;
}

const char *jtext_number_end(const char *at, const char *end, struct jtext_flaw *ret_flaw)
{
    bool negative = *at == '-';
    const char *digits = at + negative;

    at = skip_digits(digits, end);
    if (at == digits)
        return digit_missing(at, ret_flaw);
    if (*digits == '0' && at - digits > 1) {
        *ret_flaw = (struct jtext_flaw){.at = digits, .cause = "a number does not begin with 0"};
        return NULL;
    }
    if (at < end && (*at == '.' || *at == 'e' || *at == 'E'))
        return real_end(digits, at, end, ret_flaw);
    const char *largest = negative ? "9223372036854775808" : "9223372036854775807";

    if (at - digits < 19 || (at - digits == 19 && memcmp(digits, largest, 19) <= 0))
        return at;
    *ret_flaw = (struct jtext_flaw){.at = digits, .cause = "the whole number does not fit 64 bits"};
    return NULL;
}
