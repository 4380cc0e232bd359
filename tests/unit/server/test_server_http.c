/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/buf.h"
#include "server/http/framing.h"
#include "server/http/head.h"
#include "server/http/pace.h"
#include "server/http/target.h"
#include "server/limits.h"
#include "testing.h"

/* ---- heads ---- */

/* What becomes of a text: the state of the scan, then the code of the parser. */
struct outcome {
    enum http_head_state state;
    enum err_code code;
    int status;
    struct http_head head;
    size_t size;
};

static struct outcome read_head(struct slice text, size_t first_part)
{
    struct outcome o = {.state = HTTP_HEAD_MORE};
    struct http_head_scan scan = {.at = 0};
    struct err err = ERR_INIT;

    for (size_t n = first_part; o.state == HTTP_HEAD_MORE && n <= text.size; n++)
        o.state = http_head_scan(&scan, slice_make(text.data, n), &o.status, &err);
    if (o.state == HTTP_HEAD_WHOLE)
        o.code = http_head_parse(slice_make(text.data + scan.begin, scan.at - scan.begin), &o.head,
                                 &o.status, &err);
    else
        o.code = err.code;
    o.size = scan.at;
    return o;
}

#define HOST "Host: localhost\r\n"

static const struct {
    const char *what;
    struct slice text;
    int status; /* 0: it is taken; -1: more has to come */
} heads[] = {
    {"a plain one", SLICE("GET /v1/jobs HTTP/1.1\r\n" HOST "\r\n"), 0},
    {"HTTP/1.0 without Host", SLICE("GET / HTTP/1.0\r\n\r\n"), 0},
    {"empty lines before it", SLICE("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"), 0},
    {"space around a value", SLICE("GET / HTTP/1.1\r\nHost: \t localhost \t\r\n\r\n"), 0},
    {"an empty value", SLICE("GET / HTTP/1.1\r\n" HOST "X:\r\n\r\n"), 0},
    {"bytes beyond ASCII", SLICE("GET /\xC3\xA4 HTTP/1.1\r\n" HOST "X: \xC3\xA4\r\n\r\n"), 0},
    {"a length", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"), 0},
    {"chunks", SLICE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"), 0},
    {"half of it", SLICE("GET / HTTP/1.1\r\nHost: loc"), -1},
    {"all but its last byte", SLICE("GET / HTTP/1.1\r\n" HOST "\r"), -1},
    {"no Host", SLICE("GET / HTTP/1.1\r\n\r\n"), 400},
    {"another version", SLICE("GET / HTTP/2.0\r\n" HOST "\r\n"), 505},
    {"no version", SLICE("GET /\r\n" HOST "\r\n"), 400},
    {"lower case version", SLICE("GET / http/1.1\r\n" HOST "\r\n"), 400},
    {"two spaces", SLICE("GET  / HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"a space behind the version", SLICE("GET / HTTP/1.1 \r\n" HOST "\r\n"), 400},
    {"a tab between", SLICE("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"no method", SLICE(" / HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"a method with a colon", SLICE("GE:T / HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"a whole URL", SLICE("GET http://x/ HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"a star", SLICE("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"a bare LF", SLICE("GET / HTTP/1.1\n" HOST "\r\n"), 400},
    {"a bare LF behind a field", SLICE("GET / HTTP/1.1\r\nHost: x\n\r\n"), 400},
    {"a bare CR in a value", SLICE("GET / HTTP/1.1\r\n" HOST "X: a\rb\r\n\r\n"), 400},
    {"a NUL in a value", SLICE("GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n"), 400},
    {"a NUL in the path", SLICE("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), 400},
    {"an escape character", SLICE("GET / HTTP/1.1\r\n" HOST "X: \x1B[1m\r\n\r\n"), 400},
    {"DEL", SLICE("GET / HTTP/1.1\r\n" HOST "X: \x7F\r\n\r\n"), 400},
    {"a folded line", SLICE("GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n"), 400},
    {"a folded length", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n 5\r\n\r\n"), 400},
    {"a folded encoding",
     SLICE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\tchunked\r\n\r\n"), 400},
    {"a fold at once", SLICE("GET / HTTP/1.1\r\n Host: localhost\r\n\r\n"), 400},
    {"a space before the colon", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length : 5\r\n\r\n"),
     400},
    {"a tab before the colon",
     SLICE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding\t: chunked\r\n\r\n"), 400},
    {"no colon", SLICE("GET / HTTP/1.1\r\n" HOST "X\r\n\r\n"), 400},
    {"no name", SLICE("GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n"), 400},
    {"two hosts", SLICE("GET / HTTP/1.1\r\n" HOST "host: x\r\n\r\n"), 400},
    {"two origins", SLICE("GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n"), 400},
    {"two tokens", SLICE("GET / HTTP/1.1\r\n" HOST "Authorization: a\r\nAUTHORIZATION: b\r\n\r\n"),
     400},
    {"two lengths",
     SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400},
    {"length and chunks",
     SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
     400},
    {"an empty length", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"), 400},
    {"a length with a sign", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n"), 400},
    {"a length in hex", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n"), 400},
    {"a list of lengths", SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n"), 400},
    {"a length beyond all bounds",
     SLICE("POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n"), 400},
    {"chunks in disguise", SLICE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"),
     400},
    {"two encodings", SLICE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
     400},
    {"chunks in HTTP/1.0", SLICE("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
};

static int status_of(const struct outcome *o)
{
    if (o->state == HTTP_HEAD_MORE)
        return -1;
    return o->status != 0 || o->code == E_OK ? o->status : err_http_status(o->code);
}

static void a_head_is_taken_or_refused_wherever_it_was_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        for (size_t first = 0; first <= heads[i].text.size; first++) {
            struct outcome o = read_head(heads[i].text, first);

            if (status_of(&o) != heads[i].status)
                fail_msg("%s, split at %zu: %d", heads[i].what, first, status_of(&o));
        }
}

static void the_parts_of_a_head_are_found(void **state)
{
    (void)state;
    struct slice text = SLICE(
        "\r\nPOST /v1/jobs?a=1 HTTP/1.1\r\nhOST: x:1\r\nContent-Length: 17\r\n"
        "Connection: Upgrade , CLOSE\r\nOrigin:http://x\r\n\r\nbody");
    struct outcome o = read_head(text, text.size);

    assert_int_equal(o.code, E_OK);
    assert_int_equal(o.size, text.size - 4);
    assert_slice_is(o.head.method, "POST");
    assert_slice_is(o.head.target, "/v1/jobs?a=1");
    assert_slice_is(o.head.headers.auth.host, "x:1");
    assert_slice_is(o.head.headers.auth.origin, "http://x");
    assert_int_equal(o.head.headers.length, 17);
    assert_false(http_head_keeps_alive(&o.head));
}

static void a_connection_is_kept_by_the_rules_of_its_version(void **state)
{
    (void)state;
    static const struct {
        struct slice text;
        bool kept;
    } cases[] = {
        {SLICE("GET / HTTP/1.1\r\n" HOST "\r\n"), true},
        {SLICE("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"), false},
        {SLICE("GET / HTTP/1.0\r\n\r\n"), false},
        {SLICE("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), true},
        {SLICE("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"), false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct outcome o = read_head(cases[i].text, 0);

        assert_int_equal(o.code, E_OK);
        assert_int_equal(http_head_keeps_alive(&o.head), cases[i].kept);
    }
}

/* A head of a request line, `fields` fields and a filler of `filler` bytes. */
static struct outcome read_large(size_t target, unsigned fields, size_t filler)
{
    CLEANUP(buf) struct buf text = BUF_INIT((size_t)1 << 20);

    buf_add_str(&text, "GET /");
    for (size_t i = 0; i < target; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, " HTTP/1.1\r\n" HOST);
    for (unsigned i = 1; i < fields; i++)
        buf_add_str(&text, "A: b\r\n");
    buf_add_str(&text, "Filler: ");
    for (size_t i = 0; i < filler; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "\r\n\r\n");
    return read_head(buf_slice(&text), 0);
}

static void a_head_has_bounds(void **state)
{
    (void)state;
    struct outcome o = read_large(10, 10, HEADER_MAX - 200);

    assert_int_equal(status_of(&o), 0);
    o = read_large(10, 10, HEADER_MAX);
    assert_int_equal(status_of(&o), 431);
    o = read_large(HEADER_MAX, 1, 1);
    assert_int_equal(status_of(&o), 414);
    o = read_large(1, HEADER_FIELDS_MAX - 1, 1);
    assert_int_equal(status_of(&o), 0);
    o = read_large(1, HEADER_FIELDS_MAX, 1);
    assert_int_equal(status_of(&o), 431);
}

/* ---- chunks ---- */

/* The body of `text`, or "!" for a refusal, "?" when it is not complete; then what is left. */
static void read_chunks(struct slice text, size_t split, struct buf *ret_body)
{
    static const struct headers chunked = {.chunked = true};
    enum http_framing_step step = FRAMING_MORE;
    struct http_framing f;
    struct slice piece;
    size_t at = 0;

    http_framing_begin(&f, &chunked);
    buf_clear(ret_body);
    for (size_t end = split; step != FRAMING_DONE && step != FRAMING_BAD;) {
        size_t used = 0;

        step = http_framing_step(&f, slice_make(text.data + at, end - at), &used, &piece);
        at += used;
        if (step == FRAMING_PIECE)
            buf_add_slice(ret_body, piece);
        else if (step == FRAMING_MORE && end == text.size)
            break;
        else if (step == FRAMING_MORE)
            end = text.size;
    }
    if (step == FRAMING_BAD)
        buf_clear(ret_body);
    if (step != FRAMING_DONE)
        buf_add_char(ret_body, step == FRAMING_BAD ? '!' : '?');
    else
        buf_addf(ret_body, "|%.*s", (int)(text.size - at), text.data + at);
}

static const struct {
    struct slice text;
    const char *body;
} chunks[] = {
    {SLICE("0\r\n\r\n"), "|"},
    {SLICE("3\r\nabc\r\n0\r\n\r\nGET"), "abc|GET"},
    {SLICE("A\r\n0123456789\r\n1\r\nx\r\n00\r\n\r\n"), "0123456789x|"},
    {SLICE("3;name=value\r\nabc\r\n0;last\r\n\r\n"), "abc|"},
    {SLICE("3\r\nab"), "ab?"},
    {SLICE("3\r\nabc\r\n0\r\n"), "abc?"},
    {SLICE("\r\n"), "!"},
    {SLICE(";x\r\n"), "!"},
    {SLICE("g\r\n"), "!"},
    {SLICE("-1\r\n"), "!"},
    {SLICE("0x3\r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("3 \r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE(" 3\r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("3\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("3\rabc\r\n0\r\n\r\n"), "!"},
    {SLICE("3\r\nabcd\r\n0\r\n\r\n"), "!"},
    {SLICE("3\r\nabc\n0\r\n\r\n"), "!"},
    {SLICE("3;a\nb\r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("3;a\0b\r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("000000003\r\nabc\r\n0\r\n\r\n"), "!"},
    {SLICE("100000000\r\n"), "!"},
    {SLICE("0\r\nX-Trailer: x\r\n\r\n"), "!"},
    {SLICE("0\r\n\n"), "!"},
};

static void chunks_are_taken_or_refused_wherever_they_were_split(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf body = BUF_INIT(1000);

    for (size_t i = 0; i < ARRAY_LEN(chunks); i++)
        for (size_t split = 0; split <= chunks[i].text.size; split++) {
            read_chunks(chunks[i].text, split, &body);
            if (strcmp(buf_text(&body), chunks[i].body) != 0)
                fail_msg("chunks %zu, split at %zu: '%s'", i, split, buf_text(&body));
        }
}

static void extensions_have_a_bound_for_the_whole_body(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT((size_t)1 << 20);
    CLEANUP(buf) struct buf body = BUF_INIT(10000);

    for (size_t i = 0; i < CHUNK_EXTRA_MAX; i++)
        buf_add_str(&text, "1;x\r\na\r\n");
    read_chunks(buf_slice(&text), 0, &body);
    assert_int_equal(body.data[body.size - 1], '?');
    buf_add_str(&text, "1;x\r\na\r\n");
    read_chunks(buf_slice(&text), 0, &body);
    assert_string_equal(buf_text(&body), "!");
}

static void a_counted_body_ends_with_its_count(void **state)
{
    (void)state;
    static const struct headers counted = {.length = 5};
    struct http_framing f;
    struct slice piece;
    size_t used = 0;

    http_framing_begin(&f, &counted);
    assert_int_equal(http_framing_step(&f, SLICE("ab"), &used, &piece), FRAMING_PIECE);
    assert_int_equal(http_framing_step(&f, SLICE(""), &used, &piece), FRAMING_MORE);
    assert_int_equal(http_framing_step(&f, SLICE("cdefg"), &used, &piece), FRAMING_PIECE);
    assert_int_equal(used, 3);
    assert_slice_is(piece, "cde");
    assert_int_equal(http_framing_step(&f, SLICE("fg"), &used, &piece), FRAMING_DONE);
    assert_int_equal(used, 0);
}

/* ---- targets ---- */

static void a_target_is_taken_apart(void **state)
{
    (void)state;
    char text[] = "/v1/a%2Fb+c?x=1%262&flag&&y=a+b%2B&=z";
    struct err err = ERR_INIT;
    struct target t;

    assert_int_equal(target_parse(text, strlen(text), &t, &err), E_OK);
    assert_slice_is(t.path, "/v1/a/b+c");
    assert_int_equal(t.n_params, 4);
    assert_slice_is(target_find(&t, SLICE("x"))->value, "1&2");
    assert_slice_is(target_find(&t, SLICE("y"))->value, "a b+");
    assert_slice_is(target_find(&t, SLICE("flag"))->value, "");
    assert_non_null(target_find(&t, SLICE("flag"))->value.data);
    assert_slice_is(target_find(&t, SLICE(""))->value, "z");
    assert_null(target_find(&t, SLICE("z")));
    target_deinit(&t);
}

static void what_is_no_escape_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"/%",    "/%4",     "/%zz",   "/%00",   "/a?%",
                                        "/?a=%", "/?a=%0g", "/?a=%0", "/?%00=a"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = ERR_INIT;
        struct target t;
        char text[32];

        snprintf(text, sizeof(text), "%s", texts[i]);
        assert_int_equal(target_parse(text, strlen(text), &t, &err), E_BAD_REQUEST);
    }
}

/* ---- pace ---- */

static void one_byte_at_a_time_does_not_keep_a_connection(void **state)
{
    (void)state;
    struct pace pace;
    int64_t deadline_at = 5 + STALL_US;
    int64_t now_at = 5;

    pace_begin(&pace, STALL_US, now_at);
    for (int i = 0; i < 100 && now_at < deadline_at; i++) {
        now_at += US_PER_S;
        deadline_at = pace_move(&pace, 1, now_at);
    }
    assert_int_equal(now_at, 5 + STALL_US);
}

static void a_steady_client_has_the_time_it_needs(void **state)
{
    (void)state;
    struct pace pace;

    pace_begin(&pace, STALL_US, 0);
    for (int64_t now_at = 0; now_at < US_PER_HOUR; now_at += 10 * US_PER_S)
        assert_true(pace_move(&pace, 10 * RATE_MIN, now_at) == now_at + STALL_US);
    assert_true(pace_move(&pace, 0, US_PER_HOUR + STALL_US / 2) < US_PER_HOUR + 3 * STALL_US / 2);
}

static void a_look_that_finds_nothing_moved_gives_no_time(void **state)
{
    (void)state;
    struct pace pace;

    pace_begin(&pace, 10 * US_PER_S, 7);
    for (int64_t now_at = 7; now_at < 10 * US_PER_S; now_at += US_PER_S)
        assert_int_equal(pace_move(&pace, 0, now_at), 7 + 10 * US_PER_S);
    assert_int_equal(pace_move(&pace, 5 * RATE_MIN, 7 + 9 * US_PER_S), 7 + 15 * US_PER_S);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_taken_or_refused_wherever_it_was_split),
        cmocka_unit_test(the_parts_of_a_head_are_found),
        cmocka_unit_test(a_connection_is_kept_by_the_rules_of_its_version),
        cmocka_unit_test(a_head_has_bounds),
        cmocka_unit_test(chunks_are_taken_or_refused_wherever_they_were_split),
        cmocka_unit_test(extensions_have_a_bound_for_the_whole_body),
        cmocka_unit_test(a_counted_body_ends_with_its_count),
        cmocka_unit_test(a_target_is_taken_apart),
        cmocka_unit_test(what_is_no_escape_is_refused),
        cmocka_unit_test(one_byte_at_a_time_does_not_keep_a_connection),
        cmocka_unit_test(a_steady_client_has_the_time_it_needs),
        cmocka_unit_test(a_look_that_finds_nothing_moved_gives_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
