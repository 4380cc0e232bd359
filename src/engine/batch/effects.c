/* SPDX-License-Identifier: MIT */
#include "engine/batch/effects.h"

#include "engine/batch/counts.h"
#include "engine/batch/retention.h"
#include "engine/claims/ready.h"
#include "engine/gates/gating.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/jobs/ready.h"

void effects_event(struct engine *e, const struct job *j, const struct queue *q, const char *what)
{
    if (e->config.on_event == NULL)
        return;
    VEC_PUSH(&e->batch.events, ((struct event){.kind = EVENT_JOB,
                                               .at = e->now.wall_at,
                                               .id = j->id.v,
                                               .queue = slice_of(q->name),
                                               .state = j->state,
                                               .what = what}));
}

void effects_ended(struct engine *e, const struct job *j)
{
    if (e->waiting.end_watchers != NULL || j->watched) /* perhaps by a wait of this batch */
        VEC_PUSH(&e->batch.ended, j->id.v);
    if (j->watched)
        news_add_ended(e, j->id.v);
}

void effects_removed(struct engine *e, const struct job *j)
{
    effects_ended(e, j);
    followups_add(e, &(struct followup_end){
                         .job = j->id.v, .state = JOB_NONE, .whole = true, .awaited = j->awaited});
}

void effects_unready(struct engine *e, struct queue *q, const struct job *j)
{
    if (j->lane != 0)
        gating_remove_ready(e, q, j);
    else
        ready_remove(&q->ready, (struct ready_ref){j->priority, j->id.v});
}

void effects_move(struct engine *e, const struct job *j, enum job_state from,
                  struct queue *from_queue, const char *what)
{
    struct queue *q = queue_by_id(e, j->queue);

    if (from != JOB_NONE)
        counts_add(&e->batch.counts, from_queue->id, from, -1);
    if (from == JOB_READY)
        effects_unready(e, from_queue, j);
    counts_add(&e->batch.counts, q->id, j->state, 1);
    if (j->state == JOB_READY) {
        if (j->lane != 0)
            gating_add_ready(e, q, j);
        else
            ready_add(&q->ready, (struct ready_ref){j->priority, j->id.v});
        q->made_ready = e->waiting.grants_due = true;
    }
    if (j->state == JOB_SCHEDULED && j->due_at < e->sweep.due_at)
        e->sweep.due_at = j->due_at;
    if (job_state_ended(j->state)) {
        retention_note(e, q, j);
        VEC_PUSH(&e->batch.endings, ((struct ended_job){q->id, j->state, j->id.v}));
        effects_ended(e, j);
        followups_add(e, &(struct followup_end){.job = j->id.v,
                                                .queue = j->queue,
                                                .group = j->group,
                                                .state = j->state,
                                                .whole = true,
                                                .routed = j->step > 0,
                                                .awaited = j->awaited,
                                                .has_dests = j->has_dests});
    }
    if (j->group != 0 || j->opened || j->closes != 0)
        groups_moved(e, j, from);
    effects_event(e, j, q, what);
}

/* Notes that `open` jobs may still run under the claim. */
static void set_open(struct engine *e, struct live_claim *claim, size_t open)
{
    claim->open = open;
    if (open > 0)
        return;
    VEC_PUSH(&e->claims.dead, claim->token);
    claims_remove(&e->claims, claim);
}

/* Leases are judged after everything that ends jobs: their count is what is left. */
static void close_claims(struct engine *e)
{
    struct live_claim *claim;

    for (size_t i = 0; i < e->batch.ended_attempts.count; i++)
        if ((claim = claims_find(&e->claims, e->batch.ended_attempts.items[i].token)) != NULL)
            set_open(e, claim, claim->open - 1);
    for (size_t i = 0; i < e->batch.judged_claims.count; i++)
        if ((claim = claims_find(&e->claims, e->batch.judged_claims.items[i].token)) != NULL)
            set_open(e, claim, e->batch.judged_claims.items[i].open);
}

static void add_tallies(struct engine *e)
{
    struct engine_stats *s = &e->stats;

    atomic_fetch_add(&s->submitted, e->batch.tally.submitted);
    for (unsigned i = 0; i < FILTER_KINDS; i++)
        atomic_fetch_add(&s->dropped, e->batch.tally.dropped[i]);
    atomic_fetch_add(&s->claimed, e->batch.tally.claimed);
    atomic_fetch_add(&s->done, e->batch.tally.outcomes[JOB_OUT_DONE]);
    atomic_fetch_add(&s->later, e->batch.tally.outcomes[JOB_OUT_LATER]);
    atomic_fetch_add(&s->returned, e->batch.tally.outcomes[JOB_OUT_RETURNED]);
    atomic_fetch_add(&s->lost, e->batch.tally.outcomes[JOB_OUT_LOST]);
    atomic_fetch_add(&s->cancelled, e->batch.tally.cancelled);
    atomic_fetch_add(&s->failed, e->batch.tally.failed);
    atomic_fetch_add(&s->retried, e->batch.tally.retried);
    atomic_fetch_add(&s->stale, e->batch.tally.stale);
    atomic_fetch_add(&s->deleted, e->batch.tally.deleted);
    atomic_fetch_add(&s->retained, e->batch.tally.retained);
    atomic_fetch_add(&s->fired, e->batch.tally.fired);
    atomic_fetch_add(&s->expired, e->batch.tally.expired);
    atomic_fetch_add(&s->groups_opened, e->batch.tally.groups_opened);
    atomic_fetch_add(&s->groups_ended, e->batch.tally.groups_ended);
}

void effects_apply(struct engine *e)
{
    for (size_t i = 0; i < e->batch.new_claims.count; i++)
        claims_add(&e->claims, e->batch.new_claims.items[i]);
    VEC_CLEAR(&e->batch.new_claims);
    close_claims(e);
    cancels_apply(e);
    add_tallies(e);
    for (size_t i = 0; i < e->batch.events.count; i++)
        e->config.on_event(e->config.event_ctx, &e->batch.events.items[i]);
}
