/* SPDX-License-Identifier: MIT */
#include "each/json.h"

#include <inttypes.h>

#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"

static void add_text(struct buf *out, const char *name, struct slice text)
{
    if (text.size == 0)
        return;
    jtext_put_string(out, name, text);
}

static void add_bytes(struct buf *out, const char *name, const char *encoded, struct slice output)
{
    if (utf8_valid(output)) {
        jtext_put_string(out, name, output);
        return;
    }
    jtext_add_key(out, encoded);
    buf_add_char(out, '"');
    base64_add(out, output);
    buf_add_char(out, '"');
}

/* A member as it is in `object`, under another name. */
static void copy_member(struct buf *out, const char *name, struct slice object, const char *from)
{
    struct slice value = {NULL, 0};

    if (object.size == 0 || !jtext_find(object, from, &value) || jtext_type_of(value) == JTEXT_NULL)
        return;
    jtext_put_raw(out, name, value);
}

void each_json_add_end(struct buf *out, int64_t line, const struct worker_end *end)
{
    buf_addf(out, "{\"line\":%" PRId64, line);
    copy_member(out, "input", end->params, "line");
    add_text(out, "id", end->id);
    add_text(out, "state", slice_of(job_outcome_name(end->outcome)));
    if (end->exited)
        buf_addf(out, ",\"exit\":%d", end->exit);
    if (end->outcome != JOB_OUT_DONE && end->cause != JOB_CAUSE_NONE)
        add_text(out, "cause", slice_of(job_cause_name(end->cause)));
    add_text(out, "text", end->text);
    add_bytes(out, "output", "output_base64", end->output);
    if (end->errors.size > 0)
        add_bytes(out, "errors", "errors_base64", end->errors);
    buf_add_str(out, "}\n");
}

void each_json_add_job(struct buf *out, int64_t line, struct slice job, struct slice output)
{
    struct slice params = {NULL, 0};

    buf_addf(out, "{\"line\":%" PRId64, line);
    if (jtext_find(job, "params", &params))
        copy_member(out, "input", params, "line");
    copy_member(out, "id", job, "id");
    copy_member(out, "state", job, "state");
    copy_member(out, "exit", job, "exit");
    copy_member(out, "cause", job, "cause");
    copy_member(out, "text", job, "text");
    if (output.data != NULL)
        add_bytes(out, "output", "output_base64", output);
    buf_add_str(out, "}\n");
}
