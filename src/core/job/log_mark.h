/*
 * Marks in a job's log: when the text at an offset came, where an attempt begins, where its
 * standard error begins.
 *
 * In the store a mark is two numbers of 8 bytes, its offset and one that is packed here; so are the
 * pairs of `times` that workers send, which have no attempts.  The sign of the packed number is the
 * kind: above 0 a time, 0 standard error, below 0 an attempt.  A fourth kind needs a column and a
 * migration.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

enum log_mark_kind {
    LOG_MARK_TIME,    /* what follows came at `value`, microseconds since 1970 */
    LOG_MARK_ERRORS,  /* standard error that was kept apart begins; no value */
    LOG_MARK_ATTEMPT, /* attempt `value` begins; the first has no mark */
};

struct log_mark {
    int64_t offset;
    enum log_mark_kind kind;
    int64_t value;
};

static inline struct log_mark log_mark_unpack(int64_t offset, int64_t packed)
{
    if (packed == 0)
        return (struct log_mark){.offset = offset, .kind = LOG_MARK_ERRORS};
    if (packed > 0)
        return (struct log_mark){.offset = offset, .kind = LOG_MARK_TIME, .value = packed};
    return (struct log_mark){.offset = offset, .kind = LOG_MARK_ATTEMPT, .value = -packed};
}

static inline int64_t log_mark_pack(const struct log_mark *m)
{
    switch (m->kind) {
    case LOG_MARK_TIME: return m->value;
    case LOG_MARK_ATTEMPT: return -m->value;
    case LOG_MARK_ERRORS: break;
    }
    return 0;
}
