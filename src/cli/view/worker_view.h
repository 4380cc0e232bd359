/*
 * Workers for people: as a table, and one as a page.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/view/screen.h"

/* Heard of not long ago, and it has not said goodbye. */
bool worker_lives(const json_t *worker);

void worker_table(const json_t *workers, int64_t now_at, const struct screen *s);

/* `jobs` are all that run; those of other workers are passed over. */
void worker_page(const json_t *worker, const json_t *jobs, int64_t now_at, const struct screen *s);
