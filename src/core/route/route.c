/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "core/job/job.h"
#include "core/object/quote.h"
#include "core/queue/keys.h"
#include "core/route/routing.h"

/* ---- what comes next ---- */

static bool is_skipped(const struct routing *routing, int number)
{
    for (size_t i = 0; i < routing->n_skip; i++)
        if (routing->skip[i] == number)
            return true;
    return false;
}

size_t route_place(const struct routing *routing, int number)
{
    size_t i = 0;

    while (i < routing->n_steps && routing->steps[i].number != number)
        i++;
    return i;
}

const struct route_step *route_next(const struct routing *routing, int number, bool failed)
{
    for (size_t i = number == 0 ? 0 : route_place(routing, number) + 1; i < routing->n_steps; i++) {
        const struct route_step *step = &routing->steps[i];

        if ((step->final || !failed) && !is_skipped(routing, step->number))
            return step;
    }
    return NULL;
}

const struct route_step *route_first(const struct routing *routing)
{
    return route_next(routing, 0, false);
}

const struct route_step *route_find(const struct routing *routing, int number)
{
    size_t place = route_place(routing, number);

    return place == routing->n_steps ? NULL : &routing->steps[place];
}

/* ---- by number or name ---- */

static enum err_code no_step(const struct routing *routing, struct slice text, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char **words = arena_array(&arena, routing->n_steps + 1, sizeof(*words));
    struct quote quote;
    struct quote other;

    if (routing->n_steps == 0)
        return err_set(err, E_INVALID, "there is no step %s: the job has none",
                       quote_text(&quote, text));
    for (size_t i = 0; i < routing->n_steps; i++)
        words[i] = arena_strdup(&arena, routing->steps[i].name);
    const char *near = nearest_word(text, words, routing->n_steps);

    if (near == NULL)
        return err_set(err, E_INVALID, "there is no step %s", quote_text(&quote, text));
    return err_set(err, E_INVALID, "there is no step %s, did you mean %s?",
                   quote_text(&quote, text), quote_text(&other, slice_of(near)));
}

enum err_code route_select(const struct routing *routing, struct slice step,
                           const struct route_step **ret_step, struct err *err)
{
    const struct route_step *found = NULL;
    struct quote quote;
    int64_t number;

    if (slice_number(step, &number) && number <= STEP_NUMBER_MAX)
        found = route_find(routing, (int)number);
    if (found != NULL) {
        *ret_step = found;
        return E_OK;
    }
    for (size_t i = 0; i < routing->n_steps; i++) {
        if (!slice_equal(routing->steps[i].name, step))
            continue;
        if (found != NULL)
            return err_set(err, E_INVALID,
                           "several steps are called %s (%d and %d): name it by its number",
                           quote_text(&quote, step), found->number, routing->steps[i].number);
        found = &routing->steps[i];
    }
    if (found == NULL)
        return no_step(routing, step, err);
    *ret_step = found;
    return E_OK;
}

/* ---- a record that was submitted ---- */

void route_skip(struct routing *routing, const struct route_status *entries, size_t n,
                struct arena *arena)
{
    routing->skip = arena_array(arena, routing->n_steps + 1, sizeof(*routing->skip));
    routing->n_skip = 0;
    for (size_t i = 0; i < routing->n_steps; i++)
        for (size_t k = 0; k < n; k++)
            if (entries[k].has_status && entries[k].number == routing->steps[i].number) {
                routing->skip[routing->n_skip++] = routing->steps[i].number;
                break;
            }
}

/* ---- added steps ---- */

size_t route_end_of_work(const struct routing *routing)
{
    size_t at = routing->n_steps;

    while (at > 0 && routing->steps[at - 1].final)
        at--;
    return at;
}

static enum err_code check_room(const struct routing *routing, const struct route_step *more,
                                size_t n, struct arena *arena, struct err *err)
{
    struct routing alone = {.steps = routing->steps, .n_steps = routing->n_steps};

    if (routing->n_steps + n > ROUTE_STEPS_MAX)
        return err_set(err, E_INVALID,
                       "the route becomes too long: it would have %zu steps, at most %d are "
                       "allowed",
                       routing->n_steps + n, ROUTE_STEPS_MAX);
    size_t size = routing_format(&alone, arena).size;

    for (size_t i = 0; i < n; i++) {
        alone = (struct routing){.steps = (struct route_step[]){more[i]}, .n_steps = 1};
        size += routing_format(&alone, arena).size;
    }
    if (size > JOB_BYTES_MAX)
        return err_set(err, E_INVALID,
                       "the route becomes too long: its steps would have %zu bytes, at most %zu "
                       "are allowed",
                       size, JOB_BYTES_MAX);
    return E_OK;
}

enum err_code route_add(struct routing *routing, int at, struct slice steps, struct arena *arena,
                        struct err *err)
{
    const struct route_step *here = route_find(routing, at);
    size_t first = route_end_of_work(routing);
    int last = 0; /* number in use: none is used twice, records and conditions keep theirs */
    struct route_step *more;
    size_t n;

    if (here == NULL)
        return err_set(err, E_INVALID, "the job has no route that a step could be added to");
    if (here->final)
        return err_set(err, E_INVALID, "the route has come to its final steps");
    for (size_t i = 0; i < routing->n_steps; i++)
        last = routing->steps[i].number > last ? routing->steps[i].number : last;
    if (route_steps_parse(steps, last, arena, &more, &n, err) != E_OK ||
        check_room(routing, more, n, arena, err) != E_OK)
        return err->code;
    struct routing grown = *routing;

    grown.steps = arena_array(arena, routing->n_steps + n, sizeof(*grown.steps));
    memcpy(grown.steps, routing->steps, routing->n_steps * sizeof(*grown.steps));
    memmove(grown.steps + first + n, grown.steps + first,
            (routing->n_steps - first) * sizeof(*grown.steps));
    memcpy(grown.steps + first, more, n * sizeof(*more));
    grown.n_steps += n;
    *routing = grown;
    return E_OK;
}

/* ---- options ---- */

/* Adds the step's retry over the job's, key by key. */
static void add_retry(struct slice over, struct slice under, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < retry_object.n_fields; i++) {
        const char *name = retry_object.fields[i].name;
        struct slice value;

        if (jtext_find(over, name, &value) || jtext_find(under, name, &value))
            jtext_put_raw(out, name, value);
    }
    buf_add_char(out, '}');
}

/* Needs of the step and of the job are added together, once their names are filled in. */
static void add_needs(const struct routing *routing, const struct route_step *step, struct buf *out)
{
    struct slice jobs;
    bool given = routing->options.size > 0 && jtext_find(routing->options, "needs", &jobs);

    if (given)
        jtext_put_raw(out, "needs", jobs);
    if (step->needs.size > 0)
        jtext_put_raw(out, given ? "step_needs" : "needs", step->needs);
}

struct slice route_options(const struct routing *routing, const struct route_step *step,
                           struct arena *arena)
{
    const struct {
        const char *name;
        struct slice own;
    } parts[] = {{"timeout", step->timeout},
                 {"retry", step->retry},
                 {"command", step->command},
                 {"limits", step->limits}};
    size_t room = 120 + 2 * step->needs.size + routing->options.size + step->timeout.size +
                  step->retry.size + step->command.size + step->limits.size;
    CLEANUP(buf) struct buf out = BUF_INIT(room);

    buf_add_char(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct slice jobs;
        bool given = routing->options.size > 0 &&
                     jtext_find(routing->options, parts[i].name, &jobs);

        if (given && parts[i].own.size > 0 && jtext_type_of(jobs) == JTEXT_OBJECT) {
            jtext_add_key(&out, parts[i].name);
            add_retry(parts[i].own, jobs, &out);
        } else if (given || parts[i].own.size > 0) {
            jtext_put_raw(&out, parts[i].name, parts[i].own.size > 0 ? parts[i].own : jobs);
        }
    }
    add_needs(routing, step, &out);
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}
