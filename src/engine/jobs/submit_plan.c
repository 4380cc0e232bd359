/*
 * A dry run: what would be done with jobs if they were submitted.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/program/template.h"
#include "engine/batch/transaction.h"
#include "engine/followups/route.h"
#include "engine/jobs/submit.h"
#include "engine/queues/queue.h"
#include "engine/reads/job_json.h"

/* The command as it would be started; what earlier steps will set is not known yet. */
static void add_command(struct engine *e, struct buf *b, const struct queue *q,
                        struct slice command, struct slice params)
{
    struct slice json = command.size > 0 ? command : q->def.command;
    struct template_values values = {.objects = &params,
                                     .n_objects = 1,
                                     .id = SLICE("ID"),
                                     .queue = slice_of(q->name),
                                     .attempt = 1,
                                     .now_at = batch_now(e).wall_at};
    struct template_command parsed;
    struct err ignored = ERR_INIT;
    char **argv = NULL;

    if (json.size == 0)
        return;
    if (params.size == 0)
        params = SLICE("{}");
    if (template_command_parse(json, batch_arena(e), &parsed, NULL, &ignored) != E_OK ||
        template_command_fill(&parsed, &values, batch_arena(e), &argv, &ignored) != E_OK) {
        jtext_put_raw(b, "command", json);
        return;
    }
    jtext_add_key(b, "command");
    buf_add_char(b, '[');
    for (size_t i = 0; argv[i] != NULL; i++) {
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(argv[i]));
    }
    buf_add_char(b, ']');
}

static void add_step(struct engine *e, struct buf *b, const struct submit_item *item,
                     const struct route_step *step)
{
    const struct queue *q = queue_find(e, step->queue);
    const struct slice none = {0};

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_put_int(b, "number", step->number);
    jtext_put_string(b, "name", step->name);
    jtext_put_string(b, "queue", step->queue);
    add_command(e, b, q, step->command,
                route_params(item->params, none, step->params, batch_arena(e)));
    jtext_put_string(b, "on_error",
                     step->on_error == STEP_CONTINUE ? SLICE("continue") : SLICE("stop"));
    jtext_put_bool(b, "final", step->final);
    buf_add_char(b, '}');
}

/* Begins at the first step that would run: steps with a status are not run again. */
static void add_steps(struct engine *e, struct buf *b, const struct submit_item *item)
{
    if (item->routing == NULL || item->routing->n_steps == 0)
        return;
    jtext_add_key(b, "steps");
    buf_add_char(b, '[');
    for (const struct route_step *s = route_find(item->routing, item->step); s != NULL;
         s = route_next(item->routing, s->number, false))
        add_step(e, b, item, s);
    buf_add_char(b, ']');
}

static void add_plan(struct engine *e, struct buf *b, const struct submit_item *item,
                     const struct plan *p)
{
    struct slice command = {0};

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_put_string(b, "queue", item->queue);
    if (p->known) {
        jtext_add_id(b, "known", p->id);
        jtext_put_bool(b, "redo", item->redo);
    } else {
        struct job j = submit_make_job(e, item, p);

        jtext_put_string(b, "state", slice_of(job_state_name(j.state)));
    }
    if (item->step > 0) {
        add_steps(e, b, item);
    } else {
        if (item->options.size > 0 && !jtext_find(item->options, "command", &command))
            command = slice_make(NULL, 0);
        add_command(e, b, p->queue, command, item->params);
    }
    buf_add_char(b, '}');
}

void submit_add_plan(struct engine *e, struct op *op, const struct plan *plans)
{
    buf_add_str(&op->reply, "{\"plan\":[");
    for (size_t i = 0; i < op->submit.n_items; i++)
        add_plan(e, &op->reply, &op->submit.items[i], &plans[i]);
    buf_add_str(&op->reply, "]}");
    op->status = 200;
}
