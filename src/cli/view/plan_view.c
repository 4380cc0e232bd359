/* SPDX-License-Identifier: MIT */
#include "cli/view/plan_view.h"

#include <inttypes.h>
#include <string.h>

#include "cli/view/command_text.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"

#define LINE_SIZE_MAX ((size_t)64 << 10)

static const struct column columns[] = {
    {.title = "  STEP", .right = true},
    {.title = "NAME"},
    {.title = "QUEUE"},
    {.title = "ON ERROR"},
    {.title = "COMMAND"},
};

/* Settings other than the default: continue, final. */
static const char *on_error(const json_t *step)
{
    if (reply_is_true(step, "final"))
        return strcmp(reply_text(step, "on_error"), "continue") == 0 ? "final, continue" : "final";
    return *reply_text(step, "on_error") != '\0' ? reply_text(step, "on_error") : "stop";
}

/* Of a job without steps. */
static void print_command(const json_t *job)
{
    CLEANUP(buf) struct buf command = BUF_INIT(LINE_SIZE_MAX);
    CLEANUP(buf) struct buf clean = BUF_INIT(LINE_SIZE_MAX);

    command_add_words(&command, json_object_get(job, "command"));
    clean_text(&clean, buf_slice(&command));
    if (clean.size > 0)
        printf("  %s\n", buf_text(&clean));
}

void plan_print(const json_t *answer, const struct screen *s)
{
    const json_t *plan = json_object_get(answer, "plan");
    const json_t *job = NULL;

    for (size_t i = 0; (job = json_array_get(plan, i)) != NULL; i++) {
        CLEANUP(table) struct table t;
        const json_t *steps = json_object_get(job, "steps");
        const json_t *step = NULL;
        const char *state = reply_text(job, "state");
        const char *known = reply_text(job, "known");
        CLEANUP(buf) struct buf queue = BUF_INIT(LINE_SIZE_MAX);

        clean_text(&queue, slice_of(reply_text(job, "queue")));
        if (json_array_size(plan) > 1)
            printf("job %zu  ", i + 1);
        if (*known != '\0')
            printf("known as %s, nothing is added  ", known);
        printf("queue %s  %s%s%s\n", buf_text(&queue), screen_on(s, state_colour(state)), state,
               screen_off(s, state_colour(state)));
        print_command(job);
        table_init(&t, columns, ARRAY_LEN(columns));
        for (size_t n = 0; (step = json_array_get(steps, n)) != NULL; n++) {
            CLEANUP(buf) struct buf command = BUF_INIT(LINE_SIZE_MAX);

            table_addf(&t, COLOUR_PLAIN, "%" PRId64, reply_int(step, "number"));
            table_add(&t, COLOUR_PLAIN, reply_text(step, "name"));
            table_add(&t, COLOUR_PLAIN, reply_text(step, "queue"));
            table_add(&t, COLOUR_DIM, on_error(step));
            command_add_words(&command, json_object_get(step, "command"));
            table_add(&t, COLOUR_PLAIN, buf_text(&command));
        }
        if (t.cells.count > 0)
            table_print(&t, s);
    }
}
