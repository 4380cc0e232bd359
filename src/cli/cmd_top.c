/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/event_listener.h"
#include "cli/overview.h"
#include "cli/rates.h"
#include "cli/terminal.h"

#define TICK_US US_PER_S
#define SHARED_TICK_US (3 * US_PER_S)
#define DRAWS_APART_US (US_PER_S / 5)

struct top {
    struct cli *cli;
    struct rates rates;
    int events;
    int64_t drawn_at; /* by the monotonic clock */
    int64_t tick_us;  /* look again after so long though nothing was heard; -1: never */
};

/* Things that run change by themselves, and of what other servers do ours tells nothing. */
static int64_t tick_of(const struct overview *o, const json_t *queues)
{
    if (overview_running(o) > 0 || rates_moving(queues))
        return TICK_US;
    return json_object_get(o->server.json, "servers") != NULL ? SHARED_TICK_US : -1;
}

/* Asks the server and writes the screen into memory; what went wrong is the screen, too. */
static void write_screen(struct top *t, const struct screen *s)
{
    CLEANUP(overview) struct overview o = OVERVIEW_INIT;
    struct err err = ERR_INIT;

    if (overview_get(t->cli, &o, &err) != E_OK) {
        fprintf(s->out, "waybill: %s\n", err.msg);
        t->tick_us = TICK_US;
        return;
    }
    json_t *queues = json_object_get(o.queues.json, "queues");

    rates_update(&t->rates, queues, clock_mono_us());
    t->tick_us = tick_of(&o, queues);
    overview_print(t->cli, s, &o, clock_wall_us());
    fprintf(s->out, "\n%sq quits%s\n", screen_on(s, COLOUR_DIM), screen_off(s, COLOUR_DIM));
}

static void draw(struct top *t)
{
    CLEANUP(mem) char *text = NULL;
    size_t size = 0;
    struct screen *s = &t->cli->screen;

    screen_measure(s);
    s->out = open_memstream(&text, &size);
    ASSERT(s->out != NULL);
    event_listener_clear(t->events);
    write_screen(t, s);
    ASSERT(fclose(s->out) == 0);
    s->out = NULL;
    terminal_draw(slice_make(text, size), s->height > 0 ? s->height : 24);
    t->drawn_at = clock_mono_us();
}

/* Waits until there is something to draw; false: enough. */
static bool wait_for_change(struct top *t)
{
    for (;;) {
        char key = 0;
        enum terminal_event event = terminal_wait(t->events, t->tick_us, &key);

        if (event == TERMINAL_KEY && (key == 'q' || key == 'Q' || key == 3))
            return false;
        if (event == TERMINAL_KEY && key != ' ')
            continue;
        if (event != TERMINAL_HEARD)
            return true;
        int64_t pause_us = t->drawn_at + DRAWS_APART_US - clock_mono_us();

        if (pause_us <= 0)
            return true;
        event_listener_clear(
            t->events); /* others may come meanwhile: they are in the next screen */
        event = terminal_wait(-1, pause_us, &key);
        return event != TERMINAL_KEY || (key != 'q' && key != 'Q');
    }
}

static int run_live(struct cli *cli)
{
    struct top t = {.cli = cli, .events = -1};
    const struct client_config config = cli_client_config(cli);
    struct err err = ERR_INIT;

    if (event_listener_start(&config, &t.events, &err) != E_OK || terminal_open(&err) != E_OK)
        return cli_fail(cli, &err);
    do {
        draw(&t);
    } while (wait_for_change(&t));
    terminal_close();
    rates_deinit(&t.rates);
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
