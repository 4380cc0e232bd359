/* SPDX-License-Identifier: MIT */
#include "each/input.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "cli/view/screen.h"
#include "each/line/words.h"

#define EXCERPT_MAX 60
#define AGAIN_MS 50
#define AWAY_US (30 * US_PER_S)

/* ---- life ---- */

enum err_code each_input_init(struct each_input *f, uv_loop_t *loop, struct async_client *client,
                              const struct each_input_hooks *hooks, struct err *err)
{
    f->loop = loop;
    f->client = client;
    f->hooks = *hooks;
    f->chunk = BUF_INIT(EACH_CHUNK_MAX);
    f->bad = ERR_INIT;
    uv_timer_init(loop, &f->pause);
    f->pause.data = f;
    /* A descriptor of ours that is readable when the input is: the loop may set its flags. */
    struct epoll_event event = {.events = EPOLLIN};

    f->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (f->poll_fd < 0)
        return err_errno(err, E_INTERNAL, "watch the input");
    if (epoll_ctl(f->poll_fd, EPOLL_CTL_ADD, f->in, &event) < 0) {
        close(f->poll_fd); /* a file */
        f->poll_fd = -1;
        return E_OK;
    }
    uv_poll_init(f->loop, &f->poll, f->poll_fd);
    f->poll.data = f;
    return E_OK;
}

void each_input_stop(struct each_input *f)
{
    f->stopped = true;
    uv_timer_stop(&f->pause);
    if (f->polling)
        uv_poll_stop(&f->poll);
    f->polling = false;
    if (f->under_way != NULL)
        async_client_cancel(STEAL(f->under_way));
}

void each_input_close(struct each_input *f)
{
    uv_close((uv_handle_t *)&f->pause, NULL);
    if (f->poll_fd >= 0)
        uv_close((uv_handle_t *)&f->poll, NULL);
}

void each_input_deinit(struct each_input *f)
{
    if (f->poll_fd >= 0)
        close(f->poll_fd);
    each_items_deinit(&f->items);
    buf_deinit(&f->chunk);
}

static void fail(struct each_input *f, const struct err *err)
{
    each_input_stop(f);
    f->hooks.on_fail(f->hooks.ctx, err);
}

/* ---- the chunk ---- */

static bool is_text(const struct each_item *item)
{
    for (size_t i = 0; i < item->n_lines; i++)
        if (!utf8_valid(item->lines[i]))
            return false;
    return true;
}

/* Lines that JSON cannot carry bring their words encoded; the params show what can be shown of
 * them. */
static enum err_code add_encoded(const struct each_command *c, const struct each_item *item,
                                 struct buf *out, struct err *err)
{
    CLEANUP(buf) struct buf shown = BUF_INIT(EACH_CHUNK_MAX);

    buf_add_str(out, "\"command\":");
    if (each_add_encoded(c, item, out, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < item->n_lines; i++) {
        if (i > 0)
            buf_add_char(&shown, ' ');
        clean_text(&shown, item->lines[i]);
    }
    buf_add_str(out, ",\"params\":{\"line\":");
    jtext_add_string(out, buf_slice(&shown));
    buf_add_char(out, '}');
    return E_OK;
}

/* If the lines name the program, the jobs bring the command; the last job may have fewer lines than
 * the queue's command is for. */
static enum err_code add_text(const struct each_command *c, const struct each_item *item,
                              struct buf *out, struct err *err)
{
    if (each_command_names_program(c) || item->n_lines < c->lines) {
        buf_add_str(out, "\"command\":");
        each_command_add_template(c, item->n_lines, out);
        buf_add_char(out, ',');
    }
    buf_add_str(out, "\"params\":");
    return each_command_add_params(c, item, out, err);
}

enum err_code each_chunk_add(struct buf *chunk, const struct each_command *c,
                             const struct each_item *item, struct err *err)
{
    size_t size = chunk->size;

    buf_add_str(chunk, size == 0 ? "[" : ",");
    buf_addf(chunk, "{\"queue\":\"" EACH_QUEUE "\",\"key\":\"%" PRId64 "\",", item->number);
    if ((is_text(item) ? add_text(c, item, chunk, err) : add_encoded(c, item, chunk, err)) !=
        E_OK) {
        chunk->size = size;
        return err->code;
    }
    buf_add_char(chunk, '}');
    return E_OK;
}

/* Takes available lines until the chunk is full.  A line that cannot be taken ends the input after
 * the lines before it are submitted. */
static void fill_chunk(struct each_input *f)
{
    struct each_item item;
    bool found = true;
    int64_t room = f->hooks.room(f->hooks.ctx);

    while (f->bad.code == E_OK && f->count < EACH_CHUNK_LINES && f->count < room &&
           f->chunk.size < EACH_CHUNK_BYTES) {
        if (each_items_next(&f->items, &item, &found, &f->bad) != E_OK || !found)
            return;
        if (each_chunk_add(&f->chunk, f->command, &item, &f->bad) != E_OK) {
            (void)err_wrap(&f->bad, "line %" PRId64, f->items.lines.count);
            return;
        }
        if (f->count++ == 0)
            f->first = item.number;
        f->hooks.on_line(f->hooks.ctx, item.number);
    }
}

/* ---- sending ---- */

static void send_chunk(struct each_input *f);

static void on_pause_over(uv_timer_t *timer)
{
    send_chunk(timer->data);
}

/* Which of the jobs the server refuses, counted from 0; -1: it does not say. */
static int64_t refused_index(struct slice reply)
{
    struct slice value = {NULL, 0};
    struct err err;

    if (jtext_check(reply, &value, &err) != E_OK || jtext_type_of(value) != JTEXT_OBJECT ||
        !jtext_find(value, "error", &value) || jtext_type_of(value) != JTEXT_OBJECT ||
        !jtext_find(value, "detail", &value) || jtext_type_of(value) != JTEXT_OBJECT ||
        !jtext_find(value, "index", &value) || jtext_type_of(value) != JTEXT_INT)
        return -1;
    return jtext_int(value);
}

/* The start of a line as it was sent, for people. */
static void add_excerpt(struct slice chunk, int64_t index, struct buf *out)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice jobs = {NULL, 0};
    struct slice job = {NULL, 0};
    struct slice line = {NULL, 0};
    struct err err;

    if (jtext_check(chunk, &jobs, &err) != E_OK)
        return;
    struct jtext_iter it = jtext_items(jobs);

    while (index-- >= 0)
        if (!jtext_next_item(&it, &job))
            return;
    if (!jtext_find(job, "params", &line) || !jtext_find(line, "line", &line))
        return;
    struct slice text = jtext_text(line, &arena);

    clean_text(out, utf8_cut(text, EXCERPT_MAX));
}

enum err_code each_chunk_refused(const struct each_chunk *chunk, struct slice reply,
                                 struct err *err)
{
    CLEANUP(buf) struct buf excerpt = BUF_INIT(500);
    const char *word = each_item_word(chunk->command);
    int64_t index = refused_index(reply);

    if (index < 0)
        return err->code;
    add_excerpt(chunk->jobs, index, &excerpt);
    if (err->code == E_CONFLICT)
        return err_set(err, E_CONFLICT,
                       "%s %" PRId64
                       " differs from the input this run started with; now it is '%s': "
                       "to start over, use --again",
                       word, chunk->first + index, buf_text(&excerpt));
    return err_wrap(err, "%s %" PRId64 " ('%s')", word, chunk->first + index, buf_text(&excerpt));
}

enum err_code each_input_is_short(int64_t count, int64_t known, struct err *err)
{
    return err_set(err, E_CONFLICT,
                   "the input ends after line %" PRId64 ", but this run has %" PRId64
                   " lines already: use the original input, or --again to start over",
                   count, known);
}

/* The server is not there: it may be so for a moment. */
static bool send_again(struct each_input *f)
{
    int64_t now_at = clock_mono_us();

    if (f->away_since == 0)
        f->away_since = now_at;
    if (now_at - f->away_since > AWAY_US)
        return false;
    uv_timer_start(&f->pause, on_pause_over, AGAIN_MS, 0);
    return true;
}

static void on_chunk_sent(void *ctx, const struct async_reply *reply)
{
    struct each_input *f = ctx;
    int64_t count = f->count;

    f->under_way = NULL;
    if (reply->err.code == E_UNAVAILABLE && send_again(f))
        return;
    if (reply->err.code != E_OK) {
        const struct each_chunk chunk = {.command = f->command,
                                         .jobs = buf_slice(&f->chunk),
                                         .first = f->first};
        struct err err = reply->err;

        (void)each_chunk_refused(&chunk, reply->text, &err);
        fail(f, &err);
        return;
    }
    f->away_since = 0;
    f->sent += count;
    f->count = 0;
    buf_clear(&f->chunk);
    f->hooks.on_chunk(f->hooks.ctx, f->first, count, reply->text);
    each_input_go(f);
}

static void send_chunk(struct each_input *f)
{
    const struct async_call call = {
        .method = "POST",
        .path = "/v1/jobs",
        .body = buf_slice(&f->chunk),
        .done = on_chunk_sent,
        .ctx = f,
    };

    f->under_way = async_client_send(f->client, &call);
}

/* ---- reading ---- */

/* One piece of input; false when there is none now. */
static bool read_piece(struct each_input *f)
{
    size_t size = 0;
    char *room = each_lines_room(&f->items.lines, &size);
    ssize_t n = read(f->in, room, size);

    if (n > 0) {
        each_lines_added(&f->items.lines, (size_t)n);
        f->bytes += n;
        return true;
    }
    if (n == 0) {
        each_lines_end(&f->items.lines);
        return true;
    }
    if (errno != EINTR && errno != EAGAIN) {
        (void)err_errno(&f->bad, E_INVALID, "read the input");
        return true;
    }
    return false;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct each_input *f = poll->data;

    (void)status;
    (void)events;
    uv_poll_stop(poll);
    f->polling = false;
    (void)read_piece(f); /* into the chunk it goes when the one before is out */
    each_input_go(f);
}

/* More input, from a file at once, otherwise when there is some.  False: not now. */
static bool read_more(struct each_input *f)
{
    if (f->poll_fd < 0)
        return read_piece(f);
    if (!f->polling)
        uv_poll_start(&f->poll, UV_READABLE, on_readable);
    f->polling = true;
    return false;
}

static void end(struct each_input *f)
{
    if (f->bad.code != E_OK) {
        struct err err = f->bad;

        fail(f, &err);
        return;
    }
    f->ended = true;
    f->hooks.on_end(f->hooks.ctx);
}

void each_input_go(struct each_input *f)
{
    if (f->stopped || f->ended || f->under_way != NULL || uv_is_active((uv_handle_t *)&f->pause))
        return;
    fill_chunk(f);
    while (f->bad.code == E_OK && !f->items.lines.ended && f->count < EACH_CHUNK_LINES &&
           f->chunk.size < EACH_CHUNK_BYTES && f->count < f->hooks.room(f->hooks.ctx) &&
           read_more(f))
        fill_chunk(f);
    if (f->stopped)
        return;
    if (f->count > 0) {
        buf_add_char(&f->chunk, ']');
        send_chunk(f);
    } else if (f->bad.code != E_OK || each_items_over(&f->items)) {
        end(f);
    }
}
