/*
 * A command line, parsed by the table of commands.
 *
 * Options may be anywhere after the verb, up to `--`: --name VALUE, --name=VALUE, -n VALUE,
 * -nVALUE, flags also bundled (-fx).  Every value has been checked against its type.  Texts are
 * borrowed from argv.  Asking for an option that the command does not have is a broken invariant.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "cli/table/command.h"

struct given_option {
    const struct option_spec *spec;
    const char *value; /* NULL for a flag */
};

struct args {
    const struct command *command; /* NULL: the line did not get that far */
    const struct command *parent;  /* the verb whose verb it is, or NULL */
    bool wants_help;               /* nothing else was checked then */
    VEC(struct given_option) options;
    VEC(const char *) words;   /* arguments in their order */
    VEC(const char *) program; /* what came after `--`, for commands that take a program */
};

#define ARGS_INIT ((struct args){.command = NULL})

void args_deinit(struct args *a);
CLEANUP_BY_DEINIT(args)

/* `argv` without the program's name.  E_INVALID: a usage error; `a` has what was parsed. */
MUST_CHECK enum err_code args_parse(struct args *a, const struct command *table, int argc,
                                    const char *const *argv, struct err *err);

bool args_has(const struct args *a, const char *option);

/* The value given last, or NULL. */
const char *args_text(const struct args *a, const char *option);

int64_t args_int(const struct args *a, const char *option, int64_t otherwise);
int64_t args_duration_us(const struct args *a, const char *option, int64_t otherwise);

/* for (size_t i = 0; (given = args_next(a, "param", &i)) != NULL;) */
const struct given_option *args_next(const struct args *a, const char *option, size_t *i);

/* The argument at that place, or NULL. */
const char *args_word(const struct args *a, size_t i);
