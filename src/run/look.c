/* SPDX-License-Identifier: MIT */
#include "run/look.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cli/view/reply_json.h"
#include "cli/view/screen.h"

#define WAITING_PATH "/v1/jobs?state=ready,scheduled,held&limit=1000"
#define GROUPS_PATH "/v1/groups?limit=200&state="
#define WAITS_MAX 50

void look_deinit(struct look *l)
{
    for (size_t i = 0; i < l->waits.count; i++)
        free(l->waits.items[i].text);
    VEC_DEINIT(&l->waits);
    VEC_DEINIT(&l->queues);
    json_decref(l->counts);
    client_reply_deinit(&l->groups);
    *l = LOOK_INIT;
}

/* ---- counts ---- */

static int64_t since(const json_t *now, const json_t *before, const char *state)
{
    int64_t n = reply_int(now, state) - reply_int(before, state);

    return n > 0 ? n : 0; /* what ended long ago has been removed meanwhile */
}

static void add_queue(struct look *l, const char *name, const json_t *now, const json_t *before)
{
    struct look_queue q = {
        .name = name,
        .done = since(now, before, "done") + since(now, before, "relayed"),
        .failed = since(now, before, "failed"),
        .cancelled = since(now, before, "cancelled"),
        .dropped = since(now, before, "dropped"),
        .live = reply_int(now, "staged") + reply_int(now, "held") + reply_int(now, "scheduled") +
                reply_int(now, "ready") + reply_int(now, "running"),
    };

    l->done += q.done;
    l->failed += q.failed;
    l->cancelled += q.cancelled;
    l->dropped += q.dropped;
    l->running += reply_int(now, "running");
    l->waiting += q.live - reply_int(now, "running");
    if (q.done + q.failed + q.cancelled + q.dropped + q.live > 0)
        VEC_PUSH(&l->queues, q);
}

/* The open groups, and those whose finaliser is under way. */
static enum err_code look_at_groups(struct look *l, const struct machine *m, struct err *err)
{
    CLEANUP(client_reply) struct client_reply finishing = CLIENT_REPLY_INIT;
    const json_t *group = NULL;

    if (machine_get(m, GROUPS_PATH "finishing", &finishing, err) != E_OK ||
        machine_get(m, GROUPS_PATH "open", &l->groups, err) != E_OK)
        return err->code;
    json_t *groups = json_object_get(l->groups.json, "groups");

    json_array_extend(groups, json_object_get(finishing.json, "groups"));
    l->open_groups = (int64_t)json_array_size(groups);
    /* Nothing that goes on by itself ends a group that nobody seals. */
    for (size_t i = 0; (group = json_array_get(groups, i)) != NULL; i++)
        l->unsealed = l->unsealed || !reply_is_true(group, "sealed");
    return E_OK;
}

enum err_code look_take(struct look *l, const struct machine *m, struct err *err)
{
    const json_t *base = json_object_get(m->base, "counts");
    const char *name = NULL;
    json_t *now = NULL;

    if (look_at_groups(l, m, err) != E_OK || machine_counts(m, &l->counts, err) != E_OK)
        return err->code;
    json_object_foreach(l->counts, name, now)
    {
        add_queue(l, name, now, json_object_get(base, name));
    }
    return E_OK;
}

/* ---- waits ---- */

static bool is_one_of(const char *code, const char *const *codes)
{
    while (*codes != NULL && strcmp(code, *codes) != 0)
        codes++;
    return *codes != NULL;
}

static void note_wait(struct look *l, const char *queue, const json_t *reason)
{
    static const char *const soon[] = {"waiting", "links", "filter", "", NULL};
    CLEANUP(buf) struct buf text = BUF_INIT(1000);
    struct look_wait w = {.n = 1, .until_at = reply_time(reason, "until")};
    const char *code = reply_text(reason, "code");

    w.goes_by_itself = w.until_at == 0 && is_one_of(code, soon);
    buf_addf(&text, "%.200s: ", queue);
    clean_text(&text, slice_of(reply_text(reason, "text")));
    for (size_t i = 0; i < l->waits.count; i++) {
        struct look_wait *known = &l->waits.items[i];

        if (strcmp(known->text, buf_text(&text)) == 0) {
            known->n++;
            if (w.until_at < known->until_at)
                known->until_at = w.until_at;
            return;
        }
    }
    if (l->waits.count == WAITS_MAX && !w.goes_by_itself)
        return;
    w.text = mem_strdup(buf_text(&text));
    VEC_PUSH(&l->waits, w);
}

static int compare_waits(const void *a, const void *b)
{
    const struct look_wait *x = a;
    const struct look_wait *y = b;
    int64_t x_at = x->until_at != 0 ? x->until_at : INT64_MAX;
    int64_t y_at = y->until_at != 0 ? y->until_at : INT64_MAX;

    return (x_at > y_at) - (x_at < y_at);
}

enum err_code look_add_waits(struct look *l, const struct machine *m, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const json_t *job = NULL;

    if (machine_get(m, WAITING_PATH, &reply, err) != E_OK)
        return err->code;
    for (size_t i = 0; (job = json_array_get(json_object_get(reply.json, "jobs"), i)) != NULL; i++)
        note_wait(l, reply_text(job, "queue"), json_object_get(job, "reason"));
    if (l->waits.count > 0)
        qsort(l->waits.items, l->waits.count, sizeof(l->waits.items[0]), compare_waits);
    return E_OK;
}

void look_move_waits(struct look *to, struct look *from)
{
    to->waits.items = from->waits.items;
    to->waits.count = from->waits.count;
    to->waits.capacity = from->waits.capacity;
    from->waits.items = NULL;
    from->waits.count = from->waits.capacity = 0;
}

/* ---- the verdict ---- */

enum look_verdict look_judge(const struct look *l)
{
    if (l->running > 0)
        return LOOK_MOVES;
    if (l->waiting == 0)
        return l->open_groups == 0 ? LOOK_DONE : l->unsealed ? LOOK_IS_STUCK : LOOK_MOVES;
    for (size_t i = 0; i < l->waits.count; i++)
        if (l->waits.items[i].goes_by_itself)
            return LOOK_MOVES;
    if (look_next_at(l) != 0)
        return LOOK_WAITS;
    return l->waits.count > 0 ? LOOK_IS_STUCK : LOOK_MOVES;
}

int64_t look_next_at(const struct look *l)
{
    int64_t at = 0;

    for (size_t i = 0; i < l->waits.count; i++)
        if (l->waits.items[i].until_at != 0 && (at == 0 || l->waits.items[i].until_at < at))
            at = l->waits.items[i].until_at;
    return at;
}
