/*
 * Threads of the server: named, with a small stack, with signals blocked (the HTTP thread handles
 * them).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

#include "base/err.h"

/* E_UNAVAILABLE when the system has no thread left. */
MUST_CHECK enum err_code thread_start(pthread_t *ret_thread, const char *name,
                                      void *(*run)(void *arg), void *arg, struct err *err);
void thread_join(pthread_t thread);
