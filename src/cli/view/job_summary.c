/* SPDX-License-Identifier: MIT */
#include "cli/view/job_summary.h"

#include <string.h>

#include "base/text/utf8.h"
#include "cli/view/command_text.h"
#include "cli/view/reply_json.h"
#include "cli/view/screen.h"

/* As much of it as there is room for. */
static void add_start(struct buf *b, struct slice text)
{
    buf_add_slice(b, utf8_cut(text, b->limit - b->size));
}

/* The size of a value that is too large for a list, and how it begins; nothing when it is not. */
static void add_cut(struct buf *b, const json_t *cut, const char *from)
{
    char size[SHORT_TEXT_SIZE];
    const char *start = reply_text(cut, "start");
    const char *at = strstr(start, from);

    if (*start == '\0')
        return;
    buf_addf(b, "(%s) ", bytes_format(reply_int(cut, "size"), size));
    add_start(b, slice_of(at != NULL ? at + strlen(from) : start));
    add_start(b, SLICE("…"));
}

void job_summary(const json_t *job, struct buf *out)
{
    CLEANUP(buf) struct buf what = BUF_INIT(JOB_SUMMARY_MAX);
    CLEANUP(buf) struct buf command = BUF_INIT((size_t)1 << 20);
    const json_t *cut = json_object_get(job, "cut");

    command_add_text(&command, json_object_get(job, "command"));
    add_start(&what, buf_slice(&command));
    if (what.size == 0)
        add_cut(&what, json_object_get(cut, "options"), "\"command\":");
    if (what.size == 0) {
        json_t *params = json_object_get(job, "params");

        for (void *it = json_object_iter(params); it != NULL && what.size < what.limit;
             it = json_object_iter_next(params, it)) {
            const char *key = json_object_iter_key(it);
            const char *text = json_string_value(json_object_iter_value(it));
            CLEANUP(mem) char *json = text == NULL ? reply_json(params, key) : NULL;

            if (what.size > 0)
                buf_add_char(&what, ' ');
            add_start(&what, slice_of(key));
            add_start(&what, SLICE("="));
            add_start(&what, slice_of(text != NULL ? text : json != NULL ? json : ""));
        }
    }
    if (what.size == 0)
        add_cut(&what, json_object_get(cut, "params"), "{");
    if (what.size == 0)
        add_start(&what, slice_of(reply_text(job, "key")));
    buf_add_slice(out, buf_slice(&what));
}
