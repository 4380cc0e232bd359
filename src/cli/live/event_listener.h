/*
 * Listens to a server's events beside everything else: a thread that only tells that something
 * happened.
 *
 * The descriptor becomes readable when it did; also when the stream broke, or is there again.  The
 * thread lasts as long as the process.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "worker/client/client.h"

/* The texts of the configuration outlive the process's interest. */
MUST_CHECK enum err_code event_listener_start(const struct client_config *config, int *ret_fd,
                                              struct err *err);

/* Discards the events received so far. */
void event_listener_clear(int fd);
