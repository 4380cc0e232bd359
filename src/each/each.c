/*
 * The loop of `each`.
 *
 * A line is submitted, run, ended (the server has acknowledged it) and printed: submitted ≥ ended ≥
 * printed, and submitting is at most AHEAD lines ahead of printing.  The run is finished when the
 * input has ended and all its lines are printed.
 *
 * Ending early (a signal, a closed output, bad input): nothing more is read or started, running
 * programs get a grace period, the rest returns to the store uncounted.
 */
/* SPDX-License-Identifier: MIT */
#include "each/each.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "each/internal.h"
#include "each/json.h"
#include "each/show/report.h"
#include "each/show/results.h"

#define AHEAD INT64_C(32768)       /* maximum lines submitted and not printed */
#define QUIET_US (5 * US_PER_S)    /* without an end, the server is asked for counts */
#define STOP_US (9 * US_PER_S)     /* then the process exits; running programs are killed */
#define OUT_STOP_US (1 * US_PER_S) /* for unread output, after everything else has stopped */

/* ---- the bar ---- */

static int64_t total_lines(const struct each *e, bool *ret_estimated)
{
    struct stat st;

    *ret_estimated = false;
    if (e->input.ended || e->options->failed)
        return e->options->failed ? e->known : e->input.items.count;
    if (e->input.bytes == 0 || fstat(e->input.in, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    size_t waiting = e->input.items.lines.filled - e->input.items.lines.from;
    double taken = (double)e->input.bytes - (double)waiting;

    *ret_estimated = true;
    return taken < 1 ? 0 : (int64_t)((double)st.st_size / taken * (double)e->input.items.count);
}

static void draw_bar(struct each *e)
{
    struct progress p = {.done = e->done, .failed = e->failed};
    int64_t open = (e->options->failed ? e->known : e->input.sent) - e->done - e->failed;

    if (e->screen.shares && each_out_pending(&e->out) > 0)
        return;
    p.total = total_lines(e, &p.is_estimated);
    p.running = open < e->options->slots ? (open > 0 ? open : 0) : e->options->slots;
    each_screen_draw(&e->screen, &p, &e->out.last);
}

/* ---- ending ---- */

static void on_halt(uv_timer_t *timer)
{
    struct each *e = timer->data;

    if (e->halted && e->options->halt.when == EACH_HALT_SOON)
        worker_drain(e->worker);
    else
        worker_stop(e->worker);
    if (e->halted && e->options->halt.when == EACH_HALT_NOW)
        worker_end_now(e->worker);
}

/* Stops reading and starting; running programs get their grace period.  The worker may be our
 * caller, so a timer stops it later. */
static void stop(struct each *e)
{
    if (e->stop_at != 0)
        return;
    e->stop_at = clock_mono_us();
    each_input_stop(&e->input);
    if (e->asking != NULL)
        async_client_cancel(STEAL(e->asking));
    if (e->confirming != NULL)
        async_client_cancel(STEAL(e->confirming));
    uv_timer_start(&e->halt, on_halt, 0, 0);
}

static void stop_for(struct each *e, const struct err *err)
{
    if (e->err.code == E_OK && e->signal == 0 && e->out_fault == 0)
        e->err = *err;
    stop(e);
}

static bool has_printed_all(const struct each *e)
{
    int64_t lines = e->options->failed ? e->known : e->input.items.count;

    return (e->options->failed || e->input.ended) && e->printed >= lines &&
           each_out_pending(&e->out) + each_out_pending(&e->errors) == 0;
}

static void end_if_finished(struct each *e)
{
    if (e->finished || e->stop_at != 0 || !has_printed_all(e))
        return;
    e->finished = true;
    stop(e);
}

/* ---- printing ---- */

static void print_ended(struct each *e);

/* If both descriptors are the same file, a program's errors follow its output; otherwise they are
 * independent. */
static void print_turn(struct each *e, const struct each_output *output)
{
    const struct each_turn *turn = each_order_next(&e->order);
    struct err err = ERR_INIT;

    if (e->results_fd >= 0 && each_results_write(e->results_fd, turn->line, output, &err) != E_OK)
        stop_for(e, &err);
    each_out_add(&e->out, e->is_one_output ? &e->out : &e->errors, turn->line, output);
    each_order_pop(&e->order);
    e->printed++;
}

static struct slice part_of(struct slice text, int64_t from, int64_t to)
{
    int64_t size = (int64_t)text.size;

    to = to < size ? to : size;
    return from < to ? slice_make(text.data + from, (size_t)(to - from)) : slice_make(NULL, 0);
}

/* The text read back is the output, or with --json the job for the line's document. */
static void print_read(struct each *e, struct slice text)
{
    CLEANUP(buf) struct buf document = BUF_INIT(EACH_JSON_MAX);
    struct slice job = {NULL, 0};
    struct err err;

    if (!e->options->json) {
        print_turn(e, &(struct each_output){part_of(text, e->read_from, e->read_errors),
                                            part_of(text, e->read_errors, INT64_MAX)});
        return;
    }
    if (jtext_check(text, &job, &err) == E_OK && jtext_type_of(job) == JTEXT_OBJECT)
        each_json_add_job(&document, each_order_next(&e->order)->line, job,
                          (struct slice){NULL, 0});
    print_turn(e, &(struct each_output){.out = buf_slice(&document)});
}

static void on_read_back(void *ctx, const struct async_reply *reply)
{
    struct each *e = ctx;

    e->reading = NULL;
    if (reply->err.code == E_UNAVAILABLE)
        return; /* the next tick asks again */
    if (reply->err.code != E_OK && reply->err.code != E_NOT_FOUND)
        each_screen_say(&e->screen, "the output of a line cannot be read back: %s", reply->err.msg);
    print_read(e, reply->err.code == E_OK ? reply->text : slice_make(NULL, 0));
    print_ended(e);
}

static void ask_back(struct each *e, const char *what, async_done_fn *done)
{
    char text[ID_TEXT_SIZE];
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%s%s", id_format(each_order_next(&e->order)->id, text),
             what);
    e->reading = async_client_send(e->client,
                                   &(struct async_call){.path = path, .done = done, .ctx = e});
}

/* The last attempt counts; finds where it and its standard error start. */
static void on_marks(void *ctx, const struct async_reply *reply)
{
    struct each *e = ctx;

    e->reading = NULL;
    if (reply->err.code == E_UNAVAILABLE)
        return; /* the next tick asks again */
    json_t *marks = json_loadb(reply->text.data, reply->text.size, 0, NULL);
    const json_t *attempts = json_object_get(marks, "attempts");
    const json_t *errors = json_object_get(marks, "errors");
    const json_t *last = json_array_get(attempts, json_array_size(attempts) - 1);
    const json_t *apart = json_array_get(errors, json_array_size(errors) - 1);

    e->read_from = json_integer_value(json_array_get(last, 1));
    e->read_errors = apart != NULL && json_integer_value(apart) >= e->read_from
                         ? json_integer_value(apart)
                         : INT64_MAX;
    json_decref(marks);
    ask_back(e, "/log", on_read_back);
}

/* Moves ended lines to the output while it has room. */
static void print_ended(struct each *e)
{
    const struct each_turn *turn = NULL;

    while (e->reading == NULL && !e->out.failed && each_out_pending(&e->out) < EACH_OUT_FULL &&
           each_out_pending(&e->errors) < EACH_OUT_FULL &&
           (turn = each_order_next(&e->order)) != NULL) {
        size_t out = turn->size - turn->errors;

        if (turn->state == EACH_TURN_LOGGED) {
            /* Reads first where the attempts start, then the log; for JSON, the job itself. */
            if (e->options->json)
                ask_back(e, "", on_read_back);
            else
                ask_back(e, "/log?times=1", on_marks);
        } else {
            print_turn(e,
                       &(struct each_output){
                           slice_make(turn->output, out),
                           slice_make(turn->errors > 0 ? turn->output + out : NULL, turn->errors)});
        }
    }
    if (e->stop_at == 0 && !e->options->failed)
        each_input_go(&e->input);
    end_if_finished(e);
}

static void before_write(void *ctx)
{
    struct each *e = ctx;

    if (e->screen.shares)
        each_screen_erase(&e->screen);
}

/* The bar is on standard error as well. */
static void before_errors(void *ctx)
{
    struct each *e = ctx;

    each_screen_erase(&e->screen);
}

/* Nobody reads them; the run continues. */
static void on_errors_fault(void *ctx, int fault)
{
    (void)ctx;
    (void)fault;
}

static void leave_if_done(struct each *e)
{
    if (e->worker_stopped &&
        (e->out.failed ||
         (each_out_pending(&e->out) + each_out_pending(&e->errors) == 0 && e->reading == NULL)))
        uv_stop(&e->loop);
}

static void on_room(void *ctx)
{
    struct each *e = ctx;

    print_ended(e);
    leave_if_done(e);
}

static void on_output_fault(void *ctx, int fault)
{
    struct each *e = ctx;

    e->out_fault = fault;
    stop(e);
}

/* ---- events of the worker ---- */

static int64_t line_of_key(struct slice key)
{
    int64_t line = 0;

    for (size_t i = 0; i < key.size && key.data[i] >= '0' && key.data[i] <= '9'; i++)
        line = line * 10 + (key.data[i] - '0');
    return line;
}

/* Stops if enough lines have failed and others are left to run. */
static void halt_if_due(struct each *e)
{
    const struct each_halt_facts facts = {
        .failed = e->failing > e->failed - e->failed_before ? e->failing
                                                            : e->failed - e->failed_before,
        .lines = e->options->failed ? e->known : e->input.items.count,
        .all_read = e->options->failed || e->input.ended,
    };

    bool all_ended = facts.all_read && e->done + e->failed_before + facts.failed >= facts.lines;

    if (e->stop_at != 0 || all_ended || !each_halt_is_due(&e->options->halt, &facts))
        return;
    e->halted = true;
    stop(e);
}

/* Without retries this is the line's failure, known before it is committed. */
static void on_failure(void *ctx)
{
    struct each *e = ctx;

    if (e->options->retries > 0)
        return;
    e->failing++;
    halt_if_due(e);
}

static void on_end(void *ctx, const struct worker_end *end)
{
    struct each *e = ctx;
    int64_t line = line_of_key(end->key);
    struct each_output output = {end->output, end->errors};
    int64_t id = 0;

    if (!end->ended || line <= 0 || !id_parse(end->id, &id))
        return;
    e->news_at = clock_mono_us();
    if (end->outcome == JOB_OUT_DONE)
        e->done++;
    else
        e->failed++;
    if (e->options->json) {
        buf_clear(&e->document);
        each_json_add_end(&e->document, line, end);
        output = (struct each_output){.out = buf_slice(&e->document)};
    }
    each_order_ended(&e->order, line, id, &output);
    print_ended(e);
    halt_if_due(e);
}

static void on_broken(void *ctx, struct slice queue, const char *reason)
{
    struct err err = ERR_INIT;

    (void)queue;
    (void)err_set(&err, E_UNAVAILABLE, "the program cannot be started: %s", reason);
    stop_for(ctx, &err);
}

/* Prints the ended lines, if the output can be written. */
static void on_stopped(void *ctx)
{
    struct each *e = ctx;

    e->worker_stopped = true;
    e->stopped_at = clock_mono_us();
    if (e->stop_at == 0)
        e->stop_at = e->stopped_at;
    print_ended(e);
    leave_if_done(e);
}

/* ---- events of the input ---- */

static int64_t input_room(void *ctx)
{
    struct each *e = ctx;
    int64_t ahead = e->input.sent - e->printed;

    if (e->input.sent < e->known) /* the store has them */
        return INT64_MAX;
    return AHEAD - ahead < EACH_CHUNK_LINES ? 0 : AHEAD - ahead;
}

static void input_line(void *ctx, int64_t line)
{
    struct each *e = ctx;
    struct err err = ERR_INIT;

    if (line <= e->known)
        return;
    if (each_printed_reserve(&e->printed_lines, line, &err) != E_OK ||
        (e->run.has_all_lines && each_run_grows(&e->run, &err) != E_OK))
        stop_for(e, &err);
    each_order_expect(&e->order, line);
}

/* Lines that ended in an earlier process, which was stopped before it printed them. */
static void print_earlier(struct each *e, int64_t first, int64_t count, struct slice reply)
{
    struct slice ids = {NULL, 0};
    struct slice item = {NULL, 0};
    struct slice value = {NULL, 0};
    struct err err;
    int64_t id = 0;

    if (jtext_check(reply, &value, &err) != E_OK || !jtext_find(value, "ids", &ids))
        return;
    struct jtext_iter it = jtext_items(ids);

    for (int64_t line = first; line < first + count && jtext_next_item(&it, &item); line++)
        if (line <= e->known && !each_printed_has(&e->printed_lines, line) &&
            !each_line_list_has(&e->live, line) &&
            id_parse(slice_make(item.data + 1, item.size - 2), &id))
            each_order_ended_before(&e->order, line, id);
    print_ended(e);
}

static void on_confirmed(void *ctx, const struct async_reply *reply)
{
    struct each *e = ctx;

    e->confirming = NULL;
    if (reply->err.code != E_OK)
        stop_for(e, &reply->err);
}

static void input_chunk(void *ctx, int64_t first, int64_t count, struct slice reply)
{
    struct each *e = ctx;

    if (first <= e->known)
        print_earlier(e, first, count, reply);
    if (e->unconfirmed && e->input.sent >= e->known) {
        /* The input is unchanged: jobs left by an earlier process may run. */
        e->unconfirmed = false;
        e->confirming = async_client_send(e->client, &(struct async_call){.method = "POST",
                                                                          .path = EACH_RESUME_PATH,
                                                                          .body = SLICE("{}"),
                                                                          .done = on_confirmed,
                                                                          .ctx = e});
    }
}

static void input_end(void *ctx)
{
    struct each *e = ctx;
    struct err err = ERR_INIT;

    if (e->input.items.count < e->known) {
        (void)each_input_is_short(e->input.items.count, e->known, &err);
        stop_for(e, &err);
        return;
    }
    end_if_finished(e);
}

static void input_fail(void *ctx, const struct err *err)
{
    stop_for(ctx, err);
}

/* ---- time, signals, the server's end ---- */

/* Jobs may end without this worker, if they are cancelled: after a quiet while, ask the server. */
static void on_counts(void *ctx, const struct async_reply *reply)
{
    struct each *e = ctx;

    e->asking = NULL;
    if (reply->err.code != E_OK)
        return;
    json_t *answer = json_loadb(reply->text.data, reply->text.size, 0, NULL);
    struct each_counts counts = each_counts_of(answer);
    int64_t ended = counts.done + counts.failed;

    json_decref(answer);
    e->news_at = clock_mono_us();
    if (counts.live > e->unrun || e->order.count > 0 || ended <= e->done + e->failed)
        return;
    e->done = counts.done;
    e->failed = counts.failed;
    e->printed = ended + e->unrun;
    end_if_finished(e);
}

/* Running programs may take as long as they need, unless a second signal comes. */
static bool is_draining(const struct each *e)
{
    return e->halted && e->options->halt.when == EACH_HALT_SOON && e->signal == 0;
}

static void on_tick(uv_timer_t *timer)
{
    struct each *e = timer->data;
    int64_t now_at = clock_mono_us();

    draw_bar(e);
    if (e->stop_at != 0) {
        leave_if_done(e);
        if ((e->worker_stopped && now_at - e->stopped_at > OUT_STOP_US) ||
            (now_at - e->stop_at > STOP_US && !e->finished && !is_draining(e)))
            uv_stop(&e->loop);
        return;
    }
    if (e->reading == NULL)
        print_ended(e);
    if (now_at - e->news_at > QUIET_US && e->asking == NULL &&
        (e->input.ended || e->options->failed)) {
        e->asking = async_client_send(
            e->client, &(struct async_call){.path = "/v1/counts", .done = on_counts, .ctx = e});
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct each *e = handle->data;

    if (e->signal != 0 || e->stop_at != 0) {
        e->stop_at = e->signal == 0 ? clock_mono_us() : e->stop_at;
        e->signal = number;
        worker_end_now(e->worker);
        return;
    }
    e->signal = number;
    each_screen_say(&e->screen,
                    "stopping: running programs have %d s to end (repeat to stop immediately)",
                    (int)(EACH_GRACE_US / US_PER_S));
    stop(e);
}

static void on_server_end(uv_poll_t *poll, int status, int events)
{
    struct each *e = poll->data;
    struct err err = ERR_INIT;
    char rest[256];

    (void)status;
    (void)events;
    if (read(e->server.out_fd, rest, sizeof(rest)) > 0)
        return;
    uv_poll_stop(poll);
    (void)err_set(&err, E_UNAVAILABLE, "the server of the run's store has ended");
    stop_for(e, &err);
    worker_abandon(e->worker);
}

/* ---- all of it ---- */

static int64_t lines_left(const struct each *e)
{
    return (e->input.sent > e->known ? e->input.sent : e->known) - e->done - e->failed;
}

/* Is something left to a command that reads the input? */
static bool is_open(const struct each *e)
{
    return e->options->failed && !e->run.dir.is_finished &&
           (!e->run.has_all_lines || lines_left(e) > 0 || e->unprinted > 0);
}

static int report(struct each *e)
{
    struct each_end end = {
        .command = e->options->command,
        .server_url = e->server.url,
        .result = {.done = e->done,
                   .failed = e->failed,
                   .before = e->before,
                   .left = lines_left(e),
                   .took_us = clock_mono_us() - e->started_at},
        .finished = e->finished,
        .is_open = is_open(e),
        .unprinted = e->unprinted,
        .signal = e->signal,
        .halted = e->halted,
        .out_fault = e->out_fault,
        .err = e->err,
    };

    each_screen_end(&e->screen, e->out.last);
    return each_report(e->cli, &end);
}

static int run_loop(struct each *e)
{
    struct err err = ERR_INIT;

    e->started_at = e->news_at = clock_mono_us();
    if (!e->options->failed)
        each_input_go(&e->input);
    end_if_finished(e);
    uv_run(&e->loop, UV_RUN_DEFAULT);
    if (e->finished && e->worker_stopped && e->run.dir.is_finished == false && !is_open(e) &&
        each_run_finish(&e->run, &err) != E_OK && e->err.code == E_OK)
        e->err = err;
    int status = report(e);

    if (e->worker_stopped)
        each_close(e);
    return status;
}

/* Refused before its first line was submitted: there is nothing to continue. */
static bool has_no_lines(const struct each *e)
{
    bool refused_first = e->err.code == E_INVALID && e->input.items.count == 1;

    return !e->finished && e->known + e->input.sent == 0 &&
           (e->input.items.count == 0 || refused_first);
}

static struct each_hooks hooks_of(struct each *e)
{
    return (struct each_hooks){
        .out = {.ctx = e,
                .before_write = before_write,
                .on_room = on_room,
                .on_fail = on_output_fault},
        .errors = {.ctx = e,
                   .before_write = before_errors,
                   .on_room = on_room,
                   .on_fail = on_errors_fault},
        .input = {.ctx = e,
                  .room = input_room,
                  .on_line = input_line,
                  .on_chunk = input_chunk,
                  .on_end = input_end,
                  .on_fail = input_fail},
        .worker = {.ctx = e,
                   .on_end = on_end,
                   .on_failure = on_failure,
                   .on_broken = on_broken,
                   .on_stopped = on_stopped},
        .on_signal = on_signal,
        .on_server_end = on_server_end,
        .on_tick = on_tick,
    };
}

int each_run_all(struct cli *cli, const struct each_options *options)
{
    struct each *e = mem_zalloc(sizeof(*e));
    const struct each_hooks hooks = hooks_of(e);
    struct err err = ERR_INIT;

    e->cli = cli;
    e->options = options;
    e->run = EACH_RUN_INIT;
    e->server = OWN_SERVER_INIT;
    e->printed_lines = EACH_PRINTED_INIT;
    e->err = ERR_INIT;
    e->results_fd = -1;
    e->document = BUF_INIT(EACH_JSON_MAX);
    each_order_init(&e->order, options->keeps_order);
    int status = each_open(e, &hooks, &err) == E_OK ? run_loop(e) : cli_fail(cli, &err);

    own_server_stop(&e->server);
    if (e->run.dir.own.fd >= 0 && e->run.dir.own.holder == 0 && !e->run.dir.is_there &&
        has_no_lines(e)) {
        e->run.dir.is_there = true;
        (void)!each_run_begin_anew(&e->run, &err);
    }
    each_printed_close(&e->printed_lines);
    each_order_deinit(&e->order);
    buf_deinit(&e->document);
    VEC_DEINIT(&e->live);
    each_run_close(&e->run);
    if (e->results_fd >= 0)
        close(e->results_fd);
    free(e);
    return status;
}
