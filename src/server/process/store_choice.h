/*
 * Which store the server uses, and on a shared one its identity.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct server;

/* Fills in the store's members of struct server: by the URL, or for the embedded store when
 * that is NULL.  The data directory is held and the server's own URL known.  E_FULL,
 * E_FORBIDDEN, E_INTERNAL: the server's id. */
MUST_CHECK enum err_code store_choice_make(struct server *s, const char *url, struct err *err);
