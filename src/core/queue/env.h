/*
 * Variables that a queue or a job adds to the environment of its programs: `env`, an object of
 * texts.
 *
 * Names are those of a shell's variables; those that begin with WAYBILL_ are the worker's and
 * refused, so that no definition can set a token, a store or a lease. Number and size are
 * bounded.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define QUEUE_ENV_NAMES_MAX 200
#define QUEUE_ENV_NAME_MAX 255
#define QUEUE_ENV_OWN "WAYBILL_"

/* Whether a variable may have that name.  E_INVALID. */
MUST_CHECK enum err_code queue_env_check_name(struct slice name, struct err *err);
