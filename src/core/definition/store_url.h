/*
 * URLs of stores other than the embedded one: postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE&…
 *
 * What stands in them is libpq's to understand.  Here is known only what kind of store they name,
 * and where passwords are in them, so that none is shown.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum { STORE_URL_MAX = 4096 };

/* E_INVALID: it names no kind of store that there is.  The message shows no password. */
MUST_CHECK enum err_code store_url_check(struct slice url, struct err *err);

/* The same without its passwords: for people. */
void store_url_show(struct slice url, struct buf *out);

/* Overwrites them where they stand. */
void store_url_hide(char *url);
