/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <sqlite3.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "core/job/lease.h"
#include "engine/engine.h"
#include "script_requests.h"
#include "store/store.h"

#define BEGIN_AT (INT64_C(1760000000) * US_PER_S)

/* Longer than the engine rests after a failure.  Nothing falls due by itself in a step with a
 * request, which may run in such a rest when it is repeated. */
#define STEP_US (2 * US_PER_S)

static void on_done(struct op *op)
{
    ((struct request *)op->owner)->done = true;
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
    {.name = "put queues", .make = request_put_queues},
    {.name = "submit one", .make = request_submit_one},
    {.name = "submit with a key", .make = request_submit_key},
    {.name = "submit with a known key", .make = request_submit_key},
    {.name = "submit with a clashing key", .make = request_submit_clash, .want = E_CONFLICT},
    {.name = "submit an array", .make = request_submit_array},
    {.name = "submit a bad array", .make = request_submit_bad_array, .want = E_INVALID},
    {.name = "submit lines", .make = request_submit_lines},
    {.name = "checkpoint", .checkpoint = "PRAGMA wal_checkpoint(PASSIVE)"},
    {.name = "claim three", .make = request_claim_three},
    {.name = "touch them", .make = request_touch_all},
    {.name = "log", .make = request_log_text},
    {.name = "log what is partly known", .make = request_log_more},
    {.name = "finish: done", .make = request_finish_done},
    {.name = "finish: failed", .make = request_finish_failed},
    {.name = "finish: later", .make = request_finish_later},
    {.name = "finish: later, again", .make = request_finish_later},
    {.name = "claim two", .make = request_claim_two},
    {.name = "finish: returned", .make = request_finish_returned},
    {.name = "cancel a running job", .make = request_cancel_running},
    {.name = "finish: cancelled", .make = request_finish_cancelled},
    {.name = "hold", .make = request_hold},
    {.name = "patch", .make = request_patch},
    {.name = "checkpoint and begin the log anew", .checkpoint = "PRAGMA wal_checkpoint(RESTART)"},
    {.name = "now", .make = request_start_now},
    {.name = "release", .make = request_release},
    {.name = "move", .make = request_move},
    {.name = "clone", .make = request_clone},
    {.name = "cancel a waiting job", .make = request_cancel_clone},
    {.name = "retry by hand", .make = request_retry},
    {.name = "due jobs become ready", .after_us = 200 * US_PER_S},
    {.name = "claim four", .make = request_claim_for_long},
    {.name = "finish, touch and claim in one", .make = request_exchange_all},
    {.name = "restart a queue", .make = request_queue_restart},
    {.name = "pause", .make = request_queue_pause},
    {.name = "submit to a paused queue", .make = request_submit_one},
    {.name = "drain", .make = request_queue_drain},
    {.name = "submit to a draining queue", .make = request_submit_one, .want = E_QUEUE_DOWN},
    {.name = "up", .make = request_queue_up},
    {.name = "claim two", .make = request_claim_two},
    {.name = "leases run out", .after_us = 2 * US_PER_MIN},
    {.name = "ask to hold all", .make = request_bulk_hold},
    {.name = "hold the living"},
    {.name = "hold is through"},
    {.name = "ask to release all", .make = request_bulk_release},
    {.name = "release the living"},
    {.name = "release is through"},
    {.name = "checkpoint and empty the log", .checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"},
    {.name = "claim all", .make = request_claim_for_long},
    {.name = "finish three plainly", .make = request_finish_plain},
    {.name = "delete", .make = request_delete_clone},
    {.name = "put a passing queue", .make = request_put_passing_queue},
    {.name = "prune", .make = request_prune_queues},
    {.name = "ask to delete what ended badly", .make = request_bulk_delete},
    {.name = "delete among the living"},
    {.name = "delete among the ended"},
    {.name = "all leases run out", .after_us = 2 * US_PER_HOUR},
    {.name = "retention", .after_us = 3 * US_PER_DAY},
    {.name = "submit one more", .make = request_submit_one},
    {.name = "claim it", .make = request_claim_for_long},
    {.name = "emit", .make = request_emit},
    {.name = "emit, again", .make = request_emit},
    {.name = "emit what is visible", .make = request_emit_visible},
    {.name = "save a cursor", .make = request_emit_cursor},
    {.name = "emit what the next cursor releases", .make = request_emit_after_cursor},
    {.name = "save the next cursor", .make = request_emit_next_cursor},
    {.name = "emit what is dropped", .make = request_emit_more},
    {.name = "finish: failed, with emits", .make = request_finish_emitter_failed},
    {.name = "the rest is dropped"},
    {.name = "the emitter is due again", .after_us = 200 * US_PER_S},
    {.name = "claim it with its cursor", .make = request_claim_for_long},
    {.name = "emit", .make = request_emit},
    {.name = "emit what is visible, under a cursor", .make = request_emit_visible},
    {.name = "emit more than one commit releases", .make = request_emit_third},
    {.name = "finish: done, with emits", .make = request_finish_emitter_done},
    {.name = "the rest is released"},
    {.name = "checkpoint after emits", .checkpoint = "PRAGMA wal_checkpoint(PASSIVE)"},
    {.name = "claim what was emitted", .make = request_claim_for_long},
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

    if (jtext_find(object, name, &value))
        ASSERT(id_parse(jtext_text(value, &arena), &id));
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

    for (struct jtext_iter it = jtext_items(ids); jtext_next_item(&it, &item);) {
        int64_t id = 0;

        ASSERT(id_parse(jtext_text(item, &arena), &id));
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

static int64_t token_in(struct slice item)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice lease;
    int64_t token, fence;

    ASSERT(jtext_find(item, "lease", &lease) &&
           lease_parse(jtext_text(lease, &arena), &token, &fence));
    return token;
}

static void take_leases(struct script *s, struct slice jobs)
{
    struct slice item;

    for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &item);) {
        ASSERT(s->n_leases < SCRIPT_LEASES);
        s->leases[s->n_leases++] = (struct script_lease){id_in(item, "id"), token_in(item)};
    }
}

/* What later steps need of the answer. */
static void take_answer(struct script *s, const struct request *r)
{
    struct slice reply = buf_slice(&r->op.reply), list;

    if (r->op.kind == OP_SUBMIT && r->op.submit.mode == SUBMIT_LINES)
        take_lines(s, buf_text(&r->op.reply));
    else if (r->op.kind == OP_SUBMIT && jtext_find(reply, "ids", &list))
        take_ids(s, list);
    else if ((r->op.kind == OP_SUBMIT && r->op.status == 201) ||
             (r->op.kind == OP_ACTION && r->op.action.kind == ACTION_CLONE))
        take_job(s, id_in(reply, "id"));
    else if (r->op.kind == OP_EXCHANGE && jtext_find(reply, "jobs", &list))
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

enum err_code script_step(struct script *s, size_t number, enum script_try which, struct err *err)
{
    const struct step *step = &steps[number];

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

    /* After a failure the engine rests for a while, and leases get a full period.  The wall stands
     * still meanwhile, and the sleep that is taken back says that nobody has set it. */
    if (which == SCRIPT_AGAIN) {
        int64_t rest_us = step->after_us == 0 ? STEP_US : step->after_us;

        now.steady_at += rest_us;
        now.asleep_us -= rest_us;
    }
    engine_run(s->engine, NULL, now);
    if (atomic_load(&engine_get_stats(s->engine)->last_error_at) != 0)
        return err_set(err, E_UNAVAILABLE, "the engine could not do its own work");
    return E_OK;
}

enum err_code script_open(struct script *s, const char *vfs, struct err *err)
{
    struct store_config store = {.dir = SCRIPT_DIR, .mode = STORE_WRITE, .vfs = vfs};
    struct engine_config engine = {
        .node = 1, .seed = 1, .waiting_max = 10, .subscriptions_max = 100, .settle_rows = 8};

    *s = (struct script){.vfs = vfs, .now = {.wall_at = BEGIN_AT, .steady_at = BEGIN_AT}};
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
    static const struct step first = {.name = "canary", .make = request_put_queues};
    static const struct step second = {.name = "canary", .make = request_queue_up};
    static const struct step third = {.name = "canary", .make = request_submit_one};
    static const struct step fourth = {.name = "canary", .make = request_claim_for_long};

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
