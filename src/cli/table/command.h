/*
 * The command line as data: verbs, their arguments and options.
 *
 * The table `commands` (commands.c) is the single source: lines are parsed by it, and help, the
 * manual page in docs/cli.md, usage errors and shell completions are made from it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cli;

/* What the server keeps under names, with the verb and its help; each has a file in cli/nouns. */
#define NOUNS(X)                                                                              \
    X(QUEUE, queue, "queue",                                                                  \
      "Manage queues: list show pause resume drain down up restart log empty rm")             \
    X(TOPIC, topic, "topic", "Manage topics: list show publish")                              \
    X(SIGNAL, signal, "signal", "Manage signals: list show raise clear")                      \
    X(JOIN, join, "join", "Manage joins: list show arrive clear")                             \
    X(GROUP, group, "group", "Manage groups: list show open seal cancel pause resume set")    \
    X(RESOURCE, resource, "resource", "Manage resources: list show shut open")                \
    X(SCHEDULE, schedule, "schedule", "Manage schedules: list show next run pause resume rm") \
    X(WORKER, worker, "workers", "Show workers: list show")

#define NOUN_ID(ID, word, verb, text) NOUN_##ID,

enum noun_id { NOUN_NONE, NOUNS(NOUN_ID) NOUN_COUNT };

/* What a value must look like; also what a shell completes it with. */
enum value_type {
    VALUE_NONE, /* a flag has none */
    VALUE_TEXT,
    VALUE_INT,      /* from `min` to `max` */
    VALUE_DURATION, /* 500ms 10s 5m 2h 30d */
    VALUE_TIME,     /* an instant: see value.h */
    VALUE_SINCE,    /* an instant in the past, or how long ago it is */
    VALUE_PAIR,     /* K=V */
    VALUE_PARAM,    /* K=V or K:=JSON */
    VALUE_STATES,   /* job states with commas between */
    VALUE_CHOICE,   /* one of `choices` */
    VALUE_JOB,      /* a job's id, or its URL */
    VALUE_NOUN,     /* the name of a `noun` */
    VALUE_VERB,
    VALUE_FILE,
    VALUE_DIR,
    VALUE_TYPE_COUNT
};

struct value_spec {
    enum value_type type;
    const char *name; /* in help: QUEUE, D, N */
    enum noun_id noun;
    const char *const *choices;
    int64_t min, max;
};

struct option_spec {
    const char *name; /* without its dashes; NULL ends a list */
    char letter;      /* short form, or 0 */
    bool repeats;
    struct value_spec value;
    const char *help;
};

struct argument_spec {
    struct value_spec value; /* a NULL name ends a list */
    bool optional;
    bool repeats; /* the last one only */
};

/* What another tool calls something that this verb has, and what to write here. */
struct foreign_word {
    const char *word; /* as it is typed: "-P", "--max-procs", ":::"; NULL ends a list */
    bool number;      /* meant only with a number behind it */
    const char *advice;
};

enum command_group {
    GROUP_JOBS,
    GROUP_QUEUES,
    GROUP_SERVER,
    GROUP_IN_JOB,
    GROUP_OTHER,
    GROUP_COUNT
};

#define COMMAND_OPTION_LISTS 4
#define COMMAND_ARGUMENTS 3

struct command {
    const char *name; /* NULL ends a table */
    enum command_group group;
    const char *help;     /* one line */
    const char *about;    /* details, lines of at most 80 characters; or NULL */
    const char *examples; /* one a line, or NULL */
    struct argument_spec arguments[COMMAND_ARGUMENTS + 1];
    const struct option_spec *options[COMMAND_OPTION_LISTS + 1]; /* besides command_common */
    const struct foreign_word *foreign;                          /* or NULL */
    bool takes_program;                                          /* `-- CMD…` */
    const struct command *verbs; /* its verbs; the first is the default */
    enum noun_id noun;           /* what those verbs are about; or NOUN_NONE */
    int (*run)(struct cli *cli);
};

extern const struct command commands[];

/* Options that every verb has. */
extern const struct option_spec command_common[];

/* Walks over all options of a command: NULL after the last.  Start with *i = 0. */
const struct option_spec *command_next_option(const struct command *c, unsigned *i);

/* What to write instead of the word `at`, which another tool knows (`after` is the next one, or
 * NULL); NULL when it is none of those. */
const char *command_foreign(const struct command *c, const char *at, const char *after);
