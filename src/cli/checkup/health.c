/* SPDX-License-Identifier: MIT */
#include "cli/checkup/health.h"

#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/view/queue_view.h"
#include "cli/view/reply_json.h"

/* As monitoring plugins exit. */
enum health { HEALTH_OK, HEALTH_WARNING, HEALTH_CRITICAL, HEALTH_UNKNOWN };

static const char *const health_names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

struct findings {
    enum health health;
    struct buf text;
    struct buf data; /* performance data */
};

static void find(struct findings *f, enum health health, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void find(struct findings *f, enum health health, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (health > f->health)
        f->health = health;
    buf_addf(&f->text, "%s%s", f->text.size > 0 ? ", " : "", text);
}

/* One number, with its limits: `ready=12;100;1000` */
static void judge_count(struct findings *f, const struct args *a, const char *name, int64_t n)
{
    char option[32];
    enum health health = HEALTH_OK;

    snprintf(option, sizeof(option), "warn-%s", name);
    int64_t warn = args_int(a, option, -1);

    snprintf(option, sizeof(option), "crit-%s", name);
    int64_t crit = args_int(a, option, -1);

    if (warn >= 0 && n >= warn)
        health = HEALTH_WARNING;
    if (crit >= 0 && n >= crit)
        health = HEALTH_CRITICAL;
    find(f, health, "%" PRId64 " %s", n, name);
    buf_addf(&f->data, " %s=%" PRId64 ";", name, n);
    if (warn >= 0)
        buf_add_int(&f->data, warn);
    buf_add_char(&f->data, ';');
    if (crit >= 0)
        buf_add_int(&f->data, crit);
    buf_add_str(&f->data, ";0");
}

/* Since when the queue's next job has been ready: a delay or a retry counts from its end. */
static int64_t ready_since(struct cli *cli, const json_t *queue)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    char path[64];
    int64_t created_at = queue_next_at(queue);

    snprintf(path, sizeof(path), "/v1/jobs/%.20s", reply_text(queue, "next"));
    if (created_at == 0 || cli_get(cli, path, &reply, &err) != E_OK)
        return created_at; /* gone by now */
    int64_t due_at = reply_time(reply.json, "due_at");

    return due_at > created_at ? due_at : created_at;
}

static void judge_age(struct findings *f, struct cli *cli, const json_t *queues)
{
    int64_t max_us = args_duration_us(&cli->args, "max-age", INT64_MAX);
    int64_t now_at = clock_wall_us();
    int64_t oldest_at = now_at;
    const char *where = "";
    json_t *queue = NULL;
    char age[SHORT_TEXT_SIZE];

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        int64_t at = ready_since(cli, queue);

        if (at > 0 && at < oldest_at) {
            oldest_at = at;
            where = reply_text(queue, "name");
        }
    }
    buf_addf(&f->data, " oldest=%" PRId64 "s;;", (now_at - oldest_at) / US_PER_S);
    if (max_us < INT64_MAX)
        buf_add_int(&f->data, max_us / US_PER_S);
    buf_add_str(&f->data, ";0");
    if (now_at - oldest_at > max_us)
        find(f, HEALTH_CRITICAL, "a job in '%s' has been ready for %s", where,
             age_format(now_at - oldest_at, age));
}

static int64_t sum_of(const json_t *queues, const char *state)
{
    int64_t sum = 0;
    json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
        sum += queue_count(queue, state);
    return sum;
}

/* Is it there, and does it say that it is well? */
static enum err_code ask_ready(struct cli *cli, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct client *client = NULL;

    if (cli_client(cli, &client, err) != E_OK)
        return err->code;
    return client_call(client, &(struct client_request){.path = "/readyz", .patience_s = 10},
                       &reply, err);
}

static void judge(struct cli *cli, struct findings *f)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (ask_ready(cli, &err) != E_OK) {
        find(f, err.code == E_INVALID ? HEALTH_UNKNOWN : HEALTH_CRITICAL, "%s", err.msg);
        return;
    }
    if (cli_get(cli, "/v1/queues", &reply, &err) != E_OK) {
        find(f, err.code == E_UNAUTHORIZED ? HEALTH_UNKNOWN : HEALTH_CRITICAL, "%s", err.msg);
        return;
    }
    const json_t *queues = json_object_get(reply.json, "queues");

    judge_count(f, &cli->args, "ready", sum_of(queues, "ready"));
    find(f, HEALTH_OK, "%" PRId64 " running", sum_of(queues, "running"));
    buf_addf(&f->data, " running=%" PRId64 ";;;0", sum_of(queues, "running"));
    judge_count(f, &cli->args, "failed", sum_of(queues, "failed"));
    judge_age(f, cli, queues);
}

static void print_findings(const struct cli *cli, const struct findings *f)
{
    if (!cli->json) {
        printf("WAYBILL %s - %s%s%s\n", health_names[f->health], buf_text(&f->text),
               f->data.size > 0 ? " |" : "", buf_text(&f->data));
        return;
    }
    CLEANUP(buf) struct buf line = BUF_INIT(16384);

    buf_addf(&line, "{\"status\":\"%s\",\"text\":", health_names[f->health]);
    jtext_add_string(&line, buf_slice(&f->text));
    jtext_put_string(&line, "data", slice_of(f->data.size > 0 ? buf_text(&f->data) + 1 : ""));
    buf_add_char(&line, '}');
    puts(buf_text(&line));
}

int health_check(struct cli *cli)
{
    struct findings f = {.text = BUF_INIT(4096), .data = BUF_INIT(4096)};

    judge(cli, &f);
    print_findings(cli, &f);
    int status = (int)f.health;

    buf_deinit(&f.text);
    buf_deinit(&f.data);
    return status;
}
