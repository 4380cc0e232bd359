/*
 * What the language lacks: must-check results, ownership at the declaration, assertions that stay.
 *
 * CLEANUP(x) calls x_deinit or x_free (whichever the type's header defines as x_cleanup) when the
 * variable leaves its scope.  ASSERT is for broken invariants only and is compiled in always.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#define CLEANUP(type) __attribute__((cleanup(type##_cleanup)))

/* For CLEANUP(type): struct type is released by type_deinit. */
#define CLEANUP_BY_DEINIT(type)                           \
    static inline void type##_cleanup(struct type *value) \
    {                                                     \
        type##_deinit(value);                             \
    }

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Hands a pointer on: the variable forgets it, so that its CLEANUP has nothing to release. */
#define STEAL(p)              \
    __extension__({           \
        __auto_type t_ = (p); \
        (p) = NULL;           \
        t_;                   \
    })

#define ASSERT(cond) ((cond) ? (void)0 : assert_failed(#cond, __FILE__, __LINE__))

NORETURN void assert_failed(const char *what, const char *file, int line);

/* malloc and friends that abort when memory is out: nothing was promised before its commit. */
MUST_CHECK void *mem_alloc(size_t size);
MUST_CHECK void *mem_zalloc(size_t size);
MUST_CHECK void *mem_realloc(void *p, size_t size);
MUST_CHECK char *mem_strdup(const char *s);
MUST_CHECK char *mem_strndup(const char *s, size_t size);

/* CLEANUP(mem) char *p: free(p) at the end of the scope. */
void mem_cleanup(void *p);
