/* SPDX-License-Identifier: MIT */
#include "engine/batch/damage.h"

#include "base/id.h"
#include "base/os/log.h"
#include "engine/state.h"

enum { SKIPPED_MAX = 10000 };

void skipped_deinit(struct skipped *s)
{
    map_deinit(&s->jobs);
    map_deinit(&s->fanouts);
}

/* A damaged store may hold any id; a map needs positive ones. */
static int64_t key_of(int64_t id)
{
    return id > 0 ? id : INT64_MAX;
}

static bool is_in(const struct map *left, int64_t id)
{
    return left->count > 0 && map_find(left, key_of(id)) != NULL;
}

static enum err_code leave(struct engine *e, struct map *left, const char *what, int64_t id,
                           const struct err *err)
{
    char text[ID_TEXT_SIZE];

    if (!err->bad_row || is_in(left, id))
        return err->code;
    if (left->count >= SKIPPED_MAX)
        map_deinit(left);
    map_put(left, key_of(id), e->missing_queue);
    e->batch.found_damage = true;
    log_error("%s %s is skipped until the next start: %s", what, id_format(id, text), err->msg);
    return err->code;
}

bool job_is_skipped(const struct engine *e, int64_t job)
{
    return is_in(&e->skipped.jobs, job);
}

enum err_code skip_damaged_job(struct engine *e, int64_t job, const struct err *err)
{
    return leave(e, &e->skipped.jobs, "job", job, err);
}

bool fanout_is_skipped(const struct engine *e, int64_t id)
{
    return is_in(&e->skipped.fanouts, id);
}

enum err_code skip_damaged_fanout(struct engine *e, const char *what, int64_t id,
                                  const struct err *err)
{
    return leave(e, &e->skipped.fanouts, what, id, err);
}
