/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "engine/reads/job_json.h"
#include "testing.h"

/* 2026-01-01T00:00:00Z, in the middle of the ids of that instant */
#define AT INT64_C(1767225600000000)

/* What an object writer wrote, with braces around it and known to be JSON. */
static struct slice object_of(struct buf *b)
{
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct slice value;

    buf_add_char(&text, '{');
    buf_add_slice(&text, buf_slice(b));
    buf_add_char(&text, '}');
    buf_clear(b);
    buf_add_slice(b, buf_slice(&text));
    if (jtext_check(buf_slice(b), &value, &err) != E_OK)
        fail_msg("%s: %s", err.msg, buf_text(b));
    return value;
}

static struct slice member(struct slice object, const char *name)
{
    struct slice value;

    if (!jtext_find(object, name, &value))
        fail_msg("no %s in %.*s", name, (int)object.size, object.data);
    return value;
}

static bool has(struct slice object, const char *name)
{
    struct slice value;

    return jtext_find(object, name, &value);
}

/* ---- bodies ---- */

static void assert_body(struct slice body, const char *want)
{
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

    jtext_add_body(&b, body);
    assert_string_equal(buf_text(&b), want);
}

static void a_text_is_told_as_it_is(void **state)
{
    (void)state;
    assert_body(slice_make(NULL, 0), "");
    assert_body(SLICE(""), "\"body\":\"\"");
    assert_body(SLICE("a \"b\"\n\x1b[1m"), "\"body\":\"a \\\"b\\\"\\n\\u001b[1m\"");
    assert_body(SLICE("Gr\xc3\xbc\xc3\x9f"), "\"body\":\"Gr\xc3\xbc\xc3\x9f\"");
}

static void bytes_that_are_no_text_go_as_base64(void **state)
{
    (void)state;
    assert_body(SLICE("\xff"), "\"body_base64\":\"/w==\"");
    assert_body(SLICE("\xff\xfe"), "\"body_base64\":\"//4=\"");
    assert_body(SLICE("\xff\xfe\xfd"), "\"body_base64\":\"//79\"");
    assert_body(SLICE("a\0b"), "\"body_base64\":\"YQBi\"");
    assert_body(SLICE("\xed\xa0\x80"), "\"body_base64\":\"7aCA\"");
}

/* As RFC 4648 has them. */
static void base64_has_all_its_digits(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    unsigned char bytes[48];

    for (unsigned i = 0; i < 16; i++) {
        unsigned v = (4 * i) << 18 | (4 * i + 1) << 12 | (4 * i + 2) << 6 | (4 * i + 3);

        bytes[3 * i] = (unsigned char)(v >> 16);
        bytes[3 * i + 1] = (unsigned char)(v >> 8);
        bytes[3 * i + 2] = (unsigned char)v;
    }
    jtext_add_body(&b, slice_make((const char *)bytes, sizeof(bytes)));
    assert_string_equal(buf_text(&b),
                        "\"body_base64\":"
                        "\"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\"");
}

static void a_body_never_grows_beyond_what_a_reply_holds(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    static char bytes[BYTES];
    static const char fill[] = {1, '"', '\n', 'x', 0};

    for (size_t i = 0; i < sizeof(fill); i++)
        for (unsigned every = 1; every < 20; every++) {
            CLEANUP(buf) struct buf b = BUF_INIT((size_t)BYTES * 5 / 2);

            for (size_t k = 0; k < BYTES; k++)
                bytes[k] = k % every == 0 ? fill[i] : '"';
            jtext_add_body(&b, slice_make(bytes, BYTES));
            assert_false(b.overflowed);
        }
}

/* ---- merging ---- */

static void assert_merged(const char *base, const char *over, const char *want)
{
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

    jtext_add_merged(&b, slice_of(base), slice_of(over));
    assert_string_equal(buf_text(&b), want);
}

static void members_laid_over_replace_those_of_the_same_name(void **state)
{
    (void)state;
    assert_merged("", "", "{}");
    assert_merged("{\"a\":1}", "", "{\"a\":1}");
    assert_merged("", "{\"a\":1}", "{\"a\":1}");
    assert_merged("{\"a\":1,\"b\":[2]}", "{\"a\":{\"x\":3},\"c\":null}",
                  "{\"b\":[2],\"a\":{\"x\":3},\"c\":null}");
    assert_merged("{\"a\":1}", "{\"\\u0061\":2}", "{\"\\u0061\":2}");
    assert_merged("{\"a b\":1,\"\\u00fc\":2}", "{\"\xc3\xbc\":3}", "{\"a b\":1,\"\xc3\xbc\":3}");
}

static void add_numbered(struct buf *b, unsigned first, unsigned n, int value)
{
    buf_add_char(b, '{');
    for (unsigned i = first; i < first + n; i++)
        buf_addf(b, "%s\"name%u\":%d", i == first ? "" : ",", i, value);
    buf_add_char(b, '}');
}

/* Each name against each other would take minutes. */
static void many_members_are_merged_in_reasonable_time(void **state)
{
    (void)state;
    enum { MEMBERS = 200000 };
    CLEANUP(buf) struct buf base = BUF_INIT(16 << 20);
    CLEANUP(buf) struct buf over = BUF_INIT(16 << 20);
    CLEANUP(buf) struct buf b = BUF_INIT(32 << 20);
    struct slice key;
    struct slice value;
    size_t ones = 0;
    size_t twos = 0;

    add_numbered(&base, 0, MEMBERS, 1);
    add_numbered(&over, MEMBERS / 2, MEMBERS, 2);
    jtext_add_merged(&b, buf_slice(&base), buf_slice(&over));
    for (struct jtext_iter it = jtext_members(buf_slice(&b));
         jtext_next_member(&it, &key, &value);) {
        ones += jtext_int(value) == 1;
        twos += jtext_int(value) == 2;
    }
    assert_int_equal(ones, MEMBERS / 2);
    assert_int_equal(twos, MEMBERS);
}

/* ---- jobs ---- */

static struct job full_job(void)
{
    return (struct job){
        .id = {id_at_time(AT) + 5},
        .queue = 3,
        .state = JOB_FAILED,
        .priority = -7,
        .due_at = AT + 1,
        .started_at = AT + US_PER_S,
        .finished_at = AT + 2 * US_PER_S,
        .lease_until_at = AT + 60 * US_PER_S,
        .token = id_at_time(AT) + 9,
        .attempt = 2,
        .lost = 1,
        .exited = true,
        .exit = -9,
        .cause = JOB_CAUSE_SIGNAL,
        .done = 3,
        .total = 10,
        .key = SLICE("k\"1"),
        .params = SLICE("{\"u\":1}"),
        .body = SLICE("text"),
        .labels = SLICE("{\"l\":\"v\"}"),
        .options = SLICE("{\"timeout\":\"5m\",\"retry\":{\"max\":1}}"),
        .text = SLICE("line\n2"),
        .result = SLICE("[1,2]"),
    };
}

static void people_see_every_field_of_a_job(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct job j = full_job();
    char id[ID_TEXT_SIZE];

    jtext_add_job_fields(&b, &j, SLICE("fetch"));
    jtext_add_job_url(&b, "http://h:1", j.id.v);
    struct slice o = object_of(&b);

    assert_memory_equal(member(o, "id").data + 1, id_format(j.id.v, id), 13);
    assert_slice_is(member(o, "queue"), "\"fetch\"");
    assert_slice_is(member(o, "state"), "\"failed\"");
    assert_slice_is(member(o, "priority"), "-7");
    assert_slice_is(member(o, "attempt"), "2");
    assert_slice_is(member(o, "lost"), "1");
    assert_slice_is(member(o, "created_at"), "\"2026-01-01T00:00:00Z\"");
    assert_slice_is(member(o, "due_at"), "\"2026-01-01T00:00:00.000001Z\"");
    assert_slice_is(member(o, "started_at"), "\"2026-01-01T00:00:01Z\"");
    assert_slice_is(member(o, "finished_at"), "\"2026-01-01T00:00:02Z\"");
    assert_slice_is(member(o, "key"), "\"k\\\"1\"");
    assert_slice_is(member(o, "params"), "{\"u\":1}");
    assert_slice_is(member(o, "body"), "\"text\"");
    assert_slice_is(member(o, "labels"), "{\"l\":\"v\"}");
    assert_slice_is(member(o, "timeout"), "\"5m\"");
    assert_slice_is(member(o, "retry"), "{\"max\":1}");
    assert_slice_is(member(o, "text"), "\"line\\n2\"");
    assert_slice_is(member(o, "done"), "3");
    assert_slice_is(member(o, "total"), "10");
    assert_slice_is(member(o, "cause"), "\"signal\"");
    assert_slice_is(member(o, "exit"), "-9");
    assert_slice_is(member(o, "result"), "[1,2]");
    assert_false(has(o, "lease_until"));
    assert_memory_equal(member(o, "url").data, "\"http://h:1/v1/jobs/", 20);
}

static void a_bare_job_has_no_empty_fields(void **state)
{
    (void)state;
    static const char *const absent[] = {"due_at", "started_at", "finished_at", "key",
                                         "body",   "labels",     "text",        "done",
                                         "total",  "cause",      "exit",        "result",
                                         "url",    "lease_until"};
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct job j = {.id = {id_at_time(AT)}, .state = JOB_READY};

    jtext_add_job_fields(&b, &j, SLICE("q"));
    jtext_add_job_url(&b, NULL, j.id.v);
    struct slice o = object_of(&b);

    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (has(o, absent[i]))
            fail_msg("%s in %s", absent[i], buf_text(&b));
    assert_slice_is(member(o, "params"), "{}");
}

static void a_worker_gets_what_it_needs(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf grant = BUF_INIT(1 << 20);
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct job j = full_job();
    struct err err = ERR_INIT;
    struct slice o;

    j.state = JOB_RUNNING;
    jtext_add_grant(&grant, &j, SLICE("fetch"));
    const struct claimed_texts texts = {.lease = SLICE("7.X"),
                                        .grant = buf_slice(&grant),
                                        .url = "http://h:1"};

    jtext_add_claimed(&b, &j, &texts);
    assert_int_equal(jtext_check(buf_slice(&b), &o, &err), E_OK);
    assert_slice_is(member(o, "queue"), "\"fetch\"");
    assert_slice_is(member(o, "attempt"), "2");
    assert_slice_is(member(o, "priority"), "-7");
    assert_slice_is(member(o, "lease_until"), "\"2026-01-01T00:01:00Z\"");
    assert_slice_is(member(o, "timeout"), "\"5m\"");
    assert_slice_is(member(o, "body"), "\"text\"");
    assert_slice_is(member(o, "lease"), "\"7.X\"");
    assert_true(has(o, "id") && has(o, "url") && has(o, "created_at"));
    assert_true(has(o, "key") && has(o, "labels") && has(o, "params"));
}

/* ---- the record ---- */

static void assert_status(struct progress_entry e, const char *state_text, const char *status)
{
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct slice o;

    jtext_add_progress(&b, &e, SLICE("q"), SLICE("q"), slice_make(NULL, 0));
    assert_int_equal(jtext_check(buf_slice(&b), &o, &err), E_OK);
    assert_slice_is(member(o, "state"), state_text);
    assert_slice_is(member(o, "status"), status);
    assert_false(has(o, "worker"));
    assert_false(has(o, "set"));
}

static void the_status_of_an_attempt_is_its_exit_or_signal_or_null(void **state)
{
    (void)state;
    assert_status((struct progress_entry){.outcome = JOB_OUT_DONE}, "\"done\"", "0");
    assert_status((struct progress_entry){.outcome = JOB_OUT_FAILED, .exited = true, .exit = 3},
                  "\"failed\"", "3");
    assert_status((struct progress_entry){.outcome = JOB_OUT_FAILED, .exited = true, .exit = -15},
                  "\"failed\"", "-15");
    assert_status((struct progress_entry){.outcome = JOB_OUT_FAILED}, "\"failed\"", "null");
    assert_status((struct progress_entry){.outcome = JOB_OUT_LOST}, "\"lost\"", "null");
}

static void an_entry_of_the_record_tells_all(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct slice o;
    struct progress_entry e = {.number = 1,
                               .attempt = 4,
                               .outcome = JOB_OUT_FAILED,
                               .cause = JOB_CAUSE_TIMEOUT,
                               .started_at = AT,
                               .ended_at = AT + US_PER_S,
                               .text = SLICE("slow"),
                               .set = SLICE("{\"a\":1}")};

    jtext_add_progress(&b, &e, SLICE("fetch"), SLICE("fetch"), SLICE("w1"));
    assert_int_equal(jtext_check(buf_slice(&b), &o, &err), E_OK);
    assert_slice_is(member(o, "number"), "1");
    assert_slice_is(member(o, "name"), "\"fetch\"");
    assert_slice_is(member(o, "queue"), "\"fetch\"");
    assert_slice_is(member(o, "attempt"), "4");
    assert_slice_is(member(o, "cause"), "\"timeout\"");
    assert_slice_is(member(o, "started_at"), "\"2026-01-01T00:00:00Z\"");
    assert_slice_is(member(o, "ended_at"), "\"2026-01-01T00:00:01Z\"");
    assert_slice_is(member(o, "worker"), "\"w1\"");
    assert_slice_is(member(o, "text"), "\"slow\"");
    assert_slice_is(member(o, "set"), "{\"a\":1}");
}

static void an_error_says_code_and_message(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;

    (void)err_set(&err, E_STALE_LEASE, "the job is \"%s\"", "done");
    jtext_add_error(&b, &err);
    assert_string_equal(buf_text(&b),
                        "{\"code\":\"stale_lease\",\"message\":\"the job is \\\"done\\\"\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_told_as_it_is),
        cmocka_unit_test(bytes_that_are_no_text_go_as_base64),
        cmocka_unit_test(base64_has_all_its_digits),
        cmocka_unit_test(a_body_never_grows_beyond_what_a_reply_holds),
        cmocka_unit_test(members_laid_over_replace_those_of_the_same_name),
        cmocka_unit_test(many_members_are_merged_in_reasonable_time),
        cmocka_unit_test(people_see_every_field_of_a_job),
        cmocka_unit_test(a_bare_job_has_no_empty_fields),
        cmocka_unit_test(a_worker_gets_what_it_needs),
        cmocka_unit_test(the_status_of_an_attempt_is_its_exit_or_signal_or_null),
        cmocka_unit_test(an_entry_of_the_record_tells_all),
        cmocka_unit_test(an_error_says_code_and_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
