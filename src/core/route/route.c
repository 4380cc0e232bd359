/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "core/job/job.h"
#include "core/object/quote.h"
#include "core/queue/keys.h"
#include "core/route/bill.h"

/* ---- what comes next ---- */

static bool is_skipped(const struct bill *bill, int number)
{
    for (size_t i = 0; i < bill->n_skip; i++)
        if (bill->skip[i] == number)
            return true;
    return false;
}

size_t route_place(const struct bill *bill, int number)
{
    size_t i = 0;

    while (i < bill->n_steps && bill->steps[i].number != number)
        i++;
    return i;
}

const struct route_step *route_next(const struct bill *bill, int number, bool failed)
{
    for (size_t i = number == 0 ? 0 : route_place(bill, number) + 1; i < bill->n_steps; i++) {
        const struct route_step *step = &bill->steps[i];

        if ((step->final || !failed) && !is_skipped(bill, step->number))
            return step;
    }
    return NULL;
}

const struct route_step *route_first(const struct bill *bill)
{
    return route_next(bill, 0, false);
}

const struct route_step *route_find(const struct bill *bill, int number)
{
    size_t place = route_place(bill, number);

    return place == bill->n_steps ? NULL : &bill->steps[place];
}

/* ---- by number or name ---- */

/* 0 when the text is no number that a step can have. */
static int number_of(struct slice text)
{
    int n = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || n > STEP_NUMBER_MAX)
            return 0;
        n = n * 10 + (text.data[i] - '0');
    }
    return n > STEP_NUMBER_MAX ? 0 : n;
}

static enum err_code no_step(const struct bill *bill, struct slice text, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char **words = arena_array(&arena, bill->n_steps + 1, sizeof(*words));
    struct quote quote;
    struct quote other;

    if (bill->n_steps == 0)
        return err_set(err, E_INVALID, "there is no step %s: the job has none",
                       quote_text(&quote, text));
    for (size_t i = 0; i < bill->n_steps; i++)
        words[i] = arena_strdup(&arena, bill->steps[i].name);
    const char *near = nearest_word(text, words, bill->n_steps);

    if (near == NULL)
        return err_set(err, E_INVALID, "there is no step %s", quote_text(&quote, text));
    return err_set(err, E_INVALID, "there is no step %s, did you mean %s?",
                   quote_text(&quote, text), quote_text(&other, slice_of(near)));
}

enum err_code route_select(const struct bill *bill, struct slice step,
                           const struct route_step **ret_step, struct err *err)
{
    const struct route_step *found = route_find(bill, number_of(step));
    struct quote quote;

    if (found != NULL) {
        *ret_step = found;
        return E_OK;
    }
    for (size_t i = 0; i < bill->n_steps; i++) {
        if (!slice_equal(bill->steps[i].name, step))
            continue;
        if (found != NULL)
            return err_set(err, E_INVALID,
                           "several steps are called %s (%d and %d): name it by its number",
                           quote_text(&quote, step), found->number, bill->steps[i].number);
        found = &bill->steps[i];
    }
    if (found == NULL)
        return no_step(bill, step, err);
    *ret_step = found;
    return E_OK;
}

/* ---- a record that was handed in ---- */

void route_skip(struct bill *bill, const struct route_status *entries, size_t n,
                struct arena *arena)
{
    bill->skip = arena_array(arena, bill->n_steps + 1, sizeof(*bill->skip));
    bill->n_skip = 0;
    for (size_t i = 0; i < bill->n_steps; i++)
        for (size_t k = 0; k < n; k++)
            if (entries[k].has_status && entries[k].number == bill->steps[i].number) {
                bill->skip[bill->n_skip++] = bill->steps[i].number;
                break;
            }
}

/* ---- added steps ---- */

size_t route_end_of_work(const struct bill *bill)
{
    size_t at = bill->n_steps;

    while (at > 0 && bill->steps[at - 1].final)
        at--;
    return at;
}

/* Numbers are given once: what is in the record, or waited for, keeps its own. */
static int last_number(const struct bill *bill)
{
    int last = 0;

    for (size_t i = 0; i < bill->n_steps; i++)
        last = bill->steps[i].number > last ? bill->steps[i].number : last;
    return last;
}

static enum err_code check_room(const struct bill *bill, const struct route_step *more, size_t n,
                                struct arena *arena, struct err *err)
{
    struct bill alone = {.steps = bill->steps, .n_steps = bill->n_steps};

    if (bill->n_steps + n > ROUTE_STEPS_MAX)
        return err_set(err, E_INVALID,
                       "the route becomes too long: it would have %zu steps, at most %d are "
                       "allowed",
                       bill->n_steps + n, ROUTE_STEPS_MAX);
    size_t size = bill_format(&alone, arena).size;

    for (size_t i = 0; i < n; i++) {
        alone = (struct bill){.steps = (struct route_step[]){more[i]}, .n_steps = 1};
        size += bill_format(&alone, arena).size;
    }
    if (size > JOB_BYTES_MAX)
        return err_set(err, E_INVALID,
                       "the route becomes too long: its steps would have %zu bytes, at most %zu "
                       "are allowed",
                       size, JOB_BYTES_MAX);
    return E_OK;
}

enum err_code route_add(struct bill *bill, int at, struct slice steps, struct arena *arena,
                        struct err *err)
{
    const struct route_step *here = route_find(bill, at);
    size_t first = route_end_of_work(bill);
    struct route_step *more;
    size_t n;

    if (here == NULL)
        return err_set(err, E_INVALID, "the job has no route that a step could be added to");
    if (here->final)
        return err_set(err, E_INVALID, "the route has come to its final steps");
    if (route_steps_parse(steps, last_number(bill), arena, &more, &n, err) != E_OK ||
        check_room(bill, more, n, arena, err) != E_OK)
        return err->code;
    struct bill grown = *bill;

    grown.steps = arena_array(arena, bill->n_steps + n, sizeof(*grown.steps));
    memcpy(grown.steps, bill->steps, bill->n_steps * sizeof(*grown.steps));
    memmove(grown.steps + first + n, grown.steps + first,
            (bill->n_steps - first) * sizeof(*grown.steps));
    memcpy(grown.steps + first, more, n * sizeof(*more));
    grown.n_steps += n;
    *bill = grown;
    return E_OK;
}

/* ---- options ---- */

/* A step's retry over the job's, key by key. */
static void add_retry(struct slice over, struct slice under, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < retry_object.n_fields; i++) {
        const char *name = retry_object.fields[i].name;
        struct slice value;

        if (json_find(over, name, &value) || json_find(under, name, &value))
            json_put_raw(out, name, value);
    }
    buf_add_char(out, '}');
}

struct slice route_options(const struct bill *bill, const struct route_step *step,
                           struct arena *arena)
{
    const struct {
        const char *name;
        struct slice own;
    } parts[] = {{"timeout", step->timeout},
                 {"retry", step->retry},
                 {"command", step->command},
                 {"limits", step->limits}};
    size_t room = 80 + bill->options.size + step->timeout.size + step->retry.size +
                  step->command.size + step->limits.size;
    CLEANUP(buf) struct buf out = BUF_INIT(room);

    buf_add_char(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct slice jobs;
        bool given = bill->options.size > 0 && json_find(bill->options, parts[i].name, &jobs);

        if (given && parts[i].own.size > 0 && json_type_of(jobs) == JSON_T_OBJECT) {
            json_add_key(&out, parts[i].name);
            add_retry(parts[i].own, jobs, &out);
        } else if (given || parts[i].own.size > 0) {
            json_put_raw(&out, parts[i].name, parts[i].own.size > 0 ? parts[i].own : jobs);
        }
    }
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}
