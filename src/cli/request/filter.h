/*
 * Which jobs and which params: from options to what the server reads.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/table/args.h"

/* Any of --queue --state --label --text --since --older. */
bool filter_given(const struct args *a);

/* As a query: &queue=q&state=a,b&label.k=v&text=t */
void filter_add_query(const struct args *a, struct buf *out);

/* As the object `filter` of a bulk action; `states` (or NULL) is used when no --state is given. */
MUST_CHECK enum err_code filter_add_json(const struct args *a, const char *states, struct buf *out,
                                         struct err *err);

/* The same for the jobs of one queue in these states. */
void filter_add_queue_json(const char *queue, const char *states, struct buf *out);

/* Adds it with line ends as spaces: they are white space in JSON, and escaped inside strings. */
void pairs_add_one_line(struct buf *out, struct slice json);

/* The values of a repeated K=V or K:=JSON option as a JSON object.  E_INVALID when a key comes
 * twice. */
MUST_CHECK enum err_code pairs_add_json(const struct args *a, const char *option, struct buf *out,
                                        struct err *err);
