/*
 * Steps, records, conditions and destinations as they come from outside: what is refused says
 * where, what is taken is kept in a form that reads back as itself, and a route always comes to its
 * end.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/route/join_def.h"
#include "core/route/routing.h"
#include "driver.h"

static const struct slice seeds[] = {
    SLICE("{\"steps\":[{\"number\":1,\"process name\":\"extract\",\"queue name\":\"shelf\","
          "\"command line\":\"echo {one}\"},{\"number\":2,\"name\":\"main\",\"queue\":\"shelf\"}],"
          "\"progress\":[{\"number\":1,\"status\":0,\"start time\":\"2026-11-15T21:30:00Z\"}]}"),
    SLICE("{\"steps\":[{\"name\":\"a\",\"command\":[\"./x\",\"{y}\"],"
          "\"params\":{ \"z\" : [1, \" \"] },"
          "\"timeout\":\"5m\",\"retry\":{\"max\":2,\"exits\":{\"75\":\"later\"}}},"
          "{\"name\":\"b\",\"on_error\":\"continue\",\"on_success\":[\"c\",{\"join\":\"j\"}]},"
          "{\"name\":\"f\",\"final\":true},{\"name\":\"g\",\"number\":9,\"final\":true}],"
          "\"add\":[{\"name\":\"x\"},{\"name\":\"y\",\"number\":20,\"final\":true}]}"),
    SLICE("{\"steps\":{\"name\":\"a\"},\"add\":{\"name\":\"b\"},\"progress\":[]}"),
    SLICE("{\"after\":[\"0D3N7Q8R2S4T6\",\"ref\",{\"job\":\"a\",\"step\":\"main\",\"on\":\"end\"},"
          "{\"signal\":\"dump\",\"count\":10,\"take\":true},{\"job\":\"b\",\"step\":4}]}"),
    SLICE("{\"dests\":[\"a\",{\"queue\":\"b\",\"params\":{\"x\":1}},{\"topic\":\"t.u\"},"
          "{\"join\":\"j\"},{\"signal\":\"s\",\"count\":3}]}"),
    SLICE("{\"join\":{\"key\":\"{date:-none}\",\"count\":10,\"then\":[\"summary\"]}}"),
};

static const struct slice words[] = {
    SLICE("\"steps\":"),
    SLICE("\"progress\":"),
    SLICE("\"add\":"),
    SLICE("\"after\":"),
    SLICE("\"dests\":"),
    SLICE("\"join\":"),
    SLICE("\"name\":\"a\""),
    SLICE("\"queue\":\"q\""),
    SLICE("\"number\":3"),
    SLICE("\"number\":1000000"),
    SLICE("\"final\":true"),
    SLICE("\"on_error\":\"continue\""),
    SLICE("\"status\":0"),
    SLICE("\"status\":-9"),
    SLICE("\"command\":"),
    SLICE("\"command line\":"),
    SLICE("\"params\":{}"),
    SLICE("\"on_failure\":"),
    SLICE("\"signal\":\"s\""),
    SLICE("\"topic\":\"t\""),
    SLICE("\"count\":2"),
    SLICE("\"set\":{}"),
    SLICE("'{a}'"),
    SLICE("{a}"),
    SLICE("{"),
    SLICE("}"),
    SLICE("["),
    SLICE("]"),
    SLICE(","),
    SLICE(":"),
    SLICE("\""),
    SLICE("\\\""),
    SLICE("\\u0041"),
    SLICE("\\n"),
    SLICE("null"),
    SLICE("true"),
    SLICE("0"),
    SLICE("-1"),
    SLICE("1e9"),
    SLICE(" "),
    SLICE("{\"name\":\"x\"},"),
    SLICE("\xC2\x85"),
};

static struct arena arena = ARENA_INIT;

static void check_refusal(const struct err *err, const char *begins)
{
    if (err->code != E_INVALID)
        fuzz_fail("refused as %s: %s", err_name(err->code), err->msg);
    if (strncmp(err->msg, begins, strlen(begins)) != 0 || !utf8_valid(slice_of(err->msg)))
        fuzz_fail("refused with a bad message: %s", err->msg);
}

static struct slice checked(struct slice json)
{
    struct err err = ERR_INIT;
    struct slice value;

    if (jtext_check(json, &value, &err) != E_OK)
        fuzz_fail("not JSON: %s: %.*s", err.msg, (int)json.size, json.data);
    return value;
}

/* ---- routes ---- */

static void check_form(const struct routing *routing)
{
    struct slice once = routing_format(routing, &arena);
    struct routing again;

    routing_parse(checked(once), &arena, &again);
    if (!slice_equal(routing_format(&again, &arena), once))
        fuzz_fail("does not read back as itself: %.*s", (int)once.size, once.data);
    for (size_t i = 0; i < routing->n_steps; i++)
        if (routing->steps[i].number < 1 || route_place(routing, routing->steps[i].number) != i)
            fuzz_fail("a number is there twice: %.*s", (int)once.size, once.data);
}

static void check_walk(const struct routing *routing, bool failed)
{
    size_t visited = 0;
    int number = 0;

    for (const struct route_step *s; (s = route_next(routing, number, failed)) != NULL; visited++) {
        if (visited == routing->n_steps || (failed && !s->final))
            fuzz_fail("the route is walked wrongly at step %d", s->number);
        if (route_options(routing, s, &arena).size > 0)
            (void)checked(route_options(routing, s, &arena));
        number = s->number;
    }
}

static void try_progress(struct routing *routing, struct slice json)
{
    struct route_status *entries;
    struct err err = ERR_INIT;
    size_t n;

    if (route_progress_parse(json, routing, &arena, &entries, &n, &err) != E_OK) {
        check_refusal(&err, "progress");
        return;
    }
    route_skip(routing, entries, n, &arena);
    for (size_t i = 0; i < n; i++)
        for (const struct route_step *s = route_first(routing); entries[i].has_status && s != NULL;
             s = route_next(routing, s->number, false))
            if (s->number == entries[i].number)
                fuzz_fail("step %d has a status and is run", s->number);
}

static void try_add(struct routing *routing, struct slice json)
{
    size_t before = routing->n_steps;
    struct err err = ERR_INIT;

    if (route_add(routing, routing->steps[0].number, json, &arena, &err) != E_OK) {
        check_refusal(&err, "");
        return;
    }
    struct route_step *again;
    struct slice steps;
    size_t n;

    if (routing->n_steps <= before)
        fuzz_fail("nothing was added");
    if (!jtext_find(routing_format(routing, &arena), "steps", &steps) ||
        route_steps_parse(steps, 0, &arena, &again, &n, &err) != E_OK || n != routing->n_steps)
        fuzz_fail("a route that has grown is refused: %s", err.msg);
}

static void try_steps(struct slice whole, struct slice json)
{
    struct routing routing = {.options = SLICE("{\"retry\":{\"max\":1}}")};
    struct err err = ERR_INIT;
    struct slice more;

    if (route_steps_parse(json, 0, &arena, &routing.steps, &routing.n_steps, &err) != E_OK) {
        check_refusal(&err, "steps");
        return;
    }
    if (jtext_find(whole, "progress", &more))
        try_progress(&routing, more);
    if (jtext_find(whole, "add", &more))
        try_add(&routing, more);
    check_form(&routing);
    check_walk(&routing, false);
    check_walk(&routing, true);
}

/* ---- the others ---- */

static void try_after(struct slice json)
{
    CLEANUP(buf) struct buf out = BUF_INIT((size_t)1 << 24);
    struct after_cond *conds;
    struct err err = ERR_INIT;
    size_t n;
    size_t again;

    if (after_parse(json, &arena, &conds, &n, &err) != E_OK) {
        check_refusal(&err, "after");
        return;
    }
    buf_add_char(&out, '[');
    for (size_t i = 0; i < n; i++) {
        jtext_add_comma(&out);
        after_cond_json(&conds[i], conds[i].job > 0 ? conds[i].job : 1,
                        conds[i].step.size > 0 ? 7 : 0, &out);
    }
    buf_add_char(&out, ']');
    if (after_parse(checked(buf_slice(&out)), &arena, &conds, &again, &err) != E_OK || again != n)
        fuzz_fail("does not read back: %s: %s", err.msg, buf_text(&out));
}

static void try_dests(struct slice json)
{
    struct slice once;
    struct slice twice;
    struct err err = ERR_INIT;

    if (dest_list_canonical(json, "then", &arena, &once, &err) != E_OK) {
        check_refusal(&err, "then");
        return;
    }
    if (once.size == 0)
        return;
    if (dest_list_canonical(checked(once), "then", &arena, &twice, &err) != E_OK ||
        !slice_equal(once, twice))
        fuzz_fail("not canonical: %.*s", (int)once.size, once.data);
}

static void try_join(struct slice json)
{
    CLEANUP(buf) struct buf once = BUF_INIT((size_t)1 << 24);
    CLEANUP(buf) struct buf twice = BUF_INIT((size_t)1 << 24);
    struct err err = ERR_INIT;

    if (join_def_canonical(json, &once, &err) != E_OK) {
        check_refusal(&err, "");
        return;
    }
    if (join_def_canonical(checked(buf_slice(&once)), &twice, &err) != E_OK ||
        !slice_equal(buf_slice(&once), buf_slice(&twice)))
        fuzz_fail("not canonical: %s", buf_text(&once));
}

static void run(struct slice input)
{
    struct err err = ERR_INIT;
    struct slice whole;
    struct slice value;

    if (jtext_check(input, &whole, &err) != E_OK || jtext_type_of(whole) != JTEXT_OBJECT)
        return;
    if (jtext_find(whole, "steps", &value))
        try_steps(whole, value);
    if (jtext_find(whole, "after", &value))
        try_after(value);
    if (jtext_find(whole, "dests", &value))
        try_dests(value);
    if (jtext_find(whole, "join", &value))
        try_join(value);
    arena_clear(&arena);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
