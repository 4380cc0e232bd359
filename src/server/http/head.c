/* SPDX-License-Identifier: MIT */
#include "server/http/head.h"

#include "base/compiler.h"
#include "server/limits.h"

enum {
    STATUS_URI_TOO_LONG = 414,
    STATUS_HEADER_TOO_LARGE = 431,
    STATUS_VERSION = 505,
};

/* ---- characters ---- */

enum {
    C_TOKEN = 1, /* of a method or a field's name */
    C_TEXT = 2,  /* of a field's value: visible, space, tab, or beyond ASCII */
    C_TARGET =
        4 /* of a target: visible, or beyond ASCII, which is judged as UTF-8 when it is decoded */
};

#define VISIBLE (C_TEXT | C_TARGET)
#define NAME (C_TEXT | C_TARGET | C_TOKEN)

static const unsigned char classes[256] = {
    ['\t'] = C_TEXT,       [' '] = C_TEXT,          ['!'] = NAME,         ['"'] = VISIBLE,
    ['#' ... '\''] = NAME, ['(' ... ')'] = VISIBLE, ['*' ... '+'] = NAME, [','] = VISIBLE,
    ['-' ... '.'] = NAME,  ['/'] = VISIBLE,         ['0' ... '9'] = NAME, [':' ... '@'] = VISIBLE,
    ['A' ... 'Z'] = NAME,  ['[' ... ']'] = VISIBLE, ['^' ... 'z'] = NAME, ['{'] = VISIBLE,
    ['|'] = NAME,          ['}'] = VISIBLE,         ['~'] = NAME,         [0x80 ... 0xFF] = VISIBLE,
};

/* How many of the first bytes belong to the class. */
static size_t span(struct slice text, unsigned class)
{
    size_t n = 0;

    while (n < text.size && (classes[(unsigned char)text.data[n]] & class) != 0)
        n++;
    return n;
}

static struct slice rest(struct slice text, size_t from)
{
    return slice_make(text.data + from, text.size - from);
}

/* ---- where it ends ---- */

static enum http_head_state too_large(const struct http_head_scan *scan, int *ret_status,
                                      struct err *err)
{
    *ret_status = scan->in_fields ? STATUS_HEADER_TOO_LARGE : STATUS_URI_TOO_LONG;
    (void)err_set(err, E_TOO_LARGE, "the header is too large: at most %zu bytes", HEADER_MAX);
    return HTTP_HEAD_BAD;
}

static enum http_head_state bad_byte(unsigned char c, struct err *err)
{
    if (c == '\r' || c == '\n')
        (void)err_set(err, E_BAD_REQUEST, "the header has a line that does not end in CR LF");
    else
        (void)err_set(err, E_BAD_REQUEST, "the header has a control character (0x%02X)", c);
    return HTTP_HEAD_BAD;
}

/* A line has ended.  True when it was the empty one behind the fields. */
static bool end_line(struct http_head_scan *scan, size_t end)
{
    bool empty = end == scan->line_at;

    scan->at = scan->line_at = end + 2;
    if (empty && !scan->in_fields)
        scan->begin = scan->at;
    if (empty)
        return scan->in_fields;
    scan->in_fields = true;
    return false;
}

enum http_head_state http_head_scan(struct http_head_scan *scan, struct slice input,
                                    int *ret_status, struct err *err)
{
    struct slice seen = slice_make(input.data, input.size < HEADER_MAX ? input.size : HEADER_MAX);

    for (;;) {
        scan->at += span(rest(seen, scan->at), C_TEXT);
        if (scan->at == seen.size)
            break;
        unsigned char c = (unsigned char)seen.data[scan->at];

        if (c != '\r')
            return bad_byte(c, err);
        if (scan->at + 1 == seen.size)
            break;
        if (seen.data[scan->at + 1] != '\n')
            return bad_byte(c, err);
        if (end_line(scan, scan->at))
            return HTTP_HEAD_WHOLE;
    }
    return seen.size < HEADER_MAX ? HTTP_HEAD_MORE : too_large(scan, ret_status, err);
}

/* ---- the request line ---- */

static enum err_code parse_version(struct slice text, struct http_head *head, int *ret_status,
                                   struct err *err)
{
    if (slice_is(text, "HTTP/1.1") || slice_is(text, "HTTP/1.0")) {
        head->is_1_0 = text.data[7] == '0';
        return E_OK;
    }
    if (text.size == 8 && memcmp(text.data, "HTTP/", 5) == 0)
        *ret_status = STATUS_VERSION;
    return err_set(err, E_BAD_REQUEST, "the request line must end in HTTP/1.1 or HTTP/1.0");
}

/* METHOD SP TARGET SP VERSION, with one space each. */
static enum err_code parse_request_line(struct slice line, struct http_head *head, int *ret_status,
                                        struct err *err)
{
    size_t method = span(line, C_TOKEN);
    size_t target_at = method + 1;

    if (method == 0 || method == line.size || line.data[method] != ' ')
        return err_set(err, E_BAD_REQUEST, "the request line must begin with a method");
    size_t target = span(rest(line, target_at), C_TARGET);

    if (target == 0 || target_at + target == line.size || line.data[target_at + target] != ' ')
        return err_set(err, E_BAD_REQUEST, "the request line must be METHOD PATH HTTP/1.1");
    head->method = slice_make(line.data, method);
    head->target = slice_make(line.data + target_at, target);
    if (head->target.data[0] != '/')
        return err_set(err, E_BAD_REQUEST, "the request line must name a path, such as /v1/jobs");
    return parse_version(rest(line, target_at + target + 1), head, ret_status, err);
}

/* ---- header fields ---- */

static enum err_code parse_field(struct slice line, struct headers *headers, struct err *err)
{
    size_t name = span(line, C_TOKEN);

    if (name == 0 && (line.data[0] == ' ' || line.data[0] == '\t'))
        return err_set(err, E_BAD_REQUEST, "the header has a folded line");
    if (name == 0 || name == line.size || line.data[name] != ':')
        return err_set(err, E_BAD_REQUEST, "the header has a line that is not NAME: VALUE");
    struct slice text = rest(line, name + 1);
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = rest(text, 1);
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return headers_add(headers, slice_make(line.data, name), text, err);
}

static struct slice next_line(struct slice text)
{
    const char *end = memchr(text.data, '\r', text.size);

    ASSERT(end != NULL);
    return slice_make(text.data, (size_t)(end - text.data));
}

static enum err_code parse_fields(struct slice text, struct http_head *head, int *ret_status,
                                  struct err *err)
{
    unsigned count = 0;

    for (;;) {
        struct slice line = next_line(text);

        if (line.size == 0)
            return headers_finish(&head->headers, err);
        if (++count > HEADER_FIELDS_MAX) {
            *ret_status = STATUS_HEADER_TOO_LARGE;
            return err_set(err, E_TOO_LARGE, "the header has more than %d fields",
                           HEADER_FIELDS_MAX);
        }
        if (parse_field(line, &head->headers, err) != E_OK)
            return err->code;
        text = rest(text, line.size + 2);
    }
}

enum err_code http_head_parse(struct slice text, struct http_head *ret_head, int *ret_status,
                              struct err *err)
{
    struct http_head head = {.is_1_0 = false};
    struct slice line = next_line(text);

    if (parse_request_line(line, &head, ret_status, err) != E_OK ||
        parse_fields(rest(text, line.size + 2), &head, ret_status, err) != E_OK)
        return err->code;
    if (head.is_1_0 && head.headers.chunked)
        return err_set(err, E_BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding");
    if (!head.is_1_0 && head.headers.auth.host.data == NULL)
        return err_set(err, E_BAD_REQUEST, "the header has no Host");
    *ret_head = head;
    return E_OK;
}

bool http_head_keeps_alive(const struct http_head *head)
{
    if (head->headers.close)
        return false;
    return !head->is_1_0 || head->headers.keep_alive;
}
