/* SPDX-License-Identifier: MIT */
#include "server/http/input.h"

#include <errno.h>

#include "base/compiler.h"
#include "server/limits.h"

void input_init(struct input *in)
{
    *in = (struct input){.kept = BUF_INIT(READ_BLOCK)};
}

void input_deinit(struct input *in)
{
    buf_deinit(&in->kept);
}

void input_take(struct input *in, size_t size)
{
    in->rest = slice_make(in->rest.data + size, in->rest.size - size);
    if (in->rest.size == 0) {
        in->rest.data = NULL;
        buf_deinit(&in->kept);
    }
}

/* Afterwards `kept` holds what is left, and nothing else. */
void input_keep(struct input *in)
{
    bool is_kept = in->kept.data != NULL && in->rest.data >= in->kept.data &&
                   in->rest.data <= in->kept.data + in->kept.size;

    if (in->rest.size == 0)
        return;
    if (is_kept) {
        memmove(in->kept.data, in->rest.data, in->rest.size);
        in->kept.size = in->rest.size;
    } else {
        buf_clear(&in->kept);
        buf_add_slice(&in->kept, in->rest);
        ASSERT(!in->kept.overflowed);
    }
    in->rest = buf_slice(&in->kept);
}

static enum input_result judge(struct input *in, ssize_t n, size_t asked)
{
    if (n == 0 || (n < 0 && errno != EAGAIN))
        return INPUT_END;
    if (n < 0 || ((size_t)n < asked && !in->is_ending))
        in->readable = false;
    return n < 0 ? INPUT_NOTHING : INPUT_SOME;
}

static enum input_result fill_kept(struct input *in, struct channel *ch)
{
    input_keep(in);
    size_t room = READ_BLOCK - in->kept.size;
    char *to = buf_reserve(&in->kept, room);

    ASSERT(room > 0 && to != NULL);
    ssize_t n = ch->transport->recv(ch, to, room);

    if (n > 0)
        in->kept.size += (size_t)n;
    in->rest = buf_slice(&in->kept);
    return judge(in, n, room);
}

enum input_result input_fill(struct input *in, struct channel *ch, char *scratch, size_t max)
{
    if (!in->readable)
        return INPUT_NOTHING;
    if (in->rest.size > 0)
        return fill_kept(in, ch);
    ssize_t n = ch->transport->recv(ch, scratch, max);

    if (n > 0)
        in->rest = slice_make(scratch, (size_t)n);
    return judge(in, n, max);
}
