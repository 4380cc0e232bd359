/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assert_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "waybill: broken invariant at %s:%d: %s\n", file, line, what);
    abort();
}

static void *must_have(void *p, size_t size)
{
    if (p == NULL && size > 0) {
        fprintf(stderr, "waybill: out of memory (%zu bytes)\n", size);
        abort();
    }
    return p;
}

void *mem_alloc(size_t size)
{
    return must_have(malloc(size), size);
}

void *mem_zalloc(size_t size)
{
    return must_have(calloc(1, size), size);
}

void *mem_realloc(void *p, size_t size)
{
    return must_have(realloc(p, size), size);
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t size)
{
    char *copy = mem_alloc(size + 1);

    if (size > 0)
        memcpy(copy, s, size);
    copy[size] = '\0';
    return copy;
}

void mem_cleanup(void *p)
{
    free(*(void **)p);
}
