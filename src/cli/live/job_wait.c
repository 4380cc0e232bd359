/* SPDX-License-Identifier: MIT */
#include "cli/live/job_wait.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/live/log_print.h"
#include "cli/live/progress_line.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"
#include "core/job/state.h"
#include "worker/client/url.h"

#define PAUSE_US (US_PER_S / 2)
#define ASK_US (30 * US_PER_S) /* below what servers and proxies let a request wait */
#define PATH_MAX_SIZE 256
#define SAID_MAX ((size_t)64 << 10)

/* A wait for a job, and since when its server is unreachable. */
struct watch {
    struct cli *cli;
    struct slice id;
    const char *patience;
    int64_t patience_us;
    int64_t away_at; /* last contact, while unreachable; 0: reachable */
    bool was_away;
};

static struct watch watch_of(struct cli *cli, struct slice id)
{
    const char *given = args_text(&cli->args, "patience");

    return (struct watch){
        .cli = cli,
        .id = id,
        .patience = given != NULL ? given : "1m",
        .patience_us = args_duration_us(&cli->args, "patience", US_PER_MIN),
    };
}

/* True when it is worth another try; pauses before it.  A server that answers, though only that it
 * cannot now, is there.  When it is given up, the error says what becomes of the job. */
static bool wait_for_server(struct watch *w, int status, struct err *err)
{
    int64_t now_at = clock_mono_us();
    if (err->code != E_UNAVAILABLE)
        return false;
    if (w->away_at == 0) {
        fflush(stdout);
        fprintf(stderr, "waybill: %s; retrying for up to %s\n", err->msg, w->patience);
    }
    if (w->away_at == 0 || status > 0)
        w->away_at = now_at;
    w->was_away = true;
    if (now_at - w->away_at <= w->patience_us) {
        usleep(PAUSE_US);
        return true;
    }
    (void)err_set(err, E_UNAVAILABLE,
                  "no answer for %s; job %.*s is kept; to wait for it again: waybill wait %.*s",
                  w->patience, (int)w->id.size, w->id.data, (int)w->id.size, w->id.data);
    return false;
}

bool job_has_ended(const json_t *job)
{
    return job_state_ended(job_state_parse(slice_of(reply_text(job, "state"))));
}

int job_exit_status(const json_t *job)
{
    enum job_state state = job_state_parse(slice_of(reply_text(job, "state")));
    const json_t *exit = json_object_get(job, "exit");
    json_int_t n = json_integer_value(exit);

    if (json_is_integer(exit) && n < 0 && n > -128)
        return 128 + (int)-n;
    if (json_is_integer(exit) && n > 0 && n < 256)
        return (int)n;
    return state == JOB_DONE || state == JOB_RELAYED ? CLI_OK : CLI_FAILED;
}

static enum err_code ask(struct cli *cli, struct slice id, int64_t until_at,
                         struct client_reply *reply, struct err *err)
{
    char path[PATH_MAX_SIZE];
    int64_t left_us = until_at - clock_mono_us();

    if (left_us > ASK_US)
        left_us = ASK_US;
    if (left_us < 0)
        left_us = 0;
    snprintf(path, sizeof(path), "/v1/jobs/%.*s?wait=%" PRId64 "ms", (int)id.size, id.data,
             left_us / US_PER_MS);
    client_reply_deinit(reply);
    *reply = CLIENT_REPLY_INIT;
    return cli_get(cli, path, reply, err);
}

/* Of a job that is known to be there. */
static enum err_code wait_on(struct watch *w, int64_t until_at, struct client_reply *reply,
                             struct err *err)
{
    do {
        while (ask(w->cli, w->id, until_at, reply, err) != E_OK) {
            if (!wait_for_server(w, reply->status, err))
                return err->code;
        }
        w->away_at = 0;
    } while (!job_has_ended(reply->json) && clock_mono_us() < until_at);
    return E_OK;
}

enum err_code job_wait_added(struct cli *cli, struct slice id, struct client_reply *reply,
                             struct err *err)
{
    struct watch w = watch_of(cli, id);

    return wait_on(&w, TIME_NEVER, reply, err);
}

enum err_code job_wait(struct cli *cli, struct slice id, int64_t until_at,
                       struct client_reply *reply, struct err *err)
{
    struct watch w = watch_of(cli, id);

    if (ask(cli, id, 0, reply, err) != E_OK) /* at once: is there such a job, and a server? */
        return err->code;
    if (job_has_ended(reply->json) || clock_mono_us() >= until_at)
        return E_OK;
    return wait_on(&w, until_at, reply, err);
}

enum err_code job_find(struct cli *cli, struct slice id, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    return ask(cli, id, 0, &reply, err);
}

struct following {
    struct log_printer *log;
    struct progress_line *line; /* or NULL */
    bool unread;                /* our output is closed */
};

static bool on_log(void *ctx, struct slice data)
{
    struct following *f = ctx;

    progress_line_lift(f->line);
    log_printer_add(f->log, data);
    f->unread = fflush(stdout) != 0;
    progress_line_lower(f->line, data);
    return !f->unread;
}

/* Prints the log from that place on as it grows, until the job has ended. */
static enum err_code follow_log(struct watch *w, struct following *f, struct err *err)
{
    char path[PATH_MAX_SIZE];
    char range[32];

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log?follow=1", (int)w->id.size, w->id.data);
    for (;;) {
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
        int64_t before = f->log->offset;
        struct client_request r = {.path = path, .patience_s = -1, .on_data = on_log, .ctx = f};

        snprintf(range, sizeof(range), "%" PRId64 "-", f->log->offset);
        if (f->log->offset > 0)
            r.range = range;
        if (cli_call(w->cli, &r, &reply, err) == E_OK || err->code == E_RANGE)
            return E_OK; /* E_RANGE: it has ended, and there is no more of it */
        if (f->log->offset > before)
            w->away_at = 0;
        if (!wait_for_server(w, reply.status, err))
            return err->code;
        log_printer_lost_sight(f->log);
    }
}

/* Until the job has ended: a server that stops ends the log's stream as if that was all, and the
 * job goes on with the next one. */
static enum err_code follow_to_end(struct watch *w, struct following *f, struct client_reply *reply,
                                   struct err *err)
{
    for (;;) {
        if (follow_log(w, f, err) != E_OK)
            return err->code;
        w->was_away = false;
        if (wait_on(w, f->unread ? TIME_NEVER : 0, reply, err) != E_OK)
            return err->code;
        if (job_has_ended(reply->json) && !w->was_away)
            return E_OK;
        if (!w->was_away)
            usleep(PAUSE_US);
    }
}

int job_follow(struct cli *cli, struct slice id, struct log_printer *log)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct following f = {.log = log};
    struct watch w = watch_of(cli, id);
    struct err err = ERR_INIT;
    enum err_code code = E_OK;

    job_watch_begin(id);
    log_printer_follow(log);
    f.line = progress_line_new(cli, id);
    code = follow_to_end(&w, &f, &reply, &err);
    progress_line_free(f.line);
    job_watch_end();
    if (code != E_OK)
        return cli_fail(cli, &err);
    output_log_end(cli->outputs);
    if (log->mid_line && cli->outputs->out.terminal)
        putchar('\n');
    job_say_end(cli, reply.json);
    if (log->left_out > 0 && !cli->json)
        fprintf(stderr,
                "waybill: %" PRId64
                " bytes of output are missing: the log keeps only the start and "
                "the end of what exceeds keep.log of queue %s; raise keep.log, or let the command "
                "write to a file\n",
                log->left_out, reply_text(reply.json, "queue"));
    return job_exit_status(reply.json);
}

/* ---- messages ---- */

void job_say_end(const struct cli *cli, const json_t *job)
{
    CLEANUP(buf) struct buf why = BUF_INIT(SAID_MAX);
    CLEANUP(buf) struct buf clean = BUF_INIT(SAID_MAX);
    CLEANUP(buf) struct buf step = BUF_INIT(SAID_MAX);
    int64_t failed_step = reply_int(job, "failed_step");
    enum job_state state = job_state_parse(slice_of(reply_text(job, "state")));

    if (cli->json || !job_state_ended(state) || state == JOB_DONE || state == JOB_RELAYED)
        return;
    job_about(job, clock_wall_us(), &why);
    clean_text(&clean, buf_slice(&why));
    fflush(stdout);
    job_failed_step(job, &step);
    fprintf(stderr, "waybill: job %s %s%s%s%s", reply_text(job, "id"),
            state == JOB_CANCELLED ? "was cancelled" : "failed", buf_text(&step),
            clean.size > 0 ? ": " : "", buf_text(&clean));
    /* Final steps run after the one that failed: the last attempt is theirs. */
    if (reply_int(job, "attempt") > 1 &&
        (failed_step == 0 || failed_step == reply_int(job, "step")))
        fprintf(stderr, " (attempt %" PRId64 ")", reply_int(job, "attempt"));
    fputc('\n', stderr);
}

/* What a signal makes us say, of a job that runs and of one that waits; written before the handler
 * is there. */
static char farewells[2][300];
static volatile sig_atomic_t waits;

/* The shell is to see that a signal ended us: it comes again, with its usual effect. */
static void on_interrupt(int number)
{
    const char *farewell = farewells[waits];
    ssize_t written = write(STDERR_FILENO, farewell, strlen(farewell));

    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static void take_signals(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            signal(numbers[i], handler);
}

void job_watch_begin(struct slice id)
{
    static const char *const words[] = {"continues", "stays in the queue"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        snprintf(farewells[i], sizeof(farewells[i]),
                 "%swaybill: job %.*s %s; to see more of it: waybill log -f %.*s; to end it: "
                 "waybill cancel %.*s\n",
                 isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "", (int)id.size, id.data, words[i],
                 (int)id.size, id.data, (int)id.size, id.data);
    waits = 0;
    take_signals(on_interrupt);
}

void job_watch_note(const json_t *job)
{
    waits = job_state_waits(job_state_parse(slice_of(reply_text(job, "state"))));
}

void job_watch_heard(void)
{
    waits = 0;
}

void job_watch_end(void)
{
    take_signals(SIG_DFL);
}
