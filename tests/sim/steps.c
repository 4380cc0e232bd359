/*
 * One step of a life.
 *
 * Most steps are a batch of requests; in some the process dies, the disk fails, or the server
 * restarts.
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"

enum { FULL_CHECK_EVERY = 75 };

#define BEAT_US (16 * US_PER_S) /* a server looks around at least so often */

/* ---- saying ---- */

static void say_items(const struct req *r, size_t n)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < n; i++) {
        const struct submit_item *item = &r->items[i];
        struct slice routing = SLICE("none");

        if (item->routing != NULL)
            routing = routing_format(item->routing, &arena);
        printf("\n            %.*s %.*s step %d key %d redo %d routing %.*s", (int)item->queue.size,
               item->queue.data, (int)item->params.size, item->params.data, item->step,
               r->subs[i].key, item->redo, (int)routing.size, routing.data);
        for (size_t k = 0; k < item->n_after; k++)
            printf(" after %lld %.*s step %.*s on %d signal %.*s", (long long)item->after[k].job,
                   (int)item->after[k].ref.size, item->after[k].ref.data,
                   (int)item->after[k].step.size, item->after[k].step.data, (int)item->after[k].on,
                   (int)item->after[k].signal.size, item->after[k].signal.data);
    }
}

static const char *const op_names[OP_KIND_COUNT] = {
    [OP_SUBMIT] = "submit",   [OP_EXCHANGE] = "exchange",   [OP_ACTION] = "act",
    [OP_BULK] = "bulk",       [OP_DEFINE] = "define",       [OP_QUEUE] = "queue",
    [OP_LOG] = "log",         [OP_WAIT] = "wait",           [OP_EMIT] = "emit",
    [OP_NEWS] = "news",       [OP_SIGNAL] = "signal",       [OP_JOIN] = "join",
    [OP_PUBLISH] = "publish", [OP_SUBSCRIBE] = "subscribe",
};

static void say_request(const struct sim *s, const struct req *r)
{
    const struct op *op = &r->op;

    if (!s->verbose)
        return;
    printf("%4d    %s", s->step, op_names[op->kind]);
    if (op->kind == OP_ACTION)
        printf(" %d on %lld", (int)op->action.kind, (long long)op->action.id);
    if (op->kind == OP_EXCHANGE)
        printf(" parts %u worker %d max %d wait %llds lease %llds all %d, finish %zu touch %zu",
               op->exchange.parts, r->worker, op->exchange.max,
               (long long)(op->exchange.wait_us / US_PER_S),
               (long long)(op->exchange.lease_us / US_PER_S), op->exchange.all,
               op->exchange.n_finish, op->exchange.n_touch);
    if (op->kind == OP_EXCHANGE && r->worker == MODEL_CONTESTED)
        printf(" as '%.*s' after %zu%s leaves %d", (int)op->exchange.worker.instance.size,
               op->exchange.worker.instance.data, op->exchange.worker.n_previous,
               r->succeeds ? " with the holder" : "", op->exchange.worker.leaves);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_queues; i++)
        printf(" <%.*s %d>", (int)op->exchange.queues[i].name.size,
               op->exchange.queues[i].name.data, op->exchange.queues[i].max);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_finish; i++)
        printf(" [%lld %s %lld]", (long long)op->exchange.finish[i].id,
               job_outcome_name(op->exchange.finish[i].outcome),
               (long long)op->exchange.finish[i].token);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_touch; i++)
        printf(" (%lld %lld)", (long long)op->exchange.touch[i].id,
               (long long)op->exchange.touch[i].token);
    if (op->kind == OP_EMIT)
        printf(" [%lld %lld] seq %lld visible %d cursor %lld jobs %zu", (long long)op->emit.id,
               (long long)op->emit.token, (long long)op->emit.seq, op->emit.visible,
               (long long)r->cursor, op->emit.n_jobs);
    if (op->kind == OP_DEFINE)
        printf(" %s %.*s puts %zu prune %d", op->define.removes ? "remove" : "put",
               (int)op->define.name.size, op->define.name.data,
               op->define.puts[DEFINITION_QUEUE].count, op->define.prune);
    if (op->kind == OP_QUEUE)
        printf(" %d %.*s state %d", (int)op->queue.kind, (int)op->queue.name.size,
               op->queue.name.data, (int)op->queue.state);
    if (op->kind == OP_SUBMIT)
        say_items(r, op->submit.n_items);
    if (op->kind == OP_EMIT)
        say_items(r, op->emit.n_jobs);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_finish; i++)
        if (op->exchange.finish[i].n_emit > 0)
            say_items(r, op->exchange.finish[i].n_emit);
    if (op->kind == OP_SIGNAL || op->kind == OP_JOIN || op->kind == OP_PUBLISH)
        printf(" %d of %d", op->kind == OP_SIGNAL ? (int)op->signal.kind : (int)op->join.kind,
               r->link);
    if (op->kind == OP_BULK)
        printf(" %d queue %d states %x label %d before %lld", (int)op->bulk.kind, r->work.queue,
               r->work.states, r->work.label, (long long)r->work.before_at);
    if (!r->answered)
        printf(" -> waits\n");
    else if (op->err.code != E_OK)
        printf(" -> %s: %s\n", err_name(op->err.code), op->err.msg);
    else
        printf(" -> %d %s\n", op->status, buf_text(&op->reply));
}

/* ---- steps ---- */

/* The server runs: what is due by a length moves with the clock. */
static void set_clock(struct sim *s)
{
    int64_t most_s = chance(s, 4) == 0 ? 5 * 86400 : 3600;
    int64_t us = ((int64_t)chance(s, (uint64_t)(2 * most_s)) - most_s) * US_PER_S;

    if (s->shared || (us >= -US_PER_S && us <= US_PER_S))
        return;
    world_set_clock(s, us);
    model_set_clock(&s->model, us);
    sim_say(s, "  the clock is set by %lld s", (long long)(us / US_PER_S));
}

/* Stopped, or suspended: nobody could renew a lease. */
static void pause_server(struct sim *s)
{
    world_advance(s, (int64_t)chance(s, 1200) * US_PER_S);
    engine_was_away(s->at->engine, 6 * US_PER_HOUR);
    judge_pause(s);
    sim_say(s, "  the server was stopped");
}

static void pass_time(struct sim *s, bool in_peace)
{
    uint64_t how = chance(s, 100);
    int64_t next_us = engine_next_us(s->at->engine, s->now);

    if (how < 12 && next_us < US_PER_HOUR)
        world_advance(s, next_us);
    else if (how < 16 && next_us < US_PER_HOUR && next_us > 0)
        world_advance(s, next_us - 1);
    else if (how < 20)
        world_advance(s, (int64_t)chance(s, 1200) * US_PER_S);
    else if (how < 22 && in_peace)
        set_clock(s);
    else if (how < 24 && in_peace)
        pause_server(s);
    else
        world_advance(s, (int64_t)chance(s, (uint64_t)(3 * US_PER_S)));
}

static void check_after(struct sim *s)
{
    s->faulty = false;
    check_store(s, s->step % FULL_CHECK_EVERY == 0 ? CHECK_ALL : CHECK_CHEAP);
    check_next(s);
    if (s->at->eager > 0)
        sim_run(s, NULL);
}

static void open_again(struct sim *s)
{
    uint64_t away = chance(s, 4);

    if (away == 0)
        s->now.wall_at += (int64_t)chance(s, 300) * US_PER_S;
    else if (away == 1)
        world_set_clock(s, ((int64_t)chance(s, 600) - 300) * US_PER_S);
    world_open(s);
}

/* A batch in which the process dies at some disk operation, before it or before its answers, or
 * right after it. */
static void step_crash(struct sim *s, struct req **reqs, size_t n)
{
    struct now then = s->now;

    world_plan_death(s);
    if (s->kill_in != 0)
        world_run(s, reqs, n);
    sim_say(s, "  the process %s%s", s->dead ? "died in the batch" : "dies after the batch",
            s->kill_by_power ? ", with the power" : "");
    for (size_t i = 0; i < n; i++)
        say_request(s, reqs[i]);
    bool after = !s->dead;

    if (after)
        judge_run(s, reqs, n);
    world_end(s, s->kill_by_power ? WORLD_POWER : WORLD_KILL);
    open_again(s);
    struct now opened = s->now;

    if (after) {
        world_read(s);
    } else {
        s->now = then; /* what the batch did, it did then */
        judge_crash(s, reqs, n);
        s->now = opened;
    }
    world_drop_waiting(s);
    world_renew(s);
    check_store(s, chance(s, 3) == 0 ? CHECK_ALL : CHECK_CHEAP);
}

static void step_restart(struct sim *s)
{
    sim_say(s, "  a restart in order");
    world_end(s, WORLD_STOP);
    world_drop_waiting(s);
    open_again(s);
    world_read(s);
    world_renew(s);
    check_store(s, CHECK_CHEAP);
}

/* ---- two servers ---- */

/* The other one looks after what this one granted: each lease gets a full period. */
static void adopt(struct sim *s, int from)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (s->model.jobs[i].server == from) {
            s->model.jobs[i].server = sim_at(s);
            s->model.jobs[i].lease_at = s->now.steady_at + s->model.jobs[i].lease_us;
        }
}

static void hear(struct sim *s)
{
    VEC(struct req *) reqs = VEC_INIT;

    for (size_t i = 0; i < s->at->news.count; i++) {
        struct req *r = client_nothing(s, OP_NEWS);

        r->op.news.text = client_text(r, "%s", s->at->news.items[i]);
        VEC_PUSH(&reqs, r);
        free(s->at->news.items[i]);
    }
    VEC_CLEAR(&s->at->news);
    world_run(s, reqs.items, reqs.count);
    judge_run(s, reqs.items, reqs.count);
    VEC_DEINIT(&reqs);
    check_after(s);
}

/* This server tells what it has to tell, or leaves, or dies; the other one goes on after its next
 * beat. */
void sim_change_places(struct sim *s, enum sim_parting parting)
{
    int from = sim_at(s);

    world_advance(s, BEAT_US);
    sim_run(s, NULL);
    if (parting == SIM_LEAVES) {
        world_end(s, chance(s, 2) == 0 ? WORLD_STOP : WORLD_KILL);
        world_drop_waiting(s);
    }
    world_advance(s, BEAT_US);
    bool was_down = s->servers[1 - from].store == NULL;

    world_change_places(s);
    sim_say(s, "  %s: server %d %s, server %d %s", "other hands", from,
            parting == SIM_LEAVES ? "leaves" : "stays", sim_at(s), was_down ? "comes" : "goes on");
    if (was_down)
        world_renew(s);
    if (parting == SIM_LEAVES)
        adopt(s, from);
    hear(s);
}

static void leave_some(struct sim *s)
{
    for (size_t i = 0; i < s->at->waiting.count; i++)
        if (chance(s, 20) == 0)
            s->at->waiting.items[i]->gone = true;
}

/*
 * A commit whose sync failed was answered with an error, but stays in the log of the database until
 * the next one overwrites it: a crash before that restores it, whole and without a promise.
 * tests/crash checks that; here such a commit is removed.
 */
static void bury(struct sim *s)
{
    bool up = s->model.queues[MODEL_QUEUES - 1].state == QUEUE_UP;

    sim_run(s, client_set_state(s, MODEL_QUEUES - 1, up ? QUEUE_DRAIN : QUEUE_UP));
}

void sim_step(struct sim *s)
{
    uint64_t how = chance(s, 100);
    struct req **reqs = s->batch;

    s->n_batch = 0;
    s->just_opened = false;
    if (s->n_servers > 1 && chance(s, 6) == 0)
        sim_change_places(s, chance(s, 4) == 0 ? SIM_LEAVES : SIM_STAYS);
    pass_time(s, how < 90);
    sim_say(s, "wall %lld steady %lld", (long long)s->now.wall_at, (long long)s->now.steady_at);
    leave_some(s);
    if (chance(s, 40) == 0)
        world_checkpoint(s);
    if (how >= 99) {
        step_restart(s);
        return;
    }
    s->crashing = how >= 94;
    struct req *resume = how >= 10 && chance(s, 8) == 0 ? client_resume(s) : NULL;

    if (resume != NULL)
        reqs[s->n_batch++] = resume;
    for (size_t want = how < 10 || resume != NULL ? 0
                       : how < 70                 ? 1
                                                  : 2 + chance(s, SIM_REQS - 1);
         s->n_batch < want; s->n_batch++)
        reqs[s->n_batch] = client_request(s);
    size_t n = s->n_batch;

    if (how >= 94) {
        step_crash(s, reqs, n);
        return;
    }
    if (how >= 90)
        world_plan_fault(s);
    uint64_t rollbacks = s->at->rollbacks;

    world_run(s, reqs, n);
    world_heal(s);
    for (size_t i = 0; i < n; i++)
        say_request(s, reqs[i]);
    judge_run(s, reqs, n);
    check_after(s);
    if (s->at->rollbacks > rollbacks)
        bury(s);
}

/* ---- one request by itself ---- */

void sim_run(struct sim *s, struct req *r)
{
    world_run(s, &r, r == NULL ? 0 : 1);
    if (r != NULL)
        say_request(s, r);
    judge_run(s, &r, r == NULL ? 0 : 1);
    check_after(s);
}

struct req *client_set_state(struct sim *s, int queue, enum queue_state state)
{
    struct req *r = client_nothing(s, OP_QUEUE);

    r->queue = queue;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_STATE,
                                    .name = slice_of(model_queue_names[queue]),
                                    .state = state};
    return r;
}
