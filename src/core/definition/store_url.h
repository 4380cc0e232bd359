/*
 * URLs of stores other than the embedded one: postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE&…
 *
 * libpq interprets them.  This file only knows which kind of store they name, and where passwords
 * are in them, so that none is shown.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum { STORE_URL_MAX = 4096 };

/* E_INVALID: no known kind of store.  The message shows no password. */
MUST_CHECK enum err_code store_url_check(struct slice url, struct err *err);

/* The same without its passwords: for people. */
void store_url_show(struct slice url, struct buf *out);

/* Overwrites the passwords in place. */
void store_url_hide(char *url);
