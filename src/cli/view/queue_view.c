/* SPDX-License-Identifier: MIT */
#include "cli/view/queue_view.h"

#include <inttypes.h>
#include <string.h>

#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"

enum colour queue_state_colour(const char *state)
{
    return strcmp(state, "up") == 0 ? COLOUR_GREEN : COLOUR_YELLOW;
}

int64_t queue_count(const json_t *queue, const char *state)
{
    return reply_int(json_object_get(queue, "counts"), state);
}

int64_t queue_next_at(const json_t *queue)
{
    return reply_time(queue, "next_created_at");
}

void queue_write_state(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    view_string(f, from, out);
    out->colour = queue_state_colour(buf_text(&out->text));
}

void queue_write_count(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    int64_t n = queue_count(from->item, f->member);

    buf_addf(&out->text, "%" PRId64, n);
    out->colour = n == 0 ? COLOUR_DIM : state_colour(f->member);
}

void queue_write_nonzero(const struct view_field *f, const struct view_source *from,
                         struct view_text *out)
{
    if (queue_has_count(f, from->item))
        queue_write_count(f, from, out);
}

bool queue_has_count(const struct view_field *f, const json_t *queue)
{
    return queue_count(queue, f->member) != 0;
}

void queue_write_next(const struct view_field *f, const struct view_source *from,
                      struct view_text *out)
{
    int64_t next_at = queue_next_at(from->item);
    char age[SHORT_TEXT_SIZE];

    if (next_at > 0)
        buf_addf(&out->text, "%s, created %s ago", reply_text(from->item, f->member),
                 age_format(from->now_at - next_at, age));
}

void queue_write_why(const struct view_field *f, const struct view_source *from,
                     struct view_text *out)
{
    (void)f;
    queue_add_why(from->item, from->now_at, &out->text);
}

void queue_write_rate(const struct view_field *f, const struct view_source *from,
                      struct view_text *out)
{
    double rate = json_real_value(json_object_get(from->item, f->member));

    if (rate > 0)
        buf_addf(&out->text, rate < 10 ? "%.1f" : "%.0f", rate);
}

bool queue_has_rate(const struct view_field *f, const json_t *queue)
{
    return json_is_real(json_object_get(queue, f->member));
}

void queue_print_broken(const json_t *queue, const char *before, const struct screen *s)
{
    const json_t *broken = json_object_get(queue, "broken");
    const json_t *place = NULL;

    for (size_t i = 0; (place = json_array_get(broken, i)) != NULL; i++) {
        CLEANUP(buf) struct buf text = BUF_INIT(4096);

        clean_text(&text, slice_of(reply_text(place, "text")));
        fprintf(screen_out(s), "%s%sbroken on %s%s: %s\n", before, screen_on(s, COLOUR_RED),
                reply_text(place, "host"), screen_off(s, COLOUR_RED), buf_text(&text));
    }
}

void queue_add_why(const json_t *queue, int64_t now_at, struct buf *out)
{
    const json_t *why = json_object_get(queue, "why");
    char age[SHORT_TEXT_SIZE];

    if (why != NULL)
        buf_addf(out, "%s, %s ago", reply_text(why, "text"),
                 age_format(now_at - reply_time(why, "at"), age));
}

void queue_print_more(const json_t *queue, const struct screen *s)
{
    const json_t *definition = json_object_get(queue, "definition");

    queue_print_broken(queue, "  ", s);
    if (json_object_size(definition) == 0)
        return;
    CLEANUP(mem) char *text = json_dumps(definition, JSON_INDENT(2));

    fprintf(screen_out(s), "definition %s\n", text);
}
