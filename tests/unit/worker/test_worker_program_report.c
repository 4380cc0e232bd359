/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "core/definition/kinds.h"
#include "core/queue/def.h"
#include "testing.h"
#include "worker/run/gains.h"
#include "worker/run/program_report.h"

static enum err_code knows_queue(void *ctx, struct slice name, struct err *err)
{
    static const char *const names[] = {"fetch", "letters to print"};

    (void)ctx;
    for (size_t i = 0; i < 2; i++)
        if (slice_is(name, names[i]))
            return E_OK;
    return definition_name_unknown(DEFINITION_QUEUE, name, names, 2, E_INVALID, err);
}

static enum err_code knows_topic(void *ctx, struct slice name, struct err *err)
{
    (void)ctx;
    return slice_is(name, "crawl") ? E_OK : err_set(err, E_INVALID, "nobody is subscribed");
}

struct desk {
    struct program_report *a;
    struct buf replies, notices, body;
};

static struct program_report *program_report_of(enum emit_route route)
{
    return program_report_new(&(struct program_report_config){
        .id = "JOB",
        .lease = "LEASE",
        .rules = {.route = route, .knows_queue = knows_queue, .knows_topic = knows_topic}});
}

static int begin(void **state)
{
    struct desk *d = mem_zalloc(sizeof(*d));

    d->a = program_report_of(EMIT_NO_ROUTE);
    d->replies = d->notices = d->body = BUF_INIT((size_t)1 << 26);
    *state = d;
    return 0;
}

static int begin_route(void **state)
{
    begin(state);
    struct desk *d = *state;

    program_report_free(d->a);
    d->a = program_report_of(EMIT_ROUTE);
    return 0;
}

static int end(void **state)
{
    struct desk *d = *state;

    program_report_free(d->a);
    buf_deinit(&d->replies);
    buf_deinit(&d->notices);
    buf_deinit(&d->body);
    free(d);
    return 0;
}

/* What is answered at once. */
static const char *say_at(struct desk *d, const char *line, int64_t now_at)
{
    buf_clear(&d->replies);
    buf_clear(&d->notices);
    program_report_line(d->a, slice_of(line), now_at, &d->replies, &d->notices);
    return buf_text(&d->replies);
}

static const char *say(struct desk *d, const char *line)
{
    return say_at(d, line, 0);
}

static const char *next_batch(struct desk *d, int64_t now_at)
{
    buf_clear(&d->body);
    return program_report_next_batch(d->a, now_at, &d->body) ? buf_text(&d->body) : NULL;
}

static const char *batch_done(struct desk *d, const char *reply)
{
    buf_clear(&d->replies);
    program_report_batch_done(d->a, slice_of(reply), &d->replies);
    return buf_text(&d->replies);
}

static const char *refused(struct desk *d, unsigned item, const char *why)
{
    struct err err = ERR_INIT;

    err_set(&err, E_INVALID, "%s", why);
    err.item = item;
    buf_clear(&d->replies);
    buf_clear(&d->notices);
    program_report_batch_refused(d->a, &err, &d->replies, &d->notices);
    return buf_text(&d->replies);
}

static const char *finish(struct desk *d)
{
    buf_clear(&d->body);
    program_report_add_finish(d->a, &d->body);
    return buf_text(&d->body);
}

static const char *status(struct desk *d)
{
    buf_clear(&d->body);
    program_report_add_status(d->a, &d->body);
    return buf_text(&d->body);
}

/* ---- status, values, end words ---- */

static void a_status_is_told_once_for_each_change(void **state)
{
    struct desk *d = *state;

    assert_false(program_report_status_changed(d->a) || program_report_has_status(d->a));
    assert_string_equal(say(d, "run copying \"a\""), "");
    assert_true(program_report_status_changed(d->a) && program_report_has_text(d->a));
    assert_string_equal(status(d), "\"text\":\"copying \\\"a\\\"\"");
    assert_false(program_report_status_changed(d->a));
    say(d, "progress 4/10MB");
    say(d, "progress left 1500ms almost");
    assert_true(program_report_status_changed(d->a));
    assert_string_equal(status(d),
                        "\"text\":\"almost\",\"done\":4,\"total\":10,\"unit\":\"MB\",\"left\":2");
    program_report_status_again(d->a);
    assert_true(program_report_status_changed(d->a));
}

static void counts_without_a_text_are_a_status(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "progress 3"), "");
    assert_true(program_report_has_status(d->a) && !program_report_has_text(d->a));
    assert_string_equal(status(d), "\"text\":\"\",\"done\":3,\"total\":0,\"unit\":\"\"");
}

static void values_go_with_the_finish_the_last_one_of_a_name(void **state)
{
    struct desk *d = *state;

    assert_string_equal(finish(d), "");
    assert_string_equal(say(d, "set a 1"), "ok\n");
    assert_string_equal(say(d, "set \"b c\" [1, 2]"), "ok\n");
    assert_string_equal(say(d, "set a {\"x\":null}"), "ok\n");
    assert_string_equal(finish(d), "\"set\":{\"a\":{\"x\":null},\"b c\":[1, 2]}");
}

static void values_have_a_limit_together(void **state)
{
    struct desk *d = *state;
    CLEANUP(buf) struct buf line = BUF_INIT(1 << 21);

    buf_add_str(&line, "set a \"");
    while (line.size < GAINS_SET_MAX - 10)
        buf_add_char(&line, 'x');
    buf_add_char(&line, '"');
    assert_string_equal(say(d, buf_text(&line)), "ok\n");
    assert_string_equal(say(d, buf_text(&line)), "ok\n"); /* in its place */
    line.data[4] = 'b';
    assert_int_equal(strncmp(say(d, buf_text(&line)), "fail set: all values together", 29), 0);
    assert_true(d->notices.size > 0);
    char small[40];

    assert_string_equal(say(d, "set a 1"), "ok\n");
    for (int i = 1; i < GAINS_SET_NAMES; i++) {
        snprintf(small, sizeof(small), "set n%d 1", i);
        assert_string_equal(say(d, small), "ok\n");
    }
    assert_string_equal(say(d, "set more 1"), "fail set: at most 1000 names are allowed\n");
    assert_string_equal(say(d, "set n7 2"), "ok\n");
}

static void the_first_end_word_wins(void **state)
{
    struct desk *d = *state;

    assert_int_equal(program_report_end(d->a)->kind, WORD_NONE);
    assert_string_equal(
        say(d, "resend"),
        "fail resend: needs a number of seconds and optionally a reason, such as 300-busy, "
        "not nothing\n");
    assert_int_equal(program_report_end(d->a)->kind, WORD_NONE);
    assert_string_equal(say(d, "resend 30-busy"), "ok\n");
    assert_string_equal(say(d, "done"),
                        "fail done: ignored: the first end word counts, and that was 'resend'\n");
    assert_string_equal(buf_text(&d->notices),
                        "done: ignored: the first end word counts, and that was 'resend'\n");
    assert_int_equal(program_report_end(d->a)->kind, WORD_RESEND);
    assert_int_equal(program_report_end(d->a)->delay_us, 30 * US_PER_S);
    assert_slice_is(program_report_end(d->a)->text, "busy");
}

static void bad_lines_are_answered_and_logged_and_harm_nothing(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "attach {}"),
                        "fail unknown word 'attach': this version does not have it\n");
    assert_string_equal(buf_text(&d->notices),
                        "unknown word 'attach': this version does not have it\n");
    assert_string_equal(say(d, "progress x"), ""); /* nobody listens for that one */
    assert_true(d->notices.size > 0);
    assert_string_equal(say(d, "progress left \r\x1B[2J"), "");
    assert_null(strpbrk(buf_text(&d->notices), "\r\x1B")); /* what it quotes is harmless */
    assert_string_equal(say(d, ""), "");
    assert_int_equal(d->notices.size, 0);
    buf_clear(&d->replies);
    program_report_long_line(d->a, 2000000, &d->replies, &d->notices);
    assert_string_equal(buf_text(&d->replies), "fail a line may have 1048576 bytes, not 2000000\n");
    assert_string_equal(buf_text(&d->notices),
                        "a line of 2000000 bytes was skipped, 1048576 are allowed\n");
    assert_false(program_report_has_status(d->a));
}

/* ---- emit ---- */

static void emits_go_with_the_finish(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "emit {\"queue\":\"fetch\",\"params\":{\"n\":1}}"), "ok\n");
    assert_string_equal(say(d, "emit {\"queue\":\"letters to print\"}"), "ok\n");
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
    program_report_close(d->a);
    assert_true(program_report_settled(d->a));
    assert_string_equal(finish(d), "\"emit\":[{\"queue\":\"fetch\",\"params\":{\"n\":1}},"
                                   "{\"queue\":\"letters to print\"}]");
    program_report_discard_gains(d->a);
    assert_string_equal(finish(d), "");
}

static void a_job_must_name_a_queue_that_is_there(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "emit {\"queue\":\"fetsh\"}"),
                        "fail emit: there is no queue 'fetsh', did you mean 'fetch'?\n");
    assert_string_equal(say(d, "emit! {}"), "fail emit!: a job needs a 'queue', 'steps' or a "
                                            "'topic'\n");
    assert_string_equal(buf_text(&d->notices),
                        "emit!: a job needs a 'queue', 'steps' or a 'topic'\n");
    assert_string_equal(say(d, "emit {\"queue\":7}"),
                        "fail emit: queue: must be text, not 7 (put it in quotes)\n");
    assert_string_equal(finish(d), "");
}

static void a_job_may_go_to_a_topic_or_along_steps(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "emit {\"topic\":\"crawl\"}"), "ok\n");
    assert_string_equal(say(d, "emit {\"steps\":[{\"name\":\"a\",\"queue\":\"fetch\"}]}"), "ok\n");
    assert_string_equal(finish(d), "\"emit\":[{\"topic\":\"crawl\"},"
                                   "{\"steps\":[{\"name\":\"a\",\"queue\":\"fetch\"}]}]");
    assert_string_equal(say(d, "emit {\"topic\":\"crewl\"}"), "fail emit: nobody is subscribed\n");
    assert_string_equal(say(d, "emit! {\"topic\":7}"),
                        "fail emit!: topic: must be text, not 7 (put it in quotes)\n");
    assert_string_equal(say(d, "emit {\"steps\":[{\"name\":\"fetch\"},{\"name\":\"fetsh\"}]}"),
                        "fail emit: steps[1]: there is no queue 'fetsh', did you mean 'fetch'?\n");
    assert_string_equal(say(d, "emit {\"queue\":\"fetch\",\"steps\":[{\"name\":\"fetch\"}]}"),
                        "fail emit: queue: a job with steps goes to the queues that they name\n");
}

/* With the words of the server, which would otherwise refuse the finish. */
static void a_mistake_in_a_job_is_told_with_its_line(void **state)
{
    static const char *const mistakes[][2] = {
        {"\"prams\":{}", "unknown key 'prams', did you mean 'params'?"},
        {"\"params\":[1]", "params: must be an object, not an array"},
        {"\"priority\":5000", "priority: must be a whole number from -1000 to 1000, not 5000"},
        {"\"labels\":{\"a\":1}", "labels: 'a' must be a string"},
        {"\"retry\":{\"mex\":1}", "retry: unknown key 'mex', did you mean 'max'?"},
        {"\"after\":5",
         "after: must be the id of a job, or {job: …}, {signal: …} or {group: …}, not 5"},
        {"\"on_success\":\"fetsh\"",
         "on_success[0]: there is no queue 'fetsh', did you mean 'fetch'?"},
        {"\"on_failure\":[\"fetch\",{\"queue\":\"fetsh\"}]",
         "on_failure[1]: there is no queue 'fetsh', did you mean 'fetch'?"},
    };
    struct desk *d = *state;

    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        char line[200];
        char reply[200];

        snprintf(line, sizeof(line), "emit {\"queue\":\"fetch\",%s}", mistakes[i][0]);
        snprintf(reply, sizeof(reply), "fail emit: %s\n", mistakes[i][1]);
        assert_string_equal(say(d, line), reply);
    }
    assert_string_equal(
        say(d, "emit {\"steps\":[{\"queue\":\"fetch\",\"on_failure\":\"fetsh\"}]}"),
        "fail emit: steps[0]: on_failure[0]: there is no queue 'fetsh', did you mean 'fetch'?\n");
    assert_string_equal(say(d, "emit {\"queue\":\"fetch\",\"on_success\":[{\"topic\":\"new\"}]}"),
                        "ok\n");
    assert_null(program_report_fault(d->a));
    assert_string_equal(finish(d), "\"emit\":[{\"queue\":\"fetch\",\"on_success\":["
                                   "{\"topic\":\"new\"}]}]");
}

/* ---- step and raise ---- */

static void steps_and_signals_go_with_the_finish(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "step {\"name\":\"a\",\"queue\":\"fetch\"}"), "ok\n");
    assert_string_equal(say(d, "raise dump"), "ok\n");
    assert_string_equal(say(d, "step {\"process name\":\"fetch\"}"), "ok\n");
    assert_string_equal(say(d, "raise \"a \\\"b\" 7"), "ok\n");
    assert_string_equal(say(d, "raise dump 4"), "ok\n");
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
    program_report_close(d->a);
    assert_true(program_report_settled(d->a));
    assert_string_equal(finish(d),
                        "\"steps\":[{\"name\":\"a\",\"queue\":\"fetch\"},"
                        "{\"process name\":\"fetch\"}],\"raise\":{\"dump\":5,\"a \\\"b\":7}");
}

static void an_attempt_that_fails_adds_no_steps_and_raises_nothing(void **state)
{
    struct desk *d = *state;

    say(d, "set a 1");
    say(d, "step {\"name\":\"fetch\"}");
    say(d, "raise dump");
    program_report_close(d->a);
    program_report_discard_gains(d->a);
    assert_string_equal(finish(d), "\"set\":{\"a\":1}");
}

static void a_step_needs_a_route_and_a_queue_that_is_there(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "step {\"name\":\"fetch\"}"),
                        "fail step: this job has no route: it was created without steps\n");
    assert_string_equal(buf_text(&d->notices),
                        "step: this job has no route: it was created without steps\n");
    program_report_free(d->a);
    d->a = program_report_of(EMIT_ROUTE_FINAL);
    assert_string_equal(say(d, "step {\"name\":\"fetch\"}"),
                        "fail step: the final steps of the route have begun\n");
    program_report_free(d->a);
    d->a = program_report_of(EMIT_ROUTE);
    assert_string_equal(say(d, "step {\"name\":\"fetsh\"}"),
                        "fail step: steps[0]: there is no queue 'fetsh', did you mean 'fetch'?\n");
    assert_string_equal(say(d, "step 7"), "fail step: needs a step, a JSON object, not 7\n");
    assert_string_equal(finish(d), "");
}

static void steps_and_signals_have_limits(void **state)
{
    struct desk *d = *state;
    CLEANUP(buf) struct buf line = BUF_INIT(1 << 21);
    char small[64];

    for (int i = 0; i < GAINS_SIGNALS_MAX; i++) {
        snprintf(small, sizeof(small), "raise n%d", i);
        assert_string_equal(say(d, small), "ok\n");
    }
    assert_string_equal(say(d, "raise more"), "fail raise: at most 1000 signals are allowed\n");
    assert_string_equal(say(d, "raise n7 1000000000000"),
                        "fail raise: by more than 1000000000000 in all\n");
    assert_string_equal(say(d, "raise n7 999999999999"), "ok\n");
    buf_add_str(&line, "step {\"name\":\"fetch\",\"params\":{\"x\":\"");
    while (line.size < GAINS_STEPS_MAX / 2 + 10)
        buf_add_char(&line, 'x');
    buf_add_str(&line, "\"}}");
    assert_string_equal(say(d, buf_text(&line)), "ok\n");
    assert_string_equal(say(d, buf_text(&line)),
                        "fail step: all steps together have more than 1048576 bytes\n");
    for (int i = 1; i < 1000; i++)
        assert_string_equal(say(d, "step {\"name\":\"fetch\"}"), "ok\n");
    assert_string_equal(say(d, "step {\"name\":\"fetch\"}"),
                        "fail step: a route has at most 1000 steps\n");
}

static void a_cursor_after_a_step_or_a_signal_is_refused(void **state)
{
    struct desk *d = *state;

    say(d, "raise dump");
    assert_string_equal(
        say(d, "cursor 1"),
        "fail cursor: the effect of 'raise' before it would be lost if this attempt fails: say it "
        "after the last cursor\n");
    say(d, "step {\"name\":\"fetch\"}");
    assert_string_equal(
        say(d, "cursor 1"),
        "fail cursor: the effect of 'step' before it would be lost if this attempt fails: say it "
        "after the last cursor\n");
}

static size_t jobs_in(const char *body)
{
    struct slice jobs;

    return jtext_find(slice_of(body), "jobs", &jobs) ? jtext_count_items(jobs) : 0;
}

static void more_than_a_chunk_is_staged_ahead(void **state)
{
    struct desk *d = *state;
    char line[100];

    for (int i = 0; i < 1200; i++) {
        snprintf(line, sizeof(line), "emit {\"queue\":\"fetch\",\"params\":{\"n\":%d}}", i);
        assert_string_equal(say(d, line), "ok\n");
    }
    program_report_close(d->a);
    assert_false(program_report_settled(d->a));
    const char *body = next_batch(d, 0);

    assert_non_null(strstr(body, "{\"id\":\"JOB\",\"lease\":\"LEASE\",\"seq\":1,\"visible\":false,"
                                 "\"jobs\":[{\"queue\":\"fetch\",\"params\":{\"n\":0}},"));
    assert_int_equal(jobs_in(body), 500);
    assert_null(next_batch(d, 0)); /* one at a time */
    assert_string_equal(batch_done(d, "{\"ids\":[]}"), "");
    body = next_batch(d, 0);
    assert_non_null(strstr(body, "\"seq\":2,"));
    assert_non_null(strstr(body, "\"jobs\":[{\"queue\":\"fetch\",\"params\":{\"n\":500}},"));
    assert_false(program_report_settled(d->a));
    batch_done(d, "{}");
    assert_true(program_report_settled(d->a));
    assert_null(next_batch(d, 0));
    const char *rest = finish(d);

    assert_ptr_equal(strstr(rest, "\"emit\":[{\"queue\":\"fetch\",\"params\":{\"n\":1000}},"),
                     rest);
    assert_non_null(strstr(buf_text(&d->body), "{\"n\":1199}}]"));
}

static void chunks_are_small_in_bytes_too(void **state)
{
    struct desk *d = *state;
    CLEANUP(buf) struct buf line = BUF_INIT(1 << 21);

    buf_add_str(&line, "emit {\"queue\":\"fetch\",\"body\":\"");
    for (int i = 0; i < 400000; i++)
        buf_add_char(&line, 'x');
    buf_add_str(&line, "\"}");
    for (int i = 0; i < 2; i++)
        assert_string_equal(say(d, buf_text(&line)), "ok\n");
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
    for (int i = 0; i < 10; i++)
        say(d, buf_text(&line));
    assert_true(program_report_is_full(d->a));
    assert_int_equal(jobs_in(next_batch(d, 0)), 2);
    batch_done(d, "{}");
    assert_true(next_batch(d, 0) != NULL);
    batch_done(d, "{}");
    assert_false(program_report_is_full(d->a));
}

static void a_staged_job_that_is_refused_spoils_the_attempt(void **state)
{
    struct desk *d = *state;

    for (int i = 0; i < 600; i++)
        say(d, "emit {\"queue\":\"fetch\"}");
    assert_null(program_report_fault(d->a));
    assert_non_null(next_batch(d, 0));
    assert_string_equal(refused(d, 7, "params: needs x"), "");
    assert_string_equal(buf_text(&d->notices), "a job of emit was refused: params: needs x\n");
    assert_string_equal(program_report_fault(d->a)->msg, "params: needs x");
    assert_string_equal(say(d, "emit {\"queue\":\"fetch\"}"),
                        "fail emit: an earlier job was refused: params: needs x\n");
    program_report_close(d->a);
    assert_true(program_report_settled(d->a));
    assert_string_equal(finish(d), "");
}

/* ---- emit! and cursor ---- */

#define JOB(n) "{\"queue\":\"fetch\",\"params\":{\"n\":" #n "}}"
#define HEAD(n) "{\"id\":\"JOB\",\"lease\":\"LEASE\",\"seq\":" #n ",\"visible\":true"

static void an_emit_at_once_is_answered_with_its_id(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say_at(d, "emit! " JOB(1), 1000), "");
    assert_int_equal(program_report_batch_at(d->a), 1000 + PROGRAM_REPORT_CURSOR_US);
    assert_null(next_batch(d, 1000));
    assert_string_equal(next_batch(d, 1000 + PROGRAM_REPORT_CURSOR_US),
                        HEAD(1) ",\"jobs\":[" JOB(1) "]}");
    assert_string_equal(batch_done(d, "{\"ids\":[\"01ABC\"]}"), "ok 01ABC\n");
    say_at(d, "emit! " JOB(2), 90000); /* only the first one waits */
    assert_int_equal(program_report_batch_at(d->a), 0);
    assert_string_equal(next_batch(d, 90000), HEAD(2) ",\"jobs\":[" JOB(2) "]}");
}

static void a_cursor_goes_with_the_emits_before_it(void **state)
{
    struct desk *d = *state;

    say(d, "emit! " JOB(1));
    say(d, "emit! " JOB(2));
    say(d, "cursor {\"page\":2}");
    say(d, "emit! " JOB(3));
    assert_string_equal(next_batch(d, 0),
                        HEAD(1) ",\"jobs\":[" JOB(1) "," JOB(2) "],\"cursor\":{\"page\":2}}");
    assert_string_equal(batch_done(d, "{\"ids\":[\"A\",\"B\"]}"), "ok A\nok B\nok\n");
    say(d, "cursor 3");
    say(d, "cursor 4");
    assert_string_equal(next_batch(d, 0), HEAD(2) ",\"jobs\":[" JOB(3) "],\"cursor\":3}");
    assert_string_equal(batch_done(d, "{\"ids\":[\"C\"]}"), "ok C\nok\n");
    assert_string_equal(next_batch(d, 0), HEAD(3) ",\"cursor\":4}");
    assert_string_equal(batch_done(d, "{\"ids\":[]}"), "ok\n");
    program_report_close(d->a);
    assert_true(program_report_settled(d->a));
}

static void a_cursor_after_a_plain_emit_is_refused(void **state)
{
    struct desk *d = *state;

    say(d, "cursor 1");
    say(d, "emit " JOB(1));
    say(d, "cursor 2");
    next_batch(d, 0);
    const char *replies = batch_done(d, "{\"ids\":[]}");

    assert_int_equal(strncmp(replies, "ok\nok\nfail cursor: the effect of 'emit'", 36), 0);
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
}

static void replies_come_in_the_order_of_the_lines(void **state)
{
    struct desk *d = *state;

    assert_string_equal(say(d, "emit! " JOB(1)), "");
    assert_string_equal(say(d, "set a 1"), "");
    assert_string_equal(say(d, "emit {\"queue\":\"nowhere\"}"), "");
    assert_string_equal(say(d, "emit! " JOB(2)), "");
    program_report_close(d->a); /* nothing waits for a cursor any more */
    assert_string_equal(next_batch(d, 0), HEAD(1) ",\"jobs\":[" JOB(1) "," JOB(2) "]}");
    assert_string_equal(batch_done(d, "{\"ids\":[\"A\",\"B\"]}"),
                        "ok A\nok\nfail emit: there is no queue 'nowhere': define it, or see "
                        "'waybill queue list'\nok B\n");
    assert_string_equal(say(d, "done"), "ok\n");
}

static void a_lost_reply_sends_the_same_body_again(void **state)
{
    struct desk *d = *state;
    char first[1000];

    say(d, "emit! " JOB(1));
    snprintf(first, sizeof(first), "%s", next_batch(d, PROGRAM_REPORT_CURSOR_US));
    say(d, "emit! " JOB(2)); /* goes with the next one */
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
    program_report_batch_again(d->a);
    assert_int_equal(program_report_batch_at(d->a), 0);
    assert_string_equal(next_batch(d, 0), first);
    assert_string_equal(batch_done(d, "{\"ids\":[\"A\"]}"), "ok A\n");
    assert_string_equal(next_batch(d, 0), HEAD(2) ",\"jobs\":[" JOB(2) "]}");
}

static void a_batch_that_may_have_been_taken_goes_again_when_emits_are_dropped(void **state)
{
    struct desk *d = *state;

    for (int i = 0; i < 600; i++)
        say(d, "emit {\"queue\":\"fetch\"}");
    say(d, "emit! " JOB(1));
    program_report_close(d->a);
    assert_string_equal(next_batch(d, 0), HEAD(1) ",\"jobs\":[" JOB(1) "]}");
    batch_done(d, "{\"ids\":[\"A\"]}");
    next_batch(d, 0);
    program_report_batch_again(d->a);
    program_report_discard_gains(d->a);
    assert_false(program_report_settled(d->a));
    assert_non_null(strstr(next_batch(d, 0), "\"seq\":2,\"visible\":false"));
    batch_done(d, "{}");
    assert_true(program_report_settled(d->a));
    assert_string_equal(finish(d), "");
}

static void a_refused_one_is_left_out_and_the_rest_goes_again(void **state)
{
    struct desk *d = *state;

    say(d, "emit! " JOB(1));
    say(d, "emit! " JOB(2));
    say(d, "emit! " JOB(3));
    say(d, "cursor 1");
    next_batch(d, 0);
    assert_string_equal(refused(d, 2, "queue 'fetch' is down"), "");
    assert_string_equal(buf_text(&d->notices),
                        "a job of emit! was refused: queue 'fetch' is down\n");
    assert_string_equal(next_batch(d, 0),
                        HEAD(1) ",\"jobs\":[" JOB(1) "," JOB(3) "],\"cursor\":1}");
    assert_string_equal(batch_done(d, "{\"ids\":[\"A\",\"C\"]}"),
                        "ok A\nfail queue 'fetch' is down\nok C\nok\n");
    assert_null(program_report_fault(d->a));
}

static void a_batch_refused_as_a_whole_is_answered_as_a_whole(void **state)
{
    struct desk *d = *state;

    say(d, "emit! " JOB(1));
    say(d, "cursor 1");
    next_batch(d, 0);
    assert_string_equal(refused(d, 0, "too large"), "fail too large\nfail too large\n");
    program_report_close(d->a);
    assert_true(program_report_settled(d->a));
}

static void large_batches_are_cut(void **state)
{
    struct desk *d = *state;

    for (int i = 0; i < 1100; i++)
        say(d, "emit! " JOB(1));
    assert_int_equal(jobs_in(next_batch(d, 0)), 500);
    batch_done(d, "{}");
    assert_int_equal(jobs_in(next_batch(d, 0)), 500);
    batch_done(d, "{}");
    assert_int_equal(jobs_in(next_batch(d, 0)), 100);
    batch_done(d, "{}");
    assert_int_equal(program_report_batch_at(d->a), TIME_NEVER);
}

/* ---- by chance ---- */

/* A server that sometimes takes a batch without anybody hearing of it, and refuses a job at
 * times. */
struct server {
    int64_t seq;
    struct buf last_reply;
    size_t made, asked;
};

static void serve(struct desk *d, struct server *s, struct rng *rng)
{
    CLEANUP(buf) struct buf body = BUF_INIT(1 << 24);
    struct slice seq;

    if (!program_report_next_batch(d->a, INT64_MAX - 1, &body))
        return;
    assert_true(jtext_find(buf_slice(&body), "seq", &seq));
    if (jtext_int(seq) == s->seq + 1 && rng_below(rng, 5) == 0) {
        (void)refused(d, jobs_in(buf_text(&body)) > 0 ? 1 : 0, "by chance");
        s->asked--;
        return;
    }
    if (jtext_int(seq) == s->seq + 1) {
        size_t count = jobs_in(buf_text(&body));

        s->seq++;
        s->made += count;
        buf_clear(&s->last_reply);
        buf_add_str(&s->last_reply, "{\"ids\":[");
        for (size_t i = 0; i < count; i++)
            buf_addf(&s->last_reply, "%s\"I%zu\"", i > 0 ? "," : "", s->made + i);
        buf_add_str(&s->last_reply, "]}");
    }
    assert_int_equal(jtext_int(seq), s->seq);
    if (rng_below(rng, 3) == 0)
        program_report_batch_again(d->a);
    else
        program_report_batch_done(d->a, buf_slice(&s->last_reply), &d->replies);
}

/* ---- rights ---- */

#define FORBIDDEN "command: jobs of this queue may not emit commands"

static void assert_forbidden(struct desk *d, const char *line, const char *reply)
{
    assert_int_equal(strncmp(say(d, line), reply, strlen(reply)), 0);
    assert_non_null(strstr(buf_text(&d->replies), "may_emit: {command: true}"));
    assert_non_null(strstr(buf_text(&d->notices), FORBIDDEN));
    assert_non_null(program_report_fault(d->a));
    assert_int_equal(program_report_fault(d->a)->code, E_FORBIDDEN);
}

static void a_command_is_refused_and_the_attempt_fails(void **state)
{
    static const char *const lines[][2] = {
        {"emit {\"queue\":\"fetch\",\"command\":[\"id\"]}", "fail emit: " FORBIDDEN},
        {"emit! {\"queue\":\"fetch\",\"command\":\"id\"}", "fail emit!: " FORBIDDEN},
        {"emit {\"steps\":[{\"queue\":\"fetch\"},{\"queue\":\"fetch\",\"command\":\"id\"}]}",
         "fail emit: steps[1]." FORBIDDEN},
        {"emit! {\"steps\":[{\"queue\":\"fetch\",\"command line\":\"id\"}]}",
         "fail emit!: steps[0]." FORBIDDEN},
        {"step {\"queue\":\"fetch\",\"command\":\"id\"}", "fail step: steps[0]." FORBIDDEN},
    };

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        end(state);
        begin_route(state);
        struct desk *d = *state;

        say(d, "emit " JOB(1));
        assert_forbidden(d, lines[i][0], lines[i][1]);
        program_report_close(d->a);
        buf_clear(&d->body);
        program_report_add_finish(d->a, &d->body);
        assert_string_equal(buf_text(&d->body), ""); /* what came before it is dropped, too */
    }
}

static void where_the_queue_allows_it_a_command_is_taken(void **state)
{
    struct desk *d = *state;

    program_report_free(d->a);
    d->a = program_report_new(
        &(struct program_report_config){.id = "JOB",
                                        .lease = "LEASE",
                                        .rules = {.route = EMIT_ROUTE,
                                                  .may_command = true,
                                                  .knows_queue = knows_queue,
                                                  .knows_topic = knows_topic}});
    assert_string_equal(say(d, "emit {\"queue\":\"fetch\",\"command\":[\"id\"]}"), "ok\n");
    assert_string_equal(say(d, "step {\"queue\":\"fetch\",\"command\":\"id\"}"), "ok\n");
    assert_null(program_report_fault(d->a));
}

static void a_command_that_only_the_server_refuses_fails_the_attempt_too(void **state)
{
    struct err why = ERR_INIT;
    struct desk *d = *state;

    say(d, "emit! " JOB(1));
    assert_non_null(next_batch(d, TIME_NEVER - 1));
    err_set(&why, E_FORBIDDEN, "command: not yours");
    program_report_batch_refused(d->a, &why, &d->replies, &d->notices);
    assert_int_equal(program_report_fault(d->a)->code, E_FORBIDDEN);
}

static void no_job_is_lost_or_made_twice_whatever_the_server_does(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct desk *d = *state;
        struct server s = {.last_reply = BUF_INIT(1 << 20)};
        struct rng rng;

        end(state);
        begin(state);
        d = *state;
        rng_init(&rng, seed);
        for (int i = 0; i < 200; i++) {
            if (rng_below(&rng, 3) == 0)
                serve(d, &s, &rng);
            say(d, "emit! " JOB(1));
            s.asked++;
        }
        program_report_close(d->a);
        for (int i = 0; !program_report_settled(d->a); i++) {
            assert_true(i < 10000);
            serve(d, &s, &rng);
        }
        assert_int_equal(s.made, s.asked);
        buf_deinit(&s.last_reply);
    }
}

static void what_is_gained_is_discarded_by_what_the_word_says_of_the_end(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf finish = BUF_INIT(1024);
    struct err err = ERR_INIT;
    struct gains g;

    gains_init(&g);
    assert_false(gains_any(&g));
    gains_add_job(&g, SLICE("{}"));
    assert_true(gains_any(&g));
    gains_remove_jobs(&g, 1);
    assert_false(gains_any(&g));
    assert_int_equal(gains_raise(&g, SLICE("s"), 2, &err), E_OK);
    assert_true(gains_any(&g));
    gains_discard(&g);
    assert_int_equal(gains_add_step(&g, SLICE("{}"), &err), E_OK);
    assert_true(gains_any(&g));
    gains_discard(&g);
    assert_false(gains_any(&g));
    assert_int_equal(gains_set(&g, SLICE("a"), SLICE("1"), &err), E_OK);
    gains_add_job(&g, SLICE("{}"));
    gains_discard(&g);
    assert_true(gains_any(&g));
    gains_add_finish(&g, &finish);
    assert_string_equal(buf_text(&finish), "\"set\":{\"a\":1}");
    gains_deinit(&g);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define R(name) cmocka_unit_test_setup_teardown(name, begin_route, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_gained_is_discarded_by_what_the_word_says_of_the_end),
        T(a_status_is_told_once_for_each_change),
        T(counts_without_a_text_are_a_status),
        T(values_go_with_the_finish_the_last_one_of_a_name),
        T(values_have_a_limit_together),
        T(the_first_end_word_wins),
        T(bad_lines_are_answered_and_logged_and_harm_nothing),
        T(emits_go_with_the_finish),
        T(a_job_must_name_a_queue_that_is_there),
        T(a_job_may_go_to_a_topic_or_along_steps),
        T(a_mistake_in_a_job_is_told_with_its_line),
        R(steps_and_signals_go_with_the_finish),
        R(an_attempt_that_fails_adds_no_steps_and_raises_nothing),
        T(a_step_needs_a_route_and_a_queue_that_is_there),
        R(steps_and_signals_have_limits),
        R(a_cursor_after_a_step_or_a_signal_is_refused),
        T(more_than_a_chunk_is_staged_ahead),
        T(chunks_are_small_in_bytes_too),
        T(a_staged_job_that_is_refused_spoils_the_attempt),
        T(an_emit_at_once_is_answered_with_its_id),
        T(a_cursor_goes_with_the_emits_before_it),
        T(a_cursor_after_a_plain_emit_is_refused),
        T(replies_come_in_the_order_of_the_lines),
        T(a_lost_reply_sends_the_same_body_again),
        T(a_batch_that_may_have_been_taken_goes_again_when_emits_are_dropped),
        T(a_refused_one_is_left_out_and_the_rest_goes_again),
        T(a_batch_refused_as_a_whole_is_answered_as_a_whole),
        T(large_batches_are_cut),
        T(a_command_is_refused_and_the_attempt_fails),
        T(where_the_queue_allows_it_a_command_is_taken),
        T(a_command_that_only_the_server_refuses_fails_the_attempt_too),
        T(no_job_is_lost_or_made_twice_whatever_the_server_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
