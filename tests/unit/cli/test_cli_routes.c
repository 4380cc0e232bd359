/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/request/job_merge.h"
#include "cli/request/route_text.h"
#include "cli/view/route_view.h"
#include "testing.h"

#define ID "05D8K3Q9XW2RT"

typedef enum err_code text_fn(const char *given, struct buf *out, struct err *err);

static void assert_text(text_fn *text, const char *given, const char *json)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;

    if (text(given, &out, &err) != E_OK)
        fail_msg("%s: %s", given, err.msg);
    assert_string_equal(buf_text(&out), json);
}

static void assert_none(text_fn *text, const char *given)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;

    if (text(given, &out, &err) != E_INVALID)
        fail_msg("%s: %s", given, buf_text(&out));
}

static void conditions_are_jobs_steps_and_signals(void **state)
{
    (void)state;
    assert_text(condition_to_json, ID, "{\"job\":\"" ID "\"}");
    assert_text(condition_to_json, ID ":failure", "{\"job\":\"" ID "\",\"on\":\"failure\"}");
    assert_text(condition_to_json, ID ":end", "{\"job\":\"" ID "\",\"on\":\"end\"}");
    assert_text(condition_to_json, ID "/4", "{\"job\":\"" ID "\",\"step\":4}");
    assert_text(condition_to_json, ID "/main:success",
                "{\"job\":\"" ID "\",\"step\":\"main\",\"on\":\"success\"}");
    assert_text(condition_to_json, ID "/a:b/c:end",
                "{\"job\":\"" ID "\",\"step\":\"a:b/c\",\"on\":\"end\"}");
    assert_text(condition_to_json, "http://h:6769/v1/jobs/" ID "/4:end",
                "{\"job\":\"" ID "\",\"step\":4,\"on\":\"end\"}");
    assert_text(condition_to_json, "signal:dump", "{\"signal\":\"dump\"}");
    assert_text(condition_to_json, "signal:dump:10", "{\"signal\":\"dump\",\"count\":10}");
    assert_text(condition_to_json, "signal:a:b", "{\"signal\":\"a:b\"}");
    assert_text(condition_to_json, "{\"signal\":\"x\",\n\"take\":true}",
                "{\"signal\":\"x\", \"take\":true}");
}

static void what_is_nothing_to_wait_for_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "x",         ID ":never", ID ":",       ID "/",
                                      ID "x",     "signal:",   "signal::5", "signal:a/b", "{",
                                      "{\"a\":}", "signal:.x", ":end",      "/4"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_none(condition_to_json, bad[i]);
}

static void destinations_are_queues_topics_joins_and_signals(void **state)
{
    (void)state;
    assert_text(dest_to_json, "parse", "{\"queue\":\"parse\"}");
    assert_text(dest_to_json, "queue:topic:x", "{\"queue\":\"topic:x\"}");
    assert_text(dest_to_json, "two words", "{\"queue\":\"two words\"}");
    assert_text(dest_to_json, "topic:alarm", "{\"topic\":\"alarm\"}");
    assert_text(dest_to_json, "join:report", "{\"join\":\"report\"}");
    assert_text(dest_to_json, "signal:dump:3", "{\"signal\":\"dump\",\"count\":3}");
    assert_text(dest_to_json, "{\"queue\":\"a\",\"params\":{\"x\":1}}",
                "{\"queue\":\"a\",\"params\":{\"x\":1}}");
    assert_none(dest_to_json, "");
    assert_none(dest_to_json, "topic:");
    assert_none(dest_to_json, "a/b");
    assert_none(dest_to_json, "{\"queue\"");
}

static void they_are_shown_in_the_same_words(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    json_t *dests = json_loads(
        "[{\"queue\":\"a\",\"params\":{\"x\":1}},{\"topic\":\"t\"},"
        "{\"join\":\"j\"},{\"signal\":\"s\",\"count\":3},{\"signal\":\"u\"}]",
        0, NULL);
    json_t *conditions = json_loads("[{\"job\":\"A\",\"on\":\"success\"},\"B\","
                                    "{\"job\":\"C\",\"step\":4,\"on\":\"failure\"},"
                                    "{\"signal\":\"s\",\"count\":10,\"take\":true}]",
                                    0, NULL);

    dests_add(&out, dests);
    assert_string_equal(buf_text(&out), "a {\"x\":1}, topic:t, join:j, signal:s:3, signal:u");
    buf_clear(&out);
    conditions_add(&out, conditions);
    assert_string_equal(buf_text(&out), "A, B, C/4:failure, signal:s:10 (takes it)");
    json_decref(dests);
    json_decref(conditions);
}

/* ---- whole jobs ---- */

static void assert_whole(const char *job, const char *line, const char *want)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;
    bool many = false;

    if (job_merge(job, slice_of(line), &out, &many, &err) != E_OK)
        fail_msg("%s: %s", job, err.msg);
    assert_string_equal(buf_text(&out), want);
    assert_int_equal(many, job[0] == '[');
}

static void the_line_is_laid_over_a_whole_job(void **state)
{
    (void)state;
    assert_whole("{\"steps\":[1.10]}", "{}", "{\"steps\":[1.10]}");
    assert_whole("{\"queue\":\"a\",\"priority\":1}", "{\"queue\":\"b\",\"key\":\"k\"}",
                 "{\"queue\":\"b\",\"priority\":1,\"key\":\"k\"}");
    assert_whole("{\"params\":{\"a\":1,\"b\":{\"c\":1}},\"labels\":{\"x\":\"y\"}}",
                 "{\"params\":{\"b\":2,\"d\":3},\"labels\":{\"z\":\"\"}}",
                 "{\"params\":{\"a\":1,\"b\":2,\"d\":3},\"labels\":{\"x\":\"y\",\"z\":\"\"}}");
    assert_whole("{\"params\":{\"params\":{\"a\":1}}}", "{\"params\":{\"params\":{\"b\":2}}}",
                 "{\"params\":{\"params\":{\"b\":2}}}");
    assert_whole("{\"params\":null}", "{\"params\":{\"a\":1}}", "{\"params\":{\"a\":1}}");
    assert_whole("[{\"ref\":\"a\"},{\"after\":\"a\"}]", "{}",
                 "[{\"ref\":\"a\"},{\"after\":\"a\"}]");
}

static void what_is_no_job_is_refused(void **state)
{
    static const char *const bad[] = {"7", "\"x\"", "{", "", "{\"a\":1,\"a\":2}", "@/no/such/file"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(1000);
        struct err err = ERR_INIT;
        bool many;

        assert_int_equal(job_merge(bad[i], SLICE("{}"), &out, &many, &err), E_INVALID);
        assert_int_equal(strncmp(err.msg, "--job", 5), 0);
    }
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;
    bool many;

    assert_int_equal(job_merge("[]", SLICE("{\"key\":\"k\"}"), &out, &many, &err), E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_jobs_steps_and_signals),
        cmocka_unit_test(what_is_nothing_to_wait_for_is_refused),
        cmocka_unit_test(destinations_are_queues_topics_joins_and_signals),
        cmocka_unit_test(they_are_shown_in_the_same_words),
        cmocka_unit_test(the_line_is_laid_over_a_whole_job),
        cmocka_unit_test(what_is_no_job_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
