/* SPDX-License-Identifier: MIT */
#include "cli/queue_view.h"

#include <inttypes.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/job_view.h"
#include "core/job_state.h"

/* The states with a column of their own, in the order of a job's life. */
static const char *const shown[] = {
    "held", "scheduled", "ready", "running", "done", "failed", "cancelled",
};

static const struct column columns[] = {
    {.title = "QUEUE"},
    {.title = "STATE"},
    {.title = "HELD", .right = true},
    {.title = "SCHEDULED", .right = true},
    {.title = "READY", .right = true},
    {.title = "RUNNING", .right = true},
    {.title = "DONE", .right = true},
    {.title = "FAILED", .right = true},
    {.title = "CANCELLED", .right = true},
    {.title = "NEXT AGE", .right = true},
};

enum colour queue_state_colour(const char *state)
{
    return strcmp(state, "up") == 0 ? COLOUR_GREEN : COLOUR_YELLOW;
}

int64_t queue_count(const json_t *queue, const char *state)
{
    return answer_int(json_object_get(queue, "counts"), state);
}

int64_t queue_next_at(const json_t *queue)
{
    return answer_time(queue, "next_created_at");
}

static void add_next(struct table *t, const json_t *queue, int64_t now_at)
{
    int64_t next_at = queue_next_at(queue);
    char age[SHORT_TEXT_SIZE];

    table_add(t, COLOUR_PLAIN, next_at > 0 ? age_format(now_at - next_at, age) : "");
}

void queue_table(const json_t *queues, int64_t now_at, const struct screen *s)
{
    CLEANUP(table) struct table t;
    json_t *queue = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        const char *state = answer_text(queue, "state");

        table_add(&t, COLOUR_PLAIN, answer_text(queue, "name"));
        table_add(&t, queue_state_colour(state), state);
        for (size_t c = 0; c < ARRAY_LEN(shown); c++)
            table_add_count(&t, state_colour(shown[c]), queue_count(queue, shown[c]));
        add_next(&t, queue, now_at);
    }
    table_print(&t, s);
}

static void print_counts(const json_t *queue, const struct screen *s)
{
    for (int state = JOB_NONE + 1; state < JOB_STATE_COUNT; state++) {
        const char *name = job_state_name((enum job_state)state);
        enum colour colour = state_colour(name);
        int64_t n = queue_count(queue, name);

        if (n > 0)
            printf("  %-12s %s%" PRId64 "%s\n", name, screen_on(s, colour), n,
                   screen_off(s, colour));
    }
}

void queue_page(const json_t *queue, int64_t now_at, const struct screen *s)
{
    const char *state = answer_text(queue, "state");
    int64_t next_at = queue_next_at(queue);
    char age[SHORT_TEXT_SIZE];
    const json_t *definition = json_object_get(queue, "definition");

    printf("queue %s  %s%s%s\n", answer_text(queue, "name"),
           screen_on(s, queue_state_colour(state)), state,
           screen_off(s, queue_state_colour(state)));
    print_counts(queue, s);
    if (next_at > 0)
        printf("  %-12s %s, created %s ago\n", "next", answer_text(queue, "next"),
               age_format(now_at - next_at, age));
    if (json_object_size(definition) == 0)
        return;
    CLEANUP(mem) char *text = json_dumps(definition, JSON_INDENT(2));

    printf("definition %s\n", text);
}
