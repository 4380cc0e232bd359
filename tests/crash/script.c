/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <sqlite3.h>

#include "base/id.h"
#include "base/json.h"
#include "engine/engine.h"
#include "store/store.h"

#define BEGIN_AT (INT64_C(1760000000) * US_PER_S)

/* Longer than the engine rests after a failure.  Nothing falls due by itself in a step with a request, which
 * may run in such a rest when it is repeated. */
#define STEP_US (2 * US_PER_S)

#define WORK_DEFINITION \
    "{\"retry\":{\"max\":2,\"first\":\"100s\",\"jitter\":0},\"keep\":{\"done\":\"1h\",\"failed\":\"2h\"}}"
#define OTHER_DEFINITION "{\"keep\":{\"done\":\"1h\",\"failed\":\"2h\"}}"

/* A request with room for its parts. */
struct request {
    struct op op;
    bool done;
    struct submit_item items[4];
    struct finish_item finish[4];
    struct touch_item touch[4];
    struct claim_queue queues[2];
    struct queue_put puts[2];
};

static void on_done(struct op *op)
{
    ((struct request *)op->owner)->done = true;
}

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

static void submit_one(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ONE, 1);
    r->items[0].body = SLICE("a body\nof two lines\n");
}

static void submit_key(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ONE, 1);
    r->items[0].key = SLICE("a key");
    r->items[0].content = 1;
}

static void submit_clash(struct script *s, struct request *r)
{
    submit_key(s, r);
    r->items[0].content = 2;
}

static void submit_array(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_ARRAY, 4);
    r->items[1].priority = 5;
    r->items[2].delay_us = 100 * US_PER_S;
    r->items[3].labels = SLICE("{\"of\":\"array\"}");
    r->items[3].options = SLICE("{\"retry\":{\"max\":0}}");
    r->items[3].key = SLICE("another key");
}

static void submit_bad_array(struct script *s, struct request *r)
{
    submit_array(s, r);
    r->items[3].key = SLICE("a key never seen");
    r->items[2].queue = SLICE("wrok");
}

static void submit_lines(struct script *s, struct request *r)
{
    (void)s;
    submit(r, SUBMIT_LINES, 3);
    err_set(&r->items[1].parse_err, E_INVALID, "not a job");
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

static void claim_three(struct script *s, struct request *r)
{
    (void)s;
    claim(r, 3);
}

static void claim_two(struct script *s, struct request *r)
{
    (void)s;
    claim(r, 2);
}

static void claim_for_long(struct script *s, struct request *r)
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

static void touch_all(struct script *s, struct request *r)
{
    exchange(r, EXCHANGE_TOUCHED);
    for (size_t i = 0; i < 3; i++)
        touch_lease(s, r, i);
}

static void finish_done(struct script *s, struct request *r)
{
    finish(s, r, 0, JOB_OUT_DONE);
    r->finish[0].set = SLICE("{\"found\":17}");
    r->finish[0].result = SLICE("[\"a result\"]");
    r->finish[0].text = SLICE("all found");
    r->finish[0].has_text = true;
}

static void finish_failed(struct script *s, struct request *r)
{
    finish(s, r, 1, JOB_OUT_FAILED);
    r->finish[0].exited = true;
    r->finish[0].exit = 3;
}

static void finish_later(struct script *s, struct request *r)
{
    finish(s, r, 2, JOB_OUT_LATER);
    r->finish[0].delayed = true;
    r->finish[0].delay_us = 100 * US_PER_S;
}

static void finish_returned(struct script *s, struct request *r)
{
    finish(s, r, 3, JOB_OUT_RETURNED);
}

static void finish_cancelled(struct script *s, struct request *r)
{
    finish(s, r, 4, JOB_OUT_CANCELLED);
}

/* Three in one request, and a worker that says what else it holds: the rest comes back. */
static void exchange_all(struct script *s, struct request *r)
{
    claim(r, 1);
    r->op.exchange.parts |= EXCHANGE_RESULTS;
    r->op.exchange.all = true;
    finish_lease(s, r, 5, JOB_OUT_DONE);
    touch_lease(s, r, 6);
}

static void finish_plain(struct script *s, struct request *r)
{
    exchange(r, EXCHANGE_RESULTS);
    for (size_t i = 0; i < 3; i++)
        finish_lease(s, r, s->n_leases - 1 - i, JOB_OUT_DONE);
}

static void log_text(struct script *s, struct request *r)
{
    r->op.kind = OP_LOG;
    r->op.log = (struct log_append){.id = s->leases[0].id,
                                    .token = s->leases[0].token,
                                    .data = SLICE("what the program said\n")};
}

static void log_more(struct script *s, struct request *r)
{
    log_text(s, r);
    r->op.log.offset = 10;
    r->op.log.data = SLICE("program said\nand said\n");
}

/* ---- actions ---- */

static void act(struct script *s, struct request *r, enum act_kind kind, size_t job)
{
    ASSERT(job < s->n_jobs);
    r->op.kind = OP_ACT;
    r->op.act = (struct act){.kind = kind, .id = s->jobs[job]};
}

static void cancel_running(struct script *s, struct request *r)
{
    act(s, r, ACT_CANCEL, 0);
    r->op.act.id = s->leases[4].id;
}

static void hold(struct script *s, struct request *r)
{
    act(s, r, ACT_HOLD, 6);
}

static void patch(struct script *s, struct request *r)
{
    act(s, r, ACT_PATCH, 7);
    r->op.act.has_priority = r->op.act.has_due = true;
    r->op.act.priority = 3;
    r->op.act.due_at = s->now.wall_at + US_PER_HOUR;
    r->op.act.params = SLICE("{\"patched\":true}");
    r->op.act.labels = SLICE("{\"x\":\"y\"}");
}

static void start_now(struct script *s, struct request *r)
{
    act(s, r, ACT_NOW, 7);
}

static void release(struct script *s, struct request *r)
{
    act(s, r, ACT_RELEASE, 6);
}

static void move(struct script *s, struct request *r)
{
    act(s, r, ACT_MOVE, 6);
    r->op.act.queue = SLICE("other");
}

static void clone(struct script *s, struct request *r)
{
    act(s, r, ACT_CLONE, 3);
    r->op.act.params = SLICE("{\"more\":1}");
}

static void cancel_clone(struct script *s, struct request *r)
{
    act(s, r, ACT_CANCEL, 8);
}

static void retry(struct script *s, struct request *r)
{
    act(s, r, ACT_RETRY, 3);
    r->op.act.params = SLICE("{\"again\":1}");
}

static void delete_clone(struct script *s, struct request *r)
{
    act(s, r, ACT_DELETE, 8);
}

/* ---- many, queues ---- */

static void bulk(struct request *r, enum act_kind kind, unsigned states)
{
    r->op.kind = OP_BULK;
    r->op.bulk = (struct bulk){.kind = kind, .filter = {.queue = SLICE("work"), .states = states}};
}

static void bulk_hold(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACT_HOLD, 1U << JOB_READY | 1U << JOB_SCHEDULED);
}

static void bulk_release(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACT_RELEASE, 0);
}

static void bulk_delete(struct script *s, struct request *r)
{
    (void)s;
    bulk(r, ACT_DELETE, 1U << JOB_CANCELLED | 1U << JOB_FAILED);
}

static void put_queues(struct script *s, struct request *r)
{
    (void)s;
    r->puts[0] = (struct queue_put){SLICE("work"), SLICE(WORK_DEFINITION)};
    r->puts[1] = (struct queue_put){SLICE("other"), SLICE(OTHER_DEFINITION)};
    r->op.kind = OP_QUEUE;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_APPLY, .puts = r->puts, .n_puts = 2};
}

static void put_passing_queue(struct script *s, struct request *r)
{
    put_queues(s, r);
    r->puts[1].name = SLICE("passing");
}

static void prune_queues(struct script *s, struct request *r)
{
    put_queues(s, r);
    r->op.queue.prune = true;
}

static void queue_state(struct request *r, enum queue_state state)
{
    r->op.kind = OP_QUEUE;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_STATE, .name = SLICE("work"), .state = state};
}

static void queue_pause(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_PAUSE);
}

static void queue_drain(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_DRAIN);
}

static void queue_up(struct script *s, struct request *r)
{
    (void)s;
    queue_state(r, QUEUE_UP);
}

/* ---- the table ---- */

struct step {
    const char *name;
    void (*make)(struct script *s, struct request *r); /* NULL: the engine runs by itself */
    enum err_code want;
    int64_t after_us;       /* the clock goes on so far before it; STEP_US when nothing is said */
    const char *checkpoint; /* instead of all that: the log is folded in */
};

static const struct step steps[] = {
    {.name = "put queues", .make = put_queues},
    {.name = "submit one", .make = submit_one},
    {.name = "submit with a key", .make = submit_key},
    {.name = "submit with a known key", .make = submit_key},
    {.name = "submit with a clashing key", .make = submit_clash, .want = E_CONFLICT},
    {.name = "submit an array", .make = submit_array},
    {.name = "submit a bad array", .make = submit_bad_array, .want = E_INVALID},
    {.name = "submit lines", .make = submit_lines},
    {.name = "checkpoint", .checkpoint = "PRAGMA wal_checkpoint(PASSIVE)"},
    {.name = "claim three", .make = claim_three},
    {.name = "touch them", .make = touch_all},
    {.name = "log", .make = log_text},
    {.name = "log what is partly known", .make = log_more},
    {.name = "finish: done", .make = finish_done},
    {.name = "finish: failed", .make = finish_failed},
    {.name = "finish: later", .make = finish_later},
    {.name = "finish: later, again", .make = finish_later},
    {.name = "claim two", .make = claim_two},
    {.name = "finish: returned", .make = finish_returned},
    {.name = "cancel a running job", .make = cancel_running},
    {.name = "finish: cancelled", .make = finish_cancelled},
    {.name = "hold", .make = hold},
    {.name = "patch", .make = patch},
    {.name = "checkpoint and begin the log anew", .checkpoint = "PRAGMA wal_checkpoint(RESTART)"},
    {.name = "now", .make = start_now},
    {.name = "release", .make = release},
    {.name = "move", .make = move},
    {.name = "clone", .make = clone},
    {.name = "cancel a waiting job", .make = cancel_clone},
    {.name = "retry by hand", .make = retry},
    {.name = "due jobs become ready", .after_us = 200 * US_PER_S},
    {.name = "claim four", .make = claim_for_long},
    {.name = "finish, touch and claim in one", .make = exchange_all},
    {.name = "pause", .make = queue_pause},
    {.name = "submit to a paused queue", .make = submit_one},
    {.name = "drain", .make = queue_drain},
    {.name = "submit to a draining queue", .make = submit_one, .want = E_QUEUE_DOWN},
    {.name = "up", .make = queue_up},
    {.name = "claim two", .make = claim_two},
    {.name = "leases run out", .after_us = 2 * US_PER_MIN},
    {.name = "ask to hold all", .make = bulk_hold},
    {.name = "hold the living"},
    {.name = "hold is through"},
    {.name = "ask to release all", .make = bulk_release},
    {.name = "release the living"},
    {.name = "release is through"},
    {.name = "checkpoint and empty the log", .checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"},
    {.name = "claim all", .make = claim_for_long},
    {.name = "finish three plainly", .make = finish_plain},
    {.name = "delete", .make = delete_clone},
    {.name = "put a passing queue", .make = put_passing_queue},
    {.name = "prune", .make = prune_queues},
    {.name = "ask to delete what ended badly", .make = bulk_delete},
    {.name = "delete among the living"},
    {.name = "delete among the ended"},
    {.name = "all leases run out", .after_us = 2 * US_PER_HOUR},
    {.name = "retention", .after_us = 3 * US_PER_DAY},
    {.name = "submit one more", .make = submit_one},
    {.name = "claim it", .make = claim_for_long},
};

size_t script_count(void)
{
    return sizeof(steps) / sizeof(steps[0]);
}

const char *script_name(size_t step)
{
    return steps[step].name;
}

/* ---- answers ---- */

static int64_t id_in(struct slice object, const char *name)
{
    struct arena arena = ARENA_INIT;
    struct slice value;
    int64_t id = 0;

    if (json_find(object, name, &value))
        ASSERT(id_parse(json_text(value, &arena), &id));
    arena_deinit(&arena);
    return id;
}

static void take_job(struct script *s, int64_t id)
{
    ASSERT(s->n_jobs < SCRIPT_JOBS);
    s->jobs[s->n_jobs++] = id;
}

static void take_ids(struct script *s, struct slice ids)
{
    struct arena arena = ARENA_INIT;
    struct slice item;

    for (struct json_iter it = json_items(ids); json_next_item(&it, &item);) {
        int64_t id = 0;

        ASSERT(id_parse(json_text(item, &arena), &id));
        take_job(s, id);
    }
    arena_deinit(&arena);
}

static void take_lines(struct script *s, const char *at)
{
    for (; *at != '\0'; at += strcspn(at, "\n") + 1) {
        int64_t id = id_in(slice_make(at, strcspn(at, "\n")), "id");

        if (id != 0)
            take_job(s, id);
    }
}

static void take_leases(struct script *s, struct slice jobs)
{
    struct slice item;

    for (struct json_iter it = json_items(jobs); json_next_item(&it, &item);) {
        ASSERT(s->n_leases < SCRIPT_LEASES);
        s->leases[s->n_leases++] = (struct script_lease){id_in(item, "id"), id_in(item, "lease")};
    }
}

/* What later steps need of the answer. */
static void take_answer(struct script *s, const struct request *r)
{
    struct slice reply = buf_slice(&r->op.reply), list;

    if (r->op.kind == OP_SUBMIT && r->op.submit.mode == SUBMIT_LINES)
        take_lines(s, buf_text(&r->op.reply));
    else if (r->op.kind == OP_SUBMIT && json_find(reply, "ids", &list))
        take_ids(s, list);
    else if ((r->op.kind == OP_SUBMIT && r->op.status == 201) ||
             (r->op.kind == OP_ACT && r->op.act.kind == ACT_CLONE))
        take_job(s, id_in(reply, "id"));
    else if (r->op.kind == OP_EXCHANGE && json_find(reply, "jobs", &list))
        take_leases(s, list);
}

/* Items of an exchange are answered one by one: in this script all of them are fine. */
static enum err_code judge_items(const struct request *r, struct err *err)
{
    if (r->op.kind == OP_EXCHANGE && strstr(buf_text(&r->op.reply), "\"error\"") != NULL)
        return err_set(err, E_CONFLICT, "%.200s", buf_text(&r->op.reply));
    return E_OK;
}

/* ---- running ---- */

static enum err_code checkpoint(const char *vfs, const char *sql, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(SCRIPT_FILE, &db, SQLITE_OPEN_READWRITE, vfs);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        err_set(err, rc == SQLITE_FULL ? E_FULL : E_UNAVAILABLE, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    return rc == SQLITE_OK ? E_OK : err->code;
}

static enum err_code run(struct script *s, struct request *r, enum err_code want, struct err *err)
{
    engine_run(s->engine, &r->op, s->now);
    ASSERT(r->done);
    if (r->op.err.code != want) {
        err_set(err, r->op.err.code == E_OK ? E_INTERNAL : r->op.err.code, "answered with %s: %s",
                err_name(r->op.err.code), r->op.err.msg);
        return err->code;
    }
    if (want != E_OK)
        return E_OK;
    if (judge_items(r, err) != E_OK)
        return err->code;
    take_answer(s, r);
    return E_OK;
}

static enum err_code run_request(struct script *s, const struct step *step, struct err *err)
{
    struct request r;

    memset(&r, 0, sizeof(r));
    op_init(&r.op, OP_SUBMIT);
    r.op.done = on_done;
    r.op.owner = &r;
    step->make(s, &r);
    enum err_code code = run(s, &r, step->want, err);

    op_deinit(&r.op);
    return code;
}

enum err_code script_step(struct script *s, size_t i, enum script_try which, struct err *err)
{
    const struct step *step = &steps[i];

    if (which == SCRIPT_FIRST) {
        int64_t after_us = step->after_us == 0 ? STEP_US : step->after_us;

        s->now.wall_at += after_us;
        s->now.steady_at += after_us;
    }
    if (step->checkpoint != NULL)
        return checkpoint(s->vfs, step->checkpoint, err);
    if (step->make != NULL)
        return run_request(s, step, err);
    struct now now = s->now;

    /* After a failure the engine rests for a while, and leases get a full period. */
    if (which == SCRIPT_AGAIN)
        now.steady_at += step->after_us == 0 ? STEP_US : step->after_us;
    engine_run(s->engine, NULL, now);
    if (atomic_load(&engine_get_stats(s->engine)->last_error_at) != 0)
        return err_set(err, E_UNAVAILABLE, "the engine could not do its own work");
    return E_OK;
}

enum err_code script_open(struct script *s, const char *vfs, struct err *err)
{
    struct store_config store = {.dir = SCRIPT_DIR, .mode = STORE_WRITE, .vfs = vfs};
    struct engine_config engine = {.node = 1, .seed = 1, .waiting_max = 10};

    *s = (struct script){.vfs = vfs, .now = {BEGIN_AT, BEGIN_AT}};
    if (store_open(&store, &s->store, err) != E_OK)
        return err->code;
    if (engine_open(s->store, &engine, s->now, &s->engine, err) != E_OK) {
        store_close(s->store);
        s->store = NULL;
    }
    return s->store == NULL ? err->code : E_OK;
}

void script_close(struct script *s, enum script_end how)
{
    if (s->store == NULL)
        return;
    engine_close(s->engine);
    if (how == SCRIPT_STOP)
        store_close(s->store);
    else
        store_abandon(s->store);
    s->engine = NULL;
    s->store = NULL;
}

enum err_code script_canary(struct script *s, struct err *err)
{
    static const struct step first = {.name = "canary", .make = put_queues};
    static const struct step second = {.name = "canary", .make = queue_up};
    static const struct step third = {.name = "canary", .make = submit_one};
    static const struct step fourth = {.name = "canary", .make = claim_for_long};

    s->now.wall_at += 4 * US_PER_DAY;
    s->now.steady_at += 4 * US_PER_DAY;
    if (run_request(s, &first, err) != E_OK || run_request(s, &second, err) != E_OK ||
        run_request(s, &third, err) != E_OK || run_request(s, &fourth, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < s->n_leases; i++)
        if (s->leases[i].id == s->jobs[s->n_jobs - 1])
            return E_OK;
    return err_set(err, E_INTERNAL, "a new job was not granted");
}
