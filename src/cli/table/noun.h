/*
 * The nouns of the command line as data: what the server keeps under a name.
 *
 * Each has a word in NOUNS (command.h) and a file in cli/nouns with its struct and its verbs.
 *  `list` with --names and --json, `show`, shell completion and the check of names on the line come
 * from these.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "cli/table/command.h"
#include "cli/view/view_field.h"

enum { NOUN_FIELDS_MAX = 15 };

struct noun {
    const char *name;    /* on its page: signal */
    const char *command; /* the verb that has `list`; NULL: the name */
    const char *key;     /* the member that --names lists; NULL: name */
    const char *plural;  /* /v1/signals/NAME, and the member of the list's reply */
    /* Can it be a name?  NULL: no rule. */
    enum err_code (*check_name)(const char *noun, struct slice name, struct err *err);
    struct view_field columns[NOUN_FIELDS_MAX + 1]; /* of its list */
    struct view_field heading[NOUN_FIELDS_MAX + 1]; /* after the name, at the top of its page */
    struct view_field page[NOUN_FIELDS_MAX + 1];    /* the lines below */
    const char *part;                               /* an array below them: its member, or NULL */
    struct view_field part_columns[NOUN_FIELDS_MAX + 1];
    void (*print_more)(const json_t *item, const struct screen *s); /* at the end; or NULL */
};

#define NOUN_EXTERN(ID, word, verb, text) \
    extern const struct noun word##_noun; \
    extern const struct command word##_verbs[];

NOUNS(NOUN_EXTERN)

extern const struct noun *const nouns[NOUN_COUNT];

/* The verb that lists it: `waybill VERB list`. */
const char *noun_command(enum noun_id id);

void noun_print_table(enum noun_id id, const json_t *items, int64_t now_at, const struct screen *s);
void noun_print_page(enum noun_id id, const json_t *item, int64_t now_at, const struct screen *s);

/* ---- for the table of its verbs; with cli/table/command_options.h ---- */

int noun_list(struct cli *cli);
int noun_show(struct cli *cli);

/* One name, or several, of a noun. */
#define NOUN_NAME(id)                                                \
    {                                                                \
        .value = {.type = VALUE_NOUN, .noun = (id), .name = "NAME" } \
    }
#define NOUN_NAMES(id)                                                               \
    {                                                                                \
        .value = {.type = VALUE_NOUN, .noun = (id), .name = "NAME"}, .repeats = true \
    }

/* The verbs that every noun has. */
#define NOUN_LIST(text)                                                            \
    {                                                                              \
        .name = "list", .help = (text), .options = {names_option, server_options}, \
        .run = noun_list,                                                          \
    }
#define NOUN_SHOW(id, text)                                            \
    {                                                                  \
        .name = "show", .help = (text), .arguments = {NOUN_NAMES(id)}, \
        .options = {server_options}, .run = noun_show,                 \
    }

/* A verb that takes names of the noun and no options of its own. */
#define NOUN_ACT(id, word, text, function)                             \
    {                                                                  \
        .name = (word), .help = (text), .arguments = {NOUN_NAMES(id)}, \
        .options = {server_options}, .run = (function),                \
    }

/* A member that `workers show` adds: an array of the jobs that run, those of other workers too. */
#define WORKER_JOBS "running_jobs"
