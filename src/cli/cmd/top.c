/*
 * `top`: the overview, live; a job of it looked into, with its log.
 *
 * Each view rewrites its text after an event; the page keeps the position and the chosen job.
 */
/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/live/event_listener.h"
#include "cli/live/overview.h"
#include "cli/live/rates.h"
#include "cli/live/terminal.h"
#include "cli/live/top_page.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/reply_json.h"

#define TICK_US US_PER_S
#define SHARED_TICK_US (3 * US_PER_S)
#define DRAWS_APART_US (US_PER_S / 5)
#define SCREEN_BYTES ((size_t)4 << 20)
#define LOG_SHOWN "-65536" /* bytes of its end */
#define LOG_MAX ((size_t)256 << 10)

enum view { VIEW_ALL, VIEW_JOB, VIEW_LOG, VIEW_HELP, VIEW_COUNT };

struct top {
    struct cli *cli;
    struct rates rates;
    int events;
    int64_t drawn_at; /* by the monotonic clock */
    int64_t tick_us;  /* refresh interval without events; -1: never */
    enum view view;
    enum view before_help;
    bool unfolded;
    struct top_page pages[VIEW_COUNT];
    char job[ID_TEXT_SIZE]; /* that is looked into */
    char *text;             /* of the view, as it was written last */
    size_t size;
};

static const char help_text[] =
    "waybill top\n"
    "\n"
    "  ↑ ↓  k j        choose a job\n"
    "  Enter  →  l     look into it: all about it; once more: its log\n"
    "  Esc  ←  h  q    back; q quits at the first screen\n"
    "  PgUp PgDn  b f  a screen up or down;  Home End  g G  to the start or the end\n"
    "  a               show idle queues and workers that are gone, or fold them\n"
    "  Space           look again now\n"
    "  ?               this help\n";

/* ---- what the views say ---- */

/* Things that run change by themselves, and of what other servers do ours tells nothing. */
static int64_t tick_of(const struct overview *o, const json_t *queues)
{
    if (overview_running(o) > 0 || rates_moving(queues))
        return TICK_US;
    return json_object_get(o->server.json, "servers") != NULL ? SHARED_TICK_US : -1;
}

static void write_all(struct top *t, const struct screen *s)
{
    CLEANUP(overview) struct overview o = OVERVIEW_INIT;
    struct err err = ERR_INIT;

    o.running_shown = OVERVIEW_RUNNING_TOP;
    o.failed_shown = OVERVIEW_FAILED_TOP;
    o.waiting_shown = OVERVIEW_WAITING_TOP;
    o.folds = !t->unfolded;
    if (overview_get(t->cli, &o, &err) != E_OK) {
        fprintf(s->out, "waybill: %s\n", err.msg);
        t->tick_us = TICK_US;
        return;
    }
    json_t *queues = json_object_get(o.queues.json, "queues");

    rates_update(&t->rates, queues, clock_mono_us());
    t->tick_us = tick_of(&o, queues);
    overview_print(t->cli, s, &o, clock_wall_us());
}

static void write_job(struct top *t, const struct screen *s)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%s", t->job);
    t->tick_us = TICK_US;
    if (cli_get(t->cli, path, &reply, &err) != E_OK)
        fprintf(s->out, "waybill: %s\n", err.msg);
    else
        job_page(reply.json, clock_wall_us(), s);
}

static void write_log(struct top *t, const struct screen *s)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf clean = BUF_INIT(LOG_MAX);
    struct safe safe = {.kind = SAFE_LOG};
    struct client *client = NULL;
    struct err err = ERR_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%s/log", t->job);
    const struct client_request r = {.path = path,
                                     .range = LOG_SHOWN,
                                     .patience_s = CLI_PATIENCE_S};

    t->tick_us = TICK_US;
    if (cli_client(t->cli, &client, &err) != E_OK ||
        (client_call(client, &r, &reply, &err) != E_OK && err.code != E_RANGE)) {
        fprintf(s->out, "waybill: %s\n", err.msg);
        return;
    }
    if (err.code == E_OK)
        safe_add(&safe, buf_slice(&reply.text), &clean);
    safe_end(&safe, &clean);
    CLEANUP(buf) struct buf plain = BUF_INIT(LOG_MAX);

    add_uncoloured(&plain, buf_slice(&clean)); /* a job's colours would continue after its lines */
    if (plain.size == 0)
        fprintf(s->out, "%s has printed nothing\n", t->job);
    fwrite(buf_text(&plain), 1, plain.size, s->out);
}

static void write_help(struct top *t, const struct screen *s)
{
    t->tick_us = -1;
    fputs(help_text, s->out);
}

static const struct {
    void (*write)(struct top *t, const struct screen *s);
    const char *keys; /* in the last line */
} views[VIEW_COUNT] = {
    [VIEW_ALL] = {write_all, "q quits  ↑↓ choose a job  Enter looks into it  a folds  ? help"},
    [VIEW_JOB] = {write_job, "q back  Enter its log  PgUp PgDn  ? help"},
    [VIEW_LOG] = {write_log, "q back  PgUp PgDn  g G start and end  ? help"},
    [VIEW_HELP] = {write_help, "q back"},
};

/* ---- the screen ---- */

static void draw(struct top *t)
{
    CLEANUP(buf) struct buf shown = BUF_INIT(SCREEN_BYTES);
    struct screen *s = &t->cli->screen;
    struct top_page *page = &t->pages[t->view];
    size_t height = s->height > 1 ? (size_t)s->height - 1 : 23; /* the last line has the keys */
    bool at_end = page->lines > 0 && page->first + page->height >= page->lines;

    top_page_fit(page, slice_make(t->text, t->size), height);
    if (t->view == VIEW_LOG && (at_end || page->lines == 0))
        top_page_scroll(page, (long)page->lines);
    top_page_add(page, slice_make(t->text, t->size), (size_t)s->width, &shown);
    for (size_t n = page->lines > page->first ? page->lines - page->first : 0; n < height; n++)
        buf_add_char(&shown, '\n');
    buf_addf(&shown, "%s%s%s", screen_on(s, COLOUR_DIM), views[t->view].keys,
             screen_off(s, COLOUR_DIM));
    if (page->lines > height)
        buf_addf(&shown, "  %zu-%zu of %zu", page->first + 1,
                 page->first + height < page->lines ? page->first + height : page->lines,
                 page->lines);
    terminal_draw(buf_slice(&shown), (int)height + 1);
    t->drawn_at = clock_mono_us();
}

/* Asks the server and writes the view into memory; an error becomes the text of the screen. */
static void refresh(struct top *t)
{
    struct screen *s = &t->cli->screen;

    screen_measure(s);
    free(t->text);
    s->out = open_memstream(&t->text, &t->size);
    ASSERT(s->out != NULL);
    event_listener_clear(t->events);
    views[t->view].write(t, s);
    ASSERT(fclose(s->out) == 0);
    s->out = NULL;
    draw(t);
}

/* ---- keys ---- */

static void open_view(struct top *t, enum view view)
{
    t->view = view;
    if (view == VIEW_LOG) /* people look for its end */
        t->pages[view] = (struct top_page){.first = 0};
    refresh(t);
}

static void look_into(struct top *t)
{
    const char *chosen = t->pages[VIEW_ALL].chosen;

    if (t->view == VIEW_JOB) {
        open_view(t, VIEW_LOG);
    } else if (t->view == VIEW_ALL && *chosen != '\0') {
        snprintf(t->job, sizeof(t->job), "%s", chosen);
        t->pages[VIEW_JOB] = (struct top_page){.first = 0};
        open_view(t, VIEW_JOB);
    }
}

/* False: enough. */
static bool go_back(struct top *t)
{
    static const enum view before[VIEW_COUNT] = {[VIEW_JOB] = VIEW_ALL, [VIEW_LOG] = VIEW_JOB};

    if (t->view == VIEW_ALL)
        return false;
    open_view(t, t->view == VIEW_HELP ? t->before_help : before[t->view]);
    return true;
}

static void move(struct top *t, int key)
{
    struct top_page *page = &t->pages[t->view];
    struct slice text = slice_make(t->text, t->size);
    long screen = (long)page->height;

    switch (key) {
    case 'k':
    case KEY_UP:
        t->view == VIEW_ALL ? top_page_choose(page, text, -1) : top_page_scroll(page, -1);
        break;
    case 'j':
    case KEY_DOWN:
        t->view == VIEW_ALL ? top_page_choose(page, text, 1) : top_page_scroll(page, 1);
        break;
    case 'b':
    case KEY_PAGE_UP: top_page_scroll(page, -screen); break;
    case 'f':
    case KEY_PAGE_DOWN: top_page_scroll(page, screen); break;
    case 'g':
    case KEY_HOME: top_page_scroll(page, -(long)page->lines); break;
    case 'G':
    case KEY_END: top_page_scroll(page, (long)page->lines); break;
    default: return;
    }
    draw(t);
}

/* False: enough. */
static bool take_key(struct top *t, int key)
{
    switch (key) {
    case 3: return false;
    case 'q':
    case 'Q': return go_back(t);
    case 'h':
    case KEY_ESCAPE:
    case KEY_LEFT:
        if (t->view != VIEW_ALL)
            (void)go_back(t);
        return true;
    case '\r':
    case '\n':
    case 'l':
    case KEY_RIGHT: look_into(t); return true;
    case ' ': refresh(t); return true;
    case 'a':
        t->unfolded = !t->unfolded;
        refresh(t);
        return true;
    case '?':
        if (t->view != VIEW_HELP)
            t->before_help = t->view;
        open_view(t, VIEW_HELP);
        return true;
    default: move(t, key); return true;
    }
}

/* ---- the loop ---- */

/* Much may happen at once: it is drawn a few times a second.  False: enough. */
static bool wait_a_little(struct top *t)
{
    for (;;) {
        int64_t pause_us = t->drawn_at + DRAWS_APART_US - clock_mono_us();
        int key = 0;

        if (pause_us <= 0)
            return true;
        event_listener_clear(
            t->events); /* others may come meanwhile: they are in the next screen */
        enum terminal_event event = terminal_wait(-1, pause_us, &key);

        if (event == TERMINAL_KEY && !take_key(t, key))
            return false;
        if (event != TERMINAL_KEY)
            return true;
    }
}

/* False: enough. */
static bool step(struct top *t)
{
    int key = 0;
    enum terminal_event event = terminal_wait(t->events, t->tick_us, &key);

    if (event == TERMINAL_KEY)
        return take_key(t, key);
    if (event == TERMINAL_HEARD && !wait_a_little(t))
        return false;
    refresh(t);
    return true;
}

static int run_live(struct cli *cli)
{
    struct top t = {.cli = cli, .events = -1, .unfolded = args_has(&cli->args, "all")};
    const struct client_config config = cli_client_config(cli);
    struct err err = ERR_INIT;

    if (event_listener_start(&config, &t.events, &err) != E_OK || terminal_open(&err) != E_OK)
        return cli_fail(cli, &err);
    refresh(&t);
    while (step(&t))
        continue;
    terminal_close();
    rates_deinit(&t.rates);
    free(t.text);
    return CLI_OK;
}

int cmd_top(struct cli *cli)
{
    CLEANUP(overview) struct overview o = OVERVIEW_INIT;
    struct err err = ERR_INIT;

    if (cli->json || !isatty(STDOUT_FILENO))
        return cmd_status(cli);
    /* Once before anything else: is there a server? */
    return overview_get(cli, &o, &err) != E_OK ? cli_fail(cli, &err) : run_live(cli);
}
