/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "each/internal.h"
#include "each/show/results.h"
#include "worker/client/url.h"

#define LEASE_US (10 * US_PER_MIN) /* no other worker can take over a job */
#define TICK_MS 100                /* of the bar */
#define SLOW_TICK_MS 1000

static enum err_code open_run(struct each *e, struct err *err)
{
    CLEANUP(mem) char *data_dir = NULL;
    const struct each_options *o = e->options;

    if (client_data_dir(NULL, &data_dir, err) != E_OK ||
        each_run_open(data_dir, o->command, &e->run, err) != E_OK)
        return err->code;
    each_run_sweep(data_dir);
    if (e->run.dir.own.holder != 0)
        return run_dir_busy(&e->run.dir, err);
    if (o->failed && !e->run.dir.is_there)
        return err_set(err, E_NOT_FOUND,
                       "no such run: --failed needs an earlier run of the same "
                       "command in this directory");
    if (e->run.dir.is_there && run_dir_wait_for_store(&e->run.dir, err) != E_OK)
        return err->code;
    if (!o->failed && (!e->run.dir.is_there || e->run.dir.is_finished || o->again) &&
        each_run_begin_anew(&e->run, err) != E_OK)
        return err->code;
    if (each_printed_open(&e->printed_lines, e->run.dir.own.fd, EACH_RUN_PRINTED, err) != E_OK)
        return err->code;
    return own_server_start(&e->server, &(struct own_server_config){.data_dir = e->run.dir.store},
                            err);
}

/* Lines that have not run yet are held until an ordinary run continues. */
static enum err_code find_failed(struct each *e, struct client *c, struct err *err)
{
    if (each_store_pick_failed(c, &e->live, &e->unrun, err) != E_OK ||
        (e->run.dir.is_finished && e->live.count > 0 && each_run_reopen(&e->run, err) != E_OK))
        return err->code;
    return each_store_act(c, "retry", "\"failed\",\"cancelled\"", err);
}

/* Lines that run again, or have not run yet, must be printed. */
static enum err_code find_live(struct each *e, struct client *c, struct err *err)
{
    if (e->known == 0)
        return E_OK;
    if (e->options->failed ? find_failed(e, c, err) != E_OK
                           : each_store_live_lines(c, &e->live, err) != E_OK ||
                                 each_store_act(c, "release", "\"held\"", err) != E_OK)
        return err->code;
    for (size_t i = 0; i < e->live.count; i++)
        each_printed_clear(&e->printed_lines, e->live.items[i]);
    return E_OK;
}

static enum err_code look_at_store(struct each *e, struct client *c, struct err *err)
{
    const struct each_options *o = e->options;
    const struct each_definition definition = {.command = o->command,
                                               .dir = e->run.cwd,
                                               .retries = o->retries,
                                               .timeout_us = o->timeout_us};
    struct each_counts counts = {.done = 0};

    if (each_store_define(c, &definition, err) != E_OK ||
        each_store_counts(c, &counts, err) != E_OK)
        return err->code;
    e->known = counts.done + counts.failed + counts.live;
    e->unconfirmed = counts.live > 0 && !o->failed;
    if (e->known > 0 && each_store_pause(c, e->unconfirmed, err) != E_OK)
        return err->code;
    if (each_printed_reserve(&e->printed_lines, e->known, err) != E_OK ||
        find_live(e, c, err) != E_OK)
        return err->code;
    e->done = counts.done;
    e->failed = o->failed ? 0 : counts.failed;
    e->before = e->done + e->failed;
    e->failed_before = e->failed;
    for (int64_t line = 1; line <= e->known; line++) {
        bool is_printed = each_printed_has(&e->printed_lines, line);
        bool is_left = !is_printed && o->failed && !each_line_list_has(&e->live, line);

        e->printed += is_printed || is_left;
        e->unprinted += is_left;
        if (!is_printed && !is_left)
            each_order_expect(&e->order, line);
    }
    e->unprinted -= e->unrun;
    return E_OK;
}

static void watch(struct each *e, const struct each_hooks *hooks)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        uv_signal_init(&e->loop, &e->signals[i]);
        e->signals[i].data = e;
        /* Set by our parent: nohup, a shell's background. */
        struct sigaction action;

        if (sigaction(numbers[i], NULL, &action) != 0 || action.sa_handler != SIG_IGN)
            uv_signal_start(&e->signals[i], hooks->on_signal, numbers[i]);
    }
    uv_poll_init(&e->loop, &e->server_end, e->server.out_fd);
    e->server_end.data = e;
    uv_poll_start(&e->server_end, UV_READABLE, hooks->on_server_end);
    uv_timer_init(&e->loop, &e->tick);
    uv_timer_init(&e->loop, &e->halt);
    e->tick.data = e->halt.data = e;
    uint64_t ms = e->screen.has_bar ? TICK_MS : SLOW_TICK_MS;

    uv_timer_start(&e->tick, hooks->on_tick, ms, ms);
}

static enum err_code open_worker(struct each *e, const struct worker_hooks *hooks, struct err *err)
{
    static const char *const queues[] = {EACH_QUEUE};
    const struct each_options *o = e->options;
    char name[64];
    const struct worker_config config = {
        .client = {.url = e->server.url},
        .data_dir = e->run.dir.store,
        .name = name,
        .work_dir = e->run.cwd,
        .queues = queues,
        .n_queues = ARRAY_LEN(queues),
        .slots = o->slots,
        .errors_apart = true,
        .grace_us = EACH_GRACE_US,
        .lease_us = LEASE_US,
        .hooks = *hooks,
    };

    snprintf(name, sizeof(name), "each-%.32s", strrchr(e->run.dir.path, '/') + 1);
    if (worker_new(&e->loop, &config, &e->worker, err) != E_OK)
        return err->code;
    if (o->rate_starts > 0)
        worker_set_rate(e->worker, o->rate_starts, o->rate_per_us);
    return E_OK;
}

static enum err_code open_loop(struct each *e, const struct each_hooks *hooks, struct err *err)
{
    const struct client_config config = {.url = e->server.url};

    uv_loop_init(&e->loop);
    watch(e, hooks);
    e->input.command = e->options->command;
    e->input.in = e->options->in;
    each_items_init(&e->input.items, e->options->line_end, e->options->command->lines);
    if (async_client_new(&e->loop, &config, &e->client, err) != E_OK ||
        each_out_init(&e->out, &e->loop, STDOUT_FILENO, &e->printed_lines, &hooks->out, err) !=
            E_OK ||
        each_out_init(&e->errors, &e->loop, STDERR_FILENO, &e->printed_lines, &hooks->errors,
                      err) != E_OK ||
        each_input_init(&e->input, &e->loop, e->client, &hooks->input, err) != E_OK)
        return err->code;
    if (isatty(STDOUT_FILENO) == 1)
        e->out.kind = e->options->json ? SAFE_JSON : SAFE_LOG;
    e->errors.is_optional = true;
    if (isatty(STDERR_FILENO) == 1)
        e->errors.kind = SAFE_LOG;
    struct stat x;
    struct stat y;

    e->is_one_output = fstat(STDOUT_FILENO, &x) == 0 && fstat(STDERR_FILENO, &y) == 0 &&
                       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return open_worker(e, &hooks->worker, err);
}

enum err_code each_open(struct each *e, const struct each_hooks *hooks, struct err *err)
{
    CLEANUP(client) struct client *c = NULL;

    each_screen_init(&e->screen);
    log_set_level(LOG_LEVEL_ERROR); /* we report what matters ourselves */
    if ((e->options->results != NULL &&
         each_results_open(e->options->results, &e->results_fd, err) != E_OK) ||
        open_run(e, err) != E_OK ||
        client_open(&(struct client_config){.url = e->server.url}, &c, err) != E_OK ||
        look_at_store(e, c, err) != E_OK || open_loop(e, hooks, err) != E_OK)
        return err->code;
    if (e->before > 0 && !e->options->failed)
        each_screen_say(&e->screen, "continuing this run: %" PRId64 " %s already ended", e->before,
                        e->before == 1 ? "line has" : "lines have");
    return E_OK;
}

void each_close(struct each *e)
{
    each_input_close(&e->input);
    each_out_close(&e->out);
    each_out_close(&e->errors);
    for (size_t i = 0; i < ARRAY_LEN(e->signals); i++)
        uv_close((uv_handle_t *)&e->signals[i], NULL);
    uv_close((uv_handle_t *)&e->server_end, NULL);
    uv_close((uv_handle_t *)&e->tick, NULL);
    uv_close((uv_handle_t *)&e->halt, NULL);
    worker_free(e->worker);
    async_client_free(e->client);
    uv_run(&e->loop, UV_RUN_DEFAULT);
    uv_loop_close(&e->loop);
    each_input_deinit(&e->input);
    each_out_deinit(&e->out);
    each_out_deinit(&e->errors);
}
