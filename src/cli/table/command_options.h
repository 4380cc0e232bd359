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
extern const struct option_spec wait_options[];
extern const struct option_spec retry_options[];
extern const struct option_spec move_options[];
extern const struct option_spec names_option[];
extern const struct option_spec step_options[];
extern const struct option_spec apply_options[];
extern const struct option_spec serve_options[];
extern const struct option_spec log_level_option[];
extern const struct option_spec worker_options[];
extern const struct option_spec progress_options[];
extern const struct option_spec emit_options[];
extern const struct option_spec each_options[];
extern const struct option_spec run_options[];
extern const struct foreign_word each_foreign[];
extern const struct option_spec check_options[];
extern const struct option_spec store_copy_options[];
extern const struct option_spec bench_options[];
extern const struct option_spec help_options[];
