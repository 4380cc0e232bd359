/* SPDX-License-Identifier: MIT */
#include "run/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "base/text/utf8.h"
#include "cli/view/reply_json.h"
#include "server/process/definition_files.h"
#include "server/server.h"

#define BEGAN "began"
#define BODY_MAX ((size_t)64 << 20)
#define PATH_TEXT_SIZE 256

#define TRY_AGAIN_US (20 * US_PER_MS)

void machine_init(struct machine *m, const char *file)
{
    *m = (struct machine){.file = file, .dir = RUN_DIR_INIT, .server = OWN_SERVER_INIT};
    definitions_init(&m->definitions);
    m->definitions.faults = &m->faults;
}

void machine_close(struct machine *m)
{
    client_close(m->client);
    own_server_stop(&m->server);
    json_decref(m->base);
    run_dir_close(&m->dir);
    definitions_deinit(&m->definitions);
    definition_faults_deinit(&m->faults);
    free(m->path);
}

/* ---- the file ---- */

enum err_code machine_read(struct machine *m, struct err *err)
{
    struct definitions *d = &m->definitions;

    m->path = realpath(m->file, NULL);
    if (m->path == NULL)
        return err_errno(err, errno == ENOENT ? E_NOT_FOUND : E_INVALID, "%s", m->file);
    if (!utf8_valid(slice_of(m->path)))
        return err_set(err, E_INVALID, "the path of %s is not UTF-8", m->file);
    if (definitions_read(d, m->file, err) != E_OK)
        return err->code;
    if (!m->faults.unread && definitions_check_names(d, err) != E_OK)
        return err->code;
    if (m->faults.items.count > 0) {
        *err = m->faults.items.items[0];
        return err->code;
    }
    return E_OK;
}

/* ---- the directory ---- */

enum err_code machine_open(struct machine *m, const char *data_dir, int64_t patience_us,
                           struct err *err)
{
    CLEANUP(buf) struct buf identity = BUF_INIT(RUN_DIR_IDENTITY_MAX);

    buf_add_char(&identity, '{');
    jtext_put_string(&identity, "file", slice_of(m->path));
    buf_add_str(&identity, "}\n");
    int64_t until_at = clock_mono_us() + patience_us;

    for (;;) {
        const struct timespec pause = {.tv_nsec = TRY_AGAIN_US * 1000};

        if (run_dir_name(&m->dir, data_dir, MACHINE_KIND, buf_slice(&identity), err) != E_OK ||
            run_dir_open(&m->dir, buf_slice(&identity), err) != E_OK)
            return err->code;
        if (m->dir.own.holder == 0 || clock_mono_us() >= until_at)
            return E_OK;
        run_dir_close(&m->dir);
        nanosleep(&pause, NULL);
    }
}

enum err_code machine_forget(struct machine *m, struct err *err)
{
    static const char *const left[] = {BEGAN, NULL};

    if (m->dir.is_there && run_dir_wait_for_store(&m->dir, err) != E_OK)
        return err->code;
    return run_dir_clear(&m->dir, left, err);
}

/* ---- the server ---- */

enum err_code machine_call(const struct machine *m, const char *method, const char *path,
                           struct slice body, struct client_reply *reply, struct err *err)
{
    const struct client_request request = {.method = method, .path = path, .body = body};

    client_reply_deinit(reply);
    *reply = CLIENT_REPLY_INIT;
    return client_call(m->client, &request, reply, err);
}

enum err_code machine_get(const struct machine *m, const char *path, struct client_reply *reply,
                          struct err *err)
{
    return machine_call(m, "GET", path, (struct slice){NULL, 0}, reply, err);
}

/* Where the run began; nothing when none has. */
static void read_base(struct machine *m)
{
    int fd = openat(m->dir.own.fd, BEGAN, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    json_decref(m->base);
    m->base = json_loadfd(fd, 0, NULL);
    close(fd);
}

enum err_code machine_start(struct machine *m, const struct own_server_config *config,
                            struct err *err)
{
    if (m->dir.is_there && run_dir_wait_for_store(&m->dir, err) != E_OK)
        return err->code;
    read_base(m);
    if (own_server_start(&m->server, config, err) != E_OK)
        return err->code;
    return client_open(&(struct client_config){.url = m->server.url}, &m->client, err);
}

enum err_code machine_join(struct machine *m, struct err *err)
{
    CLEANUP(buf) struct buf url = BUF_INIT(PATH_MAX + 8);

    read_base(m);
    buf_addf(&url, "unix:%s/" SERVER_SOCKET_NAME, m->dir.store);
    return client_open(&(struct client_config){.url = buf_text(&url)}, &m->client, err);
}

/* The kind of the groups of instructions, which FILE may define itself. */
static void add_kind(struct definitions *d)
{
    struct definition kind = {.name = SLICE(MACHINE_KIND), .json = SLICE("{}")};

    for (size_t i = 0; i < d->of[DEFINITION_GROUP].count; i++)
        if (slice_equal(d->of[DEFINITION_GROUP].items[i].name, kind.name))
            return;
    VEC_PUSH(&d->of[DEFINITION_GROUP], kind);
}

enum err_code machine_define(struct machine *m, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);

    m->definitions.of[DEFINITION_SCHEDULE].count = 0; /* they do not fire in a run */
    add_kind(&m->definitions);
    definitions_json(&m->definitions, &body);
    if (body.overflowed)
        return err_set(err, E_TOO_LARGE, "the definitions are larger than %zu MiB", BODY_MAX >> 20);
    if (machine_call(m, "POST", "/v1/definitions", buf_slice(&body), &reply, err) == E_OK)
        return E_OK;
    definitions_locate(&m->definitions, err);
    return err->code;
}

/* ---- a run begins ---- */

/* The id of the newest of a list, if that is newer than the one in `id`. */
static enum err_code find_newest(const struct machine *m, const char *path, const char *list,
                                 char id[static MACHINE_ID_SIZE], struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    if (machine_get(m, path, &reply, err) != E_OK)
        return err->code;
    const json_t *newest = json_array_get(json_object_get(reply.json, list), 0);
    const char *text = reply_text(newest, "id");

    if (strcmp(text, id) > 0)
        snprintf(id, MACHINE_ID_SIZE, "%s", text);
    return E_OK;
}

enum err_code machine_counts(const struct machine *m, json_t **ret_counts, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    if (machine_get(m, "/v1/queues", &reply, err) != E_OK)
        return err->code;
    const json_t *queues = json_object_get(reply.json, "queues");
    const json_t *queue = NULL;
    json_t *all = json_object();

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        json_t *counts = json_object_get(queue, "counts");
        json_int_t dropped = 0;
        const char *filter = NULL;
        json_t *n = NULL;

        json_object_foreach(json_object_get(queue, "dropped"), filter, n)
        {
            dropped += json_integer_value(n);
        }
        json_object_set_new(counts, "dropped", json_integer(dropped));
        json_object_set(all, reply_text(queue, "name"), counts);
    }
    *ret_counts = all;
    return E_OK;
}

/* What was there before its first job.  Written before anything is submitted. */
static enum err_code begin_run(struct machine *m, struct err *err)
{
    char newest[MACHINE_ID_SIZE] = "";
    json_t *counts = NULL;

    if (find_newest(m, "/v1/jobs?limit=1", "jobs", newest, err) != E_OK ||
        find_newest(m, "/v1/groups?limit=1", "groups", newest, err) != E_OK ||
        machine_counts(m, &counts, err) != E_OK)
        return err->code;
    json_decref(m->base);
    m->base = json_pack("{s:s,s:o}", "newest", newest, "counts", counts);
    CLEANUP(mem) char *text = json_dumps(m->base, JSON_COMPACT);

    if (text == NULL)
        return err_set(err, E_INTERNAL, "the names of queues are not text");
    if (run_dir_write(&m->dir, BEGAN, slice_of(text), err) != E_OK ||
        run_dir_remove(&m->dir, RUN_DIR_FINISHED, err) != E_OK)
        return err->code;
    m->dir.is_finished = false;
    (void)fault_hit("run.began");
    return E_OK;
}

bool machine_is_of_run(const struct machine *m, const char *id)
{
    return strcmp(id, reply_text(m->base, "newest")) > 0;
}

const char *machine_since(const struct machine *m, char text[static TIME_TEXT_SIZE])
{
    int64_t id = 0;
    bool has_any = id_parse(slice_of(reply_text(m->base, "newest")), &id);

    return time_format(has_any ? id_time(id) + US_PER_MS : 0, text);
}

/* ---- instructions ---- */

/* The group of the instruction in this run; NULL: there is none. */
static enum err_code find_group(const struct machine *m, const char *name,
                                struct client_reply *reply, const json_t **ret_group,
                                struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_TEXT_SIZE * 2);
    CLEANUP(buf) struct buf cursor = BUF_INIT(PATH_TEXT_SIZE);

    *ret_group = NULL;
    do {
        buf_clear(&path);
        buf_addf(&path, "/v1/groups?kind=" MACHINE_KIND "&limit=1000%s%s",
                 cursor.size > 0 ? "&cursor=" : "", buf_text(&cursor));
        if (machine_get(m, buf_text(&path), reply, err) != E_OK)
            return err->code;
        const json_t *groups = json_object_get(reply->json, "groups");
        const json_t *group = NULL;

        for (size_t i = 0; (group = json_array_get(groups, i)) != NULL; i++)
            if (strcmp(reply_text(group, "name"), name) == 0 &&
                machine_is_of_run(m, reply_text(group, "id"))) {
                *ret_group = group;
                return E_OK;
            }
        buf_clear(&cursor);
        buf_add_str(&cursor, reply_text(reply->json, "cursor"));
    } while (cursor.size > 0);
    return E_OK;
}

static enum err_code open_group(const struct machine *m, const struct instruction *in,
                                const char *name, struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);

    buf_add_str(&body, "{\"open\":\"" MACHINE_KIND "\"");
    jtext_put_string(&body, "name", slice_of(name));
    jtext_add_key(&body, "data");
    buf_add_char(&body, '{');
    for (size_t i = 0; i < in->n_values; i++) {
        jtext_add_comma(&body);
        jtext_add_string(&body, in->values[i].key);
        buf_add_char(&body, ':');
        buf_add_slice(&body, in->values[i].json);
    }
    buf_add_char(&body, '}');
    if (m->definitions.start.finally.size > 0)
        jtext_put_raw(&body, "finally", m->definitions.start.finally);
    buf_add_char(&body, '}');
    if (machine_call(m, "POST", "/v1/groups", buf_slice(&body), reply, err) != E_OK)
        return err_wrap(err, "%s", m->file);
    return E_OK;
}

/* All jobs of `start:`, or none. */
static enum err_code submit(const struct machine *m, struct instruction *in, const char *group,
                            struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);

    if (instruction_fill(in, &m->definitions.start, slice_of(group), &body, err) != E_OK)
        return err->code;
    if (machine_call(m, "POST", "/v1/jobs", buf_slice(&body), &reply, err) == E_OK)
        return E_OK;
    const json_t *index = json_object_get(
        json_object_get(json_object_get(reply.json, "error"), "detail"), "index");

    if (json_is_integer(index))
        (void)err_wrap(err, "start[%d]", (int)json_integer_value(index));
    return err_wrap(err, "%s", m->file);
}

static enum err_code give(struct machine *m, struct instruction *in, const char *name,
                          struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(client_reply) struct client_reply sealed = CLIENT_REPLY_INIT;
    const json_t *group = NULL;
    char path[PATH_TEXT_SIZE];

    if (find_group(m, name, &reply, &group, err) != E_OK)
        return err->code;
    m->is_resumed = group != NULL;
    if (group == NULL) {
        if (open_group(m, in, name, &reply, err) != E_OK)
            return err->code;
        (void)fault_hit("run.opened");
        group = reply.json;
    }
    const json_t *counts = json_object_get(group, "counts");
    const char *id = reply_text(group, "id");

    if (reply_is_true(group, "sealed"))
        return E_OK;
    if (reply_int(counts, "made") + reply_int(counts, "dropped") == 0 &&
        submit(m, in, id, err) != E_OK)
        return err->code;
    (void)fault_hit("run.submitted");
    snprintf(path, sizeof(path), "/v1/groups/%.40s/seal", id);
    return machine_call(m, "POST", path, SLICE("{}"), &sealed, err);
}

enum err_code machine_instruct(struct machine *m, struct instruction *in, struct err *err)
{
    CLEANUP(buf) struct buf name = BUF_INIT(PATH_TEXT_SIZE);

    if ((m->base == NULL || m->dir.is_finished) && begin_run(m, err) != E_OK)
        return err->code;
    instruction_name(in, &name);
    return give(m, in, buf_text(&name), err);
}

enum err_code machine_retry(struct machine *m, int64_t *ret_n, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT(1000);
    char since[TIME_TEXT_SIZE];
    char path[PATH_TEXT_SIZE];

    if (run_dir_remove(&m->dir, RUN_DIR_FINISHED, err) != E_OK)
        return err->code;
    m->dir.is_finished = false;
    buf_addf(&body, "{\"action\":\"retry\",\"filter\":{\"state\":[\"failed\"],\"since\":\"%s\"}}",
             machine_since(m, since));
    if (machine_call(m, "POST", "/v1/bulk", buf_slice(&body), &reply, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "/v1/bulk/%.20s?wait=30s", reply_text(reply.json, "id"));
    while (strcmp(reply_text(reply.json, "state"), "done") != 0)
        if (machine_get(m, path, &reply, err) != E_OK)
            return err->code;
    *ret_n = reply_int(reply.json, "changed");
    return E_OK;
}
