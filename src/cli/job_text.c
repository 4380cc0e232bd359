/* SPDX-License-Identifier: MIT */
#include "cli/job_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/filter.h"
#include "cli/link_text.h"
#include "cli/value.h"
#include "core/job.h"

/* Everything from standard input, or from a file. */
static enum err_code read_all(int fd, const char *name, struct buf *out, struct err *err)
{
    const size_t step = (size_t)64 << 10;

    for (;;) {
        char *room = buf_reserve(out, step);

        if (room == NULL)
            return err_set(err, E_TOO_LARGE, "%s is larger than %zu MiB", name, out->limit >> 20);
        ssize_t n = read(fd, room, step);

        if (n < 0 && errno != EINTR)
            return err_errno(err, E_INVALID, "read %s", name);
        if (n == 0)
            return E_OK;
        if (n > 0)
            out->size += (size_t)n;
    }
}

enum err_code read_given(const char *option, const char *given, struct buf *out, struct err *err)
{
    if (strcmp(given, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", out, err);
    if (given[0] != '@') {
        buf_add_str(out, given);
        return E_OK;
    }
    int fd = open(given + 1, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_INVALID, "--%s %s", option, given);
    enum err_code code = read_all(fd, given + 1, out, err);

    close(fd);
    return code;
}

/* Text as text; bytes that are none, or hold a NUL, in base64. */
static enum err_code add_body(const struct args *a, struct buf *out, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(JOB_BYTES_MAX);
    const char *given = args_text(a, "body");

    if (given == NULL)
        return E_OK;
    if (read_given("body", given, &body, err) != E_OK)
        return err->code;
    if (utf8_valid(buf_slice(&body)) && memchr(buf_text(&body), '\0', body.size) == NULL) {
        json_put_string(out, "body", buf_slice(&body));
        return E_OK;
    }
    json_add_key(out, "body_base64");
    buf_add_char(out, '"');
    base64_add(out, buf_slice(&body));
    buf_add_char(out, '"');
    return E_OK;
}

enum err_code job_command_add(const struct args *a, struct buf *out, struct err *err)
{
    if (a->program.count == 0)
        return E_OK;
    json_add_key(out, "command");
    buf_add_char(out, '[');
    for (size_t i = 0; i < a->program.count; i++) {
        struct slice word = slice_of(a->program.items[i]);

        if (!utf8_valid(word))
            return err_set(err, E_INVALID, "word %zu of the command is not UTF-8", i + 1);
        json_add_comma(out);
        json_add_string(out, word);
    }
    buf_add_char(out, ']');
    return E_OK;
}

static void add_text(const struct args *a, const char *option, struct buf *out)
{
    const char *text = args_text(a, option);

    if (text == NULL)
        return;
    json_put_string(out, option, slice_of(text));
}

static enum err_code add_pairs(const struct args *a, const char *option, const char *key,
                               struct buf *out, struct err *err)
{
    if (!args_has(a, option))
        return E_OK;
    json_add_key(out, key);
    return pairs_add_json(a, option, out, err);
}

static enum err_code add_due(const struct args *a, struct buf *out, struct err *err)
{
    const char *at_text = args_text(a, "at");
    int64_t due_at = 0;

    add_text(a, "delay", out);
    if (at_text == NULL)
        return E_OK;
    if (args_has(a, "delay"))
        return err_set(err, E_INVALID, "--delay and --at exclude each other");
    if (value_time(at_text, clock_wall_us(), &due_at, err) != E_OK)
        return err->code;
    json_put_time(out, "due_at", due_at);
    return E_OK;
}

enum err_code job_text(const struct args *a, struct buf *out, struct err *err)
{
    buf_add_char(out, '{');
    if (args_word(a, 0) != NULL)
        json_put_string(out, "queue", slice_of(args_word(a, 0)));
    if (add_pairs(a, "param", "params", out, err) != E_OK ||
        add_pairs(a, "label", "labels", out, err) != E_OK || add_body(a, out, err) != E_OK ||
        add_due(a, out, err) != E_OK || job_command_add(a, out, err) != E_OK ||
        links_add_json(a, out, err) != E_OK)
        return err->code;
    add_text(a, "key", out);
    add_text(a, "timeout", out);
    if (args_has(a, "priority")) {
        json_put_int(out, "priority", args_int(a, "priority", 0));
    }
    if (args_has(a, "retry")) {
        json_add_key(out, "retry");
        buf_addf(out, "{\"max\":%" PRId64 "}", args_int(a, "retry", 0));
    }
    buf_add_char(out, '}');
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "the job is larger than %zu MiB", JOB_BYTES_MAX >> 20);
    return E_OK;
}
