/*
 * `@last`: the job that this user has added last, to each server.
 *
 * Kept in $XDG_STATE_HOME/waybill/last-jobs (default ~/.local/state), a line `ID SERVER` for each
 * of the servers used last.  A convenience: where it cannot be written nothing is kept, and nothing
 * fails.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/id.h"

void last_job_keep(const char *server, const char *id);

/* False when none is known for that server. */
bool last_job_find(const char *server, char ret_id[static ID_TEXT_SIZE]);
