/*
 * Tells the service manager how things stand, when NOTIFY_SOCKET says that it listens.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines such as READY=1.  Nothing depends on it: failures are passed over. */
void notify_send(const char *lines);

/* RELOADING=1 with the time the manager wants beside it. */
void notify_reloading(void);
