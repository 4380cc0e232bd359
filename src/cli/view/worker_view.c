/* SPDX-License-Identifier: MIT */
#include "cli/view/worker_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL ? text : "";
}

bool worker_lives(const json_t *worker)
{
    return reply_is_true(worker, "live");
}

/* ---- columns ---- */

void worker_write_running(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    int64_t slots = reply_int(from->item, "slots");

    view_int(f, from, out);
    if (slots > 0)
        buf_addf(&out->text, "/%" PRId64, slots);
    out->colour = reply_int(from->item, f->member) > 0 ? COLOUR_BLUE : COLOUR_DIM;
}

void worker_write_seen(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    int64_t seen_us = from->now_at - reply_time(from->item, f->member);
    char age[SHORT_TEXT_SIZE];

    buf_addf(&out->text, "%s%s ago", reply_is_true(from->item, "stopped") ? "stopped " : "",
             age_format(seen_us, age));
    out->colour = worker_lives(from->item) ? COLOUR_PLAIN : COLOUR_DIM;
}

void worker_write_queues(const struct view_field *f, const struct view_source *from,
                         struct view_text *out)
{
    json_t *queues = json_object_get(from->item, f->member);
    json_t *broken = json_object_get(from->item, "broken");
    struct buf *b = &out->text;

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(b, "%s%s:%" PRId64, b->size > 0 ? " " : "", json_object_iter_key(it),
                 (int64_t)json_integer_value(json_object_iter_value(it)));
    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it))
        buf_addf(b, "%sBROKEN %s: %s", b->size > 0 ? "; " : "", json_object_iter_key(it),
                 text_of(json_object_iter_value(it)));
    if (json_object_size(broken) > 0)
        out->colour = COLOUR_RED;
}

/* ---- lines of the page ---- */

void worker_write_instance(const struct view_field *f, const struct view_source *from,
                           struct view_text *out)
{
    if (*reply_text(from->item, f->member) != '\0')
        buf_addf(&out->text, "%.8s  since %s", reply_text(from->item, f->member),
                 reply_text(from->item, "since"));
}

static void add_seen_at(const struct view_field *f, const struct view_source *from, struct buf *out)
{
    char age[SHORT_TEXT_SIZE];

    buf_addf(out, "%s  %s ago", reply_text(from->item, f->member),
             age_format(from->now_at - reply_time(from->item, f->member), age));
}

void worker_write_seen_at(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    if (!reply_is_true(from->item, "stopped"))
        add_seen_at(f, from, &out->text);
}

void worker_write_stopped_at(const struct view_field *f, const struct view_source *from,
                             struct view_text *out)
{
    if (reply_is_true(from->item, "stopped"))
        add_seen_at(f, from, &out->text);
}

void worker_write_slots(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    if (reply_int(from->item, f->member) > 0)
        buf_addf(&out->text, "%" PRId64 ", %" PRId64 " in use", reply_int(from->item, f->member),
                 reply_int(from->item, "running"));
}

void worker_write_queue_lines(const struct view_field *f, const struct view_source *from,
                              struct view_text *out)
{
    json_t *queues = json_object_get(from->item, f->member);

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(&out->text, "%s%s  slots %" PRId64, out->text.size > 0 ? "\n" : "",
                 json_object_iter_key(it), (int64_t)json_integer_value(json_object_iter_value(it)));
}

void worker_write_broken_lines(const struct view_field *f, const struct view_source *from,
                               struct view_text *out)
{
    json_t *broken = json_object_get(from->item, f->member);

    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it)) {
        buf_addf(&out->text, "%s%s: ", out->text.size > 0 ? "\n" : "", json_object_iter_key(it));
        clean_text(&out->text, slice_of(text_of(json_object_iter_value(it))));
    }
}

void worker_write_jobs(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    const json_t *jobs = json_object_get(from->item, f->member);
    const json_t *job = NULL;

    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(4096);

        if (strcmp(reply_text(job, "worker"), reply_text(from->item, "name")) != 0)
            continue;
        buf_addf(&line, "%s  %s  ", reply_text(job, "id"), reply_text(job, "queue"));
        job_about(job, from->now_at, &line); /* without a text it drops the spaces before it */
        buf_add_str(&out->text, out->text.size > 0 ? "\n" : "");
        clean_text(&out->text, buf_slice(&line));
    }
}
