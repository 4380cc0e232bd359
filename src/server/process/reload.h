/*
 * Definitions of `-c`, put into the store at start and again when HUP asks for it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct definitions;
struct engine;
struct server;

/* At start, before the engine's thread runs. */
MUST_CHECK enum err_code definitions_apply_now(struct engine *engine, const struct definitions *d,
                                               struct err *err);

/* HTTP thread.  Reads the files again and hands them to the engine.  What is wrong is logged
 * and changes nothing. */
void definitions_reload(struct server *server);
