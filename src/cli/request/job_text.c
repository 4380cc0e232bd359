/* SPDX-License-Identifier: MIT */
#include "cli/request/job_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "cli/request/filter.h"
#include "cli/request/route_text.h"
#include "cli/table/value.h"
#include "core/group/choice.h"
#include "core/job/job.h"
#include "core/program/template.h"
#include "core/queue/env.h"

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

enum err_code job_body_add(const struct args *a, struct buf *out, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(JOB_BYTES_MAX);
    const char *given = args_text(a, "body");

    if (given == NULL)
        return E_OK;
    if (read_given("body", given, &body, err) != E_OK)
        return err->code;
    if (utf8_valid(buf_slice(&body)) && memchr(buf_text(&body), '\0', body.size) == NULL) {
        jtext_put_string(out, "body", buf_slice(&body));
        return E_OK;
    }
    jtext_add_key(out, "body_base64");
    buf_add_char(out, '"');
    base64_add(out, buf_slice(&body));
    buf_add_char(out, '"');
    return E_OK;
}

enum err_code job_command_add(const struct args *a, struct buf *out, struct err *err)
{
    if (a->program.count == 0)
        return E_OK;
    jtext_add_key(out, "command");
    buf_add_char(out, '[');
    for (size_t i = 0; i < a->program.count; i++) {
        struct slice word = slice_of(a->program.items[i]);

        if (!utf8_valid(word))
            return err_set(err, E_INVALID, "word %zu of the command is not UTF-8", i + 1);
        jtext_add_comma(out);
        if (args_has(a, "fill")) {
            jtext_add_string(out, word);
            continue;
        }
        CLEANUP(buf) struct buf literal = BUF_INIT(2 * word.size);

        template_add_literal(word, &literal);
        jtext_add_string(out, buf_slice(&literal));
    }
    buf_add_char(out, ']');
    return E_OK;
}

/* ---- where a command runs, and with what ---- */

enum err_code job_workdir_add(const char *dir, struct buf *out, struct err *err)
{
    CLEANUP(mem) char *here = dir[0] == '/' ? mem_strdup("") : getcwd(NULL, 0);
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX);

    if (here == NULL)
        return err_errno(err, E_INVALID, "the current directory");
    buf_add_str(&path, here);
    if (dir[0] != '/' && strcmp(dir, ".") != 0)
        buf_addf(&path, "/%s", dir);
    else if (dir[0] == '/')
        buf_add_str(&path, dir);
    if (path.overflowed || !utf8_valid(buf_slice(&path)))
        return err_set(err, E_INVALID, "--workdir: the path is %s",
                       path.overflowed ? "too long" : "not UTF-8");
    jtext_put_string(out, "workdir", buf_slice(&path));
    return E_OK;
}

static enum err_code add_variable(const char *given, struct buf *out, struct err *err)
{
    CLEANUP(mem) char *name = mem_strndup(given, strcspn(given, "="));
    const char *value = strchr(given, '=') != NULL ? strchr(given, '=') + 1 : getenv(name);

    if (queue_env_check_name(slice_of(name), err) != E_OK)
        return err_wrap(err, "--env");
    if (value == NULL)
        return err_set(err, E_INVALID, "--env: %s is not set here: give %s=VALUE", name, name);
    if (!utf8_valid(slice_of(value)))
        return err_set(err, E_INVALID, "--env: the value of %s is not UTF-8", name);
    jtext_put_string(out, name, slice_of(value));
    return E_OK;
}

static enum err_code add_surroundings(const struct args *a, struct buf *out, struct err *err)
{
    const struct given_option *given = NULL;
    const char *workdir = args_text(a, "workdir");

    if (workdir != NULL && strcmp(workdir, "-") != 0 && job_workdir_add(workdir, out, err) != E_OK)
        return err->code;
    if (!args_has(a, "env"))
        return E_OK;
    jtext_add_key(out, "env");
    buf_add_char(out, '{');
    for (size_t i = 0; (given = args_next(a, "env", &i)) != NULL;)
        if (add_variable(given->value, out, err) != E_OK)
            return err->code;
    buf_add_char(out, '}');
    return E_OK;
}

static void add_text(const struct args *a, const char *option, struct buf *out)
{
    const char *text = args_text(a, option);

    if (text == NULL)
        return;
    jtext_put_string(out, option, slice_of(text));
}

static enum err_code add_pairs(const struct args *a, const char *option, const char *key,
                               struct buf *out, struct err *err)
{
    if (!args_has(a, option))
        return E_OK;
    jtext_add_key(out, key);
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
    jtext_put_time(out, "due_at", due_at);
    return E_OK;
}

/* A length is left to the server; instants may be written as on --at. */
static enum err_code add_expires(const struct args *a, struct buf *out, struct err *err)
{
    const char *text = args_text(a, "expires");
    struct err ignored = ERR_INIT;
    int64_t length_us;
    int64_t at = 0;

    if (text == NULL)
        return E_OK;
    if (duration_parse(slice_of(text), &length_us, &ignored) == E_OK) {
        jtext_put_string(out, "expires", slice_of(text));
        return E_OK;
    }
    if (value_time(text, clock_wall_us(), &at, err) != E_OK)
        return err_wrap(err, "--expires");
    jtext_put_time(out, "expires", at);
    return E_OK;
}

/* An id, or KIND[:NAME] of a group that is opened. */
static void add_group(const struct args *a, struct buf *out)
{
    const char *text = args_text(a, "group");
    struct err ignored = ERR_INIT;
    int64_t id;

    if (text == NULL)
        return;
    if (group_id_parse(slice_of(text), &id, &ignored) == E_OK) {
        jtext_put_string(out, "group", slice_of(text));
        return;
    }
    size_t kind = strcspn(text, ":");

    jtext_add_key(out, "group");
    buf_add_char(out, '{');
    if (kind > 0)
        jtext_put_string(out, "open", slice_make(text, kind));
    if (text[kind] == ':')
        jtext_put_string(out, "name", slice_of(text + kind + 1));
    buf_add_char(out, '}');
}

enum err_code job_text(const struct args *a, struct buf *out, struct err *err)
{
    buf_add_char(out, '{');
    if (args_word(a, 0) != NULL)
        jtext_put_string(out, "queue", slice_of(args_word(a, 0)));
    else if (a->program.count > 0 && !args_has(a, "job"))
        jtext_put_string(out, "queue", SLICE("default"));
    if (add_pairs(a, "param", "params", out, err) != E_OK ||
        add_pairs(a, "label", "labels", out, err) != E_OK || job_body_add(a, out, err) != E_OK ||
        add_due(a, out, err) != E_OK || add_expires(a, out, err) != E_OK ||
        job_command_add(a, out, err) != E_OK || add_surroundings(a, out, err) != E_OK ||
        route_add_json(a, out, err) != E_OK)
        return err->code;
    add_group(a, out);
    add_text(a, "key", out);
    add_text(a, "timeout", out);
    if (args_has(a, "priority")) {
        jtext_put_int(out, "priority", args_int(a, "priority", 0));
    }
    if (args_has(a, "retry")) {
        jtext_add_key(out, "retry");
        buf_addf(out, "{\"max\":%" PRId64 "}", args_int(a, "retry", 0));
    }
    buf_add_char(out, '}');
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "the job is larger than %zu MiB", JOB_BYTES_MAX >> 20);
    return E_OK;
}
