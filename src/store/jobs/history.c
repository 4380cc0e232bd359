/* SPDX-License-Identifier: MIT */
#include "store/jobs/history.h"

#include "base/buf.h"
#include "base/jtext/jtext.h"

/* The numbers among it, by their place in struct job.  Statements know that the holds come first.
 */
#define NUMBERS(X)                          \
    X("holds", holds, unsigned)             \
    X("cancelling", cancelling, bool)       \
    X("emitted", emitted, bool)             \
    X("watched", watched, bool)             \
    X("opened", opened, bool)               \
    X("closes", closes, int64_t)            \
    X("outcome", outcome, enum job_outcome) \
    X("failures", failures, int)            \
    X("lost", lost, int)                    \
    X("laters", laters, int)                \
    X("returned", returned, int)            \
    X("cause", cause, enum job_cause)       \
    X("done", done, int64_t)                \
    X("total", total, int64_t)              \
    X("expected_at", expected_at, int64_t)  \
    X("delay", delay_us, int64_t)           \
    X("billed", has_dests, bool)            \
    X("step", step, int)                    \
    X("failed_step", failed_step, int)      \
    X("attempts_before", attempts_before, int)

static bool ended_well(const struct job *j)
{
    return j->state == JOB_DONE && j->outcome == JOB_OUT_DONE && j->exit == 0;
}

bool history_is_plain(const struct job *j)
{
    bool outcome_implied = j->outcome == JOB_OUT_NONE ? j->state != JOB_DONE : ended_well(j);

    return outcome_implied && j->holds == 0 && !j->cancelling && !j->emitted && !j->watched &&
           !j->opened && j->closes == 0 && j->failures == 0 && j->lost == 0 && j->laters == 0 &&
           j->returned == 0 && j->cause == JOB_CAUSE_NONE && j->done == 0 && j->total == 0 &&
           j->expected_at == 0 && j->delay_us == 0 && j->text.size == 0 && j->unit.size == 0 &&
           (!j->exited || ended_well(j)) && !j->has_dests && j->step == 0 && j->failed_step == 0 &&
           j->attempts_before == 0;
}

struct slice history_format(const struct job *j, struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);

    if (history_is_plain(j))
        return slice_make(NULL, 0);
    buf_add_char(&b, '{');
#define X(key, member, type) \
    if (j->member != 0)      \
        jtext_put_int(&b, key, (int64_t)j->member);
    NUMBERS(X)
#undef X
    /* These values belong to the attempt that "at" names; the next attempt starts without them. */
    if (j->exited || j->cause != JOB_CAUSE_NONE || j->done != 0 || j->total != 0 ||
        j->expected_at != 0 || j->text.size > 0 || j->unit.size > 0)
        jtext_put_int(&b, "at", j->attempt);
    if (j->exited)
        jtext_put_int(&b, "exit", j->exit);
    if (j->text.size > 0)
        jtext_put_string(&b, "text", j->text);
    if (j->unit.size > 0)
        jtext_put_string(&b, "unit", j->unit);
    buf_add_char(&b, '}');
    return arena_copy(arena, buf_slice(&b));
}

/* A number that fits its place: none is below 0, and counters are counted on from. */
static bool is_sound(struct slice value, size_t size)
{
    int64_t n = jtext_int(value);

    return jtext_type_of(value) == JTEXT_INT && n >= 0 && (size > sizeof(int) || n < INT32_MAX / 2);
}

static bool take_number(struct slice key, struct slice value, struct job *j)
{
#define X(name, member, type)                      \
    if (jtext_key_is(key, name)) {                 \
        j->member = (type)jtext_int(value);        \
        return is_sound(value, sizeof(j->member)); \
    }
    NUMBERS(X)
#undef X
    return true;
}

bool history_parse(struct slice json, struct arena *arena, struct job *j)
{
    struct slice key;
    struct slice value;
    struct slice at;

    if (json.size == 0) {
        j->outcome = j->state == JOB_DONE ? JOB_OUT_DONE : JOB_OUT_NONE;
        j->exited = j->state == JOB_DONE;
        return true;
    }
    if (!jtext_is_object(json)) /* checked like text from outside: the store may be damaged */
        return false;
    for (struct jtext_iter it = jtext_members(json); jtext_next_member(&it, &key, &value);) {
        if (!take_number(key, value, j))
            return false;
        if (jtext_key_is(key, "exit")) {
            j->exited = true;
            j->exit = (int)jtext_int(value);
        } else if (jtext_key_is(key, "text")) {
            j->text = arena_copy(arena, jtext_text(value, arena));
        } else if (jtext_key_is(key, "unit")) {
            j->unit = arena_copy(arena, jtext_text(value, arena));
        }
    }
    if (j->outcome >= JOB_OUT_COUNT || j->cause >= JOB_CAUSE_COUNT)
        return false;
    if (jtext_find(json, "at", &at) && jtext_int(at) != j->attempt) { /* of an earlier attempt */
        j->exited = false;
        j->exit = 0;
        j->cause = JOB_CAUSE_NONE;
        j->done = j->total = j->expected_at = 0;
        j->text = j->unit = slice_make(NULL, 0);
    }
    return true;
}

bool history_parse_claimed(struct slice json, struct job *j)
{
    static const char *const names[] = {"lost", "returned", "step", "failed_step",
                                        "attempts_before"};
    int *const members[] = {&j->lost, &j->returned, &j->step, &j->failed_step, &j->attempts_before};
    struct slice value;

    if (!jtext_is_object(json))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (jtext_find(json, names[i], &value)) {
            if (!is_sound(value, sizeof(int)))
                return false;
            *members[i] = (int)jtext_int(value);
        }
    j->has_dests = jtext_find(json, "billed", &value) && jtext_int(value) != 0;
    if (jtext_find(json, "closes", &value))
        j->closes = jtext_int(value);
    return true;
}
