/*
 * What clients send: heads, chunks and targets of requests, jobs, claims, finishes, touches, emits,
 * filters and definitions of queues.
 *
 * Whatever comes, the parsers answer with a job or with an error that says something, and what they
 * take holds to the contract of the engine: slices lie in the input or in the arena, JSON stays
 * JSON, numbers stay in their bounds.  Where the bytes of a request were split makes no difference.
 */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/jtext/jtext.h"
#include "base/siphash.h"
#include "base/text/utf8.h"
#include "core/queue/def.h"
#include "driver.h"
#include "server/http/content_type.h"
#include "server/http/framing.h"
#include "server/http/head.h"
#include "server/http/range.h"
#include "server/http/target.h"
#include "server/limits.h"
#include "server/parse/emit.h"
#include "server/parse/exchange.h"
#include "server/parse/job_filter.h"
#include "server/parse/submit.h"
#include "server/request/auth.h"

#define HELD "\"id\":\"0AHY0AM680000\",\"lease\":\"0AHY0AM800001\""

static const struct slice seeds[] = {
    SLICE("{\"queue\":\"fetch\",\"params\":{\"url\":\"https://example.org/\"},"
          "\"labels\":{\"a\":\"b\"},"
          "\"key\":\"k\",\"delay\":\"10s\",\"priority\":5,\"body\":\"text\"}"),
    SLICE("[{\"queue\":\"a\",\"due_at\":\"2030-01-31T12:00:00Z\",\"body_base64\":\"AAH/\"},"
          "{\"queue\":\"b\",\"timeout\":5,\"retry\":{\"max\":3,\"exits\":{\"75\":\"later\"}},"
          "\"command\":[\"ls\",\"-l\"]}]"),
    SLICE(
        "{\"worker\":{\"name\":\"w\",\"host\":\"h\",\"pid\":1},\"queues\":{\"fetch\":4,"
        "\"parse\":1},\"max\":10,\"wait\":\"30s\",\"lease\":\"60s\",\"all\":true,\"finish\":[{" HELD
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
    SLICE("POST /v1/jobs?wait=5s&a=%20 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16\r\n"
          "Connection: keep-alive, close\r\nOrigin: http://localhost\r\n\r\n"),
    SLICE("GET / HTTP/1.0\r\nTransfer-Encoding:\r\n chunked\r\nExpect: 100-continue\r\n\r\n"),
    SLICE("3;name=\"value\"\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\nGET"),
};

static const struct slice words[] = {
    SLICE("\r\n"),
    SLICE("\r\n "),
    SLICE("\r\n\t"),
    SLICE("\r\n\r\n"),
    SLICE("\n"),
    SLICE("\r"),
    SLICE(" :"),
    SLICE("\r\nContent-Length: 5"),
    SLICE("\r\nTransfer-Encoding: chunked"),
    SLICE("\r\nOrigin: x"),
    SLICE(" HTTP/1.1"),
    SLICE(";x=y"),
    SLICE("0\r\n\r\n"),
    SLICE("ffffffff\r\n"),
    SLICE("%00"),
    SLICE("%2"),
    SLICE("&a=b"),
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

static void check_json(struct slice text, enum jtext_type type, const char *what)
{
    struct slice value;
    struct err err;

    if (text.size == 0)
        return;
    if (jtext_check(text, &value, &err) != E_OK || jtext_type_of(value) != type)
        fuzz_fail("%s: is no JSON of its type: %.*s", what, (int)text.size, text.data);
}

/* A routing says the same when it is read and written again, and the job begins where its route
 * does. */
static void check_routing(const struct submit_item *item)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct routing routing = {.n_steps = 0};

    check_json(item->step_params, JTEXT_OBJECT, "params of a step");
    if (item->routing != NULL) {
        struct slice text = routing_format(item->routing, &arena);

        check_json(text, JTEXT_OBJECT, "routing");
        if (text.size == 0 || routing_size(item->routing) == 0)
            fuzz_fail("a routing that says nothing");
        routing_parse(text, &arena, &routing);
        if (!slice_equal(routing_format(&routing, &arena), text))
            fuzz_fail("a routing reads otherwise than it was written");
    }
    const struct route_step *first = routing.n_steps > 0 ? route_first(&routing) : NULL;

    if (routing.n_steps > 0 ? first == NULL || first->number != item->step ||
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
    if (item->topic.size > 0 && (item->queue.size > 0 || item->routing != NULL))
        fuzz_fail("a job in a queue and a topic");
    check_routing(item);
    if (item->priority < JOB_PRIORITY_MIN || item->priority > JOB_PRIORITY_MAX)
        fuzz_fail("priority %d", item->priority);
    if (item->delay_us < 0 || (item->delay_us > 0 && item->due_at > 0))
        fuzz_fail("delay and due_at");
    if (item->key.size > KEY_BYTES_MAX)
        fuzz_fail("key of %zu bytes", item->key.size);
    check_json(item->params, JTEXT_OBJECT, "params");
    check_json(item->labels, JTEXT_OBJECT, "labels");
    check_json(item->options, JTEXT_OBJECT, "options");
}

static void run_submit(struct slice input, enum right right)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_source source = {.no_commands = no_commands(right)};
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
        if (log->marks[i].offset < from || log->marks[i].kind == LOG_MARK_ATTEMPT ||
            log->marks[i].offset >= log->offset + (int64_t)log->data.size)
            fuzz_fail("mark %zu is out of place", i);
        from = log->marks[i].offset;
    }
}

static void check_worker(const struct worker_info *w)
{
    if (w->pid < 0 || w->slots < 0 || (!w->described && w->slots + (int64_t)w->broken.size > 0))
        fuzz_fail("a worker is not whole");
    check_json(w->queues, JTEXT_OBJECT, "queues");
    check_json(w->broken, JTEXT_OBJECT, "broken");
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

        if (f->id <= 0 || f->token == 0 || f->lease.size == 0 || f->outcome == JOB_OUT_NONE)
            fuzz_fail("finish %zu is not whole", i);
        if (f->delay_us < 0 || (f->outcome == JOB_OUT_LATER && !f->delayed))
            fuzz_fail("finish %zu has no delay", i);
        check_json(f->set, JTEXT_OBJECT, "set");
        check_json(f->steps, JTEXT_ARRAY, "steps");
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
    const struct siphash_key key = {{1, 2}};
    const struct submit_source source = {.no_commands = COMMANDS_REFUSED, .leases = &key};

    for (int kind = EXCHANGE_CLAIM; kind <= EXCHANGE_TOUCH; kind++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct exchange x;
        struct err err = ERR_INIT;

        if (parse_exchange(input, (enum exchange_kind)kind, &source, &arena, &x, &err) == E_OK)
            check_exchange(&x);
        else
            check_error(&err);
    }
}

static void run_emit(struct slice input)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct siphash_key key = {{1, 2}};
    struct submit_source source = {.no_commands = COMMANDS_REFUSED, .leases = &key};
    struct emit x;
    struct err err = ERR_INIT;

    if (parse_emit(input, &source, &arena, &x, &err) != E_OK) {
        check_error(&err);
        return;
    }
    if (x.id <= 0 || x.token == 0 || x.lease.size == 0 || x.seq <= 0 || x.n_jobs > OP_EMIT_MAX ||
        x.cursor.size > CURSOR_BYTES_MAX || x.n_jobs + x.cursor.size == 0)
        fuzz_fail("an emit is not whole");
    if (x.cursor.size > 0)
        check_json(x.cursor, jtext_type_of(x.cursor), "cursor");
    for (size_t i = 0; i < x.n_jobs; i++)
        check_job(&x.jobs[i]);
}

static void run_filter(struct slice input)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job_filter filter = {.states = 0};
    struct err err = ERR_INIT;
    int64_t now_at = 0;
    struct object_read r = {.to = &filter, .arena = &arena, .err = &err, .with = &now_at};
    struct slice value;

    if (jtext_check(input, &value, &err) != E_OK)
        return;
    if (object_read(&r, &filter_object, value) != E_OK)
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

/* ---- the request itself ---- */

struct head_outcome {
    enum http_head_state state;
    struct http_head_scan scan;
    int status;
    struct err err;
};

/* In parts of `part` bytes. */
static struct head_outcome scan_head(struct slice input, size_t part)
{
    struct head_outcome o = {.state = HTTP_HEAD_MORE, .err = ERR_INIT};

    for (size_t n = part; o.state == HTTP_HEAD_MORE; n += part) {
        size_t seen = n < input.size ? n : input.size;

        o.state = http_head_scan(&o.scan, slice_make(input.data, seen), &o.status, &o.err);
        if (seen == input.size)
            break;
    }
    return o;
}

static void check_clean(struct slice text, struct slice all, const char *what)
{
    if (text.data == NULL)
        return;
    if (text.data < all.data || text.data + text.size > all.data + all.size)
        fuzz_fail("%s lies outside of the head", what);
    for (size_t i = 0; i < text.size; i++)
        if (((unsigned char)text.data[i] < ' ' && text.data[i] != '\t') || text.data[i] == 0x7F)
            fuzz_fail("%s has a control character", what);
}

/* Whether a line of the head is the field of that name (lower case, with its colon). */
static bool is_field(struct slice line, const char *name)
{
    return line.size >= strlen(name) && strncasecmp(line.data, name, strlen(name)) == 0;
}

/*
 * A reader of its own for the lines of a head that was taken: what another server on the way could
 * understand otherwise is not among them.
 */
static void check_fields(struct slice text)
{
    static const char *const once[] = {"host:", "origin:", "content-length:", "transfer-encoding:"};
    size_t seen[ARRAY_LEN(once)] = {0};
    const char *end = text.data + text.size;
    const char *at = memchr(text.data, '\n', text.size);

    for (at = at == NULL ? end : at + 1; at < end;) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));

        if (lf == NULL || lf == at || lf[-1] != '\r')
            fuzz_fail("a line of the head has no CR LF");
        struct slice line = slice_make(at, (size_t)(lf - 1 - at));
        const char *colon = line.size == 0 ? NULL : memchr(line.data, ':', line.size);

        if (line.size > 0 && (*at == ' ' || *at == '\t'))
            fuzz_fail("a folded line was taken");
        if (line.size > 0 &&
            (colon == NULL || colon == at || colon[-1] == ' ' || colon[-1] == '\t'))
            fuzz_fail("a line without a name was taken");
        for (size_t i = 0; i < ARRAY_LEN(once); i++)
            if (is_field(line, once[i]) && ++seen[i] > 1)
                fuzz_fail("%s was taken twice", once[i]);
        at = lf + 1;
    }
}

static void check_head(struct slice text)
{
    struct err err = ERR_INIT;
    struct http_head head;
    int status = 0;

    if (http_head_parse(text, &head, &status, &err) != E_OK) {
        check_error(&err);
        return;
    }
    check_fields(text);
    check_clean(head.method, text, "the method");
    check_clean(head.target, text, "the target");
    check_clean(head.headers.auth.host, text, "Host");
    check_clean(head.headers.auth.origin, text, "Origin");
    check_clean(head.headers.content_length, text, "Content-Length");
    check_clean(head.headers.transfer_encoding, text, "Transfer-Encoding");
    if (head.method.size == 0 || head.target.data[0] != '/')
        fuzz_fail("a head is not whole");
    if (head.headers.chunked && (head.is_1_0 || head.headers.content_length.data != NULL))
        fuzz_fail("the end of the body is in doubt");
    if (head.headers.chunked != (head.headers.transfer_encoding.data != NULL))
        fuzz_fail("Transfer-Encoding was passed over");
}

static void run_head(struct slice input)
{
    struct head_outcome whole = scan_head(input, input.size + 1);

    for (size_t part = 1; part < 4; part++) {
        struct head_outcome parts = scan_head(input, part);

        if (parts.state != whole.state || parts.status != whole.status ||
            parts.err.code != whole.err.code || parts.scan.at != whole.scan.at ||
            parts.scan.begin != whole.scan.begin)
            fuzz_fail("a head in parts of %zu bytes is another one", part);
    }
    if (whole.state == HTTP_HEAD_BAD)
        check_error(&whole.err);
    if (whole.state == HTTP_HEAD_WHOLE)
        check_head(slice_make(input.data + whole.scan.begin, whole.scan.at - whole.scan.begin));
}

/* The body in parts of `part` bytes; returns how it ended, and where. */
static enum http_framing_step read_chunks(struct slice input, size_t part, struct buf *ret_body,
                                          size_t *ret_at)
{
    static const struct headers headers = {.chunked = true};
    enum http_framing_step step = FRAMING_MORE;
    struct http_framing f;
    size_t end = 0;

    http_framing_begin(&f, &headers);
    while (step != FRAMING_DONE && step != FRAMING_BAD) {
        struct slice piece;
        size_t used = 0;

        if (step == FRAMING_MORE && end == input.size)
            break;
        if (step == FRAMING_MORE)
            end = input.size - end < part ? input.size : end + part;
        step = http_framing_step(&f, slice_make(input.data + *ret_at, end - *ret_at), &used,
                                 &piece);
        *ret_at += used;
        if (step == FRAMING_PIECE)
            buf_add_slice(ret_body, piece);
    }
    return step == FRAMING_PIECE ? FRAMING_MORE : step;
}

/* A reader of its own for chunks that were taken: the same body, whatever extensions they have. */
static void check_chunks(struct slice taken, struct slice body)
{
    const char *at = taken.data;
    const char *end = taken.data + taken.size;

    for (bool last = false; !last;) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        char *behind = NULL;

        if (lf == NULL || lf == at || lf[-1] != '\r' || !isxdigit((unsigned char)*at))
            fuzz_fail("a chunk's line was taken that is none");
        size_t size = (size_t)strtoull(at, &behind, 16);

        if (behind != lf - 1 && *behind != ';')
            fuzz_fail("a chunk's size has something else behind it");
        last = size == 0;
        if (size > body.size || (size_t)(end - lf - 1) < size + 2 ||
            memcmp(lf + 1, body.data, size) != 0 || memcmp(lf + 1 + size, "\r\n", 2) != 0)
            fuzz_fail("a chunk is not the part of the body that it says");
        body = slice_make(body.data + size, body.size - size);
        at = lf + 1 + size + 2;
    }
    if (at != end || body.size > 0)
        fuzz_fail("the chunks end elsewhere");
}

static void run_chunks(struct slice input)
{
    CLEANUP(buf) struct buf whole = BUF_INIT(FUZZ_INPUT_MAX);
    CLEANUP(buf) struct buf parts = BUF_INIT(FUZZ_INPUT_MAX);
    size_t whole_at = 0;
    size_t parts_at = 0;
    enum http_framing_step a = read_chunks(input, input.size + 1, &whole, &whole_at);
    enum http_framing_step b = read_chunks(input, 1, &parts, &parts_at);

    if (a != b || !slice_equal(buf_slice(&whole), buf_slice(&parts)))
        fuzz_fail("chunks in parts are another body");
    if (a == FRAMING_DONE && whole_at != parts_at)
        fuzz_fail("chunks in parts end elsewhere");
    if (a == FRAMING_DONE)
        check_chunks(slice_make(input.data, whole_at), slice_make(buf_text(&whole), whole.size));
}

static void run_target(struct slice input)
{
    CLEANUP(buf) struct buf text = BUF_INIT(FUZZ_INPUT_MAX + 1);
    struct err err = ERR_INIT;
    struct target t;

    buf_add_slice(&text, input);
    if (memchr(buf_text(&text), '\0', text.size) != NULL || text.data == NULL)
        return;
    if (target_parse(text.data, text.size, &t, &err) != E_OK) {
        check_error(&err);
        return;
    }
    for (size_t i = 0; i < t.n_params; i++)
        if (t.params[i].value.data == NULL ||
            memchr(t.params[i].value.data, '\0', t.params[i].value.size) != NULL)
            fuzz_fail("a parameter with a NUL");
    if (t.path.size > 0 && memchr(t.path.data, '\0', t.path.size) != NULL)
        fuzz_fail("a path with a NUL");
    target_deinit(&t);
}

static void run(struct slice input)
{
    run_head(input);
    run_chunks(input);
    run_target(input);
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
