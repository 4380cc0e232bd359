/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "parse_testing.h"
#include "server/limits.h"
#include "server/parse/emit.h"
#include "server/parse/exchange.h"

#define HELD "\"id\":\"" ID "\",\"lease\":\"" LEASE "\""

static void an_emit_arrives_whole(void **state)
{
    (void)state;
    struct emit x;
    struct err err = ERR_INIT;
    struct slice text = SLICE("{" HELD ",\"seq\":7,\"visible\":true,\"cursor\":{\"page\":[1,2]},"
                              "\"jobs\":[{\"queue\":\"a\",\"key\":\"k\"},{\"queue\":\"b\","
                              "\"params\":{\"n\":1},\"delay\":\"5s\",\"priority\":3}]}");

    assert_int_equal(parse_emit(text, &user, &arena, &x, &err), E_OK);
    assert_true(x.id > 0 && x.token > 0);
    assert_int_equal(x.seq, 7);
    assert_true(x.visible);
    assert_slice_is(x.cursor, "{\"page\":[1,2]}");
    assert_int_equal(x.n_jobs, 2);
    assert_slice_is(x.jobs[0].key, "k");
    assert_true(x.jobs[0].content != 0);
    assert_slice_is(x.jobs[1].params, "{\"n\":1}");
    assert_int_equal(x.jobs[1].delay_us, 5000000);
    assert_int_equal(x.jobs[1].priority, 3);
}

static void an_emit_needs_jobs_or_a_cursor(void **state)
{
    (void)state;
    struct emit x;
    struct err err = ERR_INIT;

    assert_int_equal(
        parse_emit(SLICE("{" HELD ",\"seq\":1,\"cursor\":0}"), &user, &arena, &x, &err), E_OK);
    assert_int_equal(x.n_jobs, 0);
    assert_false(x.visible);
    assert_slice_is(x.cursor, "0");
    assert_int_equal(parse_emit(SLICE("{" HELD
                                      ",\"seq\":1,\"jobs\":[{\"queue\":\"a\"}],\"cursor\":null,"
                                      "\"visible\":null}"),
                                &user, &arena, &x, &err),
                     E_OK);
    assert_int_equal(x.cursor.size, 0);
}

static void a_bad_emit_is_refused(void **state)
{
    static const struct {
        const char *text;
        enum err_code code;
        const char *says;
        unsigned item;
    } bad[] = {
        {"", E_BAD_REQUEST, "", 0},
        {"[]", E_INVALID, "an emit must be an object", 0},
        {"{}", E_INVALID, "id: is missing", 0},
        {"{" HELD "}", E_INVALID, "seq: is missing", 0},
        {"{" HELD ",\"seq\":0,\"cursor\":1}", E_INVALID, "seq: must be", 0},
        {"{" HELD ",\"seq\":\"1\",\"cursor\":1}", E_INVALID, "seq: must be", 0},
        {"{" HELD ",\"seq\":1.5,\"cursor\":1}", E_INVALID, "seq: must be", 0},
        {"{" HELD ",\"seq\":1}", E_INVALID, "needs 'jobs' or a 'cursor'", 0},
        {"{" HELD ",\"seq\":1,\"jobs\":[]}", E_INVALID, "needs 'jobs' or a 'cursor'", 0},
        {"{" HELD ",\"seq\":1,\"cursor\":null}", E_INVALID, "needs 'jobs' or a 'cursor'", 0},
        {"{" HELD ",\"seq\":1,\"jobs\":{}}", E_INVALID, "jobs: must be a list of jobs", 0},
        {"{" HELD ",\"seq\":1,\"jobs\":[5]}", E_INVALID, "jobs[0]: must be an object", 1},
        {"{" HELD ",\"seq\":1,\"jobs\":[{\"queue\":\"a\"},{\"quue\":\"a\"}]}", E_INVALID,
         "did you mean 'queue'?", 2},
        {"{" HELD ",\"seq\":1,\"jobs\":[{\"queue\":\"a\",\"command\":[\"id\"]}]}", E_FORBIDDEN,
         "jobs[0].command:", 1},
        {"{" HELD ",\"seq\":1,\"visible\":1,\"cursor\":1}", E_INVALID,
         "visible: must be true or false", 0},
        {"{" HELD ",\"seq\":1,\"cursr\":1}", E_INVALID, "did you mean 'cursor'?", 0},
        {"{\"id\":\"" ID "\",\"lease\":5,\"seq\":1,\"cursor\":1}", E_INVALID,
         "lease: must be text, not 5", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct emit x;
        struct err err = ERR_INIT;

        (void)!parse_emit(slice_of(bad[i].text), &user, &arena, &x, &err);
        if (err.code != bad[i].code || strstr(err.msg, bad[i].says) == NULL ||
            err.item != bad[i].item)
            fail_msg("%s: %s (item %u): %s", bad[i].text, err_name(err.code), err.item, err.msg);
    }
}

static void an_own_command_is_for_the_administrator(void **state)
{
    (void)state;
    struct emit x;
    struct err err = ERR_INIT;

    assert_int_equal(
        parse_emit(SLICE("{" HELD ",\"seq\":1,\"jobs\":[{\"queue\":\"a\",\"command\":\"id\"}]}"),
                   &admin, &arena, &x, &err),
        E_OK);
    assert_slice_is(x.jobs[0].options, "{\"command\":\"id\"}");
}

static struct buf jobs_text(const char *before, size_t n, const char *after)
{
    struct buf b = BUF_INIT(8 << 20);

    buf_add_str(&b, before);
    for (size_t i = 0; i < n; i++)
        buf_add_str(&b, i == 0 ? "{\"queue\":\"a\"}" : ",{\"queue\":\"a\"}");
    buf_add_str(&b, after);
    return b;
}

static void jobs_and_cursors_have_a_ceiling(void **state)
{
    (void)state;
    struct emit x;
    struct err err = ERR_INIT;
    CLEANUP(buf) struct buf fits = jobs_text("{" HELD ",\"seq\":1,\"jobs\":[", OP_EMIT_MAX, "]}");
    CLEANUP(buf)
    struct buf many = jobs_text("{" HELD ",\"seq\":1,\"jobs\":[", OP_EMIT_MAX + 1, "]}");
    CLEANUP(buf) struct buf cursor = BUF_INIT(1 << 20);

    assert_int_equal(parse_emit(buf_slice(&fits), &user, &arena, &x, &err), E_OK);
    assert_int_equal(x.n_jobs, OP_EMIT_MAX);
    assert_int_equal(parse_emit(buf_slice(&many), &user, &arena, &x, &err), E_TOO_LARGE);
    buf_add_str(&cursor, "{" HELD ",\"seq\":1,\"cursor\":\"");
    for (int i = 0; i < CURSOR_BYTES_MAX - 2; i++)
        buf_add_char(&cursor, 'c');
    buf_add_str(&cursor, "\"}");
    assert_int_equal(parse_emit(buf_slice(&cursor), &user, &arena, &x, &err), E_OK);
    cursor.size -= 2;
    buf_add_str(&cursor, "c\"}");
    assert_int_equal(parse_emit(buf_slice(&cursor), &user, &arena, &x, &err), E_TOO_LARGE);
    assert_non_null(strstr(err.msg, "cursor: must have at most 65536 bytes, not 65537"));
}

static void what_finishes_emit_is_counted_and_bounded(void **state)
{
    (void)state;
    struct exchange x;
    struct err err = ERR_INIT;
    CLEANUP(buf) struct buf text = BUF_INIT(8 << 20);

    buf_add_str(&text, "{\"finish\":[");
    for (int i = 0; i < 10; i++) {
        CLEANUP(buf)
        struct buf one = jobs_text("{" HELD ",\"state\":\"done\",\"emit\":[", OP_EMIT_MAX, "]}");

        buf_add_str(&text, i == 0 ? "" : ",");
        buf_add_slice(&text, buf_slice(&one));
    }
    buf_add_str(&text, "]}");
    assert_int_equal(parse_exchange(buf_slice(&text), EXCHANGE_FINISH, &user, &arena, &x, &err),
                     E_OK);
    assert_int_equal(x.n_emit, OP_ITEMS_MAX);
    assert_int_equal(x.finish[9].n_emit, OP_EMIT_MAX);
    text.size -= 2;
    buf_add_str(&text, ",{" HELD ",\"state\":\"done\",\"emit\":[{\"queue\":\"a\"}]}]}");
    assert_int_equal(parse_exchange(buf_slice(&text), EXCHANGE_FINISH, &user, &arena, &x, &err),
                     E_TOO_LARGE);
    assert_non_null(strstr(err.msg, "10001 jobs are emitted"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emit_arrives_whole),
        cmocka_unit_test(an_emit_needs_jobs_or_a_cursor),
        cmocka_unit_test(a_bad_emit_is_refused),
        cmocka_unit_test(an_own_command_is_for_the_administrator),
        cmocka_unit_test(jobs_and_cursors_have_a_ceiling),
        cmocka_unit_test(what_finishes_emit_is_counted_and_bounded),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
