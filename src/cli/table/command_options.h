/*
 * The options of all verbs, in lists that the table of commands puts together.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli/table/command.h"

/* Which server; which jobs; what a new job is like. */
extern const struct option_spec server_options[];
extern const struct option_spec filter_options[];
extern const struct option_spec bulk_options[];
extern const struct option_spec dry_run_option[];
extern const struct option_spec param_option[];
extern const struct option_spec job_options[];

/* Of one verb, or of few. */
extern const struct option_spec add_options[];
extern const struct option_spec list_options[];
extern const struct option_spec status_options[];
extern const struct option_spec log_options[];
extern const struct option_spec queue_log_options[];
extern const struct option_spec wait_options[];
extern const struct option_spec retry_options[];
extern const struct option_spec move_options[];
extern const struct option_spec names_option[];
extern const struct option_spec publish_options[];
extern const struct option_spec join_key_option[];
extern const struct option_spec step_options[];
extern const struct option_spec apply_options[];
extern const struct option_spec serve_options[];
extern const struct option_spec log_level_option[];
extern const struct option_spec worker_options[];
extern const struct option_spec progress_options[];
extern const struct option_spec emit_options[];
extern const struct option_spec each_options[];
extern const struct foreign_word each_foreign[];
extern const struct option_spec check_options[];
extern const struct option_spec store_copy_options[];
extern const struct option_spec bench_options[];
extern const struct option_spec help_options[];

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
        .run = cmd_noun_list,                                                      \
    }
#define NOUN_SHOW(id, text)                                            \
    {                                                                  \
        .name = "show", .help = (text), .arguments = {NOUN_NAMES(id)}, \
        .options = {server_options}, .run = cmd_noun_show,             \
    }
