/*
 * The words of a shell script: which command a word belongs to, and whether a value may be in it.
 *
 * A value enters a script as a quoted parameter, which is safe as long as the shell does not
 * evaluate it.  Some commands evaluate their arguments once more: `eval`, `let`, `[[ … -eq … ]]`,
 * `test -v`, `printf -v`, `declare -i`, `trap`, `sh -c`.  In bash a value like a[$(reboot)] is then
 * a command.  Such places are found here by the words before them, as the script is read; a name
 * there is refused.
 *
 * What `echo`, `printf` and here-documents print is a value as well: in $(…) it is judged at the
 * place of the result, and it is refused in a script in which a shell runs its standard input.
 *
 * This reads scripts as people usually write them.  It does not follow a value that the script puts
 * into a variable or a file, or that another program prints.
 *
 * A command given as a list is read as one such line, with only the programs of the table
 * (template_rules.h).
 *
 * For src/core/program/template*.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

#define SHELL_WORD_MAX 32 /* no known word is longer */

/* A name in the script. */
struct shell_name {
    struct slice name;
    size_t at; /* its byte in the script */
};

/* Why a name is not allowed in its place. */
struct shell_fault {
    const char *where; /* NULL: it is allowed */
    struct shell_name name;
};

struct shell_word {
    char text[SHELL_WORD_MAX]; /* without quotes; cut, and `$` for each value that is filled in */
    size_t size;
    bool begun;
    bool named; /* it has a name in it */
    bool name_first;
    bool has_replaced; /* it has what xargs -I replaces in it */
    size_t matched;    /* … bytes of that matched so far */
    struct shell_name name;
};

struct shell_rule;

enum { SHELL_REPLACED_MAX = 8 };

/* One command line: the script's own, or that of a $(…). */
struct shell_words {
    struct shell_word word;
    struct shell_word before;
    const struct shell_rule *rule;     /* of the command; NULL: not read yet */
    const struct shell_rule *wrap;     /* the last `sudo`, `ssh` and the like before it */
    const struct shell_rule *shell;    /* a shell, su or the like is among the words */
    size_t args;                       /* words behind the command */
    size_t operands;                   /* words that still belong to `wrap` itself */
    size_t values;                     /* words to come that are values of options */
    const char *joined;                /* a shell runs these words: how messages call the place */
    bool exec;                         /* no shell reads this line: it is a list */
    bool starts_shell;                 /* sudo -s */
    bool execs;                        /* watch -x, ssh -N */
    bool target;                       /* the next word is where a redirection goes */
    bool here_string;                  /* the same behind <<< */
    bool code_next;                    /* the next word is what `sh -c` runs */
    bool shell_has_file;               /* … or it has a file to run, or its code */
    bool shell_past_options;           /* behind -- */
    bool shell_reads_input;            /* sh -s */
    bool shell_leads;                  /* it is the command, not a word behind one */
    bool attributes;                   /* declare -i and the like */
    bool in_test;                      /* between [[ and ]] */
    bool in_list;                      /* a=( … ) */
    bool in_pattern;                   /* of a `case` */
    bool piped;                        /* behind a | */
    bool own_input;                    /* its standard input is a file or a here-document */
    bool to_errors;                    /* it prints to standard error */
    bool fed;                          /* behind xargs: words come from standard input */
    bool fed_code;                     /* … and are put into a script */
    char replaced[SHELL_REPLACED_MAX]; /* what xargs -I replaces; empty: nothing */
    size_t cases;
    struct shell_fault says;    /* a name that this command prints; where NULL: none */
    struct shell_fault printed; /* … that this pipeline prints */
    struct shell_fault output;  /* … that the command line has printed so far */
};

/* What is known of the whole script. */
struct shell_facts {
    bool evaluates;              /* a variable evaluates its values: declare -i, -n */
    bool runs_input;             /* a shell runs its standard input */
    struct shell_fault assigned; /* a name that is assigned to a variable; where NULL: none */
    struct shell_fault printed;  /* a name that is printed */
};

void shell_word_begin(struct shell_words *w);
void shell_word_add(struct shell_words *w, char c);

/* The current word has a name.  `printed`: as the output of $(…). */
struct shell_fault shell_word_name(struct shell_words *w, struct shell_facts *facts,
                                   struct shell_name name, bool printed);

/* The command line prints a name: a here-document or a subshell has it. */
void shell_prints(struct shell_words *w, struct shell_facts *facts, struct shell_name name);

/* The word has ended, if one has begun. */
struct shell_fault shell_word_end(struct shell_words *w, struct shell_facts *facts);

/* ; & | newline ( ) < >: `text` begins with it.  *ret_reads_code: a shell of the line runs
 * its standard input, a here-document. */
struct shell_fault shell_operator(struct shell_words *w, struct shell_facts *facts,
                                  struct slice text, bool *ret_reads_code);

/* The end of the script, when all of its commands have ended. */
struct shell_fault shell_end(const struct shell_facts *facts);

/* Whether `[` behind the current word opens a subscript. */
bool shell_word_takes_subscript(const struct shell_words *w);
