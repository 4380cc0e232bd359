/* SPDX-License-Identifier: MIT */
#include "store/jobs/ready_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "core/job/job.h"

enum {
    LIGHT_BYTES = 2000,    /* what a job may carry; the statement payload_light says the same */
    CACHE_BYTES = 4 << 20, /* of all jobs; then everything is forgotten */
};

void ready_cache_clear(struct ready_cache *h)
{
    int64_t id;
    void *job;

    for (size_t i = 0; map_next(&h->jobs, &i, &id, &job);)
        free(job);
    map_deinit(&h->jobs);
    *h = (struct ready_cache){0};
}

void ready_cache_forget(struct ready_cache *h, int64_t id)
{
    struct cached_job *job = h->jobs.count == 0 ? NULL : map_remove(&h->jobs, id);

    if (job == NULL)
        return;
    h->size -= sizeof(*job) + job->key.size + job->params.size + job->labels.size +
               job->options.size + job->routing.size;
    free(job);
}

static struct cached_job *add(struct ready_cache *h, int64_t id, size_t size)
{
    ready_cache_forget(h, id);
    if (h->size + sizeof(struct cached_job) + size > CACHE_BYTES)
        ready_cache_clear(h);
    struct cached_job *job = mem_zalloc(sizeof(*job) + size);

    h->size += sizeof(*job) + size;
    map_put(&h->jobs, id, job);
    return job;
}

static struct slice put_text(char **end, struct slice text)
{
    if (text.size == 0)
        return (struct slice){0};
    char *at = *end;

    memcpy(at, text.data, text.size);
    *end += text.size;
    return slice_make(at, text.size);
}

void ready_cache_put(struct ready_cache *h, const struct job *j)
{
    size_t size = j->key.size + j->params.size + j->labels.size + j->options.size + j->routing.size;

    if (j->body.data != NULL || size >= LIGHT_BYTES) {
        ready_cache_forget(h, j->id.v);
        return;
    }
    struct cached_job *job = add(h, j->id.v, size);
    char *end = job->bytes;

    job->queue = j->queue;
    job->priority = j->priority;
    job->known = true;
    job->key = put_text(&end, j->key);
    job->params = put_text(&end, j->params);
    job->labels = put_text(&end, j->labels);
    job->options = put_text(&end, j->options);
    job->routing = put_text(&end, j->routing);
}

void ready_cache_put_place(struct ready_cache *h, int64_t id, int64_t queue, int priority)
{
    struct cached_job *job = add(h, id, 0);

    job->queue = queue;
    job->priority = priority;
}
