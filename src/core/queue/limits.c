/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "core/queue/def.h"
#include "core/queue/keys.h"

/* 0 is no limit. */
static int64_t lower(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

struct queue_limits queue_limits_for(const struct queue_limits *own,
                                     const struct queue_limits *queue)
{
    struct queue_limits l = {
        .memory = lower(own->memory, queue->memory),
        .cpu_us = lower(own->cpu_us, queue->cpu_us),
        .files = lower(own->files, queue->files),
        .nice = own->nice,
        .niced = own->niced || queue->niced,
        .user = own->user.size > 0 ? own->user : queue->user,
    };

    if (queue->niced && (!own->niced || queue->nice > own->nice))
        l.nice = queue->nice;
    return l;
}

struct slice queue_limits_format(const struct queue_limits *l, struct arena *arena)
{
    CLEANUP(buf) struct buf out = BUF_INIT(4096);
    char length[DURATION_TEXT_SIZE];

    buf_add_char(&out, '{');
    if (l->memory > 0)
        jtext_put_int(&out, "memory", l->memory);
    if (l->cpu_us > 0)
        jtext_put_string(&out, "cpu", slice_of(duration_format(l->cpu_us, length)));
    if (l->files > 0)
        jtext_put_int(&out, "files", l->files);
    if (l->niced)
        jtext_put_int(&out, "nice", l->nice);
    if (l->user.size > 0)
        jtext_put_string(&out, "user", l->user);
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}

enum err_code queue_limits_parse(struct slice json, struct arena *arena,
                                 struct queue_limits *ret_limits, struct err *err)
{
    struct queue_def def = {0};
    struct object_read r = {.arena = arena, .key = "limits", .copies = true, .err = err};

    if (json.size > 0 && object_read_in(&r, &limits_object, json, &def) != E_OK)
        return err->code;
    *ret_limits = def.limits;
    return E_OK;
}
