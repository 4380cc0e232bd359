/* SPDX-License-Identifier: MIT */
#include "cli/view/output.h"

#include <unistd.h>

#include "base/os/file.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

#define ESC '\033'
#define OUT_MAX ((size_t)1 << 30) /* pieces are far smaller; four times as much may come out */
#define STREAM_SIZE ((size_t)64 << 10)

/* What the command line itself says to a terminal. */
static const struct {
    const char *code;
    bool status; /* SAFE_STATUS only */
} own_codes[] = {
    {"\033[0m", false},  {"\033[1m", false},  {"\033[2m", false},  {"\033[7m", false},
    {"\033[31m", false}, {"\033[32m", false}, {"\033[33m", false}, {"\033[34m", false},
    {"\033[K", true},    {"\033[A", true},    {"\r", true},
};

/* How a beginning was taken: so many bytes are used, or more must come before it can be judged. */
struct taken {
    size_t size;
    bool more;
};

static struct taken took(size_t size)
{
    return (struct taken){.size = size};
}

static const struct taken need_more = {.more = true};

static unsigned char byte_at(struct slice text, size_t i)
{
    return (unsigned char)text.data[i];
}

/* ---- characters ---- */

/* Is the text the start of a character that was cut off? */
static bool is_cut_character(struct slice text)
{
    static const char tails[] =
        "\x80\xBF\x90\x8F\x9F\xA0"; /* any second byte that may be allowed */
    unsigned char lead = byte_at(text, 0);
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;

    if (lead < 0xC2 || lead > 0xF4 || text.size >= want)
        return false;
    for (const char *second = tails; *second != '\0'; second++) {
        char whole[4] = {text.data[0], *second, '\x80', '\x80'};

        memcpy(whole, text.data, text.size);
        if (utf8_step(whole, whole + want) == want)
            return true;
    }
    return false;
}

static struct taken take_character(struct slice text, struct buf *out)
{
    size_t size = utf8_step(text.data, slice_end(text));

    if (size == 0 && is_cut_character(text))
        return need_more;
    if (printable(text.data, size))
        buf_add(out, text.data, size);
    else
        printable_escape(out, text.data, size);
    return took(size == 0 ? 1 : size);
}

/* ---- our own text ---- */

static struct taken take_text(const struct safe *s, struct slice text, struct buf *out)
{
    if (*text.data == '\n' || *text.data == '\t') {
        buf_add(out, text.data, 1);
        return took(1);
    }
    for (size_t i = 0; i < ARRAY_LEN(own_codes); i++) {
        struct slice code = slice_of(own_codes[i].code);
        size_t common = text.size < code.size ? text.size : code.size;

        if ((own_codes[i].status && s->kind != SAFE_STATUS) ||
            memcmp(text.data, code.data, common) != 0)
            continue;
        if (text.size < code.size)
            return need_more;
        buf_add_slice(out, code);
        return took(code.size);
    }
    return take_character(text, out);
}

/* ---- JSON on a terminal ---- */

/* Such characters stand in strings alone, where their escape means the same. */
static struct taken take_json(struct slice text, struct buf *out)
{
    size_t size = utf8_step(text.data, slice_end(text));

    if (size == 0 && is_cut_character(text))
        return need_more;
    if (*text.data == '\n' || *text.data == '\t' || printable(text.data, size))
        buf_add(out, text.data, size);
    else if (size > 1)
        printable_escape(out, text.data, size); /* \uXXXX, as JSON has it */
    else
        buf_addf(out, "\\u%04x", size == 0 ? 0xFFFDU : byte_at(text, 0));
    return took(size == 0 ? 1 : size);
}

/* ---- a log on a terminal ---- */

/* The bytes from `from` on that are in a range; stops at the first other one. */
static size_t run_of(struct slice text, size_t from, unsigned char low, unsigned char high)
{
    while (from < text.size && byte_at(text, from) >= low && byte_at(text, from) <= high)
        from++;
    return from;
}

/* ESC [ parameters intermediates final, after `head` bytes: keeps colours, drops the rest. */
static struct taken take_csi(struct safe *s, struct slice text, size_t head, struct buf *out)
{
    size_t digits = run_of(text, head, '0', ';');
    size_t params = run_of(text, head, 0x30, 0x3F);
    size_t end = run_of(text, params, 0x20, 0x2F);

    if (end == text.size)
        return need_more;
    if (byte_at(text, end) < 0x40 || byte_at(text, end) > 0x7E)
        return took(end); /* broken off: what follows is judged by itself */
    if (*text.data == ESC && text.data[end] == 'm' && end == digits) {
        buf_add(out, text.data, end + 1);
        s->coloured = true;
    }
    return took(end + 1);
}

/* A sequence that starts with ESC. */
static struct taken take_escape(struct safe *s, struct slice text, struct buf *out)
{
    if (text.size == 1)
        return need_more;
    unsigned char second = byte_at(text, 1);

    if (second == '[')
        return take_csi(s, text, 2, out);
    if (second != '\0' && strchr("]PX^_", second) != NULL) {
        s->in_string = true;
        return took(2);
    }
    size_t end = run_of(text, 1, 0x20, 0x2F);

    if (end == text.size)
        return need_more;
    return took(byte_at(text, end) >= 0x30 && byte_at(text, end) <= 0x7E ? end + 1 : end);
}

/* Inside a title, a link or the like: up to its end, at the latest that of the line. */
static struct taken take_string(struct safe *s, struct slice text)
{
    static const char ends[] = "\007\030\032\n\033\xC2"; /* BEL CAN SUB LF ESC, and maybe U+009C */
    size_t i = 0;

    while (i < text.size && memchr(ends, text.data[i], sizeof(ends) - 1) == NULL)
        i++;
    if (i == text.size)
        return took(i);
    if (text.data[i] == '\xC2') {
        if (i + 1 == text.size)
            return i > 0 ? took(i) : need_more;
        s->in_string = text.data[i + 1] != '\x9C';
        return took(i + 2);
    }
    s->in_string = false;
    return took(text.data[i] == '\n' || text.data[i] == ESC ? i : i + 1);
}

static struct taken take_log(struct safe *s, struct slice text, struct buf *out)
{
    unsigned char c = byte_at(text, 0);

    if (s->in_string)
        return take_string(s, text);
    if (c == ESC)
        return take_escape(s, text, out);
    if (c == '\r') {
        if (text.size == 1)
            return need_more;
        if (text.data[1] == '\r')
            return took(1);
        if (text.data[1] != '\n')
            buf_add_char(out, '\n'); /* what is printed over a line must not hide it */
        return took(1);
    }
    if (c == 0xC2 && text.size > 1 && byte_at(text, 1) >= 0x80 && byte_at(text, 1) < 0xA0) {
        /* U+0080 to U+009F: the same as ESC and a letter, for terminals that take them. */
        unsigned char letter = (unsigned char)(byte_at(text, 1) - 0x40);

        if (letter == '[')
            return take_csi(s, text, 2, out);
        s->in_string = strchr("]PX^_", letter) != NULL;
        return took(2);
    }
    if (c == '\n' || c == '\t')
        buf_add_char(out, (char)c);
    else if (c >= 0x20 && c != 0x7F)
        return take_character(text, out);
    return took(1); /* bells and other controls */
}

/* ---- pieces ---- */

/* Filters as much as possible; returns the rest. */
static struct slice take_all(struct safe *s, struct slice text, struct buf *out)
{
    while (text.size > 0) {
        size_t plain = s->in_string ? 0 : run_of(text, 0, 0x20, 0x7E);
        struct taken t = took(plain);

        if (plain > 0)
            buf_add(out, text.data, plain);
        else if (s->kind == SAFE_LOG)
            t = take_log(s, text, out);
        else if (s->kind == SAFE_JSON)
            t = take_json(text, out);
        else
            t = take_text(s, text, out);
        if (t.more)
            break;
        text = slice_make(text.data + t.size, text.size - t.size);
    }
    return text;
}

void safe_add(struct safe *s, struct slice piece, struct buf *out)
{
    if (s->kind == SAFE_EXACT) {
        buf_add_slice(out, piece);
        return;
    }
    /* What was held back is judged with the piece behind it, byte by byte until it is used up. */
    while (s->n_held > 0 && piece.size > 0) {
        s->held[s->n_held++] = *piece.data;
        piece = slice_make(piece.data + 1, piece.size - 1);
        struct slice left = take_all(s, slice_make(s->held, s->n_held), out);

        memmove(s->held, left.data, left.size);
        s->n_held = left.size == SAFE_HELD_MAX ? 0
                                               : left.size; /* no sequence of sense is so long */
    }
    struct slice left = take_all(s, piece, out);

    if (left.size > 0 && left.size < SAFE_HELD_MAX) {
        memcpy(s->held, left.data, left.size);
        s->n_held = left.size;
    }
}

void safe_end(struct safe *s, struct buf *out)
{
    struct slice held = {s->held, s->n_held};

    if (s->kind == SAFE_LOG && held.size > 0 && *held.data == '\r')
        buf_add_char(out, '\n');
    else if (s->kind != SAFE_LOG || (held.size > 0 && *held.data != ESC))
        for (size_t i = 0; i < held.size; i++) {
            bool plain = printable(held.data + i, byte_at(held, i) < 0x80);

            if (plain)
                buf_add(out, held.data + i, 1);
            else if (s->kind == SAFE_JSON)
                buf_add_str(out, "\\ufffd");
            else
                printable_escape(out, held.data + i, 1);
        }
    if (s->coloured)
        buf_add_str(out, "\033[0m");
    *s = (struct safe){.kind = s->kind};
}

/* ---- streams ---- */

static ssize_t on_write(void *cookie, const char *data, size_t size)
{
    struct output *o = cookie;
    CLEANUP(buf) struct buf clean = BUF_INIT(OUT_MAX);

    safe_add(&o->safe, slice_make(data, size), &clean);
    return file_write_all(o->fd, buf_slice(&clean)) ? (ssize_t)size : 0;
}

static int on_close(void *cookie)
{
    struct output *o = cookie;
    CLEANUP(buf) struct buf rest = BUF_INIT(OUT_MAX);

    safe_end(&o->safe, &rest);
    return file_write_all(o->fd, buf_slice(&rest)) ? 0 : EOF;
}

static FILE *open_stream(struct output *o, int fd, enum safe_kind kind, int buffering)
{
    *o = (struct output){.safe = {.kind = kind}, .fd = fd, .terminal = isatty(fd) == 1};
    o->stream = fopencookie(o, "w", (cookie_io_functions_t){.write = on_write, .close = on_close});
    ASSERT(o->stream != NULL); /* memory */
    ASSERT(setvbuf(o->stream, NULL, buffering, STREAM_SIZE) == 0);
    return o->stream;
}

void outputs_open(struct outputs *o, enum outputs_for what)
{
    bool lines = isatty(STDOUT_FILENO) == 1;
    enum safe_kind json = lines ? SAFE_JSON : SAFE_EXACT;
    enum safe_kind kind = what == OUTPUTS_JSON ? json : SAFE_TEXT;

    fflush(stdout);
    *o = (struct outputs){
        .log = {.kind = lines ? SAFE_LOG : SAFE_EXACT},
        .before_out = stdout,
        .before_err = stderr,
    };
    stdout = open_stream(&o->out, STDOUT_FILENO, kind, lines ? _IOLBF : _IOFBF);
    stderr = open_stream(&o->err, STDERR_FILENO, SAFE_TEXT, _IONBF);
}

void outputs_close(struct outputs *o)
{
    output_log_end(o);
    stdout = o->before_out;
    stderr = o->before_err;
    (void)fclose(o->out.stream);
    (void)fclose(o->err.stream);
}

void output_status(struct slice text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(OUT_MAX);
    struct safe safe = {.kind = SAFE_STATUS};

    safe_add(&safe, text, &clean);
    safe_end(&safe, &clean);
    (void)!file_write_all(STDERR_FILENO, buf_slice(&clean)); /* nobody waits for it */
}

/* Past the filter of the stream, which is for text. */
static void print_exact(struct outputs *o, struct slice data)
{
    if (data.size == 0)
        return;
    fflush(stdout);
    o->out.safe.kind = SAFE_EXACT;
    fwrite(data.data, 1, data.size, stdout);
    fflush(stdout);
    o->out.safe.kind = SAFE_TEXT;
}

void output_log(struct outputs *o, struct slice data)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(OUT_MAX);

    if (o->log.kind == SAFE_EXACT) {
        print_exact(o, data);
        return;
    }
    safe_add(&o->log, data, &clean);
    print_exact(o, buf_slice(&clean));
}

void output_log_end(struct outputs *o)
{
    CLEANUP(buf) struct buf rest = BUF_INIT(OUT_MAX);

    safe_end(&o->log, &rest);
    print_exact(o, buf_slice(&rest));
}
