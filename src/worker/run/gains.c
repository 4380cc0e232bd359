/* SPDX-License-Identifier: MIT */
#include "worker/run/gains.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/program/word.h"
#include "core/route/dest.h"
#include "core/route/routing.h"

void gains_init(struct gains *g)
{
    *g = (struct gains){
        .jobs = BUF_INIT(SIZE_MAX / 2), /* bounded by the owner: see gains.h */
        .steps = BUF_INIT(GAINS_STEPS_MAX),
        .busy = BUF_INIT(GAINS_BUSY_MAX),
        .patches = BUF_INIT(GAINS_PATCHES_MAX + 2),
    };
}

/* ---- values ---- */

enum err_code gains_set(struct gains *g, struct slice name, struct slice json, struct err *err)
{
    struct gained_value *known = NULL;

    for (size_t i = 0; known == NULL && i < g->values.count; i++)
        if (slice_is(name, g->values.items[i].name))
            known = &g->values.items[i];
    size_t old = known != NULL ? strlen(known->json) : 0;
    size_t size = g->values_size - old + json.size + (known != NULL ? 0 : name.size);

    if (size > GAINS_SET_MAX)
        return err_set(err, E_TOO_LARGE,
                       "all values together have %zu bytes, at most %zu are allowed", size,
                       GAINS_SET_MAX);
    if (known == NULL) {
        if (g->values.count == GAINS_SET_NAMES)
            return err_set(err, E_TOO_LARGE, "at most %d names are allowed", GAINS_SET_NAMES);
        VEC_PUSH(&g->values, ((struct gained_value){.name = mem_strndup(name.data, name.size)}));
        known = &g->values.items[g->values.count - 1];
    }
    free(known->json);
    known->json = mem_strndup(json.data, json.size);
    g->values_size = size;
    return E_OK;
}

static bool any_values(const struct gains *g)
{
    return g->values.count > 0;
}

static void add_values(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '{');
    for (size_t i = 0; i < g->values.count; i++) {
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(g->values.items[i].name));
        buf_add_char(b, ':');
        buf_add_str(b, g->values.items[i].json);
    }
    buf_add_char(b, '}');
}

static void drop_values(struct gains *g)
{
    for (size_t i = 0; i < g->values.count; i++) {
        free(g->values.items[i].name);
        free(g->values.items[i].json);
    }
    VEC_CLEAR(&g->values);
    g->values_size = 0;
}

/* ---- jobs ---- */

void gains_add_job(struct gains *g, struct slice json)
{
    buf_add_slice(&g->jobs, json);
    buf_add_char(&g->jobs, ',');
    VEC_PUSH(&g->job_sizes, json.size + 1);
}

void gains_remove_jobs(struct gains *g, size_t count)
{
    size_t bytes = 0;

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        bytes += g->job_sizes.items[i];
    g->job_sizes.count -= count;
    memmove(g->job_sizes.items, g->job_sizes.items + count,
            g->job_sizes.count * sizeof(g->job_sizes.items[0]));
    g->jobs.size -= bytes;
    memmove(g->jobs.data, g->jobs.data + bytes, g->jobs.size);
}

static bool any_jobs(const struct gains *g)
{
    return g->job_sizes.count > 0;
}

static void add_jobs(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '[');
    buf_add(b, g->jobs.data, g->jobs.size - 1); /* without the last comma */
    buf_add_char(b, ']');
}

static void drop_jobs(struct gains *g)
{
    buf_clear(&g->jobs);
    VEC_CLEAR(&g->job_sizes);
}

/* ---- steps ---- */

enum err_code gains_add_step(struct gains *g, struct slice json, struct err *err)
{
    if (g->n_steps == ROUTE_STEPS_MAX)
        return err_set(err, E_TOO_LARGE, "a route has at most %d steps", ROUTE_STEPS_MAX);
    if (g->steps.size + json.size + 1 > GAINS_STEPS_MAX)
        return err_set(err, E_TOO_LARGE, "all steps together have more than %zu bytes",
                       GAINS_STEPS_MAX);
    if (g->n_steps++ > 0)
        buf_add_char(&g->steps, ',');
    buf_add_slice(&g->steps, json);
    return E_OK;
}

static bool any_steps(const struct gains *g)
{
    return g->n_steps > 0;
}

static void add_steps(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '[');
    buf_add_slice(b, buf_slice(&g->steps));
    buf_add_char(b, ']');
}

static void drop_steps(struct gains *g)
{
    buf_clear(&g->steps);
    g->n_steps = 0;
}

/* ---- signals ---- */

enum err_code gains_raise(struct gains *g, struct slice name, int64_t count, struct err *err)
{
    struct gained_signal *signal = NULL;

    for (size_t i = 0; signal == NULL && i < g->signals.count; i++)
        if (slice_is(name, g->signals.items[i].name))
            signal = &g->signals.items[i];
    if (signal == NULL && g->signals.count == GAINS_SIGNALS_MAX)
        return err_set(err, E_TOO_LARGE, "at most %d signals are allowed", GAINS_SIGNALS_MAX);
    if (signal != NULL && count > SIGNAL_COUNT_MAX - signal->count)
        return err_set(err, E_TOO_LARGE, "by more than %" PRId64 " in all", SIGNAL_COUNT_MAX);
    if (signal == NULL) {
        VEC_PUSH(&g->signals, ((struct gained_signal){.name = mem_strndup(name.data, name.size)}));
        signal = &g->signals.items[g->signals.count - 1];
    }
    signal->count += count;
    return E_OK;
}

static bool any_signals(const struct gains *g)
{
    return g->signals.count > 0;
}

static void add_signals(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '{');
    for (size_t i = 0; i < g->signals.count; i++) {
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(g->signals.items[i].name));
        buf_addf(b, ":%" PRId64, g->signals.items[i].count);
    }
    buf_add_char(b, '}');
}

static void drop_signals(struct gains *g)
{
    for (size_t i = 0; i < g->signals.count; i++)
        free(g->signals.items[i].name);
    VEC_CLEAR(&g->signals);
}

/* ---- resources ---- */

enum err_code gains_use(struct gains *g, struct slice name, int64_t count, struct err *err)
{
    for (size_t i = 0; i < g->uses.count; i++)
        if (slice_is(name, g->uses.items[i].name)) {
            g->uses.items[i].count = count;
            return E_OK;
        }
    if (g->uses.count == GAINS_SIGNALS_MAX)
        return err_set(err, E_TOO_LARGE, "at most %d names are allowed", GAINS_SIGNALS_MAX);
    VEC_PUSH(&g->uses, ((struct gained_signal){mem_strndup(name.data, name.size), count}));
    return E_OK;
}

static bool any_uses(const struct gains *g)
{
    return g->uses.count > 0;
}

static void add_uses(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '{');
    for (size_t i = 0; i < g->uses.count; i++) {
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(g->uses.items[i].name));
        buf_addf(b, ":%" PRId64, g->uses.items[i].count);
    }
    buf_add_char(b, '}');
}

static void drop_uses(struct gains *g)
{
    for (size_t i = 0; i < g->uses.count; i++)
        free(g->uses.items[i].name);
    VEC_CLEAR(&g->uses);
}

void gains_busy(struct gains *g, struct slice name, int64_t for_us, struct slice why)
{
    char length[DURATION_TEXT_SIZE];

    buf_clear(&g->busy);
    buf_add_char(&g->busy, '{');
    jtext_put_string(&g->busy, "name", name);
    jtext_put_string(&g->busy, "for", slice_of(duration_format(for_us, length)));
    if (why.size > 0)
        jtext_put_string(&g->busy, "why", why);
    buf_add_char(&g->busy, '}');
}

static bool any_busy(const struct gains *g)
{
    return g->busy.size > 0;
}

static void add_busy(const struct gains *g, struct buf *b)
{
    buf_add_slice(b, buf_slice(&g->busy));
}

static void drop_busy(struct gains *g)
{
    buf_clear(&g->busy);
}

/* ---- data of the group ---- */

enum err_code gains_add_patch(struct gains *g, struct slice json, struct err *err)
{
    if (g->patches.size + json.size + 1 > GAINS_PATCHES_MAX)
        return err_set(err, E_TOO_LARGE, "all changes of the group's data have more than %zu bytes",
                       GAINS_PATCHES_MAX);
    if (g->patches.size > 0)
        buf_add_char(&g->patches, ',');
    buf_add_slice(&g->patches, json);
    return E_OK;
}

static bool any_patches(const struct gains *g)
{
    return g->patches.size > 0;
}

static void add_patches(const struct gains *g, struct buf *b)
{
    buf_add_char(b, '[');
    buf_add_slice(b, buf_slice(&g->patches));
    buf_add_char(b, ']');
}

static void drop_patches(struct gains *g)
{
    buf_clear(&g->patches);
}

/* ---- all of them ---- */

static const struct gain {
    enum word_kind word; /* says at its row whether it is kept when the attempt is not done */
    const char *member;  /* of the finish */
    bool (*any)(const struct gains *g);
    void (*add)(const struct gains *g, struct buf *b); /* the member's value */
    void (*drop)(struct gains *g);
} kinds[] = {
    {.word = WORD_SET, .member = "set", .any = any_values, .add = add_values, .drop = drop_values},
    {.word = WORD_EMIT, .member = "emit", .any = any_jobs, .add = add_jobs, .drop = drop_jobs},
    {.word = WORD_STEP, .member = "steps", .any = any_steps, .add = add_steps, .drop = drop_steps},
    {.word = WORD_RAISE,
     .member = "raise",
     .any = any_signals,
     .add = add_signals,
     .drop = drop_signals},
    {.word = WORD_USE, .member = "use", .any = any_uses, .add = add_uses, .drop = drop_uses},
    {.word = WORD_BUSY, .member = "busy", .any = any_busy, .add = add_busy, .drop = drop_busy},
    {.word = WORD_GROUP,
     .member = "group",
     .any = any_patches,
     .add = add_patches,
     .drop = drop_patches},
};

bool gains_any(const struct gains *g)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].any(g))
            return true;
    return false;
}

void gains_add_finish(const struct gains *g, struct buf *b)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].any(g)) {
            jtext_add_key(b, kinds[i].member);
            kinds[i].add(g, b);
        }
}

void gains_discard(struct gains *g)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (word_spec_of(kinds[i].word)->at_end == WORD_AT_END_IF_DONE)
            kinds[i].drop(g);
}

void gains_deinit(struct gains *g)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        kinds[i].drop(g);
    VEC_DEINIT(&g->values);
    VEC_DEINIT(&g->job_sizes);
    VEC_DEINIT(&g->signals);
    VEC_DEINIT(&g->uses);
    buf_deinit(&g->jobs);
    buf_deinit(&g->steps);
    buf_deinit(&g->busy);
    buf_deinit(&g->patches);
}
