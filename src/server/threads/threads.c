/* SPDX-License-Identifier: MIT */
#include "server/threads/threads.h"

#include <errno.h>
#include <signal.h>

/* ThreadSanitizer keeps what it knows of a thread on its stack. */
#ifdef __SANITIZE_THREAD__
#define STACK_BYTES ((size_t)2 << 20)
#else
#define STACK_BYTES ((size_t)512 << 10)
#endif

enum err_code thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *arg),
                           void *arg, struct err *err)
{
    pthread_attr_t attr;
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    ASSERT(pthread_attr_init(&attr) == 0);
    ASSERT(pthread_attr_setstacksize(&attr, STACK_BYTES) == 0);
    ASSERT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    int error = pthread_create(ret_thread, &attr, run, arg);

    ASSERT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    pthread_attr_destroy(&attr);
    if (error != 0) {
        errno = error;
        return err_errno(err, E_UNAVAILABLE, "start the %s thread", name);
    }
    pthread_setname_np(*ret_thread, name);
    return E_OK;
}

void thread_join(pthread_t thread)
{
    ASSERT(pthread_join(thread, NULL) == 0);
}
