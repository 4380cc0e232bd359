/*
 * What clients send: jobs, claims, finishes, touches, emits, filters and definitions of queues.
 *
 * Whatever comes, the parsers answer with a job or with an error that says something, and what they take
 * holds to the contract of the engine: slices lie in the input or in the arena, JSON stays JSON, numbers
 * stay in their bounds.
 */
/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/utf8.h"
#include "core/queue_def.h"
#include "driver.h"
#include "server/auth.h"
#include "server/content_type.h"
#include "server/http_range.h"
#include "server/job_filter.h"
#include "server/limits.h"
#include "server/parse_emit.h"
#include "server/parse_exchange.h"
#include "server/parse_submit.h"

#define HELD "\"id\":\"0AHY0AM680000\",\"lease\":\"0AHY0AM800001\""

static const struct slice seeds[] = {
    SLICE(
        "{\"queue\":\"fetch\",\"params\":{\"url\":\"https://example.org/\"},\"labels\":{\"a\":\"b\"},"
        "\"key\":\"k\",\"delay\":\"10s\",\"priority\":5,\"body\":\"text\"}"),
    SLICE("[{\"queue\":\"a\",\"due_at\":\"2030-01-31T12:00:00Z\",\"body_base64\":\"AAH/\"},"
          "{\"queue\":\"b\",\"timeout\":5,\"retry\":{\"max\":3,\"exits\":{\"75\":\"later\"}},"
          "\"command\":[\"ls\",\"-l\"]}]"),
    SLICE(
        "{\"worker\":{\"name\":\"w\",\"host\":\"h\",\"pid\":1},\"queues\":{\"fetch\":4,\"parse\":1},"
        "\"max\":10,\"wait\":\"30s\",\"lease\":\"60s\",\"all\":true,\"finish\":[{" HELD
        ",\"state\":\"done\",\"exit\":0,\"set\":{\"a\":1},\"result\":[1]}],\"touch\":[{" HELD
        "}]}"),
    SLICE("{\"finish\":[{" HELD
          ",\"state\":\"failed\",\"exit\":-9,\"cause\":\"signal\",\"text\":\"x\","
          "\"final\":true},{" HELD ",\"state\":\"later\",\"delay\":\"5m\"}]}"),
    SLICE("{\"touch\":[{" HELD ",\"text\":\"half\",\"done\":5,\"total\":10}]}"),
    SLICE("{\"worker\":{\"name\":\"w\",\"pid\":1,\"queues\":{\"a\":4},\"slots\":8,"
          "\"broken\":{\"b\":\"no such file\"}},\"queues\":{},\"max\":0,\"definitions\":7,"
          "\"wake\":true,\"touch\":[{" HELD ",\"unit\":\"MB\",\"left\":90,\"log\":{\"offset\":3,"
          "\"text\":\"ab\\n\",\"times\":[[3,1767225600000000],[5,1767225600000001]]}}]}"),
    SLICE("{\"finish\":[{" HELD
          ",\"state\":\"lost\",\"log\":{\"offset\":0,\"base64\":\"AAH/\"}}]}"),
    SLICE("{" HELD ",\"seq\":1,\"visible\":true,\"cursor\":{\"page\":2},\"jobs\":[{\"queue\":\"a\","
          "\"key\":\"k\"},{\"queue\":\"b\",\"delay\":1}]}"),
    SLICE("{\"finish\":[{" HELD ",\"state\":\"done\",\"emit\":[{\"queue\":\"a\"}]}]}"),
    SLICE("{\"finish\":[{" HELD
          ",\"state\":\"done\",\"raise\":{\"s\":2},\"steps\":[{\"name\":\"m\","
          "\"queue\":\"q\"}],\"emit\":[{\"topic\":\"t\",\"params\":{}}]}]}"),
    SLICE("[{\"steps\":[{\"number\":1,\"process name\":\"a\",\"queue name\":\"q\"},{\"name\":\"b\","
          "\"params\":{\"x\":1},\"on_error\":\"continue\",\"final\":true,\"on_success\":[\"q\"]}],"
          "\"progress\":[{\"number\":1,\"status\":0,\"set\":{}}],\"ref\":\"r\",\"key\":\"k\","
          "\"redo\":true},{\"queue\":\"q\",\"after\":[\"r\",{\"signal\":\"s\",\"count\":3,"
          "\"take\":true}],\"on_failure\":{\"join\":\"j\"},\"parent\":\"0AHY0AM680000\"}]"),
    SLICE(
        "{\"queue\":\"q\",\"state\":[\"failed\",\"done\"],\"labels\":{\"a\":\"b\"},\"text\":\"t\","
        "\"older\":\"7d\"}"),
    SLICE("http://localhost:6769/page?x"),
    SLICE("bytes=100-200"),
    SLICE("application/json; charset=utf-8"),
};

static const struct slice words[] = {
    SLICE("\"queue\":"),
    SLICE("\"params\":{}"),
    SLICE("\"key\":\"k\""),
    SLICE("\"delay\":-1"),
    SLICE("\"due_at\":"),
    SLICE("null"),
    SLICE("true"),
    SLICE("\"state\":\"done\""),
    SLICE("\"later\""),
    SLICE("\"finish\":["),
    SLICE("\"touch\":["),
    SLICE("{" HELD "}"),
    SLICE("\"steps\":[]"),
    SLICE("\"steps\":[{\"name\":\"a\"}]"),
    SLICE("\"progress\":[{\"number\":1,\"status\":0}]"),
    SLICE("\"after\":[\"r\"]"),
    SLICE("{\"signal\":\"s\"}"),
    SLICE("\"on_success\":[\"q\"]"),
    SLICE("\"redo\":true"),
    SLICE("\"topic\":\"t\""),
    SLICE("\"raise\":{\"s\":1}"),
    SLICE("\"ref\":"),
    SLICE("\"command\":"),
    SLICE("9223372036854775807"),
    SLICE("-1"),
    SLICE("1e308"),
    SLICE("\"10000d\""),
    SLICE("\\u0000"),
    SLICE("\\u0071ueue"),
    SLICE("\xff"),
    SLICE("[["),
    SLICE("]}"),
    SLICE("[::1]:"),
    SLICE("://"),
    SLICE("bytes=-"),
    SLICE("AA=="),
    SLICE("\"log\":{\"offset\":0,\"text\":\"\"}"),
    SLICE("\"times\":[[0,1]]"),
    SLICE("\"left\":null"),
    SLICE("\"emit\":[{\"queue\":\"a\"}]"),
    SLICE("\"jobs\":["),
    SLICE("\"cursor\":"),
    SLICE("\"seq\":2"),
};

static void check_error(const struct err *err)
{
    if (err->code == E_OK || err->msg[0] == '\0' || !utf8_valid(slice_of(err->msg)))
        fuzz_fail("refused without a reason");
}

static void check_json(struct slice text, enum json_type type, const char *what)
{
    struct slice value;
    struct err err;

    if (text.size == 0)
        return;
    if (json_check(text, &value, &err) != E_OK || json_type_of(value) != type)
        fuzz_fail("%s: is no JSON of its type: %.*s", what, (int)text.size, text.data);
}

/* A bill says the same when it is read and written again, and the job begins where its route does. */
static void check_bill(const struct submit_item *item)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct bill bill = {.n_steps = 0};

    check_json(item->bill, JSON_T_OBJECT, "bill");
    check_json(item->step_params, JSON_T_OBJECT, "params of a step");
    if (item->bill.size > 0) {
        bill_parse(item->bill, &arena, &bill);
        if (!slice_equal(bill_format(&bill, &arena), item->bill))
            fuzz_fail("a bill reads otherwise than it was written");
    }
    const struct route_step *first = bill.n_steps > 0 ? route_first(&bill) : NULL;

    if (bill.n_steps > 0 ? first == NULL || first->number != item->step ||
                               !slice_equal(first->queue, item->queue)
                         : item->step != 0)
        fuzz_fail("a job begins elsewhere than its route");
    for (size_t i = 0; i < item->n_after; i++)
        if (item->after[i].kind == AFTER_JOB && item->after[i].job == 0 &&
            item->after[i].ref.size == 0)
            fuzz_fail("a condition on nothing");
}

static void check_job(const struct submit_item *item)
{
    if (item->queue.size + item->topic.size == 0 || item->queue.size > QUEUE_NAME_MAX)
        fuzz_fail("a job without a queue");
    if (item->topic.size > 0 && (item->queue.size > 0 || item->bill.size > 0))
        fuzz_fail("a job in a queue and a topic");
    check_bill(item);
    if (item->priority < JOB_PRIORITY_MIN || item->priority > JOB_PRIORITY_MAX)
        fuzz_fail("priority %d", item->priority);
    if (item->delay_us < 0 || (item->delay_us > 0 && item->due_at > 0))
        fuzz_fail("delay and due_at");
    if (item->key.size > KEY_BYTES_MAX)
        fuzz_fail("key of %zu bytes", item->key.size);
    check_json(item->params, JSON_T_OBJECT, "params");
    check_json(item->labels, JSON_T_OBJECT, "labels");
    check_json(item->options, JSON_T_OBJECT, "options");
}

static void run_submit(struct slice input, enum right right)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_source source = {.right = right};
    struct submit submit;
    struct err err = ERR_INIT;

    if (parse_submit(input, &source, &arena, &submit, &err) != E_OK) {
        check_error(&err);
        return;
    }
    if (submit.n_items == 0 || submit.n_items > OP_ITEMS_MAX)
        fuzz_fail("%zu jobs", submit.n_items);
    for (size_t i = 0; i < submit.n_items; i++)
        check_job(&submit.items[i]);
}

static void check_log(const struct log_append *log)
{
    if (log == NULL)
        return;
    int64_t from = log->offset;

    if (log->offset < 0 || log->data.data == NULL || log->data.size > BODY_LOG_MAX)
        fuzz_fail("a log is not whole");
    for (size_t i = 0; i < log->n_marks; i++) {
        if (log->marks[i].offset < from || log->marks[i].at <= 0 ||
            log->marks[i].offset >= log->offset + (int64_t)log->data.size)
            fuzz_fail("mark %zu is out of place", i);
        from = log->marks[i].offset;
    }
}

static void check_worker(const struct worker_info *w)
{
    if (w->pid < 0 || w->slots < 0 || (!w->described && w->slots + (int64_t)w->broken.size > 0))
        fuzz_fail("a worker is not whole");
    check_json(w->queues, JSON_T_OBJECT, "queues");
    check_json(w->broken, JSON_T_OBJECT, "broken");
}

static void check_exchange(const struct exchange *x)
{
    size_t emitted = 0;

    if (x->wait_us < 0 || x->wait_us > WAIT_MAX_US || x->lease_us < LEASE_MIN_US ||
        x->lease_us > LEASE_MAX_US)
        fuzz_fail("wait or lease out of bounds");
    if ((x->parts & EXCHANGE_JOBS) != 0 && (x->max < 0 || x->max > OP_CLAIM_MAX))
        fuzz_fail("max %d", x->max);
    for (size_t i = 0; i < x->n_finish; i++) {
        const struct finish_item *f = &x->finish[i];

        if (f->id <= 0 || f->token <= 0 || f->outcome == JOB_OUT_NONE)
            fuzz_fail("finish %zu is not whole", i);
        if (f->delay_us < 0 || (f->outcome == JOB_OUT_LATER && !f->delayed))
            fuzz_fail("finish %zu has no delay", i);
        check_json(f->set, JSON_T_OBJECT, "set");
        check_json(f->steps, JSON_T_ARRAY, "steps");
        for (size_t k = 0; k < f->n_raises; k++)
            if (f->raises[k].count < 1 || f->raises[k].name.size == 0)
                fuzz_fail("a signal is raised by nothing");
        emitted += f->n_emit;
        for (size_t k = 0; k < f->n_emit; k++)
            check_job(&f->emit[k]);
        check_log(f->log);
    }
    for (size_t i = 0; i < x->n_touch; i++) {
        const struct touch_item *t = &x->touch[i];

        if (t->id <= 0 || t->done < 0 || t->total < 0 || t->left_us < -1 || !utf8_valid(t->unit))
            fuzz_fail("touch %zu is not whole", i);
        check_log(t->log);
    }
    if (emitted != x->n_emit || emitted > OP_ITEMS_MAX)
        fuzz_fail("%zu jobs are emitted, %zu are counted", emitted, x->n_emit);
    check_worker(&x->worker);
    if (x->definitions < 0 || (x->wake && x->worker.name.size == 0))
        fuzz_fail("definitions or wake are not sound");
}

static void run_exchange(struct slice input)
{
    for (int kind = EXCHANGE_CLAIM; kind <= EXCHANGE_TOUCH; kind++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct exchange x;
        struct err err = ERR_INIT;

        if (parse_exchange(input, (enum exchange_kind)kind, RIGHT_USER, &arena, &x, &err) == E_OK)
            check_exchange(&x);
        else
            check_error(&err);
    }
}

static void run_emit(struct slice input)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_source source = {.right = RIGHT_USER};
    struct emit x;
    struct err err = ERR_INIT;

    if (parse_emit(input, &source, &arena, &x, &err) != E_OK) {
        check_error(&err);
        return;
    }
    if (x.id <= 0 || x.token <= 0 || x.seq <= 0 || x.n_jobs > OP_EMIT_MAX ||
        x.cursor.size > CURSOR_BYTES_MAX || x.n_jobs + x.cursor.size == 0)
        fuzz_fail("an emit is not whole");
    if (x.cursor.size > 0)
        check_json(x.cursor, json_type_of(x.cursor), "cursor");
    for (size_t i = 0; i < x.n_jobs; i++)
        check_job(&x.jobs[i]);
}

static void run_filter(struct slice input)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job_filter filter = {.states = 0};
    struct err err = ERR_INIT;
    struct slice value;

    if (json_check(input, &value, &err) != E_OK)
        return;
    if (job_filter_from_json(value, 0, &arena, &filter, &err) != E_OK)
        check_error(&err);
}

/* Header values: nothing to hold, but nothing may be read beyond their end. */
static void run_headers(struct slice input)
{
    struct auth_settings settings = {.listen_host = SLICE("127.0.0.1"),
                                     .port = 6769,
                                     .url = input,
                                     .token = SLICE("0123456789abcdef")};
    struct auth_request request = {
        .host = input, .origin = input, .referer = input, .authorization = input};
    struct auth_request host_only = {.host = input};
    struct err err = ERR_INIT;
    enum right right;

    (void)!auth_judge(&settings, &request, RIGHT_ADMIN, &right, &err);
    if (auth_judge(&settings, &host_only, RIGHT_USER, &right, &err) == E_OK && right != RIGHT_USER)
        fuzz_fail("a Host is no administrator");
    struct http_range range = http_range_parse(input);

    if (range.given && range.first > range.last)
        fuzz_fail("a range from behind");
    (void)content_type_parse(input);
}

static void run(struct slice input)
{
    run_submit(input, RIGHT_USER);
    run_submit(input, RIGHT_ADMIN);
    run_exchange(input);
    run_emit(input);
    run_filter(input);
    run_headers(input);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
