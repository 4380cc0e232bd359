/*
 * `edit ID`: a waiting job as YAML in the user's editor, and back as a PATCH that holds only if
 * nobody else has changed the job meanwhile.
 *
 * A text that could not be sent stays in its file; its name is printed.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/file.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/table/value.h"
#include "cli/view/reply_json.h"
#include "core/definition/yaml.h"
#include "core/job/job.h"

#define TEXT_MAX (2 * JOB_BYTES_MAX)

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    return value != NULL && *value != '\0' ? value : NULL;
}

/* ---- the text ---- */

/* An object as JSON, which is YAML too: below its name, a member a line. */
static void add_object(struct buf *out, const json_t *job, const char *name)
{
    const json_t *object = json_object_get(job, name);

    buf_addf(out, "%s:", name);
    if (json_object_size(object) == 0) {
        buf_add_str(out, " {}\n");
        return;
    }
    CLEANUP(mem) char *text = json_dumps(object, JSON_INDENT(2));

    buf_add_str(out, "\n  ");
    for (const char *at = text; *at != '\0'; at++) {
        buf_add_char(out, *at);
        if (*at == '\n')
            buf_add_str(out, "  ");
    }
    buf_add_char(out, '\n');
}

static void add_text(struct buf *out, const json_t *job)
{
    const char *due = reply_text(job, "due_at");

    buf_addf(
        out,
        "# Job %s of queue %s, %s.  Save and leave the editor to change it; unchanged, nothing\n"
        "# happens.  due_at is a time (22:00, 2026-12-24T22:00:00Z) or null: at once.\n",
        reply_text(job, "id"), reply_text(job, "queue"), reply_text(job, "state"));
    buf_addf(out, "priority: %" PRId64 "\n", reply_int(job, "priority"));
    buf_addf(out, "due_at: %s\n", *due != '\0' ? due : "null");
    add_object(out, job, "labels");
    add_object(out, job, "params");
}

/* ---- the editor ---- */

static enum err_code make_file(struct slice text, char **ret_path, struct err *err)
{
    const char *dir = environment("TMPDIR");
    CLEANUP(buf) struct buf name = BUF_INIT(4096);

    buf_addf(&name, "%s/waybill-job-XXXXXX.yaml", dir != NULL ? dir : "/tmp");
    CLEANUP(mem) char *path = buf_take(&name);
    int fd = mkstemps(path, (int)strlen(".yaml"));

    if (fd < 0)
        return err_errno(err, E_INVALID, "make %s", path);
    enum err_code code = E_OK;

    if (!file_write_all(fd, text))
        code = err_errno(err, E_INVALID, "write %s", path);
    if (close(fd) < 0 && code == E_OK)
        code = err_errno(err, E_INVALID, "write %s", path);
    *ret_path = STEAL(path);
    return code;
}

static enum err_code read_file(const char *path, struct buf *text, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum err_code code = E_OK;

    if (fd < 0)
        return err_errno(err, E_INVALID, "open %s", path);
    if (!file_read_all(fd, text))
        code = err_errno(err, E_INVALID, "read %s", path);
    else if (text->overflowed)
        code = err_set(err, E_INVALID, "%s is too large", path);
    (void)close(fd);
    return code;
}

static const int keyboard_signals[] = {SIGINT, SIGQUIT};

struct keyboard {
    struct sigaction before[ARRAY_LEN(keyboard_signals)];
};

/* Keys that send signals belong to the editor while it runs, but the terminal signals us as
 * well. */
static void keyboard_ignore(struct keyboard *k)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    for (size_t i = 0; i < ARRAY_LEN(keyboard_signals); i++)
        ASSERT(sigaction(keyboard_signals[i], &ignore, &k->before[i]) == 0);
}

static void keyboard_restore(const struct keyboard *k)
{
    for (size_t i = 0; i < ARRAY_LEN(keyboard_signals); i++)
        ASSERT(sigaction(keyboard_signals[i], &k->before[i], NULL) == 0);
}

/* VISUAL and EDITOR may have arguments: a shell takes them apart, the file's name comes as one
 * word.  The shell outlives the keys as we do; what it starts has them as they were. */
static enum err_code run_editor(const char *path, struct err *err)
{
    const char *editor = environment("VISUAL") != NULL ? environment("VISUAL")
                                                       : environment("EDITOR");
    CLEANUP(buf) struct buf line = BUF_INIT(4096);
    struct keyboard keyboard;
    int status = 0;

    buf_addf(&line, "trap : INT QUIT; %s \"$1\"", editor != NULL ? editor : "vi");
    fflush(stdout);
    keyboard_ignore(&keyboard);
    pid_t pid = fork();

    if (pid == 0) {
        keyboard_restore(&keyboard);
        execl("/bin/sh", "sh", "-c", buf_text(&line), "sh", path, (char *)NULL);
        _exit(127);
    }
    enum err_code code = pid < 0 ? err_errno(err, E_UNAVAILABLE, "start the editor") : E_OK;

    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    keyboard_restore(&keyboard);
    if (status != 0)
        return err_set(err, E_UNAVAILABLE, "the editor (%s) has failed: nothing was changed",
                       editor != NULL ? editor : "vi; EDITOR names another");
    return code;
}

/* ---- the change ---- */

struct edit {
    const char *path;
    const json_t *job;
    struct buf patch;
    size_t changes;
};

static enum err_code wrong(const struct edit *e, const struct yaml_value *v, const char *cause,
                           struct err *err)
{
    err_set(err, E_INVALID, "%.*s: %s", (int)v->name.size, v->name.data, cause);
    return yaml_err_at(err, e->path, v->line);
}

static enum err_code take_priority(struct edit *e, struct yaml_value *v, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(100);

    if (v->type != YAML_T_PLAIN || yaml_json(v, &json, err) != E_OK ||
        jtext_type_of(buf_slice(&json)) != JTEXT_INT)
        return wrong(e, v, "must be a whole number", err);
    if (jtext_int(buf_slice(&json)) != reply_int(e->job, "priority")) {
        jtext_put_raw(&e->patch, "priority", buf_slice(&json));
        e->changes++;
    }
    return E_OK;
}

static enum err_code take_due(struct edit *e, struct yaml_value *v, struct err *err)
{
    const char *was = reply_text(e->job, "due_at");
    CLEANUP(mem) char *text = NULL;
    char shown[TIME_TEXT_SIZE];
    int64_t at = 0;

    if (yaml_is_null(v)) {
        if (*was != '\0') {
            jtext_put_raw(&e->patch, "due_at", SLICE("null"));
            e->changes++;
        }
        return E_OK;
    }
    text = mem_strndup(v->text.data, v->text.size);
    if (strcmp(text, was) == 0)
        return E_OK;
    if (v->type != YAML_T_TEXT || value_time(text, clock_wall_us(), &at, err) != E_OK)
        return wrong(e, v, "must be a time, like 22:00 or 2026-12-24T22:00:00Z, or null", err);
    jtext_put_string(&e->patch, "due_at", slice_of(time_format(at, shown)));
    e->changes++;
    return E_OK;
}

static enum err_code take_object(struct edit *e, struct yaml_value *v, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(TEXT_MAX);
    CLEANUP(mem) char *name = mem_strndup(v->name.data, v->name.size);
    json_error_t why;

    if (yaml_is_null(v))
        buf_add_str(&json, "{}");
    else if (v->type != YAML_T_MAP)
        return wrong(e, v, "must be a map", err);
    else if (yaml_json(v, &json, err) != E_OK)
        return yaml_err_at(err, e->path, v->line);
    json_t *now = json_loadb(json.data, json.size, 0, &why);
    const json_t *was = json_object_get(e->job, name);
    bool same = was == NULL ? json_object_size(now) == 0 : json_equal(now, was);

    json_decref(now);
    if (!same) {
        jtext_put_raw(&e->patch, name, buf_slice(&json));
        e->changes++;
    }
    return E_OK;
}

static const struct {
    const char *name;
    enum err_code (*take)(struct edit *e, struct yaml_value *v, struct err *err);
} members[] = {
    {"priority", take_priority},
    {"due_at", take_due},
    {"labels", take_object},
    {"params", take_object},
};

static enum err_code take_member(struct edit *e, struct yaml_value *v, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (slice_is(v->name, members[i].name))
            return members[i].take(e, v, err);
    }
    return wrong(e, v, "only priority, due_at, labels and params can be changed", err);
}

static enum err_code read_changes(struct edit *e, struct slice text, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct yaml_value *document = NULL;

    if (yaml_parse(e->path, text, &arena, &document, err) != E_OK)
        return err->code;
    if (document == NULL || document->type != YAML_T_MAP)
        return err_set(err, E_INVALID, "%s: nothing of the job is left in it", e->path);
    buf_add_char(&e->patch, '{');
    for (struct yaml_value *v = document->first; v != NULL; v = v->next) {
        if (take_member(e, v, err) != E_OK)
            return err->code;
    }
    jtext_put_string(&e->patch, "version", slice_of(reply_text(e->job, "version")));
    buf_add_char(&e->patch, '}');
    return E_OK;
}

/* ---- all of it ---- */

static enum err_code send_changes(struct cli *cli, const struct edit *e, struct client_reply *reply,
                                  struct err *err)
{
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%.20s", reply_text(e->job, "id"));
    const struct client_request r = {.method = "PATCH", .path = path, .body = buf_slice(&e->patch)};

    return cli_call(cli, &r, reply, err);
}

/* What the user wrote is not lost. */
static int fail_with_file(struct cli *cli, const char *path, const struct err *err, int status)
{
    (void)cli_fail(cli, err);
    fprintf(stderr, "what you wrote is in %s\n", path);
    return status;
}

static int edit(struct cli *cli, const json_t *job)
{
    CLEANUP(buf) struct buf before = BUF_INIT(TEXT_MAX);
    CLEANUP(buf) struct buf after = BUF_INIT(TEXT_MAX);
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(mem) char *path = NULL;
    struct edit e = {.job = job, .patch = BUF_INIT(TEXT_MAX)};
    struct err err = ERR_INIT;
    int status = CLI_OK;

    add_text(&before, job);
    if (make_file(buf_slice(&before), &path, &err) != E_OK || run_editor(path, &err) != E_OK) {
        if (path != NULL)
            (void)unlink(path);
        return cli_fail(cli, &err);
    }
    if (read_file(path, &after, &err) != E_OK)
        return fail_with_file(cli, path, &err, cli_exit_status(err.code));
    e.path = path;
    if (!slice_equal(buf_slice(&before), buf_slice(&after)) &&
        read_changes(&e, buf_slice(&after), &err) != E_OK)
        status = fail_with_file(cli, path, &err, CLI_USAGE);
    else if (e.changes > 0 && send_changes(cli, &e, &reply, &err) != E_OK)
        status = fail_with_file(cli, path, &err, cli_exit_status(err.code));
    else
        (void)unlink(path);
    buf_deinit(&e.patch);
    if (status == CLI_OK && cli->json && e.changes > 0)
        print_json(buf_slice(&reply.text));
    else if (status == CLI_OK && !cli->json)
        printf("%s  %s\n", reply_text(job, "id"),
               e.changes > 0 ? reply_text(reply.json, "state") : "nothing has changed");
    return status;
}

int cmd_edit(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct slice id = value_job(args_word(&cli->args, 0));
    struct err err = ERR_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%.*s", (int)id.size, id.data);
    if (cli_get(cli, path, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (*reply_text(reply.json, "version") == '\0') {
        err_set(&err, E_CONFLICT, "the job is %s: only a waiting job can be changed",
                reply_text(reply.json, "state"));
        return cli_fail(cli, &err);
    }
    return edit(cli, reply.json);
}
