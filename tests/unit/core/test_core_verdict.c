/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "core/job/verdict.h"
#include "testing.h"

static struct verdict judged(struct verdict_facts facts)
{
    struct verdict v;

    verdict_judge(&facts, &v);
    return v;
}

/* "outcome cause exit text", as far as there are any. */
static void assert_verdict(struct verdict_facts facts, const char *want)
{
    CLEANUP(buf) struct buf got = BUF_INIT(10000);
    struct verdict v = judged(facts);

    verdict_add_finish(&v, &got);
    assert_string_equal(buf_text(&got), want);
}

static void an_exit_status_decides_where_no_word_does(void **state)
{
    (void)state;
    assert_verdict((struct verdict_facts){.exited = true}, "\"state\":\"done\",\"exit\":0");
    assert_verdict((struct verdict_facts){.exited = true, .exit = 3},
                   "\"state\":\"failed\",\"exit\":3,\"cause\":\"exit\",\"text\":\"exit status 3\"");
    assert_verdict((struct verdict_facts){.exited = true, .exit = 3, .has_status = true},
                   "\"state\":\"failed\",\"exit\":3,\"cause\":\"exit\"");
}

static void a_strict_queue_wants_an_end_word(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true, .strict = true};

    assert_verdict(f, "\"state\":\"failed\",\"exit\":0,\"cause\":\"protocol\",\"text\":"
                      "\"exited with 0, but without an end word (the queue is strict)\"");
    f.end = WORD_DONE;
    assert_verdict(f, "\"state\":\"done\",\"exit\":0");
    f.end = WORD_NONE;
    f.exit = 2;
    assert_int_equal(judged(f).cause, JOB_CAUSE_EXIT);
}

static void done_with_another_exit_status_is_a_failure(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true, .end = WORD_DONE, .end_text = SLICE("17 pages")};

    assert_verdict(f, "\"state\":\"done\",\"exit\":0,\"text\":\"17 pages\"");
    f.exit = 1;
    f.has_status = true;
    assert_verdict(f, "\"state\":\"failed\",\"exit\":1,\"cause\":\"exit\","
                      "\"text\":\"said done, but exited with 1\"");
    f.exit = -SIGSEGV;
    assert_verdict(f, "\"state\":\"failed\",\"exit\":-11,\"cause\":\"signal\","
                      "\"text\":\"ended by signal 11 (SEGV)\"");
}

static void err_is_final_whatever_the_exit_status(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true, .end = WORD_FAIL, .end_text = SLICE("no such page")};

    assert_verdict(f, "\"state\":\"failed\",\"exit\":0,\"cause\":\"exit\","
                      "\"text\":\"no such page\",\"final\":true");
    f.exit = 4;
    assert_verdict(f, "\"state\":\"failed\",\"exit\":4,\"cause\":\"exit\","
                      "\"text\":\"no such page\",\"final\":true");
    f.end_text = SLICE("");
    assert_string_equal(judged(f).text, "failed without saying why");
    f.why = VERDICT_TIMEOUT;
    assert_int_equal(judged(f).cause, JOB_CAUSE_TIMEOUT);
    assert_true(judged(f).final);
}

static void resend_is_later_however_it_went_on(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true,
                              .exit = 1,
                              .end = WORD_RESEND,
                              .end_delay_us = 90 * US_PER_S,
                              .end_text = SLICE("busy")};

    assert_verdict(f, "\"state\":\"later\",\"exit\":1,\"text\":\"busy\",\"delay\":\"90s\"");
    f.why = VERDICT_TIMEOUT;
    assert_int_equal(judged(f).outcome, JOB_OUT_LATER);
    f.end_delay_us = 0;
    f.end_text = SLICE("");
    assert_true(judged(f).delayed);
    assert_false(judged(f).has_text);
}

static void signals_memory_and_time_are_told_apart(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true, .exit = -SIGKILL};

    assert_verdict(f, "\"state\":\"failed\",\"exit\":-9,\"cause\":\"signal\","
                      "\"text\":\"killed, perhaps out of memory\"");
    f.out_of_memory = true;
    f.memory = 512 << 20;
    assert_verdict(f, "\"state\":\"failed\",\"exit\":-9,\"cause\":\"memory\",\"text\":"
                      "\"killed: it used more than 524288 KiB of memory (limits.memory)\"");
    f = (struct verdict_facts){.exited = true, .exit = -SIGKILL, .killed_by_us = true};
    assert_string_equal(judged(f).text, "ended by signal 9 (KILL)");
    f.why = VERDICT_TIMEOUT;
    f.timeout_us = 300 * US_PER_S;
    assert_verdict(f, "\"state\":\"failed\",\"exit\":-9,\"cause\":\"timeout\","
                      "\"text\":\"took longer than 5m\"");
    f = (struct verdict_facts){.exited = true, .exit = -SIGXCPU};
    assert_string_equal(judged(f).text, "used more processor time than it may (limits.cpu)");
}

static void what_was_cancelled_or_handed_back_says_so(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true, .exit = -SIGTERM, .why = VERDICT_CANCEL};

    assert_verdict(f, "\"state\":\"cancelled\",\"exit\":-15,\"cause\":\"cancelled\"");
    f.why = VERDICT_HANDBACK;
    assert_verdict(f, "\"state\":\"returned\"");
    f.exit = 0; /* it took TERM as a wish to stop, and stopped */
    assert_verdict(f, "\"state\":\"returned\"");
    f.end = WORD_DONE;
    assert_verdict(f, "\"state\":\"done\",\"exit\":0");
    f.why = VERDICT_TIMEOUT;
    assert_verdict(f, "\"state\":\"done\",\"exit\":0");
    f.exit = -SIGTERM;
    assert_int_equal(judged(f).cause, JOB_CAUSE_TIMEOUT);
}

static void a_program_that_cannot_start_leaves_the_job_unless_it_is_its_own(void **state)
{
    (void)state;
    struct verdict_facts f = {.why = VERDICT_UNSTARTED, .reason = SLICE("./x: not found")};

    assert_verdict(f, "\"state\":\"returned\",\"text\":\"./x: not found\"");
    f.why = VERDICT_NO_START;
    assert_verdict(f, "\"state\":\"failed\",\"cause\":\"start\",\"text\":\"./x: not found\"");
}

static void refused_emits_spoil_a_success_and_nothing_else(void **state)
{
    (void)state;
    struct verdict_facts f = {.exited = true,
                              .why = VERDICT_EMITS,
                              .reason = SLICE("there is no queue 'x'")};

    assert_verdict(f,
                   "\"state\":\"failed\",\"exit\":0,\"cause\":\"protocol\",\"text\":"
                   "\"a job, step or signal of the attempt was refused: there is no queue 'x'\"");
    f.end = WORD_DONE;
    assert_int_equal(judged(f).cause, JOB_CAUSE_PROTOCOL);
    f.exit = 2;
    assert_string_equal(judged(f).text, "said done, but exited with 2");
    f.end = WORD_NONE;
    assert_string_equal(judged(f).text, "exit status 2");
    f.end = WORD_RESEND;
    assert_int_equal(judged(f).outcome, JOB_OUT_LATER);
}

static void a_resident_answers_by_words_alone(void **state)
{
    (void)state;
    struct verdict_facts f = {.resident = true, .end = WORD_DONE};

    assert_verdict(f, "\"state\":\"done\"");
    f.end = WORD_FAIL;
    f.end_text = SLICE("no");
    assert_verdict(f, "\"state\":\"failed\",\"cause\":\"exit\",\"text\":\"no\",\"final\":true");
    f = (struct verdict_facts){.resident = true, .exited = true};
    assert_verdict(f, "\"state\":\"failed\",\"exit\":0,\"cause\":\"protocol\",\"text\":"
                      "\"the resident program ended (exit status 0) before it answered\"");
    f.exit = -SIGSEGV;
    assert_int_equal(judged(f).cause, JOB_CAUSE_SIGNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_status_decides_where_no_word_does),
        cmocka_unit_test(a_strict_queue_wants_an_end_word),
        cmocka_unit_test(done_with_another_exit_status_is_a_failure),
        cmocka_unit_test(err_is_final_whatever_the_exit_status),
        cmocka_unit_test(resend_is_later_however_it_went_on),
        cmocka_unit_test(signals_memory_and_time_are_told_apart),
        cmocka_unit_test(what_was_cancelled_or_handed_back_says_so),
        cmocka_unit_test(a_program_that_cannot_start_leaves_the_job_unless_it_is_its_own),
        cmocka_unit_test(refused_emits_spoil_a_success_and_nothing_else),
        cmocka_unit_test(a_resident_answers_by_words_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
