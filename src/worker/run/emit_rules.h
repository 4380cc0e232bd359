/*
 * What a job may emit and add: checked while its program still listens.
 *
 * The server checks it all again when it arrives.  But an error is of use to the program only as
 * the reply to its line, so whatever can be judged here is: rights, known queues and topics, the
 * state of the job's own route.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

/* E_INVALID when there is no such queue or topic; for queues with the nearest name. */
typedef enum err_code emit_name_fn(void *ctx, struct slice name, struct err *err);

enum emit_route { /* of the emitting job */
                  EMIT_NO_ROUTE,
                  EMIT_ROUTE,
                  EMIT_ROUTE_FINAL, /* its final steps have begun: no step can be added */
};

struct emit_rules {
    enum emit_route route;
    bool may_command; /* jobs that it emits may have commands */
    emit_name_fn *knows_queue;
    emit_name_fn *knows_topic;
    void *ctx;
};

/* E_FORBIDDEN: the job's queue may not emit this; the attempt cannot succeed any more.
 * E_INVALID, E_CONFLICT: the line is refused. */
MUST_CHECK enum err_code emit_rules_check_job(const struct emit_rules *r, struct slice job,
                                              struct err *err);
MUST_CHECK enum err_code emit_rules_check_step(const struct emit_rules *r, struct slice step,
                                               struct err *err);
