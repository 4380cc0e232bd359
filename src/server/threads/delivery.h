/*
 * What comes back to the HTTP thread: finished work and events, each with the function to call.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "server/threads/inbox.h"

struct delivery {
    struct inbox_item item; /* first: an item of the HTTP thread's inbox is a delivery */
    void (*deliver)(struct delivery *d); /* called once, on the HTTP thread */
    /* Called before that, on any thread, if the commit behind it may be lost.  NULL: nothing. */
    void (*fail)(struct delivery *d, const struct err *err);
};
