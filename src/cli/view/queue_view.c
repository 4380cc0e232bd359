/* SPDX-License-Identifier: MIT */
#include "cli/view/queue_view.h"

#include "cli/view/reply_json.h"

int64_t queue_count(const json_t *queue, const char *state)
{
    return reply_int(json_object_get(queue, "counts"), state);
}

int64_t queue_next_at(const json_t *queue)
{
    return reply_time(queue, "next_created_at");
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
