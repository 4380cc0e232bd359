/*
 * The content of a request, told by 64 bits: the same key with another content is a conflict.
 *
 * Kept in stores, so never to be changed.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/slice.h"

uint64_t content_hash(struct slice bytes);

/* Of an object as it would be without its member `redo`: that says what to do with a job that is
 * known, not which job it is. */
uint64_t content_without_redo(struct slice object);
