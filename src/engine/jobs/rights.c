/* SPDX-License-Identifier: MIT */
#include "engine/jobs/rights.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "engine/batch/transaction.h"
#include "engine/queues/queue.h"
#include "store/jobs/jobs.h"

/* ---- who has a command ---- */

static bool has_own(struct slice options)
{
    struct slice command;

    return options.size > 0 && jtext_find(options, "command", &command);
}

bool rights_has_command(struct engine *e, const struct job *j)
{
    struct routing routing;

    if (has_own(j->options) || j->step == 0)
        return has_own(j->options);
    routing_parse(j->routing, batch_arena(e), &routing);
    return routing_has_command(&routing);
}

static bool item_has_command(const struct submit_item *item)
{
    return has_own(item->options) || (item->step != 0 && routing_has_command(item->routing));
}

/* ---- what a job may emit ---- */

static enum err_code forbid(const struct queue *q, struct err *refused)
{
    return err_set(refused, E_FORBIDDEN,
                   "command: jobs of queue '%s' may not emit commands: emit into a queue that has "
                   "the command, or define '%s' with may_emit: {command: true}",
                   q->name, q->name);
}

/* The limits of the running job: its queue's, overridden by those of its own command. */
static enum err_code limits_of(struct engine *e, const struct job *j, struct slice *ret_limits,
                               struct err *err)
{
    const struct queue *q = queue_by_id(e, j->queue);
    struct queue_limits own = {0};
    struct slice options = {0};
    struct slice json = {0};

    if (store_job_options(batch_store(e), j->id.v, batch_arena(e), &options, err) != E_OK)
        return err->code;
    if (options.size > 0 && jtext_find(options, "limits", &json) &&
        queue_limits_parse(json, batch_arena(e), &own, err) != E_OK)
        return err_set(err, E_INTERNAL, "the limits of a job cannot be read: %.*s", (int)json.size,
                       json.data);
    own = queue_limits_for(&own, &q->def.limits);
    *ret_limits = queue_limits_format(&own, batch_arena(e));
    return E_OK;
}

static struct slice with_limits(struct engine *e, struct slice options, struct slice limits)
{
    CLEANUP(buf) struct buf b = BUF_INIT(options.size + limits.size + sizeof(",\"limits\":"));

    buf_add(&b, options.data, options.size - 1);
    jtext_put_raw(&b, "limits", limits);
    buf_add_char(&b, '}');
    ASSERT(!b.overflowed);
    return arena_copy(batch_arena(e), buf_slice(&b));
}

void rights_limit_steps(struct route_step *steps, size_t n, struct slice limits)
{
    for (size_t i = 0; i < n; i++)
        if (steps[i].command.size > 0)
            steps[i].limits = limits;
}

static void limit_item(struct engine *e, struct submit_item *item, struct slice limits)
{
    if (item->step == 0) {
        item->options = with_limits(e, item->options, limits);
        return;
    }
    struct routing *own = arena_alloc(batch_arena(e), sizeof(*own));

    *own = *item->routing;
    own->steps = arena_array(batch_arena(e), own->n_steps, sizeof(*own->steps));
    memcpy(own->steps, item->routing->steps, own->n_steps * sizeof(*own->steps));
    rights_limit_steps(own->steps, own->n_steps, limits);
    item->options = route_options(own, route_find(own, item->step), batch_arena(e));
    item->routing = own;
}

enum err_code rights_judge_emits(struct engine *e, const struct job *j,
                                 const struct submit_item **items, size_t n, size_t *ret_bad,
                                 struct err *refused, struct err *err)
{
    const struct queue *q = queue_by_id(e, j->queue);
    struct submit_item *copies = NULL;
    struct slice limits = {0};

    for (size_t i = 0; i < n; i++) {
        if (!item_has_command(&(*items)[i]))
            continue;
        if (!q->def.may_emit_command) {
            *ret_bad = i;
            (void)forbid(q, refused);
            return E_OK;
        }
        if (copies == NULL) {
            if (limits_of(e, j, &limits, err) != E_OK)
                return err->code;
            copies = arena_array(batch_arena(e), n, sizeof(*copies));
            memcpy(copies, *items, n * sizeof(*copies));
        }
        if (limits.size > 0)
            limit_item(e, &copies[i], limits);
    }
    if (copies != NULL)
        *items = copies;
    return E_OK;
}

enum err_code rights_judge_steps(struct engine *e, const struct job *j, struct slice steps,
                                 struct slice *ret_limits, struct err *refused, struct err *err)
{
    const struct queue *q = queue_by_id(e, j->queue);
    struct routing added = {0};

    if (route_steps_parse(steps, 0, batch_arena(e), &added.steps, &added.n_steps, refused) !=
            E_OK ||
        !routing_has_command(&added))
        return E_OK;
    if (!q->def.may_emit_command) {
        (void)forbid(q, refused);
        (void)err_wrap(refused, "steps");
        return E_OK;
    }
    return limits_of(e, j, ret_limits, err);
}

/* ---- changes by clients ---- */

void rights_judge_change(struct engine *e, const struct job *j, const char *what,
                         struct err *refused)
{
    if (rights_has_command(e, j))
        err_set(refused, E_FORBIDDEN,
                "%s: the job has its own command, and only the administrator may change how it "
                "runs: use the Unix socket in the data directory, or send the token "
                "(Authorization: Bearer TOKEN)",
                what);
}

enum err_code rights_judge_change_of(struct engine *e, int64_t id, const char *what,
                                     struct err *refused, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool found = false;
    struct job j;

    if (store_job_load(batch_store(e), id, LOAD_PAYLOAD, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (found)
        rights_judge_change(e, &j, what, refused);
    return E_OK;
}
