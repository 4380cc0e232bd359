/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "base/text/base64.h"
#include "testing.h"
#include "worker/run/output.h"

/* A server's log, as far as it is sent there. */
struct server {
    struct buf log;
    int64_t full; /* it takes no more than that; 0: all */
};

static struct slice piece_bytes(struct slice piece, struct arena *arena)
{
    struct slice value;
    struct slice bytes;

    if (jtext_find(piece, "text", &value))
        return jtext_text(value, arena);
    assert_true(jtext_find(piece, "base64", &value));
    assert_true(base64_decode(jtext_text(value, arena), arena, &bytes));
    return bytes;
}

/* One request: true when there was something to send. */
static bool send_piece(struct output *o, struct server *s, size_t max)
{
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 24);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct slice piece;
    struct slice offset;
    int64_t end = output_add_piece(o, &b, max);

    if (end < 0) {
        assert_int_equal(output_pending(o), 0);
        assert_int_equal(b.size, 0);
        return false;
    }
    assert_int_equal(jtext_check(buf_slice(&b), &piece, &err), E_OK);
    assert_true(jtext_find(piece, "offset", &offset));
    struct slice bytes = piece_bytes(piece, &arena);

    assert_true(bytes.size > 0 && bytes.size <= max);
    assert_int_equal(jtext_int(offset) + (int64_t)bytes.size, end);
    output_ack(o, end);
    if (jtext_int(offset) != (int64_t)s->log.size || (s->full > 0 && end > s->full)) {
        output_ack(o, (int64_t)s->log.size); /* refused: it says where its log ends */
        return true;
    }
    buf_add_slice(&s->log, bytes);
    return true;
}

static void send_all(struct output *o, struct server *s, size_t max)
{
    for (int i = 0; send_piece(o, s, max); i++)
        assert_true(i < 100000);
}

#define SERVER_INIT ((struct server){.log = BUF_INIT((size_t)1 << 26)})

static struct output *fresh(int64_t cap)
{
    return output_new(&(struct output_config){.cap = cap});
}

static void what_is_printed_arrives_as_it_was(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(1 << 20);
    char all[256];

    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    output_add(o, SLICE("hello\n"), 1);
    send_all(o, &s, 4);
    output_add(o, slice_make(all, 256), 2);
    output_add(o, SLICE("\xC3\xA4\xE2\x82\xAC"), 3);
    output_end(o, 4);
    send_all(o, &s, 7);
    assert_int_equal(s.log.size, 6 + 256 + 5);
    assert_memory_equal(s.log.data, "hello\n", 6);
    assert_memory_equal(s.log.data + 6, all, 256);
    assert_memory_equal(s.log.data + 262, "\xC3\xA4\xE2\x82\xAC", 5);
    output_free(o);
    buf_deinit(&s.log);
}

static void pieces_do_not_cut_characters(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(10000);
    struct output *o = fresh(1 << 20);

    output_add(o, SLICE("ab\xE2\x82\xAC"), 1);
    assert_int_equal(output_add_piece(o, &b, 4), 2);
    assert_string_equal(buf_text(&b), "{\"offset\":0,\"text\":\"ab\",\"times\":[[0,1]]}");
    output_ack(o, 2);
    buf_clear(&b);
    assert_int_equal(output_add_piece(o, &b, 2), 4); /* too small for it: as bytes */
    assert_non_null(strstr(buf_text(&b), "\"base64\":\"4oI=\""));
    output_free(o);
}

static void the_last_piece_has_all_that_is_left(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(10000);
    struct output *o = fresh(1 << 20);

    output_add(o, SLICE("ab\xFF"), 1);
    output_end(o, 1);
    assert_int_equal(output_add_piece(o, &b, 100), 3); /* no more comes: a finish takes one piece */
    assert_non_null(strstr(buf_text(&b), "\"base64\":\"YWL/\""));
    output_free(o);
}

static void a_piece_comes_again_until_it_is_acknowledged(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf once = BUF_INIT(10000);
    CLEANUP(buf) struct buf again = BUF_INIT(10000);
    struct output *o = output_new(&(struct output_config){.cap = 1000, .base = 500});

    output_add(o, SLICE("one\n"), 1000000);
    assert_int_equal(output_add_piece(o, &once, 100), 504);
    assert_int_equal(output_add_piece(o, &again, 100), 504);
    assert_string_equal(buf_text(&once), buf_text(&again));
    assert_string_equal(buf_text(&once),
                        "{\"offset\":500,\"text\":\"one\\n\",\"times\":[[500,1000000]]}");
    output_ack(o, 502); /* a part of it */
    buf_clear(&again);
    assert_int_equal(output_add_piece(o, &again, 100), 504);
    assert_string_equal(buf_text(&again), "{\"offset\":502,\"text\":\"e\\n\"}");
    output_ack(o, 504);
    assert_int_equal(output_pending(o), 0);
    assert_int_equal(output_add_piece(o, &again, 100), -1);
    output_free(o);
}

static void of_too_much_the_head_and_the_tail_stay(void **state)
{
    (void)state;
    const int64_t caps[] = {2000, 5000, 100000};

    for (size_t k = 0; k < 3; k++) {
        struct server s = SERVER_INIT;
        struct output *o = fresh(caps[k]);
        char line[100];
        int64_t total = 0;

        for (int i = 0; i < 20000; i++) {
            int n = snprintf(line, sizeof(line), "line %d\n", i);

            output_add(o, slice_make(line, (size_t)n), i * 1000);
            total += n;
            if (i % 100 == 0)
                send_all(o, &s, 500);
        }
        output_end(o, 1);
        send_all(o, &s, 500);
        assert_in_range(s.log.size, caps[k] * 9 / 10, caps[k]);
        assert_memory_equal(s.log.data, "line 0\nline 1\n", 14);
        assert_string_equal(buf_text(&s.log) + s.log.size - 11, "line 19999\n");
        const char *notice = strstr(buf_text(&s.log), "waybill: ");
        long long left_out = 0;
        int last = 0;

        assert_non_null(notice);
        assert_int_equal(notice[-1], '\n');
        assert_int_equal(sscanf(notice, "waybill: %lld bytes are left out here\nline %d\n",
                                &left_out, &last),
                         2);
        const char *rest = strchr(notice, '\n') + 1;
        size_t head = (size_t)(notice - s.log.data);
        size_t tail = strlen(rest);

        assert_in_range(total - left_out, head + tail - 1, head + tail);
        assert_null(strstr(rest, "waybill: "));
        output_free(o);
        buf_deinit(&s.log);
    }
}

static void what_just_fits_has_no_notice(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(10000);

    for (int i = 0; i < 990; i++)
        output_add(o, SLICE("123456789\n"), i);
    output_end(o, 1);
    send_all(o, &s, 1000);
    assert_int_equal(s.log.size, 9900);
    assert_null(strstr(buf_text(&s.log), "waybill"));
    output_free(o);
    buf_deinit(&s.log);
}

static void small_caps_keep_the_head_alone(void **state)
{
    (void)state;
    for (int64_t cap = 0; cap < 1200; cap += 97) {
        struct server s = SERVER_INIT;
        struct output *o = fresh(cap);

        for (int i = 0; i < 1000; i++)
            output_add(o, SLICE("123456789\n"), i);
        output_notice(o, SLICE("unknown word 'x'"), 2);
        output_end(o, 3);
        output_notice(o, SLICE("later"), 4);
        send_all(o, &s, 100);
        assert_true((int64_t)s.log.size <= cap);
        assert_true(cap < 97 || s.log.size > 0);
        output_free(o);
        buf_deinit(&s.log);
    }
}

static void notices_stand_on_lines_of_their_own(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(100000);

    output_notice(o, SLICE("first\n"), 1);
    output_add(o, SLICE("abc"), 2);
    send_all(o, &s, 100); /* nothing is in memory any more */
    output_notice(o, SLICE("one\ntwo\n"), 3);
    output_notice(o, SLICE(""), 3);
    output_add(o, SLICE("d"), 4);
    output_end(o, 5);
    output_notice(o, SLICE("ended"), 6);
    send_all(o, &s, 100);
    assert_string_equal(buf_text(&s.log), "waybill: first\nabc\nwaybill: one\nwaybill: two\nd\n"
                                          "waybill: ended\n");
    output_free(o);
    buf_deinit(&s.log);
}

static void a_server_that_lost_some_gets_what_is_still_there(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(100000);

    output_add(o, SLICE("0123456789"), 1);
    send_all(o, &s, 5); /* the first five are forgotten here, the next five not yet */
    s.log.size = 2;
    output_add(o, SLICE("abc\n"), 2);
    output_end(o, 3);
    send_all(o, &s, 100);
    s.log.data[s.log.size] = '\0';
    assert_string_equal(buf_text(&s.log), "01\nwaybill: 8 bytes were lost here\nabc\n");
    output_free(o);
    buf_deinit(&s.log);
}

static void a_refused_piece_that_is_still_in_memory_goes_again(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(100000);

    output_add(o, SLICE("0123456789"), 1);
    send_all(o, &s, 100);
    s.log.size = 4; /* it crashed, and had not written the rest to disk */
    output_ack(o, 4);
    send_all(o, &s, 100);
    s.log.data[s.log.size] = '\0';
    assert_string_equal(buf_text(&s.log), "0123456789");
    output_free(o);
    buf_deinit(&s.log);
}

static void a_log_that_is_full_on_the_server_ends_the_sending(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = fresh(100000);

    s.full = 25;
    for (int i = 0; i < 100; i++) {
        output_add(o, SLICE("123456789\n"), i);
        send_all(o, &s, 10);
    }
    output_end(o, 1);
    send_all(o, &s, 10);
    assert_int_equal(s.log.size, 20);
    assert_int_equal(output_pending(o), 0);
    output_free(o);
    buf_deinit(&s.log);
}

static void others_that_have_written_are_not_written_over(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);
    struct output *o = fresh(100000);

    output_add(o, SLICE("abc"), 1);
    output_ack(o, 50);
    assert_int_equal(output_pending(o), 3);
    assert_int_equal(output_add_piece(o, &b, 100), 53);
    output_free(o);
}

static void times_are_few_and_tell_when_a_byte_came(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct output *o = fresh(100000);

    for (int i = 0; i < 30; i++)
        output_add(o, SLICE("ab"), 5000000 + i * 1000);
    assert_int_equal(output_add_piece(o, &b, 25), 25);
    assert_non_null(strstr(buf_text(&b), "\"times\":[[0,5000000],[20,5010000]]}"));
    output_ack(o, 25);
    output_add(o, SLICE("cd"), 5029500); /* soon after the last, but the first of an upload */
    buf_clear(&b);
    assert_int_equal(output_add_piece(o, &b, 1000), 62);
    assert_non_null(strstr(buf_text(&b), "\"times\":[[40,5020000],[60,5029500]]}"));
    output_free(o);
}

static void times_are_bounded_however_long_nobody_takes_them(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct output *o = fresh(1 << 20);
    size_t count = 0;

    for (int64_t i = 0; i < 20000; i++)
        output_add(o, SLICE("a"), i * OUTPUT_TIME_US);
    (void)output_add_piece(o, &b, 1 << 20);
    for (const char *at = buf_text(&b); (at = strchr(at, '[')) != NULL; at++)
        count++;
    assert_in_range(count, OUTPUT_TIMES_MAX / 2, OUTPUT_TIMES_MAX + 1);
    output_free(o);
}

static void times_of_the_tail_follow_it(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);
    struct output *o = fresh(1000); /* 450 of head, 450 of tail */
    int64_t end = 0;

    for (int64_t i = 0; i < 200; i++)
        output_add(o, SLICE("123456789\n"), i * US_PER_S + 7);
    output_end(o, 5);
    while (output_pending(o) > 0) {
        end = output_add_piece(o, &b, 1 << 20);
        output_ack(o, end);
    }
    char last[100];

    snprintf(last, sizeof(last), "[%d,%d]]}", (int)end - 10, 199 * 1000000 + 7);
    assert_non_null(strstr(buf_text(&b), last));
    output_free(o);
}

static void the_text_is_there_for_whoever_wants_it(void **state)
{
    (void)state;
    struct server s = SERVER_INIT;
    struct output *o = output_new(&(struct output_config){.cap = 1 << 20, .keep_text = true});

    output_add(o, SLICE("one\n"), 1);
    send_all(o, &s, 100);
    output_add(o, SLICE("two\n"), 2);
    output_stop(o);
    output_add(o, SLICE("three\n  \n"), 3);
    assert_int_equal(output_pending(o), 0);
    output_end(o, 4);
    assert_slice_is(output_text(o), "one\ntwo\nthree\n  \n");
    output_free(o);
    buf_deinit(&s.log);
}

static void memory_is_bounded_when_the_server_is_away(void **state)
{
    (void)state;
    static char block[1 << 16];
    struct output *o = fresh((int64_t)1 << 34);

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 1000; i++)
        output_add(o, slice_make(block, sizeof(block)), i);
    assert_int_equal(output_pending(o), OUTPUT_PENDING_MAX);
    output_end(o, 1);
    assert_in_range(output_pending(o), OUTPUT_PENDING_MAX + OUTPUT_TAIL_MAX,
                    OUTPUT_PENDING_MAX + OUTPUT_TAIL_MAX + 100);
    output_free(o);
}

static void any_run_of_it_gives_a_log_of_lines_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng;

        rng_init(&rng, seed);
        int64_t cap = (int64_t)rng_below(&rng, 20000);
        struct server s = SERVER_INIT;
        struct output *o = fresh(cap);
        CLEANUP(buf) struct buf all = BUF_INIT(1 << 20);

        for (int i = 0; i < 300; i++) {
            char text[200];
            size_t size = rng_below(&rng, sizeof(text));

            for (size_t k = 0; k < size; k++)
                text[k] = (char)(rng_below(&rng, 8) == 0 ? '\n' : 'a' + (i + (int)k) % 26);
            output_add(o, slice_make(text, size), i * 4000);
            buf_add(&all, text, size);
            if (rng_below(&rng, 4) == 0)
                (void)send_piece(o, &s, 1 + rng_below(&rng, 3000));
        }
        output_end(o, 1);
        send_all(o, &s, 1 + rng_below(&rng, 3000));
        const char *cut = strstr(buf_text(&s.log), "waybill: ");

        assert_true((int64_t)s.log.size <= cap);
        if (cut == NULL) { /* all of it, or the head alone */
            assert_true(s.log.size == all.size || cap < 1000);
            assert_memory_equal(buf_text(&s.log), buf_text(&all), s.log.size);
        } else {
            const char *rest = strchr(cut, '\n') + 1;
            size_t tail = (size_t)(s.log.data + s.log.size - rest);

            assert_memory_equal(s.log.data, all.data, (size_t)(cut - s.log.data) - 1);
            assert_memory_equal(rest, all.data + all.size - tail, tail);
        }
        output_free(o);
        buf_deinit(&s.log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_arrives_as_it_was),
        cmocka_unit_test(pieces_do_not_cut_characters),
        cmocka_unit_test(the_last_piece_has_all_that_is_left),
        cmocka_unit_test(a_piece_comes_again_until_it_is_acknowledged),
        cmocka_unit_test(of_too_much_the_head_and_the_tail_stay),
        cmocka_unit_test(what_just_fits_has_no_notice),
        cmocka_unit_test(small_caps_keep_the_head_alone),
        cmocka_unit_test(notices_stand_on_lines_of_their_own),
        cmocka_unit_test(a_server_that_lost_some_gets_what_is_still_there),
        cmocka_unit_test(a_refused_piece_that_is_still_in_memory_goes_again),
        cmocka_unit_test(a_log_that_is_full_on_the_server_ends_the_sending),
        cmocka_unit_test(others_that_have_written_are_not_written_over),
        cmocka_unit_test(times_are_few_and_tell_when_a_byte_came),
        cmocka_unit_test(times_are_bounded_however_long_nobody_takes_them),
        cmocka_unit_test(times_of_the_tail_follow_it),
        cmocka_unit_test(the_text_is_there_for_whoever_wants_it),
        cmocka_unit_test(memory_is_bounded_when_the_server_is_away),
        cmocka_unit_test(any_run_of_it_gives_a_log_of_lines_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
