/* SPDX-License-Identifier: MIT */
#include "engine/batch/phases.h"

#include "base/compiler.h"
#include "engine/batch/answer.h"
#include "engine/batch/batch.h"
#include "engine/batch/clocks.h"
#include "engine/batch/ids.h"
#include "engine/batch/sweep.h"
#include "engine/batch/transaction.h"
#include "engine/claims/claim.h"
#include "engine/claims/exchange.h"
#include "engine/clock/clock.h"
#include "engine/filters/desk.h"
#include "engine/filters/filters.h"
#include "engine/followups/join.h"
#include "engine/followups/signal.h"
#include "engine/followups/topic.h"
#include "engine/gates/gate.h"
#include "engine/gates/resource.h"
#include "engine/groups/group_op.h"
#include "engine/jobs/bulk.h"
#include "engine/jobs/emit.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/keys.h"
#include "engine/jobs/log.h"
#include "engine/jobs/submit.h"
#include "engine/queues/change.h"
#include "engine/queues/define.h"
#include "engine/queues/instance.h"
#include "engine/queues/subscribers.h"
#include "engine/shared/news.h"
#include "engine/shared/shared.h"

typedef enum err_code step_fn(struct engine *e, struct err *err);
typedef enum err_code use_case_fn(struct engine *e, struct op *op, struct err *err);

/* One row is either a step for the batch as a whole, or a use case for each op of one kind. */
struct phase {
    const char *name;
    step_fn *step;
    enum op_kind kind;
    use_case_fn *run;
    bool own_work; /* work that no op asked for: its failure is not the ops' fault */
};

/* Ops are answered after the commit (batch.c); ARCHITECTURE.md quotes this table. */
static const struct phase phases[] = {
    {.name = "hear news", .kind = OP_NEWS, .run = news_run},
    {.name = "check ids", .step = ids_require_room},
    {.name = "reload", .step = batch_reload},
    {.name = "begin on a shared store", .step = shared_begin},
    {.name = "admit workers", .step = instances_admit},
    {.name = "watch again", .step = shared_check_watched},
    {.name = "settle the clock", .step = clocks_settle},

    /* Before exchanges: one that names an unknown queue is refused as a whole. */
    {.name = "define", .kind = OP_DEFINE, .run = define_run},
    {.name = "queues", .kind = OP_QUEUE, .run = queue_op_run},
    {.name = "schedules", .kind = OP_SCHEDULE, .run = schedule_op_run},
    {.name = "subscribe", .kind = OP_SUBSCRIBE, .run = subscribe_run},

    /* What a worker reports counts before its leases are judged. */
    {.name = "emit", .kind = OP_EMIT, .run = emit_run},
    {.name = "logs of exchanges", .step = exchange_logs},
    {.name = "plain finishes", .step = finish_plain},
    {.name = "finish", .kind = OP_EXCHANGE, .run = exchange_finish},
    {.name = "touch", .kind = OP_EXCHANGE, .run = exchange_touch},
    {.name = "write emitted jobs", .step = submit_flush}, /* the sweep reads the store */
    {.name = "sweep", .step = sweep_run, .own_work = true},
    {.name = "settle emits", .step = emit_settle, .own_work = true},

    {.name = "log", .kind = OP_LOG, .run = log_run},
    {.name = "act", .kind = OP_ACTION, .run = job_action_run},
    {.name = "bulk", .kind = OP_BULK, .run = bulk_run},
    {.name = "fire schedules", .step = schedules_fire, .own_work = true},
    {.name = "verdicts", .kind = OP_FILTER, .run = desk_verdicts_run},
    {.name = "follow ends", .step = followups_follow}, /* a submit may run ended jobs again */
    {.name = "take keys", .step = submit_prepare_keys},
    {.name = "judge followers", .step = filters_make_deferred},
    {.name = "look at filters", .step = submit_look_at_filters},
    {.name = "submit", .kind = OP_SUBMIT, .run = submit_run},
    {.name = "publish", .kind = OP_PUBLISH, .run = publish_run},
    {.name = "join", .kind = OP_JOIN, .run = join_run},
    {.name = "signal", .kind = OP_SIGNAL, .run = signal_run},
    {.name = "resource", .kind = OP_RESOURCE, .run = resource_op_run},
    {.name = "wait", .kind = OP_WAIT, .run = wait_run},
    {.name = "write submitted jobs", .step = submit_flush},
    {.name = "settle followups", .step = followups_settle, .own_work = true},
    {.name = "return unused keys", .step = keys_return},
    {.name = "groups", .kind = OP_GROUP, .run = group_op_run}, /* jobs are locked before groups */
    {.name = "write streaks", .step = queue_write_streaks},    /* a queue may stop by it */

    {.name = "give jobs to filters", .step = desk_grant},

    /* What became ready in this batch is claimed in it. */
    {.name = "release gates", .step = gates_release},
    {.name = "claim", .step = claims_grant},
    {.name = "write gates", .step = gates_write},
    {.name = "commit", .step = engine_commit},
};

enum err_code phases_run(struct engine *e, struct batch *b, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        const struct phase *p = &phases[i];

        b->own_work = p->own_work; /* stays when the phase fails */
        if (p->step != NULL && p->step(e, err) != E_OK)
            return err->code;
        for (size_t k = 0; p->run != NULL && k < b->n_ops; k++)
            if (b->ops[k]->kind == p->kind && p->run(e, b->ops[k], err) != E_OK)
                return err->code;
    }
    return E_OK;
}
