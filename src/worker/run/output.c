/*
 * Positions (`at`) count bytes from the beginning of the attempt.  The kept log is one stream:
 * [first, first + kept.size) is in memory, everything before `sent` is on the server, and position
 * + `shift` is the offset there.  Bytes behind the head go into the tail, a separate stream until
 * the end.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/run/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "base/vec.h"
#include "core/job/log_mark.h"

#define NOTICE "waybill: "

enum {
    NOTICE_ROOM = 100,     /* reserved for the line between head and tail */
    SMALL_CAP = 1000,      /* of a cap with a tail */
    LINE_START_MAX = 4096, /* how far into the tail the start of a line is searched */
};

struct output_time {
    int64_t at; /* position of a byte */
    int64_t us; /* when it came */
};

typedef VEC(struct output_time) time_list;

struct output {
    struct output_config config;
    struct buf kept;
    int64_t first; /* position of kept.data[0] */
    int64_t sent;
    int64_t shift;
    int64_t piece_first, piece_end; /* end of the piece that was handed out last */
    size_t head_max, tail_max;
    struct buf tail;      /* at least the last tail_max bytes behind the head */
    int64_t tail_total;   /* bytes behind the head in all */
    char head_last, last; /* maximum bytes of the head, and of all */
    bool head_over;
    bool ended;
    bool stopped;
    bool fresh;      /* a piece was handed out since the last noted time */
    size_t n_errors; /* bytes of standard error at the end, if it was kept apart */
    time_list times, tail_times;
};

struct output *output_new(const struct output_config *config)
{
    struct output *o = mem_zalloc(sizeof(*o));
    size_t cap = config->cap > 0 ? (size_t)config->cap : 0;
    size_t tail = cap < SMALL_CAP ? 0 : (cap - NOTICE_ROOM) / 2;

    o->config = *config;
    o->shift = config->base;
    o->tail_max = tail < OUTPUT_TAIL_MAX ? tail : OUTPUT_TAIL_MAX;
    o->head_max = cap < SMALL_CAP ? cap : cap - NOTICE_ROOM - o->tail_max;
    if (config->keep_text && o->head_max > OUTPUT_PENDING_MAX)
        o->head_max = OUTPUT_PENDING_MAX;
    o->kept = BUF_INIT(SIZE_MAX / 2); /* bounded by what is added */
    o->tail = BUF_INIT(2 * o->tail_max);
    o->head_last = o->last = '\n';
    return o;
}

void output_free(struct output *o)
{
    if (o == NULL)
        return;
    buf_deinit(&o->kept);
    buf_deinit(&o->tail);
    VEC_DEINIT(&o->times);
    VEC_DEINIT(&o->tail_times);
    free(o);
}

static int64_t end_of(const struct output *o)
{
    return o->first + (int64_t)o->kept.size;
}

/* ---- times ---- */

static void note_time(struct output *o, time_list *times, struct output_time time)
{
    if (times->count > 0 && !o->fresh &&
        time.us - times->items[times->count - 1].us < OUTPUT_TIME_US)
        return;
    if (times->count == OUTPUT_TIMES_MAX) {
        times->count /= 2;
        for (size_t i = 1; i < times->count; i++)
            times->items[i] = times->items[2 * i];
    }
    VEC_PUSH(times, time);
    o->fresh = false;
}

static void forget_times(time_list *times, int64_t before)
{
    size_t gone = 0;

    while (gone < times->count && times->items[gone].at < before)
        gone++;
    times->count -= gone;
    if (gone > 0)
        memmove(times->items, times->items + gone, times->count * sizeof(times->items[0]));
}

static void add_times(const struct output *o, struct buf *b)
{
    bool any = false;

    for (size_t i = 0; i < o->times.count; i++) {
        const struct output_time *t = &o->times.items[i];

        if (t->at < o->piece_first || t->at >= o->piece_end)
            continue;
        if (!any)
            buf_add_str(b, ",\"times\":[");
        any = true;
        jtext_add_comma(b);
        buf_addf(b, "[%" PRId64 ",%" PRId64 "]", t->at + o->shift, t->us);
    }
    if (any)
        buf_add_char(b, ']');
}

/* ---- what comes in ---- */

static void keep(struct output *o, struct slice bytes, int64_t now_at)
{
    if (bytes.size == 0)
        return;
    note_time(o, &o->times, (struct output_time){end_of(o), now_at});
    buf_add_slice(&o->kept, bytes);
    o->last = o->head_last = bytes.data[bytes.size - 1];
}

static void add_tail(struct output *o, struct slice bytes, int64_t now_at)
{
    if (bytes.size == 0)
        return;
    note_time(o, &o->tail_times, (struct output_time){o->tail_total, now_at});
    o->tail_total += (int64_t)bytes.size;
    o->last = bytes.data[bytes.size - 1];
    if (bytes.size > o->tail_max) {
        buf_clear(&o->tail);
        bytes = slice_make(slice_end(bytes) - o->tail_max, o->tail_max);
    }
    if (o->tail.size + bytes.size > 2 * o->tail_max) {
        size_t gone = o->tail.size - o->tail_max;

        memmove(o->tail.data, o->tail.data + gone, o->tail_max);
        o->tail.size = o->tail_max;
    }
    buf_add_slice(&o->tail, bytes);
}

static size_t head_room(const struct output *o)
{
    size_t used = end_of(o) > 0 ? (size_t)end_of(o) : 0;
    size_t pending = output_pending(o);
    size_t room = used < o->head_max ? o->head_max - used : 0;
    size_t patience = pending < OUTPUT_PENDING_MAX ? OUTPUT_PENDING_MAX - pending : 0;

    return room < patience ? room : patience;
}

void output_add(struct output *o, struct slice bytes, int64_t now_at)
{
    if (o->ended)
        return;
    size_t room = o->head_over ? 0 : head_room(o);

    if (bytes.size <= room) {
        keep(o, bytes, now_at);
        return;
    }
    keep(o, slice_make(bytes.data, room), now_at);
    o->head_over = true;
    add_tail(o, slice_make(bytes.data + room, bytes.size - room), now_at);
}

void output_notice(struct output *o, struct slice text, int64_t now_at)
{
    while (text.size > 0) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.data) : text.size;
        struct slice line = slice_make(text.data, size);
        CLEANUP(buf) struct buf b = BUF_INIT(line.size + sizeof(NOTICE) + 2);

        if (o->last != '\n')
            buf_add_char(&b, '\n');
        buf_add_str(&b, NOTICE);
        buf_add_slice(&b, line);
        buf_add_char(&b, '\n');
        if (!o->ended)
            output_add(o, buf_slice(&b), now_at);
        else if (o->config.cap > 0 && end_of(o) + (int64_t)b.size <= o->config.cap)
            keep(o, buf_slice(&b), now_at);
        size += end != NULL;
        text = slice_make(text.data + size, text.size - size);
    }
}

/* ---- the end ---- */

/* The tail begins at the start of a line, if one is near. */
static size_t tail_start(const struct output *o)
{
    size_t start = o->tail.size > o->tail_max ? o->tail.size - o->tail_max : 0;
    size_t look = o->tail.size - start < LINE_START_MAX ? o->tail.size - start : LINE_START_MAX;

    if (o->tail_total == (int64_t)o->tail.size && start == 0)
        return 0; /* all of it is there */
    const char *line = look > 0 ? memchr(o->tail.data + start, '\n', look) : NULL;

    if (line != NULL && line + 1 < o->tail.data + o->tail.size)
        return (size_t)(line + 1 - o->tail.data);
    for (int i = 0; i < 3 && start < o->tail.size; i++) /* not in the middle of a character */
        start += ((unsigned char)o->tail.data[start] & 0xC0) == 0x80;
    return start;
}

static void join_tail(struct output *o, int64_t now_at)
{
    size_t start = tail_start(o);
    int64_t left_out = o->tail_total - (int64_t)(o->tail.size - start);

    if (left_out > 0 && o->tail_max > 0) {
        CLEANUP(buf) struct buf line = BUF_INIT(NOTICE_ROOM);

        buf_addf(&line, "%s" NOTICE "%" PRId64 " bytes are left out here\n",
                 o->head_last == '\n' ? "" : "\n", left_out);
        keep(o, buf_slice(&line), now_at);
    }
    int64_t shift = end_of(o) - left_out; /* from positions in the tail to those in the log */

    for (size_t i = 0; i < o->tail_times.count; i++) {
        struct output_time *t = &o->tail_times.items[i];
        bool covered = i + 1 < o->tail_times.count && o->tail_times.items[i + 1].at <= left_out;

        if (o->tail_max > 0 && !covered)
            VEC_PUSH(&o->times,
                     ((struct output_time){(t->at > left_out ? t->at : left_out) + shift, t->us}));
    }
    if (o->tail_max > 0)
        buf_add(&o->kept, o->tail.data + start, o->tail.size - start);
    buf_deinit(&o->tail);
    VEC_CLEAR(&o->tail_times);
}

void output_end(struct output *o, int64_t now_at)
{
    if (o->ended)
        return;
    o->ended = true;
    if (o->tail_total > 0 && (!o->stopped || o->config.keep_text))
        join_tail(o, now_at);
}

void output_add_errors(struct output *o, struct slice errors, int64_t now_at)
{
    int64_t room = o->config.cap - end_of(o);

    ASSERT(o->ended && o->config.keep_text && o->n_errors == 0);
    if ((int64_t)errors.size > room)
        errors.size = room > 0 ? (size_t)room : 0;
    if (errors.size == 0)
        return;
    const struct log_mark begins = {.offset = end_of(o), .kind = LOG_MARK_ERRORS};

    VEC_PUSH(&o->times, ((struct output_time){begins.offset, log_mark_pack(&begins)}));
    keep(o, errors, now_at);
    o->n_errors = errors.size;
}

/* ---- on its way ---- */

size_t output_pending(const struct output *o)
{
    return o->stopped ? 0 : (size_t)(end_of(o) - o->sent);
}

/* Frees what the server has, once it can no longer ask for it again. */
static void forget_sent(struct output *o)
{
    size_t gone = (size_t)(o->sent - o->first);

    if (o->config.keep_text || gone == 0)
        return;
    memmove(o->kept.data, o->kept.data + gone, o->kept.size - gone);
    o->kept.size -= gone;
    o->first = o->sent;
    forget_times(&o->times, o->first);
}

/* Avoids cutting a character, if the text is valid otherwise. */
static struct slice whole_characters(struct slice piece)
{
    for (size_t cut = 0; cut < 4 && cut < piece.size; cut++) {
        unsigned char c = (unsigned char)piece.data[piece.size - 1 - cut];

        if (c < 0x80)
            break;
        if (c >= 0xC0) {
            const char *at = piece.data + piece.size - 1 - cut;

            if (utf8_step(at, slice_end(piece)) == 0 && cut + 1 < piece.size)
                piece.size -= cut + 1;
            break;
        }
    }
    return piece;
}

int64_t output_add_piece(struct output *o, struct buf *b, size_t max)
{
    size_t size = output_pending(o) < max ? output_pending(o) : max;

    if (size == 0)
        return -1;
    forget_sent(o);
    struct slice piece = slice_make(o->kept.data + (o->sent - o->first), size);

    if (!o->ended || size < output_pending(o)) /* more will come */
        piece = whole_characters(piece);
    o->piece_first = o->sent;
    o->piece_end = o->sent + (int64_t)piece.size;
    o->fresh = true;
    buf_addf(b, "{\"offset\":%" PRId64, o->piece_first + o->shift);
    if (utf8_valid(piece) && memchr(piece.data, '\0', piece.size) == NULL) {
        jtext_put_string(b, "text", piece);
    } else {
        jtext_add_key(b, "base64");
        buf_add_char(b, '"');
        base64_add(b, piece);
        buf_add_char(b, '"');
    }
    add_times(o, b);
    buf_add_char(b, '}');
    return o->piece_end + o->shift;
}

/* The server's log ends before the first byte that we still have. */
static void note_loss(struct output *o, int64_t size, int64_t lost)
{
    struct buf b = BUF_INIT(o->kept.size + NOTICE_ROOM);

    buf_addf(&b, "\n" NOTICE "%" PRId64 " bytes were lost here\n", lost);
    o->first -= (int64_t)b.size;
    buf_add_slice(&b, buf_slice(&o->kept));
    buf_deinit(&o->kept);
    o->kept = b;
    o->kept.limit = SIZE_MAX / 2;
    o->sent = o->first;
    o->shift = size - o->first;
}

void output_ack(struct output *o, int64_t size)
{
    int64_t at = size - o->shift;

    if (o->stopped)
        return;
    if (at > end_of(o)) /* others have written: continues behind them */
        o->shift = size - o->sent;
    else if (at >= o->sent)
        o->sent = at;
    else if (at == o->piece_first &&
             o->sent == o->piece_end) /* the server accepted nothing of the piece */
        output_stop(o);
    else if (at >= o->first)
        o->sent = at;
    else
        note_loss(o, size, o->first - at);
}

void output_stop(struct output *o)
{
    o->stopped = true;
    o->sent = end_of(o);
    o->head_over = !o->config.keep_text || o->head_over;
    forget_sent(o);
}

/* ---- what is there ---- */

struct slice output_text(const struct output *o)
{
    ASSERT(o->config.keep_text);
    return slice_make(o->kept.data, o->kept.size - o->n_errors);
}

struct slice output_errors(const struct output *o)
{
    ASSERT(o->config.keep_text);
    return slice_make(o->n_errors > 0 ? o->kept.data + (o->kept.size - o->n_errors) : NULL,
                      o->n_errors);
}
