/* SPDX-License-Identifier: MIT */
#include "script_requests.h"

#include "base/compiler.h"

#define WORK_DEFINITION                                       \
    "{\"retry\":{\"max\":2,\"first\":\"100s\",\"jitter\":0}," \
    "\"keep\":{\"done\":\"1h\",\"failed\":\"2h\"}}"
#define OTHER_DEFINITION "{\"keep\":{\"done\":\"1h\",\"failed\":\"2h\"}}"

/* ---- submit ---- */

static void submit(struct request *r, enum submit_mode mode, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        r->items[i].queue = SLICE("work");
        r->items[i].params = SLICE("{\"some\":\"params\",\"and\":[1,2,3]}");
    }
    r->op.kind = OP_SUBMIT;
    r->op.submit = (struct submit){.mode = mode, .items = r->items, .n_items = n, .first_line = 1};
}

void request_submit_one(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ONE, 1);
    r->items[0].body = SLICE("a body\nof two lines\n");
}

void request_submit_key(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ONE, 1);
    r->items[0].key = SLICE("a key");
    r->items[0].content = 1;
}

void request_submit_clash(struct script *s, struct request *r)
{
    request_submit_key(s, r);
    r->items[0].content = 2;
}

void request_submit_array(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ARRAY, 4);
    r->items[1].priority = 5;
    r->items[2].delay_us = 100 * US_PER_S;
    r->items[3].labels = SLICE("{\"of\":\"array\"}");
    r->items[3].options = SLICE("{\"retry\":{\"max\":0}}");
    r->items[3].key = SLICE("another key");
}

void request_submit_bad_array(struct script *s, struct request *r)
{
    request_submit_array(s, r);
    r->items[3].key = SLICE("a key never seen");
    r->items[2].queue = SLICE("wrok");
}

static const struct err no_job = {.code = E_INVALID, .msg = "not a job"};

void request_submit_lines(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_LINES, 3);
    r->items[1].parse_err = &no_job;
}

/* ---- exchanges ---- */

static void exchange(struct request *r, unsigned parts)
{
    r->op.kind = OP_EXCHANGE;
    r->op.exchange = (struct exchange){.parts = parts,
                                       .finish = r->finish,
                                       .touch = r->touch,
                                       .queues = r->queues,
                                       .lease_us = US_PER_MIN,
                                       .worker = {.name = SLICE("a worker"), .pid = 9}};
}

static void claim(struct request *r, int max)
{
    exchange(r, EXCHANGE_JOBS | EXCHANGE_TOUCHED);
    r->queues[0] = (struct claim_queue){SLICE("work"), max};
    r->queues[1] = (struct claim_queue){SLICE("other"), max};
    r->op.exchange.n_queues = 2;
    r->op.exchange.max = max;
}

void request_claim_three(struct script *s, struct request *r)
{
    (void)s;
    claim(r, 3);
}

void request_claim_two(struct script *s, struct request *r)
{
    (void)s;
    claim(r, 2);
}

void request_claim_for_long(struct script *s, struct request *r)
{
    (void)s;
    claim(r, 1000);
    r->op.exchange.lease_us = US_PER_HOUR;
}

static void finish_lease(struct script *s, struct request *r, size_t lease,
                         enum job_outcome outcome)
{
    struct exchange *x = &r->op.exchange;

    ASSERT(lease < s->n_leases);
    r->finish[x->n_finish++] = (struct finish_item){.id = s->leases[lease].id,
                                                    .token = s->leases[lease].token,
                                                    .outcome = outcome};
}

static void finish(struct script *s, struct request *r, size_t lease, enum job_outcome outcome)
{
    exchange(r, EXCHANGE_RESULTS);
    finish_lease(s, r, lease, outcome);
}

static void touch_lease(struct script *s, struct request *r, size_t lease)
{
    struct exchange *x = &r->op.exchange;

    ASSERT(lease < s->n_leases);
    r->touch[x->n_touch++] = (struct touch_item){.id = s->leases[lease].id,
                                                 .token = s->leases[lease].token,
                                                 .text = SLICE("half way"),
                                                 .has_text = true,
                                                 .done = 5,
                                                 .total = 10,
                                                 .has_done = true};
}

static const struct log_mark begun_marks[] = {
    {.offset = 0, .kind = LOG_MARK_TIME, .value = INT64_C(1760000000) * US_PER_S}};
static const struct log_append begun = {.data = SLICE("begun\n"),
                                        .marks = begun_marks,
                                        .n_marks = 1};
static const struct log_append failed = {.offset = 6, .data = SLICE("and failed\n")};

void request_touch_all(struct script *s, struct request *r)
{
    exchange(r, EXCHANGE_TOUCHED);
    for (size_t i = 0; i < 3; i++)
        touch_lease(s, r, i);
    r->touch[1].log = &begun;
    r->touch[1].unit = SLICE("MB");
    r->touch[1].has_unit = r->touch[1].has_left = true;
    r->touch[1].left_us = 90 * US_PER_S;
}

void request_finish_done(struct script *s, struct request *r)
{
    finish(s, r, 0, JOB_OUT_DONE);
    r->finish[0].set = SLICE("{\"found\":17}");
    r->finish[0].result = SLICE("[\"a result\"]");
    r->finish[0].text = SLICE("all found");
    r->finish[0].has_text = true;
}

void request_finish_failed(struct script *s, struct request *r)
{
    finish(s, r, 1, JOB_OUT_FAILED);
    r->finish[0].exited = true;
    r->finish[0].exit = 3;
    r->finish[0].log = &failed;
}

void request_finish_later(struct script *s, struct request *r)
{
    finish(s, r, 2, JOB_OUT_LATER);
    r->finish[0].delayed = true;
    r->finish[0].delay_us = 100 * US_PER_S;
}

void request_finish_returned(struct script *s, struct request *r)
{
    finish(s, r, 3, JOB_OUT_RETURNED);
}

void request_finish_cancelled(struct script *s, struct request *r)
{
    finish(s, r, 4, JOB_OUT_CANCELLED);
}

/* Three in one request, and a worker that says what else it holds: the rest comes back. */
void request_exchange_all(struct script *s, struct request *r)
{
    claim(r, 1);
    r->op.exchange.worker.described = true;
    r->op.exchange.worker.queues = SLICE("{\"work\":4,\"other\":1}");
    r->op.exchange.worker.broken = SLICE("{\"other\":\"no such file\"}");
    r->op.exchange.parts |= EXCHANGE_RESULTS;
    r->op.exchange.all = true;
    finish_lease(s, r, 5, JOB_OUT_DONE);
    touch_lease(s, r, 6);
}

void request_finish_plain(struct script *s, struct request *r)
{
    exchange(r, EXCHANGE_RESULTS);
    for (size_t i = 0; i < 3; i++)
        finish_lease(s, r, s->n_leases - 1 - i, JOB_OUT_DONE);
}

/* The job that was submitted last emits, under its last lease. */
static struct script_lease emitter(const struct script *s)
{
    size_t i = s->n_leases;

    while (i > 0 && s->leases[i - 1].id != s->jobs[s->n_jobs - 1])
        i--;
    ASSERT(i > 0);
    return s->leases[i - 1];
}

static void emit(struct script *s, struct request *r, int64_t seq, size_t n)
{
    struct script_lease lease = emitter(s);

    for (size_t i = 0; i < n; i++) {
        r->items[i].queue = SLICE("other");
        r->items[i].params = SLICE("{\"emitted\":true}");
    }
    r->op.kind = OP_EMIT;
    r->op.emit = (struct emit){
        .id = lease.id, .token = lease.token, .seq = seq, .jobs = r->items, .n_jobs = n};
}

void request_emit(struct script *s, struct request *r)
{
    emit(s, r, 1, 3);
    r->items[0].key = SLICE("a key of what is emitted");
    r->items[0].content = 5;
    r->items[1].delay_us = US_PER_HOUR;
}

void request_emit_visible(struct script *s, struct request *r)
{
    emit(s, r, 2, 1);
    r->op.emit.visible = true;
}

void request_emit_cursor(struct script *s, struct request *r)
{
    emit(s, r, 3, 1);
    r->op.emit.visible = true;
    r->op.emit.cursor = SLICE("{\"page\":1}");
}

void request_emit_after_cursor(struct script *s, struct request *r)
{
    emit(s, r, 4, 2);
    r->op.emit.visible = true;
}

void request_emit_next_cursor(struct script *s, struct request *r)
{
    emit(s, r, 5, 0);
    r->op.emit.cursor = SLICE("{\"page\":2}");
}

void request_emit_third(struct script *s, struct request *r)
{
    emit(s, r, 3, 3);
}

void request_emit_more(struct script *s, struct request *r)
{
    emit(s, r, 6, 2);
    r->op.emit.visible = true;
}

static void finish_emitter(struct script *s, struct request *r, enum job_outcome outcome)
{
    struct script_lease lease = emitter(s);

    exchange(r, EXCHANGE_RESULTS);
    r->finish[r->op.exchange.n_finish++] = (struct finish_item){.id = lease.id,
                                                                .token = lease.token,
                                                                .outcome = outcome};
}

void request_finish_emitter_failed(struct script *s, struct request *r)
{
    finish_emitter(s, r, JOB_OUT_FAILED);
}

void request_finish_emitter_done(struct script *s, struct request *r)
{
    finish_emitter(s, r, JOB_OUT_DONE);
    r->items[0].queue = SLICE("other");
    r->items[1].queue = SLICE("other");
    r->items[1].key = SLICE("a key of what is emitted");
    r->finish[0].emit = r->items;
    r->finish[0].n_emit = r->op.exchange.n_emit = 2;
}

void request_log_text(struct script *s, struct request *r)
{
    r->op.kind = OP_LOG;
    r->op.log = (struct log_append){.id = s->leases[0].id,
                                    .token = s->leases[0].token,
                                    .data = SLICE("what the program said\n")};
}

void request_log_more(struct script *s, struct request *r)
{
    request_log_text(s, r);
    r->op.log.offset = 10;
    r->op.log.data = SLICE("program said\nand said\n");
}

/* ---- actions ---- */

static void act(struct script *s, struct request *r, enum job_action_kind kind, size_t job)
{
    ASSERT(job < s->n_jobs);
    r->op.kind = OP_ACTION;
    r->op.action = (struct job_action){.kind = kind, .id = s->jobs[job]};
}

void request_cancel_running(struct script *s, struct request *r)
{
    act(s, r, ACTION_CANCEL, 0);
    r->op.action.id = s->leases[4].id;
}

void request_hold(struct script *s, struct request *r)
{
    act(s, r, ACTION_HOLD, 6);
}

void request_patch(struct script *s, struct request *r)
{
    act(s, r, ACTION_PATCH, 7);
    r->op.action.has_priority = r->op.action.has_due = true;
    r->op.action.priority = 3;
    r->op.action.due_at = s->now.wall_at + US_PER_HOUR;
    r->op.action.params = SLICE("{\"patched\":true}");
    r->op.action.labels = SLICE("{\"x\":\"y\"}");
}

void request_start_now(struct script *s, struct request *r)
{
    act(s, r, ACTION_NOW, 7);
}

void request_release(struct script *s, struct request *r)
{
    act(s, r, ACTION_RELEASE, 6);
}

void request_move(struct script *s, struct request *r)
{
    act(s, r, ACTION_MOVE, 6);
    r->op.action.queue = SLICE("other");
}

void request_clone(struct script *s, struct request *r)
{
    act(s, r, ACTION_CLONE, 3);
    r->op.action.params = SLICE("{\"more\":1}");
}

void request_cancel_clone(struct script *s, struct request *r)
{
    act(s, r, ACTION_CANCEL, 8);
}

void request_retry(struct script *s, struct request *r)
{
    act(s, r, ACTION_RETRY, 3);
    r->op.action.params = SLICE("{\"again\":1}");
}

void request_delete_clone(struct script *s, struct request *r)
{
    act(s, r, ACTION_DELETE, 8);
}

/* ---- many, queues ---- */

static void bulk(struct request *r, enum job_action_kind kind, unsigned states)
{
    r->op.kind = OP_BULK;
    r->op.bulk = (struct bulk){.kind = kind, .filter = {.queue = SLICE("work"), .states = states}};
}

void request_bulk_hold(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACTION_HOLD, 1U << JOB_READY | 1U << JOB_SCHEDULED);
}

void request_bulk_release(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACTION_RELEASE, 0);
}

void request_bulk_delete(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACTION_DELETE, 1U << JOB_CANCELLED | 1U << JOB_FAILED);
}

void request_put_queues(struct script *s, struct request *r)
{
    (void)s;
    r->puts[0] = (struct definition_put){SLICE("work"), SLICE(WORK_DEFINITION)};
    r->puts[1] = (struct definition_put){SLICE("other"), SLICE(OTHER_DEFINITION)};
    r->op.kind = OP_DEFINE;
    r->op.define.puts[DEFINITION_QUEUE] = (struct definition_puts){r->puts, 2};
}

void request_put_passing_queue(struct script *s, struct request *r)
{
    request_put_queues(s, r);
    r->puts[1].name = SLICE("passing");
}

void request_prune_queues(struct script *s, struct request *r)
{
    request_put_queues(s, r);
    r->op.define.prune = true;
}

static void queue_state(struct request *r, enum queue_state state)
{
    r->op.kind = OP_QUEUE;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_STATE, .name = SLICE("work"), .state = state};
}

void request_queue_restart(struct script *s, struct request *r)
{
    (void)s;
    r->op.kind = OP_QUEUE;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_RESTART, .name = SLICE("work")};
}

void request_queue_pause(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_PAUSE);
}

void request_queue_drain(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_DRAIN);
}

void request_queue_up(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_UP);
}
