/* SPDX-License-Identifier: MIT */
#include "worker/filters/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/object/quote.h"
#include "worker/carriers/environment.h"
#include "worker/carriers/launch.h"
#include "worker/filters/desk.h"
#include "worker/internal.h"

#define LOOK_AGAIN_US (5 * US_PER_MS)
#define LINE_MAX_SIZE ((size_t)1 << 20)

/* ---- its input ---- */

static void on_writable(uv_poll_t *poll, int status, int events);

static void write_on(struct judge *j)
{
    while (j->input_fd >= 0 && j->written < j->line.size) {
        ssize_t n = write(j->input_fd, j->line.data + j->written, j->line.size - j->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            uv_poll_start(&j->input, UV_WRITABLE, on_writable);
            return;
        }
        if (n < 0) /* it reads no more; its end or its patience follows */
            break;
        j->written += (size_t)n;
    }
    if (j->in_loop)
        uv_poll_stop(&j->input);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    write_on(poll->data);
}

void judge_ask(struct judge *j, struct judged_job *job)
{
    j->job = job;
    job->at = j;
    j->until_at = worker_now(j->worker) + j->timeout_us;
    buf_clear(&j->line);
    buf_add_str(&j->line, "{\"job\":");
    buf_add_str(&j->line, job->json);
    buf_add_str(&j->line, "}\n");
    j->written = 0;
    write_on(j);
}

/* ---- what it says ---- */

static void say(struct judge *j, enum judge_says says, struct slice text)
{
    j->until_at = worker_now(j->worker);
    filter_desk_judged(j->worker, j, says, text);
}

static void fail(struct judge *j, const char *why)
{
    judge_kill(j);
    if (j->job != NULL)
        say(j, JUDGE_FAILED, slice_of(why));
    else
        log_warn("queue %s: a filter: %s", j->queue, why);
}

static void take_keep(struct judge *j, struct slice rest)
{
    struct err err = ERR_INIT;
    struct slice value = {0};

    if (rest.size == 0) {
        say(j, JUDGE_KEEP, rest);
        return;
    }
    if (jtext_check(rest, &value, &err) == E_OK && jtext_type_of(value) == JTEXT_OBJECT)
        say(j, JUDGE_KEEP, value);
    else
        fail(j, "it said keep with something that is not a JSON object");
}

static struct slice trimmed(struct slice text)
{
    while (text.size > 0 && strchr(" \t\r", text.data[text.size - 1]) != NULL)
        text.size--;
    while (text.size > 0 && strchr(" \t", text.data[0]) != NULL)
        text = slice_make(text.data + 1, text.size - 1);
    return text;
}

static void take_line(struct judge *j, const struct line *line)
{
    struct slice text = trimmed(line->text);
    bool keeps = text.size >= 4 && memcmp(text.data, "keep", 4) == 0;
    bool drops = text.size >= 4 && memcmp(text.data, "drop", 4) == 0;
    char why[120];
    struct quote quote;

    if (j->dying)
        return;
    if (j->job == NULL || j->written < j->line.size) {
        fail(j, "it answered before it was asked");
        return;
    }
    if ((keeps || drops) && text.size > 4 && text.data[4] != ' ' && text.data[4] != '\t')
        keeps = drops = false;
    if (line->skipped == 0 && keeps) {
        take_keep(j, trimmed(slice_make(text.data + 4, text.size - 4)));
    } else if (line->skipped == 0 && drops) {
        say(j, JUDGE_DROP, trimmed(slice_make(text.data + 4, text.size - 4)));
    } else {
        snprintf(why, sizeof(why), "it answered %s, which is neither keep nor drop",
                 line->skipped > 0 ? "with a line that is too long" : quote_text(&quote, text));
        fail(j, why);
    }
}

static void on_output(void *ctx, struct slice data)
{
    struct judge *j = ctx;
    struct line line;

    line_reader_feed(&j->lines, data);
    while (line_reader_next(&j->lines, &line))
        take_line(j, &line);
}

static void on_ignored(void *ctx, struct slice data)
{
    (void)ctx;
    (void)data;
}

/* ---- its start ---- */

static void on_process(void *owner, const struct tree_event *event)
{
    struct judge *j = owner;
    char why[80];

    if (event->kind == TREE_STOPPED || event->kind == TREE_CONTINUED)
        return;
    channel_drain(j->channel);
    j->ended = true;
    snprintf(why, sizeof(why),
             event->kind == TREE_EXITED ? "it ended with status %d" : "it was killed by signal %d",
             event->status);
    if (j->job != NULL)
        fail(j, why);
    j->dying = true;
}

static enum err_code launch(struct judge *j, struct served_queue *q, const struct filter_command *c,
                            int input, struct err *err)
{
    struct worker *w = j->worker;
    struct run_plan plan = {.command = c->template, .limits = q->def.limits, .user = q->user};
    struct template_values values = {.queue = slice_of(j->queue), .now_at = clock_wall_us()};
    const char *work_dir = q->def.workdir.size > 0 ? arena_strdup(&j->arena, q->def.workdir) : NULL;
    struct launch l = {.plan = &plan,
                       .slot = j->slot,
                       .channel = j->channel,
                       .search_dir = arena_strdup(&j->arena, q->def.dir),
                       .work_dir = work_dir,
                       .input = input};

    if (template_command_fill(c->template, &values, &j->arena, &l.argv, err) != E_OK)
        return err->code;
    l.envp = environment_of_resident(
        &(struct environment_of){.base = w->environment,
                                 .server_url = async_client_server(w->client),
                                 .user = plan.user,
                                 .workdir = work_dir,
                                 .queue_env = q->def.env},
        slice_of(j->queue), slice_of(j->mark), &j->arena);
    return launch_start(w, &l, &j->cgroup, err);
}

static enum err_code set_up(struct judge *j, struct served_queue *q, struct err *err)
{
    struct worker *w = j->worker;
    const struct filter_command *c = &q->def.filters.items[j->place].command;
    struct channel_config config = {
        .on_output = on_output, .on_errors = on_ignored, .on_words = on_ignored, .ctx = j};
    struct slot_job job = {.lease = slice_of(j->mark), .json = SLICE("{}")};
    int fds[2];

    j->timeout_us = c->timeout_us;
    j->idle_us = q->def.idle_us;
    if (q->def.limits.user.size > 0 && q->user == NULL &&
        spawn_user_find(q->def.limits.user, &q->user, err) != E_OK)
        return err->code;
    if (launch_slot(w, &(struct run_plan){.user = q->user}, &job, &j->slot, err) != E_OK ||
        channel_open(w->channels, &config, &j->channel, err) != E_OK)
        return err->code;
    if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot make a pipe");
    j->input_fd = fds[1];
    ASSERT(uv_poll_init(w->loop, &j->input, j->input_fd) == 0);
    j->input.data = j;
    j->in_loop = true;
    enum err_code code = launch(j, q, c, fds[0], err);

    close(fds[0]);
    return code;
}

enum err_code judge_start(struct worker *w, struct served_queue *q, size_t place,
                          struct judge **ret_judge, struct err *err)
{
    struct judge *j = mem_zalloc(sizeof(*j));

    j->worker = w;
    j->queue = mem_strdup(q->name);
    j->json = mem_strdup(q->json);
    j->place = place;
    j->input_fd = -1;
    j->cgroup = CGROUP_JOB_INIT;
    j->lines = LINE_READER_INIT(LINE_MAX_SIZE);
    j->line = BUF_INIT(2 * JOB_BYTES_MAX + LINE_MAX_SIZE);
    j->until_at = worker_now(w);
    snprintf(j->mark, sizeof(j->mark), "filter-%d-%lld-%llu", (int)getpid(),
             (long long)clock_boot_us(), (unsigned long long)++w->filters.judges_made);
    if (set_up(j, q, err) != E_OK) {
        judge_free(j);
        return err->code;
    }
    j->process = (struct tree_job){
        .lease = j->mark, .dir = j->slot->dir, .on_event = on_process, .owner = j};
    tree_add(w->tree, &j->process, &j->slot->record->process);
    channel_begin(j->channel);
    *ret_judge = j;
    return E_OK;
}

/* ---- its end ---- */

static void on_input_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void judge_free(struct judge *j)
{
    struct worker *w = j->worker;

    if (j->process.pid != 0)
        tree_remove(w->tree, &j->process);
    if (j->cgroup.procs_fd >= 0)
        cgroup_job_close(w->cgroup, &j->cgroup);
    if (j->slot != NULL)
        slot_release(w->slots, j->slot);
    channel_close(j->channel);
    line_reader_deinit(&j->lines);
    buf_deinit(&j->line);
    arena_deinit(&j->arena);
    free(j->queue);
    free(j->json);
    if (j->in_loop)
        uv_poll_stop(&j->input);
    if (j->input_fd >= 0)
        close(j->input_fd);
    if (j->in_loop)
        uv_close((uv_handle_t *)&j->input, on_input_closed);
    else
        free(j);
}

void judge_kill(struct judge *j)
{
    j->dying = true;
    worker_wake_at(j->worker, 0);
}

bool judge_pass(struct judge *j, int64_t now, int64_t *at)
{
    char why[80];
    char length[DURATION_TEXT_SIZE];

    if (!j->dying && j->job != NULL && now >= j->until_at) {
        snprintf(why, sizeof(why), "it did not answer within %s",
                 duration_format(j->timeout_us, length));
        fail(j, why);
    }
    if (!j->dying && j->job == NULL && now >= j->until_at + j->idle_us)
        j->dying = true;
    if (!j->dying) {
        *at = j->job != NULL ? j->until_at : j->until_at + j->idle_us;
        return false;
    }
    cgroup_job_kill(j->worker->cgroup, &j->cgroup);
    *at = now + LOOK_AGAIN_US;
    if (tree_end(j->worker->tree, &j->process) > 0 || !j->ended)
        return false;
    judge_free(j);
    return true;
}
