/*
 * The generator counts what servers answer: what it misreads, it measures wrong.
 */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "beanstalk.h"
#include "load/http.h"
#ifdef HAVE_RABBITMQ
#include "rabbit.h"
#endif

/* A connection to nowhere: protocols write to it and are fed by hand. */
struct fixture {
    struct load_plan plan;
    struct load_conn conn;
    const struct load_protocol *protocol;
    struct load_events events;
    struct err err;
};

static void fixture_open(struct fixture *f, const struct load_protocol *protocol, unsigned batch)
{
    *f = (struct fixture){.plan = {.queue = "bench", .batch = batch}, .protocol = protocol};
    f->conn = (struct load_conn){.fd = -1,
                                 .plan = &f->plan,
                                 .in = BUF_INIT(LOAD_BUFFER_MAX),
                                 .out = BUF_INIT(LOAD_BUFFER_MAX)};
    assert_int_equal(protocol->open(&f->conn, &f->err), E_OK);
    buf_clear(&f->conn.out);
}

static void fixture_close(struct fixture *f)
{
    f->protocol->close(&f->conn);
    buf_deinit(&f->conn.in);
    buf_deinit(&f->conn.out);
}

/* Feeds the text, adds up what it meant, and returns how much of it was used. */
static size_t feed(struct fixture *f, const char *text, size_t size, enum err_code want)
{
    size_t used = 0;

    assert_int_equal(
        f->protocol->input(&f->conn, slice_make(text, size), &used, &f->events, &f->err), want);
    return used;
}

static void http_answer(struct buf *to, const char *status, const char *body)
{
    buf_addf(to, "HTTP/1.1 %s\r\nDate: now\r\ncontent-length: %zu\r\n\r\n%s", status, strlen(body),
             body);
}

static void a_percentile_is_at_most_two_percent_off(void **state)
{
    CLEANUP(mem) struct load_histogram *h = mem_zalloc(sizeof(*h));

    (void)state;
    for (int64_t us = 1; us <= 100000; us++)
        load_histogram_add(h, us);
    for (int percent = 1; percent <= 100; percent++) {
        int64_t got = load_histogram_at(h, percent / 100.0);

        assert_in_range(got, percent * 1000, percent * 1020 + 1);
    }
    assert_int_equal(h->max_us, 100000);
}

static void nothing_timed_has_no_percentile(void **state)
{
    CLEANUP(mem) struct load_histogram *h = mem_zalloc(sizeof(*h));

    (void)state;
    assert_int_equal(load_histogram_at(h, 0.5), 0);
}

static void load_goes_to_this_machine_only(void **state)
{
    static const char *const good[] = {"127.0.0.1:80", "localhost:6769", "[::1]:1", "unix:/a/b",
                                       "127.9.9.9:65535/"};
    static const char *const bad[] = {"10.0.0.1:80",   "example.org:80",  "127.0.0.1",
                                      "127.0.0.1:0",   "127.0.0.1:65536", "[2001:db8::1]:80",
                                      "127.0.0.1:80x", "0.0.0.0:80"};
    struct load_address a;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(load_address_parse(good[i], &a, &err), E_OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(load_address_parse(bad[i], &a, &err), E_INVALID);
}

static void connections_go_to_the_servers_in_turn(void **state)
{
    struct load_plan plan = {.servers = 3};
    struct load_conn conn = {.plan = &plan};
    unsigned seen[3] = {0};

    (void)state;
    for (conn.index = 0; conn.index < 8; conn.index++)
        seen[load_address_of(&conn) - plan.addresses]++;
    assert_int_equal(seen[0], 3);
    assert_int_equal(seen[1], 3);
    assert_int_equal(seen[2], 2);
}

static void an_answer_counts_once_it_is_whole(void **state)
{
    CLEANUP(buf) struct buf text = BUF_INIT(4096);
    struct fixture f;

    (void)state;
    fixture_open(&f, &load_http, 1);
    f.protocol->submit(&f.conn, 1);
    http_answer(&text, "201 Created", "{\"id\":\"0123456789ABC\"}");
    for (size_t size = 0; size < text.size; size++)
        assert_int_equal(feed(&f, text.data, size, E_OK), 0);
    assert_int_equal(f.events.submitted, 0);
    assert_int_equal(feed(&f, text.data, text.size, E_OK), text.size);
    assert_int_equal(f.events.submitted, 1);
    fixture_close(&f);
}

static void what_a_claim_brought_is_finished_by_the_next(void **state)
{
    CLEANUP(buf) struct buf text = BUF_INIT(4096);
    struct fixture f;

    (void)state;
    fixture_open(&f, &load_http, 3);
    assert_int_equal(f.protocol->claim(&f.conn, 3, 0), 0);
    http_answer(&text, "200 OK",
                "{\"jobs\":[{\"id\":\"A\",\"lease\":\"a1\",\"group\":{\"id\":\"G\"}},"
                "{\"id\":\"B\",\"lease\":\"b1\"}],\"results\":[{\"id\":\"Z\",\"ok\":true}],"
                "\"lost\":[],\"cancel\":[]}");
    assert_int_equal(feed(&f, text.data, text.size, E_OK), text.size);
    assert_int_equal(f.events.claimed, 2);
    assert_int_equal(f.events.unclaimed, 1);
    buf_clear(&f.conn.out);
    assert_int_equal(f.protocol->claim(&f.conn, 3, 30), 2);
    assert_non_null(strstr(f.conn.out.data,
                           "{\"worker\":\"load-0\",\"queues\":{\"bench\":3},\"max\":3,"
                           "\"wait\":\"30s\",\"finish\":["
                           "{\"id\":\"A\",\"lease\":\"a1\",\"state\":\"done\"},"
                           "{\"id\":\"B\",\"lease\":\"b1\",\"state\":\"done\"}]}"));
    buf_clear(&text);
    http_answer(
        &text, "200 OK",
        "{\"jobs\":[],\"results\":[{\"id\":\"A\",\"ok\":true},{\"id\":\"B\",\"ok\":true}]}");
    (void)feed(&f, text.data, text.size, E_OK);
    assert_int_equal(f.events.finished, 2);
    assert_int_equal(f.protocol->finish(&f.conn), 0);
    fixture_close(&f);
}

static void the_length_of_a_request_is_that_of_its_body(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, &load_http, 100);
    for (unsigned jobs = 1; jobs <= 100; jobs += 33) {
        buf_clear(&f.conn.out);
        f.protocol->submit(&f.conn, jobs);
        const char *length = strstr(f.conn.out.data, "Content-Length: ");
        const char *body = strstr(f.conn.out.data, "\r\n\r\n") + 4;

        assert_non_null(length);
        assert_int_equal(strtoul(length + 16, NULL, 10), strlen(body));
    }
    fixture_close(&f);
}

static void a_refused_finish_fails_the_run(void **state)
{
    CLEANUP(buf) struct buf claimed = BUF_INIT(4096);
    CLEANUP(buf) struct buf refused = BUF_INIT(4096);
    struct fixture f;

    (void)state;
    fixture_open(&f, &load_http, 1);
    (void)f.protocol->claim(&f.conn, 1, 0);
    http_answer(&claimed, "200 OK", "{\"jobs\":[{\"id\":\"A\",\"lease\":\"a1\"}]}");
    (void)feed(&f, claimed.data, claimed.size, E_OK);
    assert_int_equal(f.protocol->finish(&f.conn), 1);
    http_answer(&refused, "200 OK",
                "{\"results\":[{\"id\":\"A\",\"error\":{\"code\":\"stale_lease\"}}]}");
    (void)feed(&f, refused.data, refused.size, E_CONFLICT);
    assert_non_null(strstr(f.err.msg, "stale_lease"));
    fixture_close(&f);
}

static void an_error_status_fails_the_run_with_what_the_server_said(void **state)
{
    CLEANUP(buf) struct buf text = BUF_INIT(4096);
    struct fixture f;

    (void)state;
    fixture_open(&f, &load_http, 1);
    f.protocol->submit(&f.conn, 1);
    http_answer(&text, "507 Insufficient Storage", "{\"error\":{\"code\":\"full\"}}");
    (void)feed(&f, text.data, text.size, E_BAD_REQUEST);
    assert_non_null(strstr(f.err.msg, "507"));
    assert_non_null(strstr(f.err.msg, "\"full\""));
    fixture_close(&f);
}

static void beanstalkd_answers_many_at_once(void **state)
{
    static const char text[] = "USING bench\r\nWATCHING 2\r\nWATCHING 1\r\nINSERTED 1\r\nINSERTED 2"
                               "\r\nRESERVED 1 4\r\na\r\nb\r\nDELETED\r\nRESERVED 2 3\r\nab";
    struct fixture f;

    (void)state;
    fixture_open(&f, &beanstalk, 2);
    assert_int_equal(feed(&f, text, sizeof(text) - 1, E_OK), sizeof(text) - 17);
    assert_int_equal(f.events.submitted, 2);
    assert_int_equal(f.events.claimed, 1);
    assert_int_equal(f.events.finished, 1);
    assert_int_equal(f.protocol->claim(&f.conn, 2, 0), 1);
    assert_string_equal(f.conn.out.data, "delete 1\r\nreserve\r\nreserve\r\n");
    fixture_close(&f);
}

static void an_answer_beanstalkd_should_not_give_fails_the_run(void **state)
{
    static const char text[] = "OUT_OF_MEMORY\r\n";
    struct fixture f;

    (void)state;
    fixture_open(&f, &beanstalk, 1);
    (void)feed(&f, text, sizeof(text) - 1, E_BAD_REQUEST);
    assert_non_null(strstr(f.err.msg, "OUT_OF_MEMORY"));
    fixture_close(&f);
}

#ifdef HAVE_RABBITMQ
static void confirms_out_of_order_count_once_each(void **state)
{
    CLEANUP(mem) struct rabbit_confirms *c = mem_zalloc(sizeof(*c));

    (void)state;
    assert_int_equal(rabbit_confirm(c, 2, false), 1);
    assert_int_equal(c->up_to, 0);
    assert_int_equal(rabbit_confirm(c, 4, false), 1);
    assert_int_equal(rabbit_confirm(c, 3, true), 2);
    assert_int_equal(c->up_to, 4);
    assert_int_equal(rabbit_confirm(c, 5, false), 1);
    assert_int_equal(rabbit_confirm(c, 9, true), 4);
    assert_int_equal(c->up_to, 9);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_percentile_is_at_most_two_percent_off),
        cmocka_unit_test(nothing_timed_has_no_percentile),
        cmocka_unit_test(load_goes_to_this_machine_only),
        cmocka_unit_test(connections_go_to_the_servers_in_turn),
        cmocka_unit_test(an_answer_counts_once_it_is_whole),
        cmocka_unit_test(what_a_claim_brought_is_finished_by_the_next),
        cmocka_unit_test(the_length_of_a_request_is_that_of_its_body),
        cmocka_unit_test(a_refused_finish_fails_the_run),
        cmocka_unit_test(an_error_status_fails_the_run_with_what_the_server_said),
        cmocka_unit_test(beanstalkd_answers_many_at_once),
        cmocka_unit_test(an_answer_beanstalkd_should_not_give_fails_the_run),
#ifdef HAVE_RABBITMQ
        cmocka_unit_test(confirms_out_of_order_count_once_each),
#endif
    };

    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
