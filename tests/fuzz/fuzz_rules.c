/*
 * The readers of resources, lanes, needs, filters, schedules and groups: what they accept is
 * canonical when it is written and read again, what they refuse has a message with a place in the
 * text.  Besides, the bytes of windows, rates, globs and regular expressions.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/clock/schedule_def.h"
#include "core/filter/filter_def.h"
#include "core/filter/regex.h"
#include "core/gate/lane_def.h"
#include "core/gate/needs.h"
#include "core/gate/resource_def.h"
#include "core/gate/window.h"
#include "core/group/group_def.h"
#include "core/object/object.h"
#include "driver.h"

enum { JSON_MAX = 1 << 20 };

static const struct slice seeds[] = {
    SLICE("{\"slots\":2,\"rate\":[\"100/1h\",\"1/500ms\"],\"open\":[\"22:00-06:00 Mon-Fri\"],"
          "\"closed\":[\"2026-12-24..2026-12-26\"],\"zone\":\"Europe/Berlin\","
          "\"probe\":{\"command\":[\"./ok.sh\"],\"every\":\"5m\",\"timeout\":3}}"),
    SLICE("{\"key\":\"{host}\",\"limit\":1,\"rate\":\"1/2s\"}"),
    SLICE("{\"search-api\":1,\"llm\":\"{tokens}\",\"memory\":\"512M\"}"),
    SLICE("[{\"unique\":{\"key\":\"{url}\",\"scope\":{\"group\":\"site\"},\"for\":\"24h\","
          "\"on_clash\":\"replace\",\"max\":\"1h\"}},{\"limit\":{\"pending\":10}},"
          "{\"match\":{\"a\":{\"in\":[1,\"x\"],\"regex\":\"^(a|[b-c]{2,3})*$\"}}},"
          "{\"command\":[\"./keep\"],\"timeout\":\"1s\"}]"),
    SLICE("{\"cron\":\"0 2 * * *\",\"zone\":\"UTC\",\"queue\":\"q\",\"params\":{\"d\":\"{day}\"},"
          "\"jitter\":\"1m\",\"overlap\":\"queue\",\"catch_up\":\"1h\",\"catch_up_all\":true}"),
    SLICE("{\"finally\":{\"queue\":\"s\",\"params\":{\"n\":1}},\"fail\":\"stop\","
          "\"keep\":{\"done\":\"1d\"}}"),
    SLICE("\1\x90\x4e\1\5\2\x80\1\3"),
    SLICE("^([[:alpha:]]+|\\d{2,})?[^a-z]*$"),
    SLICE("100/1h"),
};

static const struct slice words[] = {
    SLICE("\"open\":"),
    SLICE("\"closed\":"),
    SLICE("\"rate\":"),
    SLICE("\"probe\":"),
    SLICE("\"match\":"),
    SLICE("\"unique\":"),
    SLICE("\"limit\":"),
    SLICE("\"scope\":"),
    SLICE("\"group\""),
    SLICE("\"living\""),
    SLICE("\"counts\":"),
    SLICE("\"every\":"),
    SLICE("\"cron\":"),
    SLICE("\"topic\":"),
    SLICE("\"workflow\":"),
    SLICE("\"finally\":"),
    SLICE("\"exists\":"),
    SLICE("\"glob\":"),
    SLICE("\"eq\":"),
    SLICE("\"ne\":null"),
    SLICE("\"25:00\""),
    SLICE("\"2026-02-30\""),
    SLICE("{a:-1}"),
    SLICE("{255}"),
    SLICE("[[:digit:]]"),
    SLICE("\\w"),
    SLICE("(|)"),
    SLICE("\xff\xff"),
    SLICE("\"\\u00e4\""),
    SLICE("{"),
    SLICE("}"),
    SLICE("["),
    SLICE("]"),
    SLICE(","),
    SLICE("1.5"),
    SLICE("null"),
};

typedef enum err_code canonical_fn(struct slice json, struct buf *out, struct err *err);

static enum err_code lane_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct object_read r = {.arena = &arena, .err = err, .key = "lane", .copies = true};
    struct lane_def def;

    if (lane_def_read(&r, json, &def) != E_OK)
        return err->code;
    lane_def_json(&def, out);
    return E_OK;
}

static enum err_code needs_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct needs needs;

    if (needs_parse(json, &arena, &needs, err) != E_OK)
        return err->code;
    needs_json(&needs, out);
    return E_OK;
}

static enum err_code filters_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct object_read r = {.arena = &arena, .err = err, .key = "filters", .copies = true};
    struct filters filters;

    if (filters_read(&r, json, &filters) != E_OK)
        return err->code;
    filters_json(&filters, out);
    for (size_t i = 0; i < filters.count; i++) {
        const struct match_test *t = NULL;
        CLEANUP(buf) struct buf why = BUF_INIT(JSON_MAX);

        if (filters.items[i].kind == FILTER_MATCH)
            t = match_fails(&filters.items[i].match, SLICE("{\"a\":\"bcb\"}"));
        if (t != NULL)
            match_reason(t, SLICE("{\"a\":\"bcb\"}"), &why);
    }
    return E_OK;
}

static void check_json(struct slice json, canonical_fn *canonical)
{
    CLEANUP(buf) struct buf once = BUF_INIT(JSON_MAX);
    CLEANUP(buf) struct buf twice = BUF_INIT(JSON_MAX);
    struct err err = ERR_INIT;
    struct slice value;

    if (canonical(json, &once, &err) != E_OK) {
        if ((err.code != E_INVALID && err.code != E_TOO_LARGE) || err.msg[0] == '\0' ||
            !utf8_valid(slice_of(err.msg)))
            fuzz_fail("refused with %s: %s", err_name(err.code), err.msg);
        return;
    }
    if (jtext_check(buf_slice(&once), &value, &err) != E_OK)
        fuzz_fail("not JSON: %s: %s", err.msg, buf_text(&once));
    if (canonical(value, &twice, &err) != E_OK)
        fuzz_fail("refused when read again: %s: %s", err.msg, buf_text(&once));
    if (!slice_equal(buf_slice(&once), buf_slice(&twice)))
        fuzz_fail("not canonical: %s\nbut: %s", buf_text(&once), buf_text(&twice));
}

static void check_places(struct slice json)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const char *at = json.data;
    struct resource_def resource;
    struct schedule_def schedule;
    struct group_def group;

    if (resource_def_parse(json, &arena, &resource, NULL, &at, &err) != E_OK &&
        (at < json.data || at >= slice_end(json)))
        fuzz_fail("a resource's mistake is nowhere: %s", err.msg);
    if (schedule_def_parse(json, &arena, &schedule, NULL, &at, &err) != E_OK &&
        (at < json.data || at >= slice_end(json)))
        fuzz_fail("a schedule's mistake is nowhere: %s", err.msg);
    if (group_def_parse(json, &arena, &group, NULL, &at, &err) != E_OK &&
        (at < json.data || at >= slice_end(json)))
        fuzz_fail("a group's mistake is nowhere: %s", err.msg);
}

static void check_window(struct slice bytes)
{
    CLEANUP(window) struct window w = WINDOW_INIT;
    CLEANUP(buf) struct buf again = BUF_INIT(JSON_MAX);
    struct rates rates = {.items = {{5, US_PER_S}}, .count = 1};
    struct err err = ERR_INIT;

    if (window_decode(bytes, &w, &err) != E_OK)
        return;
    window_encode(&w, &again);
    if (!slice_equal(bytes, buf_slice(&again)))
        fuzz_fail("the bytes of a window change when they are written again");
    window_settle(&w, &rates, 1000000);
    struct window_verdict v = window_next(&w, &rates, 1000000, 5);

    if (v.at < 1000000 || v.at > 1000000 + US_PER_S)
        fuzz_fail("a window is blocked until %lld", (long long)v.at);
}

static void check_texts(struct slice text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char again[RATE_TEXT_SIZE];
    struct err err = ERR_INIT;
    const struct regex *re;
    struct rate rate;
    struct rate same;

    if (rate_parse(text, &rate, &err) == E_OK &&
        (rate_parse(slice_of(rate_format(&rate, again)), &same, &err) != E_OK ||
         same.starts != rate.starts || same.length_us != rate.length_us))
        fuzz_fail("the rate %s is another one when it is read again", again);
    if (regex_parse(text, &arena, &re, &err) == E_OK) {
        (void)regex_matches(re, SLICE("aab 12 c\xc3\xa4"));
        (void)regex_matches(re, text);
    }
    if (!glob_matches(SLICE("*"), text))
        fuzz_fail("a star does not match");
    (void)glob_matches(text, SLICE("aab 12 c\xc3\xa4"));
}

static void run(struct slice input)
{
    static canonical_fn *const readers[] = {resource_def_canonical, lane_canonical,
                                            needs_canonical,        filters_canonical,
                                            schedule_def_canonical, group_def_canonical};
    struct err err = ERR_INIT;
    struct slice json;

    check_window(input);
    check_texts(input);
    if (jtext_check(input, &json, &err) != E_OK)
        return;
    check_places(json);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        check_json(json, readers[i]);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
