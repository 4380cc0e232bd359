/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/clock.h"
#include "core/object/object.h"
#include "core/program/template.h"
#include "core/queue/def.h"
#include "json_testing.h"

static struct queue_def parse(const char *json)
{
    struct err err = ERR_INIT;
    struct queue_def def;

    if (queue_def_parse(checked(json), &arena, &def, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return def;
}

static void assert_refused(const char *json, const char *message)
{
    struct err err = ERR_INIT;
    struct queue_def def = {.slots = 77};

    assert_int_equal(queue_def_parse(checked(json), &arena, &def, &err), E_INVALID);
    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, message);
    assert_int_equal(def.slots, 77);
}

static void assert_canonical(const char *json, const char *want)
{
    assert_canonical_by(queue_def_canonical, json, want);
}

/* ---- reading ---- */

static void an_empty_definition_has_the_defaults_of_the_design(void **state)
{
    (void)state;
    struct queue_def d = parse("{}");
    struct retry_policy retry = RETRY_POLICY_DEFAULT;

    assert_int_equal(d.command.size, 0);
    assert_int_equal(d.dir.size, 0);
    assert_int_equal(d.description.size, 0);
    assert_int_equal(d.slots, QUEUE_SLOTS_ALL);
    assert_int_equal(d.timeout_us, 0);
    assert_int_equal(d.stop_after, 0);
    assert_false(d.strict || d.resident || d.own_command);
    assert_int_equal(d.idle_us, 60 * US_PER_S);
    assert_int_equal(d.limits.memory + d.limits.cpu_us + d.limits.files + d.limits.nice, 0);
    assert_false(d.limits.niced);
    assert_int_equal(d.limits.user.size, 0);
    assert_int_equal(d.keep_done_us, 30 * US_PER_DAY);
    assert_int_equal(d.keep_failed_us, 90 * US_PER_DAY);
    assert_int_equal(d.keep_log, 1 << 20);
    assert_int_equal(d.retry.max, retry.max);
    assert_int_equal(d.retry.first_us, retry.first_us);
    assert_true(d.retry.factor == retry.factor && d.retry.jitter == retry.jitter);
    assert_int_equal(d.retry.cap_us, retry.cap_us);
    assert_int_equal(d.retry.n_exits, 0);
}

static void every_key_reaches_its_field(void **state)
{
    (void)state;
    struct queue_def d = parse(
        "{\"command\":[\"./fetch.sh\",\"{queue}\"],\"description\":\"gets \\\"pages\\\"\","
        "\"dir\":\"/etc/w b\",\"slots\":4,\"timeout\":\"5m\",\"retry\":{\"max\":5,\"first\":\"1s\","
        "\"factor\":1.5,\"cap\":\"2h\",\"jitter\":0.25,\"exits\":{\"75\":\"later\","
        "\"64-74\":\"never\"}},\"stop_after\":20,\"strict\":true,\"resident\":true,\"idle\":90,"
        "\"own_command\":true,\"limits\":{\"memory\":\"512M\",\"cpu\":\"60s\",\"files\":256,"
        "\"nice\":10,\"user\":\"nobody\"},\"keep\":{\"done\":\"1d\",\"failed\":\"2d\","
        "\"log\":\"64K\"}}");

    assert_slice_is(d.command, "[\"./fetch.sh\",\"{queue}\"]");
    assert_slice_is(d.description, "gets \"pages\"");
    assert_slice_is(d.dir, "/etc/w b");
    assert_int_equal(d.slots, 4);
    assert_int_equal(d.timeout_us, 5 * US_PER_MIN);
    assert_int_equal(d.retry.max, 5);
    assert_int_equal(d.retry.first_us, US_PER_S);
    assert_true(d.retry.factor == 1.5 && d.retry.jitter == 0.25);
    assert_int_equal(d.retry.cap_us, 2 * US_PER_HOUR);
    assert_int_equal(d.retry.n_exits, 2);
    assert_int_equal(d.retry.exits[0].first, 64);
    assert_int_equal(d.retry.exits[0].last, 74);
    assert_int_equal(d.retry.exits[0].then, RETRY_EXIT_NEVER);
    assert_int_equal(d.retry.exits[1].first, 75);
    assert_int_equal(d.retry.exits[1].last, 75);
    assert_int_equal(d.retry.exits[1].then, RETRY_EXIT_LATER);
    assert_int_equal(d.stop_after, 20);
    assert_true(d.strict && d.resident && d.own_command);
    assert_int_equal(d.idle_us, 90 * US_PER_S);
    assert_int_equal(d.limits.memory, 512 << 20);
    assert_int_equal(d.limits.cpu_us, 60 * US_PER_S);
    assert_int_equal(d.limits.files, 256);
    assert_int_equal(d.limits.nice, 10);
    assert_true(d.limits.niced);
    assert_slice_is(d.limits.user, "nobody");
    assert_int_equal(d.keep_done_us, US_PER_DAY);
    assert_int_equal(d.keep_failed_us, 2 * US_PER_DAY);
    assert_int_equal(d.keep_log, 64 << 10);
}

static void nice_zero_is_not_the_same_as_no_nice(void **state)
{
    (void)state;
    struct queue_def d = parse("{\"limits\":{\"nice\":0}}");

    assert_true(d.limits.niced);
    assert_int_equal(d.limits.nice, 0);
}

static void sizes_are_powers_of_1024_or_plain_bytes(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"keep\":{\"log\":0}}").keep_log, 0);
    assert_int_equal(parse("{\"keep\":{\"log\":1000}}").keep_log, 1000);
    assert_int_equal(parse("{\"keep\":{\"log\":\"1000\"}}").keep_log, 1000);
    assert_int_equal(parse("{\"keep\":{\"log\":\"3K\"}}").keep_log, 3072);
    assert_int_equal(parse("{\"keep\":{\"log\":\"2G\"}}").keep_log, INT64_C(2) << 30);
    assert_int_equal(parse("{\"limits\":{\"memory\":\"1T\"}}").limits.memory, INT64_C(1) << 40);
}

static void lengths_are_texts_or_seconds(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"timeout\":\"1500ms\"}").timeout_us, 1500000);
    assert_int_equal(parse("{\"timeout\":1.5}").timeout_us, 1500000);
    assert_int_equal(parse("{\"timeout\":7}").timeout_us, 7 * US_PER_S);
    assert_int_equal(parse("{\"timeout\":\"7\"}").timeout_us, 7 * US_PER_S);
    assert_int_equal(parse("{\"timeout\":\"0.5h\"}").timeout_us, 30 * US_PER_MIN);
}

static void a_command_is_a_script_or_a_list(void **state)
{
    (void)state;
    assert_slice_is(parse("{\"command\":\"echo {a} | wc\"}").command, "\"echo {a} | wc\"");
    assert_slice_is(parse("{\"command\":[ \"a\" , \"\" , \"\\u0041\\n\" ]}").command,
                    "[\"a\",\"\",\"A\\n\"]");
}

/* ---- refusing ---- */

static void unknown_keys_are_refused_with_the_nearest_word(void **state)
{
    (void)state;
    assert_refused("{\"tiemout\":\"5m\"}", "unknown key 'tiemout', did you mean 'timeout'?");
    assert_refused("{\"Slots\":1}", "unknown key 'Slots', did you mean 'slots'?");
    assert_refused("{\"retry\":{\"frist\":1}}",
                   "retry: unknown key 'frist', did you mean 'first'?");
    assert_refused("{\"keep\":{\"logs\":1}}", "keep: unknown key 'logs', did you mean 'log'?");
    assert_refused("{\"limits\":{\"speed\":1}}",
                   "limits: unknown key 'speed', the keys are: memory cpu files nice user");
    assert_refused("{\"\\u0074imeou\":1}", "unknown key 'timeou', did you mean 'timeout'?");
    assert_refused(
        "{\"\":1}",
        "unknown key '', the keys are: description command dir workdir env slots timeout expires "
        "retry stop_after strict resident idle own_command may_emit limits keep needs lane "
        "on_success on_failure subscribe filters");
}

/* ---- limits that travel ---- */

static struct queue_limits limits(const char *json)
{
    struct queue_limits l;
    struct err err = ERR_INIT;

    if (queue_limits_parse(checked(json), &arena, &l, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return l;
}

static void assert_limits(const char *own, const char *queue, const char *want)
{
    struct queue_limits a = limits(own);
    struct queue_limits b = limits(queue);
    struct queue_limits both = queue_limits_for(&a, &b);
    struct slice json = queue_limits_format(&both, &arena);

    assert_true(slice_is(json, want));
    if (json.size > 0) {
        both = limits(want);
        assert_true(slice_equal(queue_limits_format(&both, &arena), json));
    }
}

static void of_two_limits_the_stricter_holds(void **state)
{
    (void)state;
    assert_limits("{}", "{}", "");
    assert_limits("{\"memory\":\"1M\",\"cpu\":\"5s\"}", "{\"memory\":\"2M\",\"cpu\":\"2s\"}",
                  "{\"memory\":1048576,\"cpu\":\"2s\"}");
    assert_limits("{\"files\":20}", "{\"nice\":3}", "{\"files\":20,\"nice\":3}");
    assert_limits("{\"nice\":-5}", "{\"nice\":-7}", "{\"nice\":-5}");
    assert_limits("{\"nice\":0}", "{\"nice\":7}", "{\"nice\":7}");
}

/* The queue's user would be a right that the emitter does not have. */
static void the_user_is_the_one_that_a_command_came_with(void **state)
{
    (void)state;
    assert_limits("{\"user\":\"nobody\"}", "{\"user\":\"www\"}", "{\"user\":\"nobody\"}");
    assert_limits("{\"user\":\"nobody\"}", "{}", "{\"user\":\"nobody\"}");
    assert_limits("{}", "{\"user\":\"www\"}", "{\"user\":\"www\"}");
}

static void what_jobs_may_emit_is_said_by_their_queue(void **state)
{
    (void)state;
    assert_false(parse("{}").may_emit_command);
    assert_false(parse("{\"may_emit\":{}}").may_emit_command);
    assert_true(parse("{\"may_emit\":{\"command\":true}}").may_emit_command);
    assert_refused("{\"may_emit\":true}", "may_emit: must be an object, not true");
    assert_refused("{\"may_emit\":{\"commands\":true}}",
                   "may_emit: unknown key 'commands', did you mean 'command'?");
    assert_canonical("{\"may_emit\":{\"command\":true}}", "{\"may_emit\":{\"command\":true}}");
}

static void keys_of_what_is_not_built_are_unknown(void **state)
{
    (void)state;
    static const char *const keys[] = {"steps", "carrier", "rq"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char json[64];
        struct err err = ERR_INIT;
        struct queue_def def;

        snprintf(json, sizeof(json), "{\"%s\":{}}", keys[i]);
        assert_int_equal(queue_def_parse(checked(json), &arena, &def, &err), E_INVALID);
        assert_non_null(strstr(err.msg, "unknown key"));
    }
}

static void values_of_the_wrong_type_are_refused(void **state)
{
    (void)state;
    assert_refused("[]", "a queue's definition must be an object, not an array");
    assert_refused("null", "a queue's definition must be an object, not null");
    assert_refused("{\"retry\":5}", "retry: must be an object, not 5: write {max: 5}");
    assert_refused("{\"keep\":null}", "keep: must be an object, not null");
    assert_refused("{\"slots\":\"4\"}", "slots: must be a whole number from 1 to 10000, not '4'");
    assert_refused("{\"slots\":4.0}", "slots: must be a whole number from 1 to 10000, not 4.0");
    assert_refused("{\"strict\":\"yes\"}", "strict: must be true or false, not 'yes'");
    assert_refused("{\"strict\":1}", "strict: must be true or false, not 1");
    assert_refused(
        "{\"timeout\":true}",
        "timeout: must be a length of time such as \"30s\" or a number of seconds, not true");
    assert_refused("{\"keep\":{\"log\":1.5}}", "keep.log: must be a size from 0 to 16G, not 1.5");
    assert_refused("{\"retry\":{\"factor\":\"2\"}}",
                   "retry.factor: must be a number from 1 to 1000, not '2'");
    assert_refused("{\"description\":7}", "description: must be text, not 7 (put it in quotes)");
    assert_refused("{\"command\":{}}",
                   "command: must be a text or a list of texts, not an object (put it in quotes)");
    assert_refused("{\"retry\":{\"exits\":[75]}}",
                   "retry.exits: must be an object like {75: later, 64-74: never}, not an array");
}

static void values_out_of_bounds_are_refused(void **state)
{
    (void)state;
    assert_refused("{\"slots\":0}", "slots: must be a whole number from 1 to 10000, not 0");
    assert_refused("{\"slots\":10001}", "slots: must be a whole number from 1 to 10000, not 10001");
    assert_refused("{\"slots\":9223372036854775807}",
                   "slots: must be a whole number from 1 to 10000, not 9223372036854775807");
    assert_refused("{\"stop_after\":-1}",
                   "stop_after: must be a whole number from 0 to 1000000, not -1");
    assert_refused("{\"timeout\":0}",
                   "timeout: must be a length of time from 1ms to 10000d, not 0");
    assert_refused("{\"timeout\":-1}", "timeout: a length of time cannot be negative");
    assert_refused("{\"timeout\":\"10001d\"}", "timeout: a length of time is at most 10000d");
    assert_refused("{\"timeout\":1e300}", "timeout: a length of time is at most 10000d");
    assert_refused("{\"retry\":{\"first\":\"10x\"}}",
                   "retry.first: '10x' is not a length of time like 500ms, 10s, 5m, 2h or 30d");
    assert_refused("{\"retry\":{\"max\":1000001}}",
                   "retry.max: must be a whole number from 0 to 1000000, not 1000001");
    assert_refused("{\"retry\":{\"factor\":0.5}}",
                   "retry.factor: must be a number from 1 to 1000, not 0.5");
    assert_refused("{\"retry\":{\"jitter\":1.01}}",
                   "retry.jitter: must be a number from 0 to 1, not 1.01");
    assert_refused("{\"limits\":{\"memory\":\"63K\"}}",
                   "limits.memory: must be a size from 64K to 1024T, not '63K'");
    assert_refused("{\"limits\":{\"memory\":-1}}",
                   "limits.memory: must be a size from 64K to 1024T, not -1");
    assert_refused("{\"limits\":{\"nice\":20}}",
                   "limits.nice: must be a whole number from -20 to 19, not 20");
    assert_refused("{\"limits\":{\"files\":7}}",
                   "limits.files: must be a whole number from 8 to 1048576, not 7");
    assert_refused("{\"limits\":{\"cpu\":\"999ms\"}}",
                   "limits.cpu: must be a length of time from 1s to 10000d, not '999ms'");
}

static void malformed_sizes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "K",
        "12Q",
        "1.5M",
        "-1K",
        "1KK",
        " 1K",
        "1k",
        "0x10",
        "1 K",
        "99999999999999999999",
        "9223372036854775807K",
        "8388608T",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char json[80];
        char message[160];

        snprintf(json, sizeof(json), "{\"keep\":{\"log\":\"%s\"}}", bad[i]);
        snprintf(message, sizeof(message),
                 "keep.log: '%s' is not a size like 64K, 512M, 2G or a number of bytes", bad[i]);
        assert_refused(json, message);
    }
}

static void commands_that_name_no_program_are_refused(void **state)
{
    (void)state;
    assert_refused("{\"command\":[]}", "command: must name a program");
    assert_refused("{\"command\":\"\"}", "command: must not be empty");
    assert_refused("{\"command\":\" \\t\\n\"}", "command: must not be empty");
    assert_refused("{\"command\":[\"\",\"a\"]}", "command: must begin with the name of a program");
    assert_refused("{\"command\":[\"a\",1]}",
                   "command: its parts must be texts, not 1 (put it in quotes)");
    assert_refused("{\"command\":[[\"a\"]]}",
                   "command: its parts must be texts, not an array (put it in quotes)");
}

static void commands_with_names_that_cannot_be_filled_are_refused(void **state)
{
    (void)state;
    assert_refused("{\"command\":\"echo '{x}'\"}",
                   "command: {x} at byte 6 is in single quotes, where the shell fills in "
                   "nothing: use double quotes, or write {{ for a brace");
    assert_refused("{\"command\":[\"a\",\"{x:-\"]}",
                   "command: '{x:-' at byte 0 has no '}' at its end");
    assert_refused("{\"resident\":true,\"command\":[\"a\",\"{x:-1}\"]}",
                   "command: {x} cannot be filled in: a resident program is started before it gets "
                   "a job, which comes on its standard input");
    struct queue_def d = parse("{\"command\":\"echo {x} {y:-1}\"}");

    assert_int_equal(d.template->n_needs, 1);
    assert_slice_is(d.template->needs[0], "x");
    assert_null(parse("{}").template);
}

static void a_stored_command_that_is_refused_today_says_so(void **state)
{
    (void)state;
    static const char *const stored[] = {
        "{\"command\":\"awk '{print}' x\",\"slots\":3}",
        "{\"command\":[\"a\",\"{x}\"],\"resident\":true,\"slots\":3}"};

    for (size_t i = 0; i < 2; i++) {
        struct err err = ERR_INIT;
        struct queue_def d;

        assert_int_equal(queue_def_parse_stored(checked(stored[i]), &arena, &d, &err), E_OK);
        assert_int_equal(err.code, E_OK);
        assert_int_equal(d.slots, 3);
        assert_true(d.fault.size > 0);
        assert_int_equal(queue_def_parse_stored(checked("{\"slots\":0}"), &arena, &d, &err),
                         E_INVALID);
    }
}

static void commands_too_large_are_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 20);

    buf_add_str(&json, "{\"command\":\"");
    for (int i = 0; i < 65537; i++)
        buf_add_char(&json, 'x');
    buf_add_str(&json, "\"}");
    assert_refused(buf_text(&json), "command: must have at most 65536 bytes, not 65537");
    buf_clear(&json);
    buf_add_str(&json, "{\"command\":[\"a\"");
    for (int i = 0; i < 4096; i++)
        buf_add_str(&json, ",\"\"");
    buf_add_str(&json, "]}");
    assert_refused(buf_text(&json), "command: must have at most 4096 parts");
}

static void paths_and_users_are_checked(void **state)
{
    (void)state;
    assert_refused("{\"dir\":\"etc\"}", "dir: must be an absolute path, not 'etc'");
    assert_refused("{\"dir\":\"\"}", "dir: must not be empty");
    assert_refused("{\"dir\":\"/a\\nb\"}", "dir: must be an absolute path, not '/a?b'");
    assert_refused("{\"limits\":{\"user\":\"\"}}", "limits.user: must not be empty");
    assert_refused("{\"limits\":{\"user\":\"a:b\"}}", "limits.user: 'a:b' is not a user's name");
    assert_refused("{\"limits\":{\"user\":\"../x\"}}", "limits.user: '../x' is not a user's name");
}

static void exit_rules_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"0",     "256", "",     "-1",     "a",
                                      "74-64", "64-", "-64",  "64-256", "64-74-80",
                                      "0-5",   "1 ",  "0x10", "1000",   "64 - 74"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char json[80];
        char message[160];

        snprintf(json, sizeof(json), "{\"retry\":{\"exits\":{\"%s\":\"never\"}}}", bad[i]);
        snprintf(message, sizeof(message),
                 "retry.exits: '%s' is not an exit status from 1 to 255 or a range like 64-74",
                 bad[i]);
        assert_refused(json, message);
    }
    assert_refused("{\"retry\":{\"exits\":{\"75\":\"soon\"}}}",
                   "retry.exits: '75' must be 'later' or 'never', not 'soon'");
    assert_refused("{\"retry\":{\"exits\":{\"75\":null}}}",
                   "retry.exits: '75' must be 'later' or 'never', not null");
    assert_refused("{\"retry\":{\"exits\":{\"70-80\":\"never\",\"75\":\"later\"}}}",
                   "retry.exits: exit status 75 is named twice");
    assert_refused("{\"retry\":{\"exits\":{\"75\":\"later\",\"70-80\":\"never\"}}}",
                   "retry.exits: exit status 75 is named twice");
    assert_refused("{\"retry\":{\"exits\":{\"7\":\"later\",\"07\":\"never\"}}}",
                   "retry.exits: exit status 7 is named twice");
}

static void sixteen_exit_rules_are_taken_and_no_more(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf json = BUF_INIT(10000);

    buf_add_str(&json, "{\"retry\":{\"exits\":{\"100\":\"later\"");
    for (int i = 1; i < 16; i++)
        buf_addf(&json, ",\"%d\":\"later\"", 100 - i);
    buf_add_str(&json, "}}}");
    struct queue_def d = parse(buf_text(&json));

    assert_int_equal(d.retry.n_exits, 16);
    for (int i = 0; i < 16; i++)
        assert_int_equal(d.retry.exits[i].first, 85 + i);
    json.size -= 3;
    buf_add_str(&json, ",\"1\":\"later\"}}}");
    assert_refused(buf_text(&json), "retry.exits: must have at most 16 rules");
}

static void hostile_text_is_made_harmless_in_messages(void **state)
{
    (void)state;
    assert_refused("{\"strict\":\"\\u001b[31m\\u009b-\\u007f\"}",
                   "strict: must be true or false, not '?[31m?-?'");
    assert_refused("{\"strict\":\"0123456789012345678901234567890123456789X\"}",
                   "strict: must be true or false, not "
                   "'0123456789012345678901234567890123456789…'");
    assert_refused("{\"strict\":\"012345678901234567890123456789012345678\\u00e4\"}",
                   "strict: must be true or false, not '012345678901234567890123456789012345678…'");
}

static void the_place_of_a_mistake_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *place;
    } cases[] = {
        {"{\"slots\":1,\"tiemout\":2}", "\"tiemout\""},
        {"{\"slots\":1,\"timeout\":\"x\"}", "\"x\""},
        {"{\"retry\":{\"max\":1,\"frist\":2}}", "\"frist\""},
        {"{\"retry\":{\"max\":1,\"first\":\"2x\"}}", "\"2x\""},
        {"{\"retry\":7}", "7"},
        {"{\"command\":[\"a\",\"b\",3]}", "3"},
        {"{\"retry\":{\"exits\":{\"75\":\"later\",\"x\":\"never\"}}}", "\"x\""},
        {"{\"retry\":{\"exits\":{\"75\":\"soon\"}}}", "\"soon\""},
        {"{\"retry\":{\"exits\":{\"75\":\"later\",\"70-80\":\"never\"}}}", "\"70-80\""},
        {"{\"command\":[],\"slots\":1}", "[]"},
        {"{\"command\":[\"a\",\"{b:-\"]}", "\"{b:-\""},
        {"{\"command\":\"echo '{a}'\"}", "\"echo '{a}'\""},
        {"{\"command\":[\"{a}\"],\"resident\":true}", "[\"{a}\"]"},
        {"[]", "[]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct queue_def def;
        const char *fault_at = NULL;

        assert_int_equal(queue_def_parse_at(slice_of(cases[i].json), &arena, &def, NULL, &fault_at,
                                            &err),
                         E_INVALID);
        assert_non_null(fault_at);
        assert_memory_equal(fault_at, cases[i].place, strlen(cases[i].place));
    }
}

/* ---- canonical ---- */

static void canonical_json_has_the_given_keys_in_one_order(void **state)
{
    (void)state;
    assert_canonical("{}", "{}");
    assert_canonical(" { \"keep\" : { \"log\" : 1048576 } , \"slots\":2,\"command\":\"x\" } ",
                     "{\"command\":\"x\",\"slots\":2,\"keep\":{\"log\":\"1M\"}}");
    assert_canonical("{\"keep\":{},\"retry\":{},\"limits\":{}}", "{}");
    assert_canonical("{\"retry\":{\"exits\":{}}}", "{\"retry\":{\"exits\":{}}}");
    assert_canonical("{\"strict\":false,\"slots\":1}", "{\"slots\":1,\"strict\":false}");
}

static void canonical_json_writes_equal_values_alike(void **state)
{
    (void)state;
    assert_canonical("{\"timeout\":300}", "{\"timeout\":\"5m\"}");
    assert_canonical("{\"timeout\":\"300s\"}", "{\"timeout\":\"5m\"}");
    assert_canonical("{\"timeout\":0.0015}", "{\"timeout\":\"0.0015s\"}");
    assert_canonical("{\"timeout\":\"123456.789012s\"}", "{\"timeout\":\"123456.789012s\"}");
    assert_canonical("{\"retry\":{\"first\":0}}", "{\"retry\":{\"first\":\"0s\"}}");
    assert_canonical("{\"retry\":{\"factor\":2.0,\"jitter\":1e-1}}",
                     "{\"retry\":{\"factor\":2,\"jitter\":0.1}}");
    assert_canonical("{\"retry\":{\"jitter\":0.3333333333333333}}",
                     "{\"retry\":{\"jitter\":0.3333333333333333}}");
    assert_canonical("{\"keep\":{\"log\":\"1024K\"}}", "{\"keep\":{\"log\":\"1M\"}}");
    assert_canonical("{\"keep\":{\"log\":1000}}", "{\"keep\":{\"log\":\"1000\"}}");
    assert_canonical("{\"keep\":{\"log\":0}}", "{\"keep\":{\"log\":\"0\"}}");
    assert_canonical("{\"retry\":{\"exits\":{\"75\":\"later\",\"064-74\":\"never\"}}}",
                     "{\"retry\":{\"exits\":{\"64-74\":\"never\",\"75\":\"later\"}}}");
    assert_canonical("{\"description\":\"\\u00e4\\/\"}", "{\"description\":\"ä/\"}");
    assert_canonical("{\"c\\u006fmmand\":[\"\\u0061\"]}", "{\"command\":[\"a\"]}");
}

static void canonical_json_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf small = BUF_INIT(10);
    struct err err = ERR_INIT;

    assert_int_equal(queue_def_canonical(checked("{\"command\":\"long\"}"), &small, &err),
                     E_TOO_LARGE);
}

/* ---- retry of a job over that of its queue ---- */

static void a_jobs_retry_is_laid_over_that_of_its_queue(void **state)
{
    (void)state;
    struct queue_def d = parse(
        "{\"retry\":{\"max\":5,\"first\":\"1m\",\"exits\":{\"75\":\"later\"}}}");
    struct retry_policy p;
    struct err err = ERR_INIT;

    assert_int_equal(retry_policy_parse(SLICE("{\"max\":9}"), &d.retry, &p, &err), E_OK);
    assert_int_equal(p.max, 9);
    assert_int_equal(p.first_us, US_PER_MIN);
    assert_int_equal(p.n_exits, 1);
    assert_int_equal(retry_policy_parse(SLICE("{\"exits\":{\"1\":\"never\",\"2\":\"never\"}}"),
                                        &d.retry, &p, &err),
                     E_OK);
    assert_int_equal(p.max, 5);
    assert_int_equal(p.n_exits, 2);
    assert_int_equal(p.exits[0].first, 1);
    assert_int_equal(retry_policy_parse(SLICE("{\"exits\":{}}"), &d.retry, &p, &err), E_OK);
    assert_int_equal(p.n_exits, 0);
}

static void a_jobs_retry_is_refused_with_its_key(void **state)
{
    (void)state;
    struct retry_policy base = RETRY_POLICY_DEFAULT;
    struct retry_policy p = {.max = 77};
    struct err err = ERR_INIT;

    assert_int_equal(retry_policy_parse(SLICE("{\"first\":\"10x\"}"), &base, &p, &err), E_INVALID);
    assert_string_equal(
        err.msg, "retry.first: '10x' is not a length of time like 500ms, 10s, 5m, 2h or 30d");
    assert_int_equal(retry_policy_parse(SLICE("{\"mex\":1}"), &base, &p, &err), E_INVALID);
    assert_string_equal(err.msg, "retry: unknown key 'mex', did you mean 'max'?");
    assert_int_equal(retry_policy_parse(SLICE("5"), &base, &p, &err), E_INVALID);
    assert_string_equal(err.msg, "retry: must be an object, not 5: write {max: 5}");
    assert_int_equal(p.max, 77);
}

/* ---- names and states ---- */

static void names_of_queues_may_be_anything_readable(void **state)
{
    (void)state;
    static const char *const good[] = {"fetch", "a b", " x", "Größe", "a.b", "*", "-", "日本"};
    struct err err = ERR_INIT;
    char longest[QUEUE_NAME_MAX];

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(queue_name_check(slice_of(good[i]), &err), E_OK);
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(queue_name_check(slice_make(longest, sizeof(longest)), &err), E_OK);
}

static void names_of_queues_are_checked(void **state)
{
    (void)state;
    static const struct {
        struct slice name;
        const char *message;
    } cases[] = {
        {{"", 0}, "a queue's name must not be empty"},
        {{NULL, 0}, "a queue's name must not be empty"},
        {{"a/b", 3}, "a queue's name must not have a '/' in it: 'a/b'"},
        {{".", 1}, "a queue's name must not begin with a '.': '.'"},
        {{"..", 2}, "a queue's name must not begin with a '.': '..'"},
        {{"a\nb", 3}, "a queue's name must not have control characters: 'a?b'"},
        {{"a\0b", 3}, "a queue's name must not have control characters: 'a?b'"},
        {{"a\x7F", 2}, "a queue's name must not have control characters: 'a?'"},
        {{"a\xC2\x85", 3}, "a queue's name must not have control characters: 'a?'"},
        {{"a\xFF", 2}, "a queue's name must be UTF-8: 'a?'"},
    };
    struct err err = ERR_INIT;
    char longer[QUEUE_NAME_MAX + 1];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(queue_name_check(cases[i].name, &err), E_INVALID);
        assert_string_equal(err.msg, cases[i].message);
    }
    memset(longer, 'x', sizeof(longer));
    assert_int_equal(queue_name_check(slice_make(longer, sizeof(longer)), &err), E_INVALID);
}

static void states_of_queues_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {NULL, "up", "pause", "drain", "down"};

    for (unsigned i = QUEUE_UP; i <= QUEUE_DOWN; i++)
        assert_string_equal(queue_state_name((enum queue_state)i), names[i]);
    assert_int_equal(QUEUE_UP, 1); /* persisted */
    assert_int_equal(QUEUE_DOWN, 4);
}

static void states_say_what_a_queue_takes_and_starts(void **state)
{
    (void)state;
    assert_true(queue_state_takes(QUEUE_UP) && queue_state_starts(QUEUE_UP));
    assert_true(queue_state_takes(QUEUE_PAUSE) && !queue_state_starts(QUEUE_PAUSE));
    assert_true(!queue_state_takes(QUEUE_DRAIN) && queue_state_starts(QUEUE_DRAIN));
    assert_false(queue_state_takes(QUEUE_DOWN) || queue_state_starts(QUEUE_DOWN));
}

/* ---- where ends lead, and topics ---- */

static void ends_lead_to_destinations(void **state)
{
    (void)state;
    struct queue_def d = parse("{\"on_success\":[\"parse\",{\"join\":\"report\"}],"
                               "\"on_failure\":{\"topic\":\"alarm\"}}");

    assert_int_equal(d.on_success.count, 2);
    assert_slice_is(d.on_success.items[1].name, "report");
    assert_int_equal(d.on_failure.count, 1);
    assert_int_equal(d.on_failure.items[0].kind, DEST_TOPIC);
    assert_canonical("{\"on_failure\":\"b\",\"on_success\":[\"a\"]}",
                     "{\"on_success\":[{\"queue\":\"a\"}],\"on_failure\":[{\"queue\":\"b\"}]}");
    assert_canonical("{\"on_success\":[],\"subscribe\":[]}", "{}");
    assert_refused("{\"on_success\":[\"a\",{\"joni\":\"b\"}]}",
                   "on_success[1]: unknown key 'joni', did you mean 'join'?");
    assert_refused("{\"on_failure\":{\"queue\":\".a\"}}",
                   "on_failure.queue: a queue's name must not begin with a '.': '.a'");
}

static void queues_subscribe_to_topics(void **state)
{
    (void)state;
    struct queue_def d = parse("{\"subscribe\":[\"crawl\",\"site.*\"]}");

    assert_int_equal(d.n_subscribe, 2);
    assert_slice_is(d.subscribe[1], "site.*");
    assert_int_equal(parse("{\"subscribe\":\"crawl\"}").n_subscribe, 1);
    assert_int_equal(parse("{}").n_subscribe, 0);
    assert_refused(
        "{\"subscribe\":[\"a\",\"x.*.y\"]}",
        "subscribe[1]: 'x.*.y': a '*' is allowed only at the end, after a '.': site.* means "
        "all topics that begin with 'site.'");
    assert_refused(
        "{\"subscribe\":\"x*\"}",
        "subscribe: 'x*': a '*' is allowed only at the end, after a '.': site.* means all "
        "topics that begin with 'site.'");
    assert_canonical("{\"subscribe\":\"a b\"}", "{\"subscribe\":[\"a b\"]}");
    assert_refused("{\"subscribe\":3}",
                   "subscribe: must be the name of a topic or a list of them, not 3");
    assert_refused("{\"subscribe\":[\"a\",\"b/c\"]}",
                   "subscribe[1]: a topic's name must not have a '/' in it: 'b/c'");
    assert_refused("{\"subscribe\":\".*\"}",
                   "subscribe: a topic's name must not begin with a '.': '.*'");
}

static void only_the_engine_makes_queues_of_workers(void **state)
{
    (void)state;
    static const char json[] = "{\"slots\":2,\"subscriber\":{\"topic\":\"t\",\"worker\":\"w 1\","
                               "\"lifetime\":\"7d\"}}";
    struct queue_def d;
    struct err err = ERR_INIT;

    assert_refused(json,
                   "subscriber: is written by the server only: 'waybill worker --subscribe' makes "
                   "such a queue");
    assert_int_equal(queue_def_parse_stored(checked(json), &arena, &d, &err), E_OK);
    assert_slice_is(d.subscriber_topic, "t");
    assert_slice_is(d.subscriber_worker, "w 1");
    assert_int_equal(d.subscriber_lifetime_us, 7 * US_PER_DAY);
    assert_int_equal(parse("{}").subscriber_topic.size, 0);
    assert_refused("{\"subscribre\":1}", "unknown key 'subscribre', did you mean 'subscribe'?");
}

static void assert_subscriber(const char *of, const char *want)
{
    struct queue_subscriber s = {SLICE("t"), SLICE("w \"1\""), 90 * US_PER_S};
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct queue_def d;
    struct err err = ERR_INIT;

    queue_def_subscriber(slice_of(of), &s, &out);
    assert_string_equal(buf_text(&out), want);
    assert_int_equal(queue_def_parse_stored(checked(buf_text(&out)), &arena, &d, &err), E_OK);
    assert_int_equal(d.subscriber_lifetime_us, 90 * US_PER_S);
}

static void the_queue_of_a_worker_is_like_that_of_its_topic(void **state)
{
    (void)state;
    static const char tail[] = "\"subscriber\":{\"topic\":\"t\",\"worker\":\"w \\\"1\\\"\","
                               "\"lifetime\":\"90s\"}}";
    char want[200];

    snprintf(want, sizeof(want), "{%s", tail);
    assert_subscriber("", want);
    assert_subscriber("{}", want);
    snprintf(want, sizeof(want), "{\"command\":\"x\",\"keep\":{\"done\":\"1d\"},%s", tail);
    assert_subscriber("{\"command\":\"x\",\"keep\":{\"done\":\"1d\"},\"subscribe\":[\"a\"]}", want);
    assert_subscriber(want, want);
}

/* As a member of the same name in another object. */
static struct slice read_value(const char *key, const char *value, struct err *err)
{
    struct object_read r = {.arena = &arena, .err = err, .key = key};
    struct slice json = {0};

    if (queue_def_value(&r, key, checked(value), &json) != E_OK)
        (void)object_blame(&r);
    return json;
}

static void one_value_can_be_read_alone(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    assert_slice_is(read_value("timeout", "300", &err), "\"5m\"");
    assert_slice_is(read_value("retry", "{\"cap\":60,\"max\":1}", &err),
                    "{\"max\":1,\"cap\":\"1m\"}");
    assert_slice_is(read_value("command", "[ \"a\" , \"{b}\" ]", &err), "[\"a\",\"{b}\"]");
    assert_int_equal(err.code, E_OK);
    assert_int_equal(read_value("timeout", "0", &err).size, 0);
    assert_string_equal(err.msg, "timeout: must be a length of time from 1ms to 10000d, not 0");
    assert_int_equal(read_value("retry", "{\"max\":-1}", &err).size, 0);
    assert_string_equal(err.msg, "retry.max: must be a whole number from 0 to 1000000, not -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_definition_has_the_defaults_of_the_design),
        cmocka_unit_test(every_key_reaches_its_field),
        cmocka_unit_test(nice_zero_is_not_the_same_as_no_nice),
        cmocka_unit_test(sizes_are_powers_of_1024_or_plain_bytes),
        cmocka_unit_test(lengths_are_texts_or_seconds),
        cmocka_unit_test(a_command_is_a_script_or_a_list),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest_word),
        cmocka_unit_test(of_two_limits_the_stricter_holds),
        cmocka_unit_test(the_user_is_the_one_that_a_command_came_with),
        cmocka_unit_test(what_jobs_may_emit_is_said_by_their_queue),
        cmocka_unit_test(keys_of_what_is_not_built_are_unknown),
        cmocka_unit_test(values_of_the_wrong_type_are_refused),
        cmocka_unit_test(values_out_of_bounds_are_refused),
        cmocka_unit_test(malformed_sizes_are_refused),
        cmocka_unit_test(commands_that_name_no_program_are_refused),
        cmocka_unit_test(commands_with_names_that_cannot_be_filled_are_refused),
        cmocka_unit_test(a_stored_command_that_is_refused_today_says_so),
        cmocka_unit_test(commands_too_large_are_refused),
        cmocka_unit_test(paths_and_users_are_checked),
        cmocka_unit_test(exit_rules_are_checked),
        cmocka_unit_test(sixteen_exit_rules_are_taken_and_no_more),
        cmocka_unit_test(hostile_text_is_made_harmless_in_messages),
        cmocka_unit_test(the_place_of_a_mistake_is_told),
        cmocka_unit_test(canonical_json_has_the_given_keys_in_one_order),
        cmocka_unit_test(canonical_json_writes_equal_values_alike),
        cmocka_unit_test(canonical_json_that_does_not_fit_is_refused),
        cmocka_unit_test(a_jobs_retry_is_laid_over_that_of_its_queue),
        cmocka_unit_test(a_jobs_retry_is_refused_with_its_key),
        cmocka_unit_test(names_of_queues_may_be_anything_readable),
        cmocka_unit_test(names_of_queues_are_checked),
        cmocka_unit_test(states_of_queues_have_names),
        cmocka_unit_test(states_say_what_a_queue_takes_and_starts),
        cmocka_unit_test(ends_lead_to_destinations),
        cmocka_unit_test(queues_subscribe_to_topics),
        cmocka_unit_test(only_the_engine_makes_queues_of_workers),
        cmocka_unit_test(the_queue_of_a_worker_is_like_that_of_its_topic),
        cmocka_unit_test(one_value_can_be_read_alone),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
