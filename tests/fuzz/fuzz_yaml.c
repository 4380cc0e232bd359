/*
 * Definitions in YAML: what is refused leaves nothing behind and says where, what is taken is JSON
 * that is canonical already.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/definition/definition.h"
#include "core/queue/def.h"
#include "core/route/join_def.h"
#include "driver.h"

static const struct slice seeds[] = {
    SLICE("queues:\n  fetch:\n    command: [./fetch.sh, \"{url}\"]\n    slots: 4\n    timeout: 5m\n"
          "    retry: {max: 5, first: 10s, factor: 2, cap: 1h, jitter: 0.1,\n"
          "            exits: {75: later, 64-74: never}}\n    stop_after: 20\n    strict: false\n"),
    SLICE("queues:\n  a b:\n    resident: true\n    idle: 90\n    own_command: true\n"
          "    limits: {memory: 512M, cpu: 60s, files: 256, nice: 10, user: nobody}\n"
          "    keep: {done: 30d, failed: 90d, log: 1M}\n"
          "    description: >-\n      some\n      text\n"),
    SLICE("server: {listen: 127.0.0.1:6769, url: \"http://whatever.com:6769\",\n"
          "  names: [whatever.com], token_file: token}\n"),
    SLICE("queues:\n  a: &x {slots: 1, retry: &r {max: 3}}\n  b: *x\n  c:\n    retry: *r\n"),
    SLICE("# nothing\n---\nqueues: {a: }\n---\nqueues:\n  ? b\n  : {slots: 0x10}\n...\n"),
    SLICE(
        "{\"queues\": {\"q\": {\"command\": \"echo \\\"\\u00e4\\t\\x41\\\"\", \"timeout\": 1.5}}}"),
    SLICE("queues:\n  a:\n    command: |\n      set -e\n      echo {x}\n    dir: /srv\n"),
    SLICE("queues:\n- [a, b, [c, {d: e}]]\n- &a [*a]\n- !!str 75\n- 'it''s'\n- .inf\n- 1e400\n"),
    SLICE("queues: {before: {slots: 1}}\nserver: {names: [a, b]}\n"),
    SLICE(
        "queues:\n  a:\n    on_success: [parse, {join: report}, {signal: s, count: 3}]\n"
        "    on_failure: {topic: alarm, params: {x: [1, y]}}\n    subscribe: [crawl, \"site.*\"]\n"
        "joins:\n  report: {key: \"{date}\", count: 10, then: [summary]}\n"
        "  one: {count: 1, then: a}\n"),
    SLICE("triggers:\n  import: {from: [10.0.0.0/8, '::1']}\n  b:\n    from: 192.0.2.0/25\n"),
};

static const struct slice words[] = {
    SLICE("queues:"),
    SLICE("server:"),
    SLICE("joins:"),
    SLICE("triggers:"),
    SLICE("from: "),
    SLICE("fd00::/8"),
    SLICE("count: 1"),
    SLICE("then: a"),
    SLICE("key: '{a}'"),
    SLICE("on_success: "),
    SLICE("on_failure: "),
    SLICE("subscribe: "),
    SLICE("{queue: a}"),
    SLICE("{join: a}"),
    SLICE("{signal: a, count: 2}"),
    SLICE("subscriber: {}"),
    SLICE("\n  "),
    SLICE("\n    "),
    SLICE("\n"),
    SLICE(": "),
    SLICE("- "),
    SLICE("? "),
    SLICE("["),
    SLICE("]"),
    SLICE("{"),
    SLICE("}"),
    SLICE(", "),
    SLICE("&x "),
    SLICE("*x"),
    SLICE("*r"),
    SLICE("!!str "),
    SLICE("!!int "),
    SLICE("!x "),
    SLICE("|\n"),
    SLICE(">-\n"),
    SLICE("---\n"),
    SLICE("...\n"),
    SLICE("# "),
    SLICE("%YAML 1.2\n"),
    SLICE("%TAG ! x\n"),
    SLICE("<<: "),
    SLICE("\""),
    SLICE("'"),
    SLICE("\\0"),
    SLICE("\\x00"),
    SLICE("\\uD83D"),
    SLICE("\\U0001F600"),
    SLICE("\\N"),
    SLICE("null"),
    SLICE("~"),
    SLICE("true"),
    SLICE("0x7f"),
    SLICE("0o17"),
    SLICE(".nan"),
    SLICE("-1"),
    SLICE("1e400"),
    SLICE("9223372036854775808"),
    SLICE("0.1"),
    SLICE("10s"),
    SLICE("512M"),
    SLICE("75: later"),
    SLICE("64-74: never"),
    SLICE("exits: "),
    SLICE("retry: "),
    SLICE("command: "),
    SLICE("timeout: "),
    SLICE("keep: "),
    SLICE("limits: "),
    SLICE("dir: /x"),
    SLICE("before:"),
    SLICE("\t"),
    SLICE("\r\n"),
    SLICE("\xC2\x85"),
    SLICE("\xE2\x80\xA8"),
    SLICE("\xEF\xBB\xBF"),
    SLICE("\xC3\xA4"),
    SLICE("\xED\xA0\x80"),
    SLICE("[[[[[[[[[[[[[[[["),
};

#define BEFORE "queues: {before: {slots: 1}}\nserver: {names: [here]}\n"
#define BEFORE_JSON "{\"queues\":{\"before\":{\"slots\":1}}}"

typedef enum err_code canonical_fn(struct slice json, struct buf *out, struct err *err);

static void make_again(struct slice definitions, canonical_fn *canonical, struct buf *again)
{
    struct err err = ERR_INIT;
    struct slice name;
    struct slice value;

    for (struct jtext_iter it = jtext_members(definitions);
         jtext_next_member(&it, &name, &value);) {
        jtext_add_comma(again);
        buf_add_slice(again, name);
        buf_add_char(again, ':');
        if (canonical(value, again, &err) != E_OK)
            fuzz_fail("refused when read again: %s", err.msg);
    }
}

/* As the server does it with a request: the text is checked, each definition is made canonical
 * again. */
static void check_canonical(struct slice json)
{
    CLEANUP(buf) struct buf again = BUF_INIT((size_t)16 << 20);
    struct err err = ERR_INIT;
    struct slice whole;
    struct slice queues;
    struct slice joins;

    if (jtext_check(json, &whole, &err) != E_OK)
        fuzz_fail("not JSON: %s: %.*s", err.msg, (int)json.size, json.data);
    if (!jtext_find(whole, "queues", &queues))
        fuzz_fail("no queues: %.*s", (int)json.size, json.data);
    buf_add_str(&again, "{\"queues\":{");
    make_again(queues, queue_def_canonical, &again);
    if (jtext_find(whole, "joins", &joins)) {
        buf_add_str(&again, "},\"joins\":{");
        make_again(joins, join_def_canonical, &again);
    }
    buf_add_str(&again, "}}");
    if (!slice_equal(buf_slice(&again), json))
        fuzz_fail("not canonical: %.*s\nbut: %s", (int)json.size, json.data, buf_text(&again));
}

/* Each name without a definition is reported with its place. */
static void check_names(const struct definitions *d)
{
    struct err err = ERR_INIT;

    if (definitions_check_names(d, &err) == E_OK)
        return;
    if (strncmp(err.msg, "f.yaml:", 7) != 0 || strchr("123456789", err.msg[7]) == NULL)
        fuzz_fail("a name leads nowhere, with a bad message: %s", err.msg);
}

static void check_refused(const struct definitions *d, struct slice json, const struct err *err)
{
    if (err->code != E_INVALID && err->code != E_TOO_LARGE)
        fuzz_fail("refused as %s: %s", err_name(err->code), err->msg);
    if (strncmp(err->msg, "f.yaml:", 7) != 0 || strchr("123456789", err->msg[7]) == NULL ||
        !utf8_valid(slice_of(err->msg)))
        fuzz_fail("refused with a bad message: %s", err->msg);
    if (!slice_is(json, BEFORE_JSON) || d->server.names.count != 1 || d->server.listen.size != 0 ||
        d->refs.count != 0 || d->server.triggers.count != 0)
        fuzz_fail("something stayed of what was refused: %.*s", (int)json.size, json.data);
}

static void run(struct slice input)
{
    static const struct definition_source source = {.file = "f.yaml", .dir = "/srv/q"};
    CLEANUP(definitions) struct definitions d;
    CLEANUP(buf) struct buf json = BUF_INIT((size_t)16 << 20);
    struct err err = ERR_INIT;

    definitions_init(&d);
    if (definitions_add_from(&d, &(struct definition_source){.file = "before.yaml"}, SLICE(BEFORE),
                             &err) != E_OK)
        fuzz_fail("%s", err.msg);
    enum err_code code = definitions_add_from(&d, &source, input, &err);

    definitions_json(&d, &json);
    if (code != E_OK) {
        check_refused(&d, buf_slice(&json), &err);
        return;
    }
    check_canonical(buf_slice(&json));
    check_names(&d);
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
