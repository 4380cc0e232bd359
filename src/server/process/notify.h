/*
 * Notifies the service manager, when NOTIFY_SOCKET is set.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines such as READY=1.  Failures are ignored. */
void notify_send(const char *lines);

/* RELOADING=1 with the time the manager wants beside it. */
void notify_reloading(void);
