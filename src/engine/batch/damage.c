/* SPDX-License-Identifier: MIT */
#include "engine/batch/damage.h"

#include "base/id.h"
#include "base/os/log.h"
#include "engine/state.h"

enum { LEFT_ALONE_MAX = 10000 };

void skipped_deinit(struct skipped *s)
{
    map_deinit(&s->left_alone);
    map_deinit(&s->left_fanouts);
}

/* A damaged store may give any number; a map takes positive ones. */
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
    if (left->count >= LEFT_ALONE_MAX)
        map_deinit(left);
    map_put(left, key_of(id), e->lost_queue);
    e->batch.passes_on = true;
    log_error("%s %s is passed over until the next start: %s", what, id_format(id, text), err->msg);
    return err->code;
}

bool is_left_alone(const struct engine *e, int64_t job)
{
    return is_in(&e->skipped.left_alone, job);
}

enum err_code leave_alone(struct engine *e, int64_t job, const struct err *err)
{
    return leave(e, &e->skipped.left_alone, "job", job, err);
}

bool fanout_is_left_alone(const struct engine *e, int64_t id)
{
    return is_in(&e->skipped.left_fanouts, id);
}

enum err_code fanout_leave_alone(struct engine *e, const char *what, int64_t id,
                                 const struct err *err)
{
    return leave(e, &e->skipped.left_fanouts, what, id, err);
}
