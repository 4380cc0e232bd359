/* SPDX-License-Identifier: MIT */
#include "each/store.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"
#include "cli/view/screen.h"
#include "core/job/verdict.h"
#include "each/input.h"

#define DEFINITION_MAX ((size_t)4 << 20)
#define PATH_SIZE 256
#define PAGE 1000
#define INPUT_SHOWN 60

static enum err_code call(struct client *c, const char *method, const char *path, struct slice body,
                          struct client_reply *reply, struct err *err)
{
    const struct client_request request = {.method = method, .path = path, .body = body};

    client_reply_deinit(reply);
    *reply = CLIENT_REPLY_INIT;
    return client_call(c, &request, reply, err);
}

/* ---- the queue ---- */

enum err_code each_store_define(struct client *c, const struct each_definition *d, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_MAX);
    char text[DURATION_TEXT_SIZE];

    buf_add_str(&json, "{\"command\":");
    each_command_add_template(d->command, d->command->lines, &json);
    buf_add_str(&json, ",\"dir\":");
    jtext_add_string(&json, slice_of(d->dir));
    if (d->timeout_us > 0)
        buf_addf(&json, ",\"timeout\":\"%s\"", duration_format(d->timeout_us, text));
    buf_addf(&json, ",\"retry\":{\"max\":%" PRId64 ",\"first\":\"1s\",\"cap\":\"1m\"}", d->retries);
    buf_add_str(&json, ",\"own_command\":true,\"keep\":{\"done\":\"10000d\",\"failed\":\"10000d\","
                       "\"log\":\"16M\"}}");
    return call(c, "PUT", "/v1/queues/" EACH_QUEUE, buf_slice(&json), &reply, err);
}

/* ---- counts ---- */

struct each_counts each_counts_of(const json_t *answer)
{
    static const char *const live[] = {"staged", "held", "scheduled", "ready", "running"};
    const json_t *of = json_object_get(json_object_get(answer, "counts"), EACH_QUEUE);
    struct each_counts counts = {
        .done = reply_int(of, "done") + reply_int(of, "relayed"),
        .failed = reply_int(of, "failed") + reply_int(of, "cancelled"),
    };

    for (size_t i = 0; i < ARRAY_LEN(live); i++)
        counts.live += reply_int(of, live[i]);
    return counts;
}

enum err_code each_store_counts(struct client *c, struct each_counts *ret_counts, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    if (call(c, "GET", "/v1/counts", (struct slice){NULL, 0}, &reply, err) != E_OK)
        return err->code;
    *ret_counts = each_counts_of(reply.json);
    return E_OK;
}

enum err_code each_store_pause(struct client *c, bool pause, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    return call(c, "POST", pause ? EACH_PAUSE_PATH : EACH_RESUME_PATH, SLICE("{}"), &reply, err);
}

/* ---- lists ---- */

/* One page of jobs in these states; the cursor is empty before the first and after the last. */
static enum err_code page(struct client *c, const char *states, struct buf *cursor,
                          struct client_reply *reply, struct err *err)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/v1/jobs?queue=" EACH_QUEUE "&state=%s&limit=%d%s%s", states,
             PAGE, cursor->size > 0 ? "&cursor=" : "", buf_text(cursor));
    if (call(c, "GET", path, (struct slice){NULL, 0}, reply, err) != E_OK)
        return err->code;
    buf_clear(cursor);
    buf_add_str(cursor, reply_text(reply->json, "cursor"));
    return E_OK;
}

static int64_t line_of(const json_t *job)
{
    return strtoll(reply_text(job, "key"), NULL, 10);
}

static int compare_lines(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

enum err_code each_store_live_lines(struct client *c, struct each_line_list *lines, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf cursor = BUF_INIT(PATH_SIZE / 2);

    do {
        if (page(c, "staged,held,scheduled,ready,running", &cursor, &reply, err) != E_OK)
            return err->code;
        const json_t *jobs = json_object_get(reply.json, "jobs");

        for (size_t i = 0; i < json_array_size(jobs); i++) {
            int64_t line = line_of(json_array_get(jobs, i));

            if (line > 0)
                VEC_PUSH(lines, line);
        }
    } while (cursor.size > 0);
    if (lines->count > 0)
        qsort(lines->items, lines->count, sizeof(lines->items[0]), compare_lines);
    return E_OK;
}

bool each_line_list_has(const struct each_line_list *l, int64_t line)
{
    return l->count > 0 &&
           bsearch(&line, l->items, l->count, sizeof(l->items[0]), compare_lines) != NULL;
}

/* ---- failed ones ---- */

enum err_code each_store_act(struct client *c, const char *action, const char *states,
                             struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT(PATH_SIZE);
    char path[PATH_SIZE];

    buf_addf(&body, "{\"action\":\"%s\",\"filter\":{\"queue\":\"" EACH_QUEUE "\",\"state\":[%s]}}",
             action, states);
    if (call(c, "POST", "/v1/bulk", buf_slice(&body), &reply, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "/v1/bulk/%.20s?wait=30s", reply_text(reply.json, "id"));
    while (strcmp(reply_text(reply.json, "state"), "done") != 0)
        if (call(c, "GET", path, (struct slice){NULL, 0}, &reply, err) != E_OK)
            return err->code;
    return E_OK;
}

struct pick {
    struct each_line_list *lines;  /* that run */
    struct each_line_list waiting; /* ids of those that wait to run again */
    int64_t unrun;
    bool is_wrong; /* a line is held that should run, or is not held and should be */
};

static void pick_job(struct pick *p, const json_t *job)
{
    const char *state = reply_text(job, "state");
    bool is_held = strcmp(state, "held") == 0;
    bool waits = is_held || strcmp(state, "ready") == 0 || strcmp(state, "scheduled") == 0;
    bool has_run = reply_int(job, "attempt") > 0; /* attempts that were stopped do not count */
    int64_t id = 0;

    p->is_wrong = p->is_wrong || (waits && is_held == has_run);
    if (waits && !has_run) {
        p->unrun++;
        return;
    }
    if (line_of(job) > 0)
        VEC_PUSH(p->lines, line_of(job));
    if (waits && id_parse(slice_of(reply_text(job, "id")), &id))
        VEC_PUSH(&p->waiting, id);
}

static enum err_code pick_jobs(struct client *c, struct pick *p, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf cursor = BUF_INIT(PATH_SIZE / 2);

    do {
        if (page(c, "held,scheduled,ready,running,failed,cancelled", &cursor, &reply, err) != E_OK)
            return err->code;
        const json_t *jobs = json_object_get(reply.json, "jobs");

        for (size_t i = 0; i < json_array_size(jobs); i++)
            pick_job(p, json_array_get(jobs, i));
    } while (cursor.size > 0);
    if (p->lines->count > 0)
        qsort(p->lines->items, p->lines->count, sizeof(p->lines->items[0]), compare_lines);
    return E_OK;
}

/* No filter tells them apart: all that wait are held, then each of those that run is released. */
static enum err_code hold_others(struct client *c, const struct each_line_list *ids,
                                 struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char text[ID_TEXT_SIZE];
    char path[PATH_SIZE];

    if (each_store_act(c, "hold", "\"ready\",\"scheduled\"", err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ids->count; i++) {
        snprintf(path, sizeof(path), "/v1/jobs/%s/release", id_format(ids->items[i], text));
        if (call(c, "POST", path, SLICE("{}"), &reply, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code each_store_pick_failed(struct client *c, struct each_line_list *lines,
                                     int64_t *ret_unrun, struct err *err)
{
    struct pick p = {.lines = lines, .waiting = VEC_INIT};
    enum err_code code = pick_jobs(c, &p, err);

    if (code == E_OK && p.is_wrong)
        code = hold_others(c, &p.waiting, err);
    *ret_unrun = p.unrun;
    VEC_DEINIT(&p.waiting);
    return code;
}

void each_failures_deinit(struct each_failures *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->items[i].input);
        free(f->items[i].what);
    }
    VEC_DEINIT(f);
}

static char *shown_input(const json_t *job)
{
    CLEANUP(buf) struct buf out = BUF_INIT(INPUT_SHOWN * 4);
    static const char before[] = "{\"line\":\"";
    const json_t *cut = json_object_get(json_object_get(job, "cut"), "params");
    const char *start = reply_text(cut, "start"); /* of a line that is too long for a list */
    const char *line = strncmp(start, before, strlen(before)) == 0
                           ? start + strlen(before)
                           : reply_text(json_object_get(job, "params"), "line");
    size_t size = strlen(line);

    for (size_t columns = 0; *line != '\0' && columns < INPUT_SHOWN; columns++)
        do
            buf_add_char(&out, *line++);
        while (((unsigned char)*line & 0xC0) == 0x80);
    CLEANUP(buf) struct buf clean = BUF_INIT(INPUT_SHOWN * 8);

    clean_text(&clean, buf_slice(&out));
    if (*line != '\0' && size > 0)
        buf_add_str(&clean, "…");
    return mem_strdup(buf_text(&clean));
}

static char *shown_cause(const json_t *job)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    const char *cause = reply_text(job, "cause");
    const char *text = reply_text(job, "text");
    const json_t *status = json_object_get(job, "exit");

    int exit = (int)json_integer_value(status);

    if (!job_add_too_late(job, &out))
        verdict_add_cause(&out, cause[0] != '\0' ? cause : reply_text(job, "state"),
                          json_is_integer(status) ? &exit : NULL);
    if (!verdict_says_only_cause(slice_of(text))) { /* it says more than we have said */
        buf_add_str(&out, out.size > 0 ? ": " : "");
        clean_text(&out, slice_of(text));
    }
    return mem_strdup(buf_text(&out));
}

static int compare_failures(const void *a, const void *b)
{
    int64_t x = ((const struct each_failure *)a)->line;
    int64_t y = ((const struct each_failure *)b)->line;

    return (x > y) - (x < y);
}

enum err_code each_store_failures(struct client *c, size_t most, struct each_failures *ret_failures,
                                  bool *ret_all, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf cursor = BUF_INIT(PATH_SIZE / 2);
    size_t found = 0;

    do {
        if (page(c, "failed,cancelled", &cursor, &reply, err) != E_OK)
            return err->code;
        const json_t *jobs = json_object_get(reply.json, "jobs");

        found += json_array_size(jobs);
        for (size_t i = 0; i < json_array_size(jobs); i++) {
            const json_t *job = json_array_get(jobs, i);
            struct each_failure f = {.line = line_of(job),
                                     .input = shown_input(job),
                                     .what = shown_cause(job)};

            snprintf(f.id, sizeof(f.id), "%.13s", reply_text(job, "id"));
            VEC_PUSH(ret_failures, f);
        }
        /* Only the first `most` lines stay. */
        if (ret_failures->count > 0)
            qsort(ret_failures->items, ret_failures->count, sizeof(ret_failures->items[0]),
                  compare_failures);
        for (; ret_failures->count > most; ret_failures->count--) {
            free(ret_failures->items[ret_failures->count - 1].input);
            free(ret_failures->items[ret_failures->count - 1].what);
        }
    } while (cursor.size > 0);
    *ret_all = found <= most;
    return E_OK;
}
