/*
 * Commands that run some of their words as code: the table, and in which places.
 *
 * For src/core/program/template*.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum rule_kind {
    RULE_NONE,
    RULE_OPENS,   /* a command follows: if, then, { */
    RULE_ALL,     /* evaluates all its words */
    RULE_PRINTS,  /* echo */
    RULE_PRINTF,  /* prints its words; -v NAME */
    RULE_TEST,    /* -v NAME */
    RULE_DOUBLE,  /* [[: -v NAME, arithmetic comparisons */
    RULE_DECLARE, /* NAME=VALUE, evaluated in part */
    RULE_EXPORT,  /* NAME=VALUE */
    RULE_READ,
    RULE_GETOPTS,
    RULE_SOURCE,
    RULE_CASE,
    RULE_FOR,
    RULE_FUNCTION,
    /* Programs, known behind any directory and in lists. */
    RULE_WRAPS, /* its options and operands, then a command: sudo, timeout */
    RULE_RUNS,  /* its words contain a command somewhere: docker */
    RULE_JOINS, /* as RULE_WRAPS, but the words are joined and a shell runs them: ssh */
    RULE_SHELL, /* -c CODE, or FILE, or code on standard input */
    RULE_SU,    /* -c CODE anywhere, or code on standard input */
    RULE_INPUT, /* code on standard input: at */
    RULE_SUMS,  /* prints only numbers about what it reads: wc */
};

struct shell_rule {
    const char *word;
    enum rule_kind kind;
    const char *where;  /* what a misplaced name is in */
    const char *values; /* letters of the options whose value is the next word */
    size_t operands;    /* words before the command that are its operands */
    const char *shells; /* letters of the options that make it start a shell: sudo -s */
    char splits;        /* letter of the option that makes it split a word into a command: env -S */
    char execs;         /* letter of the option with which no shell is run: watch -x, ssh -N */
};

extern const char rule_in_arithmetic[];
extern const char rule_in_variable_name[];
extern const char rule_in_variable[];
extern const char rule_in_code[];
extern const char rule_in_remote[];
extern const char rule_in_file[];
extern const char rule_in_option[];
extern const char rule_in_print[];

/* The rule for a command of this name, never NULL.  `exec`: no shell reads it, so only the
 * rules of programs apply. */
const struct shell_rule *rule_find(const char *word, bool exec);

/* Whether an assignment to the variable evaluates the value, at once or later. */
bool rule_evaluates_variable(const char *name, size_t size);

/* Whether the value of this long option is the next word. */
bool rule_long_option_has_value(const char *word);
