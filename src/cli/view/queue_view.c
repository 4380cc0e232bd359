/* SPDX-License-Identifier: MIT */
#include "cli/view/queue_view.h"

#include <inttypes.h>
#include <string.h>

#include "cli/view/answer.h"
#include "cli/view/job_view.h"
#include "core/job/state.h"

/* The states in the table, in the order of a job's life.  Rarer ones are there when they are used. */
static const struct {
    const char *state;
    const char *title;
    bool always;
} shown[] = {
    {.state = "staged", .title = "STAGED"},
    {.state = "held", .title = "HELD"},
    {.state = "scheduled", .title = "SCHEDULED"},
    {.state = "ready", .title = "READY", .always = true},
    {.state = "running", .title = "RUNNING", .always = true},
    {.state = "done", .title = "DONE", .always = true},
    {.state = "failed", .title = "FAILED", .always = true},
    {.state = "cancelled", .title = "CANCELLED"},
    {.state = "relayed", .title = "RELAYED"},
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

static bool is_used(const json_t *queues, const char *state)
{
    const json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        if (queue_count(queue, state) != 0)
            return true;
    }
    return false;
}

static bool any_rate(const json_t *queues)
{
    return json_is_real(json_object_get(json_array_get(queues, 0), QUEUE_RATE));
}

static void add_rate(struct table *t, const json_t *queue)
{
    double rate = json_real_value(json_object_get(queue, QUEUE_RATE));

    if (rate > 0)
        table_addf(t, COLOUR_PLAIN, rate < 10 ? "%.1f" : "%.0f", rate);
    else
        table_add(t, COLOUR_PLAIN, "");
}

static void add_row(struct table *t, const json_t *queue, const bool *used, int64_t now_at)
{
    const char *state = answer_text(queue, "state");
    int64_t next_at = queue_next_at(queue);
    char age[SHORT_TEXT_SIZE];

    table_add(t, COLOUR_PLAIN, answer_text(queue, "name"));
    table_add(t, queue_state_colour(state), state);
    for (size_t c = 0; c < ARRAY_LEN(shown); c++) {
        if (used[c])
            table_add_count(t, state_colour(shown[c].state), queue_count(queue, shown[c].state));
    }
    table_add(t, COLOUR_PLAIN, next_at > 0 ? age_format(now_at - next_at, age) : "");
    if (json_object_get(queue, QUEUE_RATE) != NULL)
        add_rate(t, queue);
}

void queue_table(const json_t *queues, int64_t now_at, const struct screen *s)
{
    CLEANUP(table) struct table t;
    struct column columns[ARRAY_LEN(shown) + 4] = {{.title = "QUEUE"}, {.title = "STATE"}};
    bool used[ARRAY_LEN(shown)];
    size_t n = 2;
    const json_t *queue = NULL;

    for (size_t c = 0; c < ARRAY_LEN(shown); c++) {
        used[c] = shown[c].always || is_used(queues, shown[c].state);
        if (used[c])
            columns[n++] = (struct column){.title = shown[c].title, .right = true};
    }
    columns[n++] = (struct column){.title = "NEXT AGE", .right = true};
    if (any_rate(queues))
        columns[n++] = (struct column){.title = "ENDED/S", .right = true};
    table_init(&t, columns, n);
    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
        add_row(&t, queue, used, now_at);
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

void queue_print_broken(const json_t *queue, const char *before, const struct screen *s)
{
    const json_t *broken = json_object_get(queue, "broken");
    const json_t *place = NULL;

    for (size_t i = 0; (place = json_array_get(broken, i)) != NULL; i++) {
        CLEANUP(buf) struct buf text = BUF_INIT(4096);

        clean_text(&text, slice_of(answer_text(place, "text")));
        fprintf(screen_out(s), "%s%sbroken on %s%s: %s\n", before, screen_on(s, COLOUR_RED),
                answer_text(place, "host"), screen_off(s, COLOUR_RED), buf_text(&text));
    }
}

void queue_add_why(const json_t *queue, int64_t now_at, struct buf *out)
{
    const json_t *why = json_object_get(queue, "why");
    char age[SHORT_TEXT_SIZE];

    if (why != NULL)
        buf_addf(out, "%s, %s ago", answer_text(why, "text"),
                 age_format(now_at - answer_time(why, "at"), age));
}

void queue_page(const json_t *queue, int64_t now_at, const struct screen *s)
{
    const char *state = answer_text(queue, "state");
    int64_t next_at = queue_next_at(queue);
    char age[SHORT_TEXT_SIZE];
    const json_t *definition = json_object_get(queue, "definition");

    CLEANUP(buf) struct buf why = BUF_INIT(4096);

    queue_add_why(queue, now_at, &why);
    printf("queue %s  %s%s%s%s%s\n", answer_text(queue, "name"),
           screen_on(s, queue_state_colour(state)), state, screen_off(s, queue_state_colour(state)),
           why.size > 0 ? "  " : "", buf_text(&why));
    print_counts(queue, s);
    if (next_at > 0)
        printf("  %-12s %s, created %s ago\n", "next", answer_text(queue, "next"),
               age_format(now_at - next_at, age));
    if (answer_int(queue, "restarts") > 0)
        printf("  %-12s %" PRId64 "\n", "restarts", answer_int(queue, "restarts"));
    queue_print_broken(queue, "  ", s);
    if (json_object_size(definition) == 0)
        return;
    CLEANUP(mem) char *text = json_dumps(definition, JSON_INDENT(2));

    printf("definition %s\n", text);
}
