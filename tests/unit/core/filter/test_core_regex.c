/*
 * Regular expressions, against those of libc.
 */
/* SPDX-License-Identifier: MIT */
#include "core/filter/regex.h"

#include <regex.h>

#include "base/buf.h"
#include "base/rng.h"
#include "testing.h"

enum { REGEX_DEPTH = 2 };

static bool matches(const char *regex, struct slice text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct regex *re;
    struct err err = ERR_INIT;

    if (regex_parse(slice_of(regex), &arena, &re, &err) != E_OK)
        fail_msg("%s: %s", regex, err.msg);
    return regex_matches(re, text);
}

static void expressions_match_what_they_say(void **state)
{
    static const struct {
        const char *regex, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"b", "abc", true},
        {"^b", "abc", false},
        {"^abc$", "abc", true},
        {"^a.c$", "a\nc", true},
        {"^.$", "ä", true},
        {"^[ä-ü]+$", "äöü", true},
        {"^[^ä]$", "ä", false},
        {"^(a|bc)*$", "abcbca", true},
        {"^(a|bc)*$", "abcb", false},
        {"^a{2}$", "aa", true},
        {"^a{2}$", "aaa", false},
        {"^(ab){1,3}$", "ababab", true},
        {"^(ab){1,3}$", "abababab", false},
        {"^a{2,}$", "aaaaa", true},
        {"^a{2,}$", "a", false},
        {"^a{0}b$", "b", true},
        {"^(a{0,2}){2}$", "aaaa", true},
        {"^(a{0,2}){2}$", "aaaaa", false},
        {"^[[:digit:]]+-[[:upper:]]$", "12-A", true},
        {"^[]a]+$", "]a", true},
        {"^[^]a]+$", "bc", true},
        {"^[a-]+$", "a-", true},
        {"^[\\]x]+$", "]x", true},
        {"^[\\d.]+$", "1.2", true},
        {"^\\d+\\s\\w\\D$", "1 ab", true},
        {"^\\.\\{$", ".{", true},
        {"^(|a)$", "", true},
        {"^()$", "", true},
        {"^(a*)*$", "aaa", true},
        {"^(a*)+b", "aab", true},
        {"a|^$", "", true},
        {"https?://[^/]+/", "see http://x.org/ there", true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (matches(cases[i].regex, slice_of(cases[i].text)) != cases[i].matches)
            fail_msg("%s %s %s", cases[i].regex, cases[i].matches ? "does not match" : "matches",
                     cases[i].text);
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
    static const struct {
        const char *regex, *message;
    } bad[] = {
        {"*a", "'*' at byte 0 of the regex has nothing to repeat"},
        {"a|+", "'+' at byte 2 of the regex has nothing to repeat"},
        {"(a", "the parenthesis at byte 0 of the regex is not closed"},
        {"[a", "the bracket at byte 0 of the regex is not closed"},
        {"[]", "the bracket at byte 0 of the regex is not closed"},
        {"[\\", "a bracket of the regex is not closed"},
        {"a\\", "the regex ends in a single backslash"},
        {"a{x}", "the brace at byte 1 of the regex must be a repeat like {2,5}, or be written \\{"},
        {"a{3,2}", "the repeat at byte 1 of the regex must go up, to at most 255"},
        {"a{256}", "the repeat at byte 1 of the regex must go up, to at most 255"},
        {"(a)\\1", "\\1 at byte 3 is not supported in a regex"},
        {"\\bx", "\\b at byte 0 is not supported in a regex"},
        {"[\\b]", "\\b at byte 1 is not supported in brackets"},
        {"[[:digits:]]", "at byte 1 of the regex must be a class like [:digit:]"},
        {"[b-a]", "the range at byte 1 of the regex is empty"},
        {"((a{255}){255}){255}",
         "the regex is too large: it may have 1000 steps, and repeats count as copies"},
    };
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf large = BUF_INIT(2000);
    const struct regex *re;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (regex_parse(slice_of(bad[i].regex), &arena, &re, &err) != E_INVALID)
            fail_msg("%s is accepted", bad[i].regex);
        assert_string_equal(err.msg, bad[i].message);
    }
    for (int i = 0; i < 1001; i++)
        buf_add_char(&large, i < 500 ? '(' : '|');
    assert_int_equal(regex_parse(buf_slice(&large), &arena, &re, &err), E_INVALID);
    large.size = 1000;
    assert_int_equal(regex_parse(buf_slice(&large), &arena, &re, &err), E_INVALID);
}

/* Expressions that take libraries exponential time. */
static void no_text_makes_a_match_slow(void **state)
{
    CLEANUP(buf) struct buf text = BUF_INIT(REGEX_SUBJECT_MAX);

    (void)state;
    for (int i = 0; i < REGEX_SUBJECT_MAX - 1; i++)
        buf_add_char(&text, 'a');
    buf_add_char(&text, '!');
    assert_false(matches("^(a*)*$", buf_slice(&text)));
    assert_false(matches("^(a|aa)+$", buf_slice(&text)));
    assert_false(matches("^(a?){200}a{200}$", buf_slice(&text)));
}

/* Anchors are outside of groups only: libc finds "(a$){2}" in "aba". */
static void random_regex(struct rng *rng, int depth, struct buf *out)
{
    static const char *const atoms[] = {"a",    "b", "c", ".",          "[ab]",
                                        "[^a]", "^", "$", "[[:alpha:]]"};
    static const char *const repeats[] = {"",  "",    "",      "*",     "+",
                                          "?", "{2}", "{1,2}", "{0,3}", "{2,}"};
    size_t pieces = 1 + rng_below(rng, 3);

    for (size_t i = 0; i < pieces; i++) {
        const char *atom = atoms[rng_below(rng, ARRAY_LEN(atoms))];
        bool anchor = strchr("^$", atom[0]) != NULL;

        if (anchor && depth < REGEX_DEPTH)
            atom = "a";

        if (depth > 0 && rng_below(rng, 3) == 0) {
            buf_add_char(out, '(');
            random_regex(rng, depth - 1, out);
            buf_add_str(out, rng_below(rng, 2) == 0 ? "|" : "");
            if (out->data[out->size - 1] == '|')
                random_regex(rng, depth - 1, out);
            buf_add_char(out, ')');
            anchor = false;
        } else {
            buf_add_str(out, atom);
        }
        if (!anchor) /* libc has its own idea of what ^* is */
            buf_add_str(out, repeats[rng_below(rng, ARRAY_LEN(repeats))]);
    }
}

static void it_finds_what_libc_finds(void **state)
{
    struct rng rng;
    int compared = 0;

    (void)state;
    rng_init(&rng, 4);
    for (int round = 0; round < 3000; round++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(buf) struct buf regex = BUF_INIT(REGEX_TEXT_MAX);
        const struct regex *re;
        struct err err = ERR_INIT;
        regex_t libc;

        random_regex(&rng, REGEX_DEPTH, &regex);
        if (regex_parse(buf_slice(&regex), &arena, &re, &err) != E_OK)
            continue; /* too large */
        assert_int_equal(regcomp(&libc, buf_text(&regex), REG_EXTENDED | REG_NOSUB), 0);
        for (int i = 0; i < 10; i++) {
            char text[8] = "";
            size_t size = rng_below(&rng, 7);

            for (size_t k = 0; k < size; k++)
                text[k] = (char)('a' + rng_below(&rng, 4));
            bool found = regexec(&libc, text, 0, NULL, 0) == 0;

            if (regex_matches(re, slice_of(text)) != found)
                fail_msg("%s %s '%s'", buf_text(&regex), found ? "must match" : "must not match",
                         text);
            compared += found;
        }
        regfree(&libc);
    }
    assert_true(compared > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_match_what_they_say),
        cmocka_unit_test(what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(no_text_makes_a_match_slow),
        cmocka_unit_test(it_finds_what_libc_finds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
