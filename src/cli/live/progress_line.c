/* SPDX-License-Identifier: MIT */
#include "cli/live/progress_line.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/id.h"
#include "cli/live/job_wait.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/reply_json.h"
#include "core/job/state.h"

#define LINE_MAX_SIZE 4096
#define BAR_COLUMNS 20
#define WIDTH_DEFAULT 80
#define PATIENCE_S 5

struct progress_line {
    struct client *client; /* the thread's */
    char path[32];
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows, and the last line of the terminal */
    pthread_cond_t wake;
    bool over;
    bool mid_line; /* the log has not ended its line: nothing may be drawn there */
    bool shares;   /* standard output is the same terminal */
    bool drawn;
    struct buf text;
    uint64_t heard; /* pieces of the log received */
    bool tells;     /* standard error is no terminal: prints why the job waits, once, as lines */
    struct job_news news;
};

void progress_line_text(const json_t *job, int64_t now_at, size_t width, struct buf *out)
{
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);
    const char *state = reply_text(job, "state");
    int percent = job_percent(job);
    bool runs = strcmp(state, "running") == 0;

    if (runs && percent >= 0) {
        bar_add(&line, percent, 100, BAR_COLUMNS);
        buf_addf(&line, " %3d%%  ", percent);
    } else if (!runs) {
        buf_addf(&line, "%s: ", state);
    }
    size_t before = line.size;

    job_about(job, now_at, &line);
    if (line.size > before || percent >= 0) {
        /* The first `width` characters of one line. */
        CLEANUP(buf) struct buf clean = BUF_INIT(LINE_MAX_SIZE);
        size_t seen = 0;
        size_t i = 0;

        clean_text(&clean, buf_slice(&line));
        for (; i < clean.size; i++) {
            if (((unsigned char)clean.data[i] & 0xC0) != 0x80 && seen++ == width)
                break;
        }
        buf_add(out, buf_text(&clean), i);
    }
}

/* ---- on the terminal, with the mutex held ---- */

static size_t terminal_width(void)
{
    struct winsize size = {.ws_col = 0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1U;
    return WIDTH_DEFAULT - 1;
}

static void erase(struct progress_line *p)
{
    if (p->drawn)
        output_status(SLICE("\r\033[K"));
    p->drawn = false;
}

static void draw(struct progress_line *p)
{
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE + 1);

    erase(p);
    if (p->text.size == 0 || (p->mid_line && p->shares))
        return;
    buf_add_char(&line, '\r');
    buf_add_slice(&line, buf_slice(&p->text));
    output_status(buf_slice(&line));
    p->drawn = true;
}

/* ---- in lines ---- */

void job_news_deinit(struct job_news *n)
{
    buf_deinit(&n->told);
    buf_deinit(&n->started);
}

static void note(struct buf *b, const char *text)
{
    buf_clear(b);
    buf_add_str(b, text);
}

void job_news_add(struct job_news *n, const json_t *job, int64_t now_at, struct buf *out)
{
    CLEANUP(buf) struct buf now = BUF_INIT(LINE_MAX_SIZE);
    const json_t *reason = json_object_get(job, "reason");
    const char *state = reply_text(job, "state");
    bool for_worker = strcmp(reply_text(reason, "code"), "waiting") == 0;
    bool first_look = for_worker && !n->waited;

    n->waited = for_worker;
    bool runs = strcmp(reply_text(job, "state"), "running") == 0;
    const char *started = runs ? reply_text(job, "started_at") : "";

    if (n->told.size > 0 && runs && slice_is(buf_slice(&n->started), started)) {
        buf_addf(out, "job %s runs now", reply_text(job, "id"));
        buf_clear(&n->told);
    }
    note(&n->started, started);
    buf_addf(&now, "%s %s", reply_text(reason, "text"), reply_text(reason, "until"));
    if (!job_state_waits(job_state_parse(slice_of(state))) || now.size <= 1 || first_look ||
        slice_equal(buf_slice(&now), buf_slice(&n->told)))
        return;
    note(&n->told, buf_text(&now));
    buf_addf(out, "job %s is %s: ", reply_text(job, "id"), state);
    job_about(job, now_at, out);
}

/* ---- the thread ---- */

static void look(struct progress_line *p)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct client_request r = {.path = p->path, .patience_s = PATIENCE_S};
    struct err err = ERR_INIT;

    pthread_mutex_lock(&p->mutex);
    uint64_t heard = p->heard;

    pthread_mutex_unlock(&p->mutex);
    bool known = client_call(p->client, &r, &reply, &err) == E_OK;

    pthread_mutex_lock(&p->mutex);
    if (known && !p->over && heard == p->heard) /* else its output is newer than this answer */
        job_watch_note(reply.json);
    if (known && !p->over && p->tells) {
        CLEANUP(buf) struct buf news = BUF_INIT(LINE_MAX_SIZE);
        CLEANUP(buf) struct buf clean = BUF_INIT(LINE_MAX_SIZE);

        job_news_add(&p->news, reply.json, clock_wall_us(), &news);
        clean_text(&clean, buf_slice(&news));
        if (clean.size > 0)
            fprintf(stderr, "waybill: %s\n", buf_text(&clean));
    } else if (known && !p->over) {
        buf_clear(&p->text);
        progress_line_text(reply.json, clock_wall_us(), terminal_width(), &p->text);
        draw(p);
    }
    pthread_mutex_unlock(&p->mutex);
}

static void *run(void *arg)
{
    struct progress_line *p = arg;

    pthread_mutex_lock(&p->mutex);
    while (!p->over) {
        int64_t next_at = clock_mono_us() + US_PER_S;
        struct timespec until = {.tv_sec = (time_t)(next_at / US_PER_S),
                                 .tv_nsec = (long)(next_at % US_PER_S) * 1000};

        pthread_mutex_unlock(&p->mutex);
        look(p);
        pthread_mutex_lock(&p->mutex);
        while (!p->over && clock_mono_us() < next_at)
            pthread_cond_timedwait(&p->wake, &p->mutex, &until);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* Signals are for the thread that called. */
static bool start(struct progress_line *p)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&p->thread, NULL, run, p) == 0;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct progress_line *progress_line_new(const struct cli *cli, struct slice id)
{
    const struct client_config config = cli_client_config(cli);
    struct client *client = NULL;
    struct err err = ERR_INIT;
    pthread_condattr_t attr;

    if (cli->json || client_open(&config, &client, &err) != E_OK)
        return NULL;
    struct progress_line *p = mem_zalloc(sizeof(*p));

    *p = (struct progress_line){.client = client,
                                .text = BUF_INIT(LINE_MAX_SIZE),
                                .news = JOB_NEWS_INIT,
                                .tells = isatty(STDERR_FILENO) != 1,
                                .shares = isatty(STDOUT_FILENO)};
    snprintf(p->path, sizeof(p->path), "/v1/jobs/%.*s", (int)id.size, id.data);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (start(p))
        return p;
    client_close(client);
    free(p);
    return NULL;
}

void progress_line_free(struct progress_line *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    p->over = true;
    erase(p);
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    client_close(p->client);
    buf_deinit(&p->text);
    job_news_deinit(&p->news);
    free(p);
}

void progress_line_lift(struct progress_line *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->mutex);
    p->heard++;
    job_watch_heard(); /* before it can be seen */
    erase(p);
}

void progress_line_lower(struct progress_line *p, struct slice printed)
{
    if (p == NULL)
        return;
    if (printed.size > 0)
        p->mid_line = printed.data[printed.size - 1] != '\n';
    draw(p);
    pthread_mutex_unlock(&p->mutex);
}
