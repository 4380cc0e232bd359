/* SPDX-License-Identifier: MIT */
#include "engine/queues/queue_log.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/job/verdict.h"
#include "engine/batch/transaction.h"
#include "engine/queues/queue.h"
#include "engine/shared/shared.h"
#include "store/queue_log.h"

#define LINE_MAX_BYTES ((size_t)2000)
#define NOTE_EVERY_US (1 * US_PER_S)

enum err_code queue_note(struct engine *e, const struct queue *q, const char *what,
                         struct slice text, struct err *err)
{
    struct queue_log_line line = {.seq = shared_line_number(e),
                                  .at = batch_now(e).wall_at,
                                  .what = slice_of(what),
                                  .text = utf8_cut(text, LINE_MAX_BYTES)};

    return engine_write(e, err) != E_OK ? err->code
                                        : store_queue_log_add(batch_store(e), q->id, &line, err);
}

/* ---- definitions ---- */

/* Adds the names of members of `a` that `b` lacks or, unless missing_only, has with another
 * value. */
static void add_differences(struct buf *out, struct slice a, struct slice b, bool missing_only,
                            struct arena *arena)
{
    struct slice key;
    struct slice value;
    struct slice other;

    for (struct jtext_iter it = jtext_members(a); jtext_next_member(&it, &key, &value);) {
        struct slice name = jtext_text(key, arena);
        bool found = jtext_find(b, arena_strdup(arena, name), &other);

        if (found && (missing_only || slice_equal(value, other)))
            continue;
        if (out->size > 0)
            buf_add_str(out, ", ");
        buf_add_slice(out, name);
    }
}

enum err_code queue_note_changed(struct engine *e, const struct queue *q, struct slice definition,
                                 struct err *err)
{
    CLEANUP(buf) struct buf keys = BUF_INIT(LINE_MAX_BYTES);

    add_differences(&keys, definition, slice_of(q->json), false, batch_arena(e));
    add_differences(&keys, slice_of(q->json), definition, true, batch_arena(e));
    return queue_note(e, q, "changed", buf_slice(&keys), err);
}

/* ---- attempts ---- */

enum err_code queue_note_attempt(struct engine *e, struct queue *q, const struct job *j,
                                 const char *what, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(LINE_MAX_BYTES + 200);
    CLEANUP(buf) struct buf cause = BUF_INIT(200);
    char id[ID_TEXT_SIZE];

    if (q->attempt_logged_at != 0 &&
        batch_now(e).steady_at - q->attempt_logged_at < NOTE_EVERY_US) {
        q->unlogged_attempts++;
        return E_OK;
    }
    buf_addf(&text, "job %s, attempt %d", id_format(j->id.v, id), j->attempt);
    verdict_add_cause(&cause, j->cause == JOB_CAUSE_NONE ? "" : job_cause_name(j->cause),
                      j->exited ? &j->exit : NULL);
    buf_addf(&text, "%s%s", cause.size > 0 ? ", " : "", buf_text(&cause));
    if (q->unlogged_attempts > 0)
        buf_addf(&text, " (and %zu more since the line before)", q->unlogged_attempts);
    if (!verdict_says_only_cause(j->text)) {
        buf_add_str(&text, ": ");
        buf_add_slice(&text, utf8_cut(j->text, LINE_MAX_BYTES / 2));
    }
    q->attempt_logged_at = batch_now(e).steady_at;
    q->unlogged_attempts = 0;
    return queue_note(e, q, what, buf_slice(&text), err);
}

/* ---- programs that cannot be started ---- */

static struct slice reason_in(struct slice broken, const char *queue, struct arena *arena)
{
    struct slice reason;

    if (broken.size == 0 || !jtext_find(broken, queue, &reason))
        return slice_make(NULL, 0);
    return jtext_text(reason, arena);
}

static enum err_code note_on_worker(struct engine *e, const struct queue *q, const char *what,
                                    const struct stored_worker *w, struct slice reason,
                                    struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(LINE_MAX_BYTES + 500);

    buf_add_str(&text, "on ");
    buf_add_slice(&text, w->host.size > 0 ? w->host : w->name);
    if (w->host.size > 0 && !slice_equal(w->host, w->name)) {
        buf_add_str(&text, ", worker ");
        buf_add_slice(&text, w->name);
    }
    if (reason.size > 0) {
        buf_add_str(&text, ": ");
        buf_add_slice(&text, reason);
    }
    return queue_note(e, q, what, buf_slice(&text), err);
}

enum err_code queue_note_broken(struct engine *e, struct slice was, const struct stored_worker *w,
                                struct err *err)
{
    struct slice key;
    struct slice value;

    if (slice_equal(was, w->broken))
        return E_OK;
    for (struct jtext_iter it = jtext_members(w->broken.size > 0 ? w->broken : SLICE("{}"));
         jtext_next_member(&it, &key, &value);) {
        const struct queue *q = queue_find(e, jtext_text(key, batch_arena(e)));
        struct slice reason = jtext_text(value, batch_arena(e));

        if (q != NULL && !slice_equal(reason_in(was, q->name, batch_arena(e)), reason) &&
            note_on_worker(e, q, "broken", w, reason, err) != E_OK)
            return err->code;
    }
    for (struct jtext_iter it = jtext_members(was.size > 0 ? was : SLICE("{}"));
         jtext_next_member(&it, &key, &value);) {
        const struct queue *q = queue_find(e, jtext_text(key, batch_arena(e)));

        if (q != NULL && reason_in(w->broken, q->name, batch_arena(e)).data == NULL &&
            note_on_worker(e, q, "mended", w, slice_make(NULL, 0), err) != E_OK)
            return err->code;
    }
    return E_OK;
}
