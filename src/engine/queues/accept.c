/* SPDX-License-Identifier: MIT */
#include "engine/queues/accept.h"

#include "base/jtext/jtext.h"
#include "core/program/template.h"
#include "engine/gates/lanes.h"
#include "engine/queues/queue.h"

/* A queue's command was checked when it was defined; a job's own one is checked here. */
static enum err_code check_own(struct slice command, struct slice params, struct err *refused)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct template_command own;

    if (template_command_parse(command, &arena, &own, NULL, refused) != E_OK)
        return err_wrap(refused, "command");
    return template_command_check(&own, &params, 1, refused);
}

static enum err_code check_command(const struct queue *q, struct slice params, struct slice options,
                                   struct err *refused)
{
    struct slice command;

    if (options.size > 0 && jtext_find(options, "command", &command))
        return check_own(command, params, refused);
    if (q->def.fault.size > 0)
        return err_set(refused, E_INVALID, "queue '%s' cannot run its command, define it again: %s",
                       q->name, q->def.fault.data);
    if (q->def.template == NULL || q->def.template->n_needs == 0)
        return E_OK;
    if (template_command_check(q->def.template, &params, 1, refused) != E_OK)
        return err_wrap(refused, "queue '%s'", q->name);
    return E_OK;
}

enum err_code queue_check_params(const struct queue *q, struct slice params, struct slice options,
                                 struct err *refused)
{
    if (check_command(q, params, options, refused) != E_OK)
        return refused->code;
    return lane_check(q, params, options, refused);
}

enum err_code queue_accepts(const struct queue *q, struct slice params, struct slice options,
                            struct err *refused)
{
    struct slice command;

    if (!queue_state_takes(q->state))
        return err_set(refused, E_QUEUE_DOWN,
                       "queue '%s' is %s and takes no jobs: 'waybill queue up' opens it", q->name,
                       queue_state_name(q->state));
    if (q->needs_newer)
        return err_set(refused, E_QUEUE_DOWN,
                       "queue '%s' was defined by a newer waybill and is unsupported here: %s",
                       q->name, q->def.fault.data);
    if (!q->def.own_command && options.size > 0 && jtext_find(options, "command", &command))
        return err_set(refused, E_INVALID,
                       "queue '%s' takes no commands with its jobs: its definition needs "
                       "own_command: true",
                       q->name);
    return queue_check_params(q, params, options, refused);
}
