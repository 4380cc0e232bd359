/* SPDX-License-Identifier: MIT */
#include "engine/jobs/filter.h"

#include <string.h>

#include "base/jtext/jtext.h"

#define LIVE_STATES \
    (1u << JOB_STAGED | 1u << JOB_HELD | 1u << JOB_SCHEDULED | 1u << JOB_READY | 1u << JOB_RUNNING)

bool filter_wants_live(const struct job_filter *f)
{
    return f->ended_before_at == 0 && (f->states == 0 || (f->states & LIVE_STATES) != 0);
}

bool filter_wants_ended(const struct job_filter *f)
{
    return f->states == 0 || (f->states & ~LIVE_STATES) != 0;
}

bool filter_wants_only_failed(const struct job_filter *f)
{
    return f->states == 1u << JOB_FAILED;
}

enum store_walk_reads filter_reads(const struct job_filter *f)
{
    return f->labels.size > 0 || f->text.size > 0 ? WALK_LABELS : WALK_KEY;
}

/* Whether each wanted label exists with that value. */
static bool labels_match(struct slice wanted, struct slice labels)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(wanted); jtext_next_member(&it, &key, &value);) {
        struct slice found;
        const char *name = arena_strdup(&arena, jtext_text(key, &arena));

        if (labels.size == 0 || !jtext_find(labels, name, &found) ||
            !slice_equal(jtext_text(found, &arena), jtext_text(value, &arena)))
            return false;
    }
    return true;
}

static bool occurs(struct slice needle, struct slice in)
{
    return in.size >= needle.size && memmem(in.data, in.size, needle.data, needle.size) != NULL;
}

/* Searches the words of the job's own command, joined with spaces as people type it. */
static bool occurs_in_command(struct slice text, struct slice options)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf line = BUF_INIT(options.size + 1);
    struct slice command;
    struct slice word;

    if (options.size == 0 || !jtext_find(options, "command", &command))
        return false;
    if (jtext_type_of(command) == JTEXT_STRING)
        return occurs(text, jtext_text(command, &arena));
    for (struct jtext_iter it = jtext_items(command); jtext_next_item(&it, &word);) {
        if (line.size > 0)
            buf_add_char(&line, ' ');
        buf_add_slice(&line, jtext_text(word, &arena));
    }
    return occurs(text, buf_slice(&line));
}

static bool text_matches(struct slice text, const struct job *j)
{
    return j->params_match || occurs(text, j->params) || occurs(text, j->key) ||
           occurs(text, j->labels) || occurs(text, j->text) || occurs_in_command(text, j->options);
}

bool filter_matches(const struct job_filter *f, int64_t queue, const struct job *j)
{
    if ((queue != 0 && j->queue != queue) || (f->group != 0 && j->group != f->group))
        return false;
    if (j->id.v < f->first_id || (f->last_id != 0 && j->id.v > f->last_id))
        return false;
    if (f->states != 0 && (f->states & 1u << j->state) == 0)
        return false;
    if (f->ended_before_at != 0 &&
        (!job_state_ended(j->state) || j->finished_at >= f->ended_before_at))
        return false;
    if (f->labels.size > 0 && !labels_match(f->labels, j->labels))
        return false;
    return f->text.size == 0 || text_matches(f->text, j);
}

void filter_to_json(const struct job_filter *f, struct slice target, struct buf *out)
{
    buf_addf(out, "{\"states\":%u,\"before\":%lld", f->states, (long long)f->ended_before_at);
    jtext_put_int(out, "first", f->first_id);
    jtext_put_int(out, "group", f->group);
    jtext_put_string(out, "queue", f->queue);
    jtext_put_string(out, "text", f->text);
    jtext_put_raw(out, "labels", f->labels.size > 0 ? f->labels : SLICE("{}"));
    jtext_put_string(out, "target", target);
    buf_add_char(out, '}');
}

static struct slice string_member(struct slice json, const char *name, struct arena *arena)
{
    struct slice value;

    return jtext_find(json, name, &value) ? jtext_text(value, arena) : slice_make(NULL, 0);
}

static int64_t int_member(struct slice json, const char *name)
{
    struct slice value;

    return jtext_find(json, name, &value) ? jtext_int(value) : 0;
}

void filter_from_json(struct slice json, struct arena *arena, struct job_filter *ret_filter,
                      struct slice *ret_target)
{
    struct slice labels = {0};

    jtext_find(json, "labels", &labels);
    *ret_filter = (struct job_filter){
        .states = (unsigned)int_member(json, "states"),
        .ended_before_at = int_member(json, "before"),
        .first_id = int_member(json, "first"),
        .group = int_member(json, "group"),
        .queue = string_member(json, "queue", arena),
        .text = string_member(json, "text", arena),
        .labels = slice_equal(labels, SLICE("{}")) ? slice_make(NULL, 0) : labels,
    };
    *ret_target = string_member(json, "target", arena);
}
