/* SPDX-License-Identifier: MIT */
#include "cli/live/log_print.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "cli/view/reply_json.h"

#define LOG_JSON_MAX ((size_t)128 << 20)
#define PATH_SIZE 64
#define ASK_US (US_PER_S / 2) /* between two questions for marks */

/* ---- marks ---- */

static enum err_code read_marks(struct log_printer *p, struct client *client, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/v1/jobs/%s/log?times=1", p->id);
    p->asked_at = clock_mono_us();
    if (client_call(client, &(struct client_request){.path = path, .patience_s = CLI_PATIENCE_S},
                    &reply, err) != E_OK)
        return err->code;
    json_decref(p->marks);
    p->marks = json_incref(reply.json);
    return E_OK;
}

static bool sets_attempts_apart(const struct log_printer *p)
{
    return p->cli->outputs != NULL && p->cli->outputs->out.terminal;
}

enum err_code log_printer_open(struct log_printer *p, struct cli *cli, struct slice id, bool times,
                               struct err *err)
{
    struct client *client = NULL;

    *p = (struct log_printer){.cli = cli, .times = times};
    snprintf(p->id, sizeof(p->id), "%.*s", (int)id.size, id.data);
    if (!times && !sets_attempts_apart(p))
        return E_OK;
    return cli_client(cli, &client, err) != E_OK ? err->code : read_marks(p, client, err);
}

void log_printer_close(struct log_printer *p)
{
    json_decref(p->marks);
    client_close(p->client);
    *p = (struct log_printer){.cli = p->cli};
}

static int64_t part_of(const json_t *mark, size_t i)
{
    return json_integer_value(json_array_get(mark, i));
}

enum err_code log_printer_attempt(struct log_printer *p, int64_t attempt, int64_t *ret_from,
                                  int64_t *ret_to, struct err *err)
{
    struct client *client = NULL;
    const json_t *mark = NULL;

    if (p->marks == NULL &&
        (cli_client(p->cli, &client, err) != E_OK || read_marks(p, client, err) != E_OK))
        return err->code;
    const json_t *attempts = json_object_get(p->marks, "attempts");

    for (size_t i = 0; (mark = json_array_get(attempts, i)) != NULL; i++) {
        const json_t *next = json_array_get(attempts, i + 1);

        if (part_of(mark, 0) != attempt)
            continue;
        *ret_from = part_of(mark, 1);
        *ret_to = next != NULL ? part_of(next, 1) : INT64_MAX;
        return E_OK;
    }
    return err_set(err, E_NOT_FOUND, "the log of job %s has no attempt %" PRId64, p->id, attempt);
}

/* A client beside that of the invocation, which is busy with the log. */
void log_printer_follow(struct log_printer *p)
{
    const struct client_config config = cli_client_config(p->cli);
    struct err err = ERR_INIT;

    if ((p->times || p->tells_attempts || sets_attempts_apart(p)) && p->client == NULL &&
        client_open(&config, &p->client, &err) != E_OK)
        p->client = NULL;
}

void log_printer_lost_sight(struct log_printer *p)
{
    p->tells_attempts = !sets_attempts_apart(p) && !p->cli->json;
    p->asked_at = 0;
    log_printer_follow(p);
}

void log_printer_skip_to(struct log_printer *p, int64_t offset)
{
    const json_t *attempts = json_object_get(p->marks, "attempts");

    p->offset = offset;
    while (p->next_attempt < json_array_size(attempts) &&
           part_of(json_array_get(attempts, p->next_attempt), 1) < offset)
        p->next_attempt++;
}

/* ---- printing ---- */

static void print_json_piece(int64_t offset, struct slice data)
{
    json_t *piece = json_pack("{s:I}", "offset", (json_int_t)offset);
    json_t *text = json_stringn(data.data, data.size);

    if (text == NULL) { /* not UTF-8: each byte as the character of its number */
        CLEANUP(buf) struct buf latin = BUF_INIT(LOG_JSON_MAX);

        for (size_t i = 0; i < data.size; i++) {
            char character[4];
            size_t size = utf8_encode((unsigned char)data.data[i], character);

            buf_add(&latin, character, size);
        }
        json_object_set_new(piece, "latin1", json_stringn(buf_text(&latin), latin.size));
    } else {
        json_object_set_new(piece, "text", text);
    }
    json_dumpf(piece, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(piece);
}

static void print_lines(struct log_printer *p, struct slice data)
{
    while (data.size > 0) {
        const char *stop = memchr(data.data, '\n', data.size);
        size_t size = stop == NULL ? data.size : (size_t)(stop - data.data) + 1;

        if (!p->mid_line) {
            /* The time of the output at the offset. */
            const json_t *times = json_object_get(p->marks, "times");
            const json_t *mark = NULL;
            const char *text = NULL;

            while ((mark = json_array_get(times, p->next_time)) != NULL &&
                   part_of(mark, 0) <= p->offset)
                p->next_time++;
            if (p->next_time > 0)
                text = json_string_value(
                    json_array_get(json_array_get(times, p->next_time - 1), 1));
            printf("%-*s  ", TIME_TEXT_SIZE - 1, text != NULL ? text : "");
        }
        output_log(p->cli->outputs, slice_make(data.data, size));
        p->mid_line = stop == NULL;
        p->offset += (int64_t)size;
        data = slice_make(data.data + size, data.size - size);
    }
}

static void print_piece(struct log_printer *p, struct slice data)
{
    if (data.size == 0)
        return;
    if (p->cli->json)
        print_json_piece(p->offset, data);
    else if (p->times) {
        print_lines(p, data);
        return;
    } else {
        output_log(p->cli->outputs, data);
    }
    p->offset += (int64_t)data.size;
    p->mid_line = data.data[data.size - 1] != '\n';
}

/* False also when unknown. */
static bool was_lost(struct log_printer *p, int64_t attempt)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[PATH_SIZE];
    const struct client_request request = {.path = path, .patience_s = CLI_PATIENCE_S};
    struct err err = ERR_INIT;
    bool lost = false;
    const json_t *entry;
    size_t i;

    snprintf(path, sizeof(path), "/v1/jobs/%s", p->id);
    if (p->client == NULL || client_call(p->client, &request, &reply, &err) != E_OK)
        return false;
    json_array_foreach(json_object_get(reply.json, "progress"), i,
                       entry) if (reply_int(entry, "attempt") == attempt)
        lost = strcmp(reply_text(entry, "state"), "lost") == 0;
    return lost;
}

/* Of a place before where we are nothing is told: it is printed, or was skipped. */
static void begin_attempt(struct log_printer *p, const json_t *mark)
{
    int64_t attempt = part_of(mark, 0);

    if (sets_attempts_apart(p)) {
        output_log_end(p->cli->outputs);
        printf("%s%s── attempt %" PRId64 " ──%s\n", p->mid_line ? "\n" : "",
               screen_on(&p->cli->screen, COLOUR_DIM), attempt,
               screen_off(&p->cli->screen, COLOUR_DIM));
        p->mid_line = false;
    } else if (p->next_attempt > 0 && part_of(mark, 1) >= p->offset) {
        const char *how = was_lost(p, attempt - 1) ? "was lost" : "ended";

        fflush(stdout);
        fprintf(stderr, "waybill: attempt %" PRId64 " %s; attempt %" PRId64 " begins\n",
                attempt - 1, how, attempt);
    }
    p->next_attempt++;
}

/* The worker puts a mark where output beyond keep.log is missing (worker/run/output.c). */
static void look_for_gaps(struct log_printer *p, struct slice data)
{
    for (size_t i = 0; i < data.size; i++) {
        int64_t bytes = 0;
        int end = 0;

        if (data.data[i] != '\n') {
            if (p->line_size < sizeof(p->line) - 1)
                p->line[p->line_size++] = data.data[i];
            continue;
        }
        p->line[p->line_size] = '\0';
        if (sscanf(p->line, "waybill: %" SCNd64 " bytes are left out here%n", &bytes, &end) == 1 &&
            end > 0 && p->line[end] == '\0' && bytes > 0)
            p->left_out += bytes;
        p->line_size = 0;
    }
}

void log_printer_add(struct log_printer *p, struct slice data)
{
    struct err err = ERR_INIT;

    look_for_gaps(p, data);

    if (p->client != NULL && (p->times || clock_mono_us() - p->asked_at > ASK_US))
        (void)read_marks(p, p->client, &err); /* those that we have are better than none */
    const json_t *attempts = json_object_get(p->marks, "attempts");
    bool several = (sets_attempts_apart(p) || p->tells_attempts) && json_array_size(attempts) > 1;

    for (const json_t *mark;
         several && data.size > 0 && (mark = json_array_get(attempts, p->next_attempt)) != NULL;) {
        int64_t before = part_of(mark, 1) - p->offset;

        if (before >= (int64_t)data.size)
            break;
        if (before > 0) {
            print_piece(p, slice_make(data.data, (size_t)before));
            data = slice_make(data.data + before, data.size - (size_t)before);
        }
        begin_attempt(p, mark);
    }
    print_piece(p, data);
}
