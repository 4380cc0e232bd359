/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/job/lease.h"
#include "core/submit/content_hash.h"
#include "parse_testing.h"
#include "server/limits.h"
#include "server/parse/exchange.h"
#include "server/parse/job_filter.h"

/* What must be refused, with which code, and a part of the message that helps. */
struct bad {
    const char *text;
    enum err_code code;
    const char *says;
};

static void assert_says(const struct bad *bad, const struct err *err)
{
    if (err->code != bad->code || strstr(err->msg, bad->says) == NULL)
        fail_msg("%.200s: %s: %s (not %s: %s)", bad->text, err_name(err->code), err->msg,
                 err_name(bad->code), bad->says);
}

static const struct bad bad_jobs[] = {
    {"", E_BAD_REQUEST, "ends too early"},
    {"{\"queue\":\"q\"", E_BAD_REQUEST, "line 1, column 13"},
    {"{\"queue\":\"q\"} x", E_BAD_REQUEST, "line 1"},
    {"5", E_INVALID, "must be a job (an object) or an array of jobs, not 5"},
    {"\"job\"", E_INVALID, "not 'job'"},
    {"null", E_INVALID, "not null"},
    {"[]", E_INVALID, "the array is empty"},
    {"{}", E_INVALID, "needs a 'queue'"},
    {"{\"queue\":null}", E_INVALID, "queue: must be text, not null"},
    {"{\"queue\":7}", E_INVALID, "queue: must be text, not 7"},
    {"{\"queue\":\"\"}", E_INVALID, "queue: must not be empty"},
    {"{\"queue\":\"q\",\"parms\":{}}", E_INVALID, "unknown key 'parms', did you mean 'params'?"},
    {"{\"queue\":\"q\",\"zebra\":1}", E_INVALID, "unknown key 'zebra', the keys are: queue params"},
    {"{\"queue\":\"q\",\"params\":[]}", E_INVALID, "params: must be an object, not an array"},
    {"{\"queue\":\"q\",\"params\":\"x\"}", E_INVALID, "params: must be an object, not 'x'"},
    {"{\"queue\":\"q\",\"body\":{}}", E_INVALID, "body: must be a string, not an object"},
    {"{\"queue\":\"q\",\"body_base64\":\"a\"}", E_INVALID, "is not base64"},
    {"{\"queue\":\"q\",\"body_base64\":\"aa==aa==\"}", E_INVALID, "is not base64"},
    {"{\"queue\":\"q\",\"body_base64\":\"aa=a\"}", E_INVALID, "is not base64"},
    {"{\"queue\":\"q\",\"body_base64\":\"ab==\"}", E_INVALID, "is not base64"},
    {"{\"queue\":\"q\",\"body\":\"x\",\"body_base64\":\"eA==\"}", E_INVALID, "exclude each other"},
    {"{\"queue\":\"q\",\"labels\":[]}", E_INVALID, "labels: must be an object of strings"},
    {"{\"queue\":\"q\",\"labels\":{\"a\":1}}", E_INVALID, "labels: 'a' must be a string"},
    {"{\"queue\":\"q\",\"key\":\"\"}", E_INVALID, "key: must not be empty"},
    {"{\"queue\":\"q\",\"key\":1}", E_INVALID, "key: must be text"},
    {"{\"queue\":\"q\",\"delay\":-1}", E_INVALID, "delay: a length of time cannot be negative"},
    {"{\"queue\":\"q\",\"delay\":\"-1s\"}", E_INVALID, "negative"},
    {"{\"queue\":\"q\",\"delay\":\"soon\"}", E_INVALID, "delay: 'soon' is not a length of time"},
    {"{\"queue\":\"q\",\"delay\":[1]}", E_INVALID, "delay: must be a length of time"},
    {"{\"queue\":\"q\",\"delay\":1e300}", E_INVALID, "delay: "},
    {"{\"queue\":\"q\",\"due_at\":5}", E_INVALID, "due_at: must be a time such as"},
    {"{\"queue\":\"q\",\"due_at\":\"noon\"}", E_INVALID, "due_at: 'noon' is not a time"},
    {"{\"queue\":\"q\",\"due_at\":\"2030-01-01T00:00:00Z\",\"delay\":1}", E_INVALID,
     "delay and due_at exclude each other"},
    {"{\"queue\":\"q\",\"priority\":1.5}", E_INVALID,
     "priority: must be a whole number from -1000 to 1000, not 1.5"},
    {"{\"queue\":\"q\",\"priority\":1001}", E_INVALID,
     "priority: must be a whole number from -1000 to 1000"},
    {"{\"queue\":\"q\",\"priority\":18446744073709551616}", E_BAD_REQUEST, "does not fit 64 bits"},
    {"{\"queue\":\"q\",\"params\":{\"a\":1e400}}", E_BAD_REQUEST, "too large for a double"},
    {"{\"queue\":\"q\",\"params\":{\"a\":\"\\u0000\"}}", E_BAD_REQUEST, "\\u0000 is not allowed"},
    {"{\"queue\":\"q\",\"params\":{\"a\":\"\xff\"}}", E_BAD_REQUEST, "not UTF-8"},
    {"{\"queue\":\"q\",\"params\":{\"a\":1,\"a\":2}}", E_BAD_REQUEST, "'a' appears twice"},
    {"{\"queue\":\"q\",\"qu\\u0065ue\":\"r\"}", E_BAD_REQUEST, "appears twice"},
    {"{\"queue\":\"q\",\"timeout\":0}", E_INVALID, "timeout: must be a length of time from 1ms"},
    {"{\"queue\":\"q\",\"retry\":3}", E_INVALID, "retry: must be an object"},
    {"{\"queue\":\"q\",\"retry\":{\"max\":-1}}", E_INVALID, "retry.max: must be a whole number"},
    {"{\"queue\":\"q\",\"retry\":{\"frist\":1}}", E_INVALID, "did you mean 'first'?"},
    {"{\"queue\":\"q\",\"group\":[]}", E_INVALID,
     "group: must be the id of a group, or {open: KIND, name: TEXT}, not an array"},
    {"{\"queue\":\"q\",\"command\":[\"ls\"]}", E_FORBIDDEN, "use the Unix socket"},
};

static void a_bad_job_is_refused_with_its_field_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_jobs); i++) {
        struct submit submit = {.n_items = 77};
        struct err err = ERR_INIT;

        (void)!parse_submit(slice_of(bad_jobs[i].text), &user, &arena, &submit, &err);
        assert_says(&bad_jobs[i], &err);
        assert_int_equal(err.item, 0);
        assert_int_equal(submit.n_items, 77);
    }
}

static const struct bad bad_commands[] = {
    {"{\"queue\":\"q\",\"command\":[]}", E_INVALID, "command: must name a program"},
    {"{\"queue\":\"q\",\"command\":\"  \"}", E_INVALID, "command: must not be empty"},
    {"{\"queue\":\"q\",\"command\":[1]}", E_INVALID, "command: its parts must be texts, not 1"},
    {"{\"queue\":\"q\",\"command\":[\"\"]}", E_INVALID,
     "command: must begin with the name of a program"},
    {"{\"queue\":\"q\",\"command\":{}}", E_INVALID,
     "command: must be a text or a list of texts, not an object"},
};

static void a_bad_command_is_refused_even_to_the_administrator(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_commands); i++) {
        struct submit submit;
        struct err err = ERR_INIT;

        (void)!parse_submit(slice_of(bad_commands[i].text), &admin, &arena, &submit, &err);
        assert_says(&bad_commands[i], &err);
    }
}

static void all_fields_of_a_job_arrive(void **state)
{
    (void)state;
    struct submit s = submitted(
        " {\"queue\":\"f\\u00e9tch\",\"params\":{ \"a\" : 1 },\"body\":\"b\\n\","
        "\"labels\":{\"x\":\"y\"},"
        "\"key\":\"k\",\"delay\":\"1m\",\"priority\":-7,\"retry\":{\"max\":2},\"timeout\":\"5s\","
        "\"command\":[\"ls\",\"-l\"]} ",
        &admin);
    const struct submit_item *item = s.items;

    assert_int_equal(s.mode, SUBMIT_ONE);
    assert_int_equal(s.n_items, 1);
    assert_slice_is(item->queue, "f\xc3\xa9tch");
    assert_slice_is(item->params, "{ \"a\" : 1 }");
    assert_slice_is(item->body, "b\n");
    assert_slice_is(item->labels, "{\"x\":\"y\"}");
    assert_slice_is(item->key, "k");
    assert_int_equal(item->delay_us, US_PER_MIN);
    assert_int_equal(item->due_at, 0);
    assert_int_equal(item->priority, -7);
    assert_slice_is(item->options,
                    "{\"timeout\":\"5s\",\"retry\":{\"max\":2},\"command\":[\"ls\",\"-l\"]}");
    assert_int_not_equal(item->content, 0);
}

static void what_is_null_was_not_given(void **state)
{
    (void)state;
    struct submit s = submitted(
        "{\"queue\":\"q\",\"params\":null,\"body\":null,\"key\":null,"
        "\"delay\":null,\"due_at\":\"2030-01-01T00:00:00Z\",\"retry\":null}",
        &user);

    assert_int_equal(s.items->params.size, 0);
    assert_null(s.items->body.data);
    assert_int_equal(s.items->options.size, 0);
    assert_int_equal(s.items->due_at, INT64_C(1893456000) * US_PER_S);
}

static void an_empty_body_is_a_body(void **state)
{
    (void)state;
    struct submit s = submitted(
        "[{\"queue\":\"q\",\"body\":\"\"},{\"queue\":\"q\",\"body_base64\":\"\"},"
        "{\"queue\":\"q\",\"body_base64\":\"AAH/\"},{\"queue\":\"q\"}]",
        &user);

    assert_int_equal(s.mode, SUBMIT_ARRAY);
    assert_non_null(s.items[0].body.data);
    assert_int_equal(s.items[0].body.size, 0);
    assert_non_null(s.items[1].body.data);
    assert_int_equal(s.items[2].body.size, 3);
    assert_memory_equal(s.items[2].body.data, "\x00\x01\xff", 3);
    assert_null(s.items[3].body.data);
}

static void a_fault_in_an_array_names_its_place(void **state)
{
    (void)state;
    struct submit submit;
    struct err err = ERR_INIT;
    const char *text = "[{\"queue\":\"q\"},{\"queue\":\"q\"},{\"queue\":\"q\",\"priority\":\"x\"}]";

    assert_int_equal(parse_submit(slice_of(text), &user, &arena, &submit, &err), E_INVALID);
    assert_int_equal(err.item, 3);
    assert_non_null(strstr(err.msg, "job 2 of the array (from 0): priority:"));
}

static void an_array_has_a_ceiling(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct submit submit;
    struct err err = ERR_INIT;

    for (int i = 0; i <= OP_ITEMS_MAX; i++)
        buf_add_str(&text, i == 0 ? "[{\"queue\":\"q\"}" : ",{\"queue\":\"q\"}");
    buf_add_char(&text, ']');
    assert_int_equal(parse_submit(buf_slice(&text), &user, &arena, &submit, &err), E_TOO_LARGE);
    assert_non_null(strstr(err.msg, "application/x-ndjson"));
}

static void a_job_above_its_size_is_too_large(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(JOB_BYTES_MAX + 100);
    struct submit submit;
    struct err err = ERR_INIT;

    buf_add_str(&text, "{\"queue\":\"q\",\"body\":\"");
    memset(buf_reserve(&text, JOB_BYTES_MAX), 'x', JOB_BYTES_MAX);
    text.size += JOB_BYTES_MAX;
    buf_add_str(&text, "\"}");
    assert_int_equal(parse_submit(buf_slice(&text), &user, &arena, &submit, &err), E_TOO_LARGE);
}

static enum err_code read_labels(struct slice value, struct err *err)
{
    struct submit_item item = {.priority = 0};
    struct object_read r = {.to = &item, .arena = &arena, .err = err};
    const struct field f = FIELD_CUSTOM("labels", labels_read,
                                        FIELD_OFFSET(struct slice, submit_item, labels));

    return labels_read(&r, &f, value);
}

static void labels_are_bounded(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf many = BUF_INIT(1 << 16);
    CLEANUP(buf) struct buf wide = BUF_INIT(1 << 16);
    struct err err = ERR_INIT;

    for (int i = 0; i <= LABELS_MAX; i++)
        buf_addf(&many, "%c\"l%d\":\"x\"", i == 0 ? '{' : ',', i);
    buf_add_char(&many, '}');
    assert_int_equal(read_labels(buf_slice(&many), &err), E_INVALID);
    assert_non_null(strstr(err.msg, "at most 64"));
    buf_addf(&wide, "{\"a\":\"%01025d\"}", 0);
    assert_int_equal(read_labels(buf_slice(&wide), &err), E_INVALID);
    assert_non_null(strstr(err.msg, "longer than 1024"));
    assert_int_equal(read_labels(SLICE("{}"), &err), E_OK);
}

/* ---- keys ---- */

static void the_key_of_the_request_is_the_jobs(void **state)
{
    (void)state;
    struct submit_source source = {.no_commands = COMMANDS_REFUSED, .key = SLICE("abc")};
    struct submit one = submitted("{\"queue\":\"q\"}", &source);
    struct submit two = submitted("[{\"queue\":\"q\"},{\"queue\":\"r\"}]", &source);
    struct submit same = submitted("{\"queue\":\"q\",\"key\":\"abc\"}", &source);

    assert_slice_is(one.items->key, "abc");
    assert_int_not_equal(one.items->content, 0);
    assert_slice_is(two.items[0].key, "abc/0");
    assert_slice_is(two.items[1].key, "abc/1");
    assert_int_not_equal(two.items[0].content, two.items[1].content);
    assert_slice_is(same.items->key, "abc");
}

static void two_different_keys_are_refused(void **state)
{
    (void)state;
    struct submit_source source = {.no_commands = COMMANDS_REFUSED, .key = SLICE("abc")};
    struct submit_source empty = {.no_commands = COMMANDS_REFUSED, .key = SLICE("")};
    struct submit submit;
    struct err err = ERR_INIT;

    assert_int_equal(parse_submit(SLICE("{\"queue\":\"q\",\"key\":\"x\"}"), &source, &arena,
                                  &submit, &err),
                     E_INVALID);
    assert_non_null(strstr(err.msg, "not the Idempotency-Key"));
    assert_int_equal(parse_submit(SLICE("{\"queue\":\"q\"}"), &empty, &arena, &submit, &err),
                     E_INVALID);
}

/* The stores know it: a new hash would make every known key a conflict. */
static void the_hash_of_content_never_changes(void **state)
{
    (void)state;
    assert_true(content_hash(SLICE("")) == UINT64_C(0xcbf29ce484222325));
    assert_true(content_hash(SLICE("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(content_hash(SLICE("foobar")) == UINT64_C(0x85944171f73967e8));
}

static void a_bad_line_keeps_its_error_to_itself(void **state)
{
    (void)state;
    struct submit_item items[2] = {{.priority = 0}, {.priority = 0}};

    parse_submit_line(SLICE("{\"queue\":\"q\",\"priority\":3}"), &user, &arena, &items[0]);
    parse_submit_line(SLICE("{\"queue\":"), &user, &arena, &items[1]);
    assert_null(items[0].parse_err);
    assert_int_equal(items[0].priority, 3);
    assert_int_equal(items[1].parse_err->code, E_BAD_REQUEST);
}

/* ---- claim, finish, touch ---- */

static const struct bad bad_claims[] = {
    {"[]", E_INVALID, "a claim must be an object, not an array"},
    {"{}", E_INVALID, "queues: is missing: maximum jobs by queue"},
    {"{\"queues\":[\"a\"]}", E_INVALID, "queues: must be an object such as {\"fetch\": 4}"},
    {"{\"queues\":{\"a\":\"1\"}}", E_INVALID, "queues: 'a' must be a number of jobs"},
    {"{\"queues\":{\"a\":-1}}", E_INVALID, "queues: 'a' must be a number of jobs"},
    {"{\"queues\":{\"a\":1},\"max\":1001}", E_INVALID,
     "max: must be a whole number from 0 to 1000"},
    {"{\"queues\":{\"a\":1},\"wait\":\"61s\"}", E_INVALID,
     "wait: must be a length of time from 0 to 1m, not '61s'"},
    {"{\"queues\":{\"a\":1},\"lease\":\"500ms\"}", E_INVALID,
     "lease: must be a length of time from 1s to 1d"},
    {"{\"queues\":{\"a\":1},\"worker\":5}", E_INVALID, "worker: must be a name or an object"},
    {"{\"queues\":{\"a\":1},\"worker\":{}}", E_INVALID, "worker.name: is missing"},
    {"{\"queues\":{\"a\":1},\"worker\":{\"name\":\"w\",\"pid\":\"1\"}}", E_INVALID, "pid: must be"},
    {"{\"queues\":{\"a\":1},\"all\":true}", E_INVALID, "all: needs the name of the worker"},
    {"{\"queues\":{\"a\":1},\"all\":1}", E_INVALID, "all: must be true or false, not 1"},
    {"{\"queues\":{\"a\":1},\"finsh\":[]}", E_INVALID, "did you mean 'finish'?"},
    {"{\"queues\":{\"a\":1},\"finish\":{}}", E_INVALID, "finish: must be a list of items"},
};

static void a_bad_claim_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_claims); i++) {
        struct exchange x;
        struct err err = ERR_INIT;

        (void)!parse_exchange(slice_of(bad_claims[i].text), EXCHANGE_CLAIM, &user, &arena, &x,
                              &err);
        assert_says(&bad_claims[i], &err);
    }
}

#define HELD "\"id\":\"" ID "\",\"lease\":\"" LEASE "\""

static const struct bad bad_finishes[] = {
    {"5", E_INVALID, "finish[1]: must be an object, not 5"},
    {"{}", E_INVALID, "finish[1].id: is missing"},
    {"{\"id\":\"xyz\"}", E_INVALID, "id: must be an id of 13 letters and digits, not 'xyz'"},
    {"{\"id\":\"" ID "\",\"lease\":5}", E_INVALID, "lease: must be text, not 5"},
    {"{" HELD "}", E_INVALID, "state: is missing"},
    {"{" HELD ",\"state\":\"gone\"}", E_INVALID, "did you mean 'done'?"},
    {"{" HELD ",\"state\":\"don\"}", E_INVALID, "'don' is unknown, did you mean 'done'?"},
    {"{" HELD ",\"state\":null}", E_INVALID, "state: must be done, failed"},
    {"{" HELD ",\"state\":\"later\"}", E_INVALID, "'later' needs a 'delay'"},
    {"{" HELD ",\"state\":\"later\",\"delay\":-1}", E_INVALID, "negative"},
    {"{" HELD ",\"state\":\"failed\",\"exit\":256}", E_INVALID,
     "exit: must be a whole number from -255 to 255"},
    {"{" HELD ",\"state\":\"failed\",\"cause\":\"moon\"}", E_INVALID,
     "cause: must be exit, signal"},
    {"{" HELD ",\"state\":\"failed\",\"text\":5}", E_INVALID, "text: must be text"},
    {"{" HELD ",\"state\":\"done\",\"set\":[]}", E_INVALID, "set: must be an object"},
    {"{" HELD ",\"state\":\"done\",\"emit\":{}}", E_INVALID, "emit: must be a list of jobs"},
    {"{" HELD ",\"state\":\"done\",\"emit\":[{\"queue\":\"q\"},{}]}", E_INVALID,
     "finish[1].emit[1]: a job needs a 'queue'"},
    {"{" HELD ",\"state\":\"done\",\"emit\":[{\"queue\":\"q\",\"command\":\"id\"}]}", E_FORBIDDEN,
     "emit[0].command: a job that brings its own command"},
    {"{" HELD ",\"state\":\"done\",\"final\":\"no\"}", E_INVALID, "final: must be true or false"},
    {"{" HELD ",\"state\":\"done\",\"resullt\":1}", E_INVALID, "did you mean 'result'?"},
};

static void a_bad_finish_names_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_finishes); i++) {
        CLEANUP(buf) struct buf text = BUF_INIT(4096);
        struct exchange x;
        struct err err = ERR_INIT;

        buf_addf(&text, "{\"finish\":[{" HELD ",\"state\":\"done\"},%s]}", bad_finishes[i].text);
        (void)!parse_exchange(buf_slice(&text), EXCHANGE_FINISH, &user, &arena, &x, &err);
        assert_says(&bad_finishes[i], &err);
        assert_int_equal(err.item, 2);
    }
}

static void a_claim_arrives_whole(void **state)
{
    (void)state;
    struct exchange x;
    struct err err = ERR_INIT;
    struct slice text = SLICE(
        "{\"worker\":{\"name\":\"w\",\"host\":\"h\",\"pid\":7,\"version\":\"1\"},"
        "\"queues\":{\"a\":2,\"b\":100000,\"c\":0},"
        "\"max\":10,\"wait\":\"30s\",\"lease\":5,\"all\":true,\"finish\":[{" HELD
        ",\"state\":\"failed\",\"exit\":-9,\"cause\":\"signal\",\"text\":\"\",\"set\":{\"n\":1},"
        "\"result\":[1],\"final\":true}],\"touch\":[{" HELD ",\"text\":\"half\",\"done\":5,"
        "\"total\":10}]}");

    assert_int_equal(parse_exchange(text, EXCHANGE_CLAIM, &user, &arena, &x, &err), E_OK);
    assert_int_equal(x.parts, EXCHANGE_JOBS | EXCHANGE_RESULTS | EXCHANGE_TOUCHED);
    assert_slice_is(x.worker.name, "w");
    assert_int_equal(x.worker.pid, 7);
    assert_int_equal(x.n_queues, 3);
    assert_slice_is(x.queues[1].name, "b");
    assert_int_equal(x.queues[1].max, OP_CLAIM_MAX);
    assert_int_equal(x.max, 10);
    assert_int_equal(x.wait_us, 30 * US_PER_S);
    assert_int_equal(x.lease_us, 5 * US_PER_S);
    assert_true(x.all);
    assert_int_equal(x.n_finish, 1);
    assert_int_equal(x.finish[0].outcome, JOB_OUT_FAILED);
    assert_int_equal(x.finish[0].exit, -9);
    assert_int_equal(x.finish[0].cause, JOB_CAUSE_SIGNAL);
    assert_true(x.finish[0].has_text && x.finish[0].final && x.finish[0].exited);
    assert_slice_is(x.finish[0].set, "{\"n\":1}");
    assert_slice_is(x.finish[0].result, "[1]");
    assert_int_equal(x.n_touch, 1);
    assert_int_equal(x.touch[0].done, 5);
    assert_int_equal(x.touch[0].total, 10);
    assert_true(x.finish[0].token > 0 && x.finish[0].token == x.touch[0].token);
    assert_slice_is(x.touch[0].lease, LEASE);
}

/* A refusal of its own would tell who tries more than a stale lease does. */
static void a_lease_that_is_none_of_its_job_gets_a_token_that_no_job_has(void **state)
{
    (void)state;
    static const char *const bad[] = {"x", "0AHY0AM800001",
                                      "3.0AHY0AM800001.hRZ-SRZFNpitkdlm49GpkB",
                                      "4.0AHY0AM800001.hRZ-SRZFNpitkdlm49GpkC"};
    struct exchange x;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(buf) struct buf text = BUF_INIT(1000);

        buf_addf(&text, "{\"touch\":[{\"id\":\"" ID "\",\"lease\":\"%s\"}]}", bad[i]);
        assert_int_equal(parse_exchange(buf_slice(&text), EXCHANGE_TOUCH, &user, &arena, &x, &err),
                         E_OK);
        assert_int_equal(x.touch[0].token, LEASE_FORGED);
        assert_slice_is(x.touch[0].lease, bad[i]);
    }
    /* The lease of another job: 1 is not 0. */
    assert_int_equal(parse_exchange(SLICE("{\"touch\":[{\"id\":\"0AHY0AM680001\",\"lease\":\"" LEASE
                                          "\"}]}"),
                                    EXCHANGE_TOUCH, &user, &arena, &x, &err),
                     E_OK);
    assert_int_equal(x.touch[0].token, LEASE_FORGED);
}

static void a_claim_without_max_takes_what_its_queues_allow(void **state)
{
    (void)state;
    struct exchange x;
    struct err err = ERR_INIT;

    assert_int_equal(parse_exchange(SLICE("{\"queues\":{\"a\":2,\"b\":3}}"), EXCHANGE_CLAIM, &user,
                                    &arena, &x, &err),
                     E_OK);
    assert_int_equal(x.max, 5);
    assert_int_equal(x.lease_us, LEASE_DEFAULT_US);
    assert_int_equal(parse_exchange(SLICE("{\"queues\":{\"a\":900,\"b\":900}}"), EXCHANGE_CLAIM,
                                    &user, &arena, &x, &err),
                     E_OK);
    assert_int_equal(x.max, OP_CLAIM_MAX);
}

static void finish_and_touch_need_their_list(void **state)
{
    (void)state;
    struct exchange x;
    struct err err = ERR_INIT;

    assert_int_equal(parse_exchange(SLICE("{}"), EXCHANGE_FINISH, &user, &arena, &x, &err),
                     E_INVALID);
    assert_int_equal(parse_exchange(SLICE("{}"), EXCHANGE_TOUCH, &user, &arena, &x, &err),
                     E_INVALID);
    assert_int_equal(
        parse_exchange(SLICE("{\"touch\":[]}"), EXCHANGE_TOUCH, &user, &arena, &x, &err), E_OK);
    assert_int_equal(x.n_touch, 0);
    assert_int_equal(parse_exchange(SLICE("{\"finish\":[],\"touch\":[]}"), EXCHANGE_FINISH, &user,
                                    &arena, &x, &err),
                     E_INVALID);
}

/* ---- filters ---- */

static const struct bad bad_filters[] = {
    {"{}", E_INVALID, "say which jobs"},
    {"{\"labels\":{}}", E_INVALID, "say which jobs"},
    {"{\"state\":[]}", E_INVALID, "say which jobs"},
    {"{\"state\":[\"redy\"]}", E_INVALID, "did you mean 'ready'?"},
    {"{\"state\":5}", E_INVALID, "state: must be an array of states"},
    {"{\"older\":\"x\"}", E_INVALID, "older: "},
    {"{\"queu\":\"x\"}", E_INVALID, "did you mean 'queue'?"},
    {"[]", E_INVALID, "filter must be an object"},
};

static enum err_code read_filter(struct slice value, int64_t now_at, struct job_filter *filter,
                                 struct err *err)
{
    struct object_read r = {.to = filter, .arena = &arena, .err = err, .with = &now_at};

    return object_read(&r, &filter_object, value);
}

static void a_filter_must_say_which_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_filters); i++) {
        struct job_filter filter = {.states = 0};
        struct err err = ERR_INIT;

        (void)!read_filter(slice_of(bad_filters[i].text), 1000, &filter, &err);
        assert_says(&bad_filters[i], &err);
    }
}

static void a_filter_arrives_whole(void **state)
{
    (void)state;
    struct job_filter filter = {.states = 0};
    struct err err = ERR_INIT;
    struct slice text = SLICE(
        "{\"queue\":\"q\",\"state\":[\"failed\",\"done\"],\"labels\":{\"a\":\"b\"},"
        "\"text\":\"t\",\"older\":\"10s\"}");

    assert_int_equal(read_filter(text, 100 * US_PER_S, &filter, &err), E_OK);
    assert_slice_is(filter.queue, "q");
    assert_int_equal(filter.states, 1U << JOB_FAILED | 1U << JOB_DONE);
    assert_int_equal(filter.ended_before_at, 90 * US_PER_S);
}

static void states_are_read_from_a_list_with_commas(void **state)
{
    (void)state;
    unsigned states = 0;
    struct err err = ERR_INIT;

    assert_int_equal(job_states_parse(SLICE("ready,done"), &states, &err), E_OK);
    assert_int_equal(states, 1U << JOB_READY | 1U << JOB_DONE);
    assert_int_equal(job_states_parse(SLICE("ready,,done"), &states, &err), E_INVALID);
    assert_int_equal(job_states_parse(SLICE("ready,"), &states, &err), E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_job_is_refused_with_its_field_and_reason),
        cmocka_unit_test(a_bad_command_is_refused_even_to_the_administrator),
        cmocka_unit_test(all_fields_of_a_job_arrive),
        cmocka_unit_test(what_is_null_was_not_given),
        cmocka_unit_test(an_empty_body_is_a_body),
        cmocka_unit_test(a_fault_in_an_array_names_its_place),
        cmocka_unit_test(an_array_has_a_ceiling),
        cmocka_unit_test(a_job_above_its_size_is_too_large),
        cmocka_unit_test(labels_are_bounded),
        cmocka_unit_test(the_key_of_the_request_is_the_jobs),
        cmocka_unit_test(two_different_keys_are_refused),
        cmocka_unit_test(the_hash_of_content_never_changes),
        cmocka_unit_test(a_bad_line_keeps_its_error_to_itself),
        cmocka_unit_test(a_bad_claim_is_refused),
        cmocka_unit_test(a_bad_finish_names_its_place),
        cmocka_unit_test(a_claim_arrives_whole),
        cmocka_unit_test(a_lease_that_is_none_of_its_job_gets_a_token_that_no_job_has),
        cmocka_unit_test(a_claim_without_max_takes_what_its_queues_allow),
        cmocka_unit_test(finish_and_touch_need_their_list),
        cmocka_unit_test(a_filter_must_say_which_jobs),
        cmocka_unit_test(a_filter_arrives_whole),
        cmocka_unit_test(states_are_read_from_a_list_with_commas),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
