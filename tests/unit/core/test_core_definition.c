/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/definition/definition.h"
#include "core/queue/def.h"
#include "testing.h"

static const struct definition_source in_etc = {.file = "q.yaml", .dir = "/etc/waybill"};

static void add(struct definitions *d, const char *file, const char *text)
{
    struct err err = ERR_INIT;

    if (definitions_add_from(d, &(struct definition_source){.file = file}, slice_of(text), &err) !=
        E_OK)
        fail_msg("%s", err.msg);
}

static void assert_json(const struct definitions *d, const char *want)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 20);

    definitions_json(d, &json);
    assert_string_equal(buf_text(&json), want);
}

static void assert_refused(const char *text, const char *message)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_not_equal(definitions_add_from(&d, &in_etc, slice_of(text), &err), E_OK);
    assert_string_equal(err.msg, message);
    assert_int_equal(d.of[DEFINITION_QUEUE].count, 0);
    assert_int_equal(d.server.names.count, 0);
    assert_int_equal(d.server.listen.size, 0);
}

static void queues_become_canonical_json(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "q.yaml",
        "queues:\n"
        "  fetch:\n"
        "    retry: {exits: {75: later, 64-74: never}, max: 5}\n"
        "    timeout: 300\n"
        "  a b:\n"
        "  c: {}\n");
    assert_json(&d, "{\"queues\":{\"fetch\":{\"timeout\":\"5m\",\"retry\":{\"max\":5,"
                    "\"exits\":{\"64-74\":\"never\",\"75\":\"later\"}}},\"a b\":{},\"c\":{}}}");
    assert_slice_is(d.of[DEFINITION_QUEUE].items[0].name, "fetch");
    assert_slice_is(d.of[DEFINITION_QUEUE].items[0].from.file, "q.yaml");
    assert_int_equal(d.of[DEFINITION_QUEUE].items[0].from.line, 2);
    assert_int_equal(d.of[DEFINITION_QUEUE].items[1].from.line, 5);
}

static void nothing_is_a_definition_too(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "1", "");
    add(&d, "2", "---\n");
    add(&d, "3", "queues:\n");
    add(&d, "4", "server:\n");
    add(&d, "5", "queues: {}\nserver: {}\n");
    assert_json(&d, "{\"queues\":{}}");
}

static void files_and_documents_add_up(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;

    definitions_init(&d);
    add(&d, "a.yaml", "queues: {a: }\n---\nqueues: {b: {slots: 1}}\n");
    add(&d, "b.yaml", "queues: {c: }\nserver: {names: [x.org]}\n");
    assert_json(&d, "{\"queues\":{\"a\":{},\"b\":{\"slots\":1},\"c\":{}}}");
    assert_slice_is(d.of[DEFINITION_QUEUE].items[2].from.file, "b.yaml");
}

static void the_same_queue_in_two_places_names_both(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    add(&d, "a.yaml", "queues:\n  x:\n  y:\n");
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "b.yaml"},
                                          SLICE("queues:\n  z:\n\n  y:\n"), &err),
                     E_INVALID);
    assert_string_equal(err.msg, "b.yaml:4: queue 'y' is defined twice, first in a.yaml:3");
    assert_json(&d, "{\"queues\":{\"x\":{},\"y\":{}}}");
    assert_refused("queues: {x: }\n---\nqueues: {x: }\n",
                   "q.yaml:3: queue 'x' is defined twice, first in q.yaml:1");
    assert_refused("queues:\n  x:\n  x:\n", "q.yaml:3: 'x' appears twice, first in line 2");
}

static void a_queue_with_a_command_knows_the_directory_of_its_file(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_equal(definitions_add_from(&d, &in_etc,
                                          SLICE("queues:\n"
                                                "  a: {command: [./a]}\n"
                                                "  b: {slots: 1}\n"
                                                "  c: {command: x, dir: /srv}\n"),
                                          &err),
                     E_OK);
    assert_json(&d, "{\"queues\":{\"a\":{\"command\":[\"./a\"],\"dir\":\"/etc/waybill\"},"
                    "\"b\":{\"slots\":1},\"c\":{\"command\":\"x\",\"dir\":\"/srv\"}}}");
}

static void a_directory_that_json_cannot_hold_is_refused(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct definition_source odd = {.file = "q.yaml", .dir = "/srv/\xFF"};
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_equal(definitions_add_from(&d, &odd, SLICE("queues: {a: {command: x}}"), &err),
                     E_INVALID);
    assert_string_equal(err.msg,
                        "q.yaml:1: queue 'a': the directory '/srv/?' of the file has a name "
                        "that is not UTF-8");
    assert_int_equal(definitions_add_from(&d, &odd, SLICE("queues: {a: }"), &err), E_OK);
}

static void mistakes_are_told_with_line_and_nearest_word(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"queus:\n", "q.yaml:1: unknown key 'queus', did you mean 'queues'?"},
        {"queues:\n\nflows: {}\n",
         "q.yaml:3: unknown key 'flows', the keys are: queues joins resources schedules groups "
         "triggers "
         "server start finally"},
        {"- a\n",
         "q.yaml:1: definitions are a map with `queues:`, `joins:`, `triggers:` and `server:`"},
        {"queues\n",
         "q.yaml:1: definitions are a map with `queues:`, `joins:`, `triggers:` and `server:`"},
        {"queues:\n  - a\n", "q.yaml:2: queues: must be a map of names and definitions"},
        {"queues:\n  a: 3\n", "q.yaml:2: queue 'a': a queue's definition must be an object, not 3"},
        {"queues:\n  a:\n    slots: 2\n    tiemout: 5m\n",
         "q.yaml:4: queue 'a': unknown key 'tiemout', did you mean 'timeout'?"},
        {"queues:\n  a:\n    retry:\n      max: 1\n      frist: 10s\n",
         "q.yaml:5: queue 'a': retry: unknown key 'frist', did you mean 'first'?"},
        {"queues:\n  a:\n    retry:\n      max: 1\n      first:\n        10x\n",
         "q.yaml:6: queue 'a': retry.first: '10x' is not a length of time like 500ms, 10s, 5m, 2h "
         "or 30d"},
        {"queues:\n  a:\n    command:\n      - x\n      - 3\n",
         "q.yaml:5: queue 'a': command: its parts must be texts, not 3 (put it in quotes)"},
        {"queues:\n  a: {retry: {exits: {75: later,\n    64-7: never}}}\n",
         "q.yaml:3: queue 'a': retry.exits: '64-7' is not an exit status from 1 to 255 or a range "
         "like 64-74"},
        {"queues:\n  a: {slots: &n 0}\n",
         "q.yaml:2: queue 'a': slots: must be a whole number from 1 to 10000, not 0"},
        {"queues:\n  a: &a {description: &b\n      5}\n  b: *a\n",
         "q.yaml:2: queue 'a': description: must be text, not 5 (put it in quotes)"},
        {"queues:\n  a:\n    retry: 3\n",
         "q.yaml:3: queue 'a': retry: must be an object, not 3: write {max: 3}"},
        {"queues:\n  a:\n    keep:\n", "q.yaml:3: queue 'a': keep: must be an object, not null"},
        {"queues:\n  ok:\n  a/b:\n", "q.yaml:3: a queue's name must not have a '/' in it: 'a/b'"},
        {"queues:\n  .a:\n", "q.yaml:2: a queue's name must not begin with a '.': '.a'"},
        {"queues:\n  '':\n", "q.yaml:2: a queue's name must not be empty"},
        {"queues:\n  a: {timeout: 1e400}\n", "q.yaml:2: '1e400' is too large for a number"},
        {"queues:\n\ta:\n", "q.yaml:2: a tab cannot indent, use spaces"},
        {"server:\n  lisen: x\n", "q.yaml:2: unknown key 'lisen', did you mean 'listen'?"},
        {"server:\n  tls: {}\n",
         "q.yaml:2: unknown key 'tls', the keys are: listen url names token_file store "
         "subscriptions"},
        {"server: 3\n", "q.yaml:1: server: must be a map"},
        {"server:\n  listen: 6769\n", "q.yaml:2: server.listen: must be a text"},
        {"server:\n  names:\n    - a\n    - 3\n",
         "q.yaml:4: server.names: must be a list of texts"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_refused(cases[i].text, cases[i].message);
}

static void every_mistake_can_be_had_at_once(void **state)
{
    static const char text[] =
        "queues:\n"
        "  a: {slots: 0, tiemout: 5m,\n"
        "      retry: {max: 1, frist: 3}}\n"
        "  b: {on_success: [a, nowhere]}\n"
        "  c: {env: {A B: 1, C: 2}, retry: {exits: {0: never, 70-60: later}},\n"
        "      on_success: [zz, {topic: ''}, {join: none, x: 1}, {join: nojoin}],\n"
        "      subscribe: ['', .x]}\n"
        "joins:\n"
        "  w: {then: [nope]}\n"
        "  x: {count: 2, then: [{join: y}]}\n"
        "  y: {count: 0}\n"
        "server: {lisen: x, url: y}\n"
        "qeues: {}\n";
    static const char *const messages[] = {
        "q.yaml:2: queue 'a': slots: must be a whole number from 1 to 10000, not 0",
        "q.yaml:2: queue 'a': unknown key 'tiemout', did you mean 'timeout'?",
        "q.yaml:3: queue 'a': retry: unknown key 'frist', did you mean 'first'?",
        "q.yaml:5: queue 'c': env: 'A B' is not a variable's name",
        "q.yaml:5: queue 'c': env: C must be text, not 2",
        "q.yaml:5: queue 'c': retry.exits: '0' is not an exit status",
        "q.yaml:5: queue 'c': retry.exits: '70-60' is not an exit status",
        "q.yaml:6: queue 'c': on_success[1].topic: a topic's name must not be empty",
        "q.yaml:6: queue 'c': on_success[2]: unknown key 'x'",
        "q.yaml:7: queue 'c': subscribe[0]: a topic's name must not be empty",
        "q.yaml:7: queue 'c': subscribe[1]: a topic's name must not begin with a '.': '.x'",
        "q.yaml:9: join 'w': count: is missing",
        "q.yaml:11: join 'y': count: ",
        "q.yaml:12: unknown key 'lisen', did you mean 'listen'?",
        "q.yaml:12: server.url: 'y' is not a URL like http://host:6769",
        "q.yaml:13: unknown key 'qeues', did you mean 'queues'?",
        "q.yaml:4: queue 'b': on_success[1]: there is no queue 'nowhere' in these files",
        "q.yaml:6: queue 'c': on_success[0]: there is no queue 'zz' in these files",
        "q.yaml:6: queue 'c': on_success[3]: there is no join 'nojoin' in these files",
        "q.yaml:9: join 'w': then[0]: there is no queue 'nope' in these files",
    };
    struct definition_faults faults = {.items = VEC_INIT};
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    (void)state;
    definitions_init(&d);
    d.faults = &faults;
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "q.yaml"},
                                          slice_of(text), &err),
                     E_OK);
    assert_int_equal(definitions_check_names(&d, &err), E_OK);
    assert_int_equal(faults.items.count, ARRAY_LEN(messages));
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        assert_non_null(strstr(faults.items.items[i].msg, messages[i]));
    VEC_DEINIT(&faults.items);
}

static void every_key_of_later_issues_is_unknown(void **state)
{
    (void)state;
    static const char *const keys[] = {"workflows", "topics"};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char text[40];
        char message[200];

        snprintf(text, sizeof(text), "%s: {}\n", keys[i]);
        snprintf(message, sizeof(message),
                 "q.yaml:1: unknown key '%s', the keys are: "
                 "queues joins resources schedules groups triggers server start finally",
                 keys[i]);
        assert_refused(text, message);
    }
}

/* ---- server ---- */

static void the_server_section_is_read(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_equal(
        definitions_add_from(&d, &in_etc,
                             SLICE("server: {listen: '[::1]:6769',\n"
                                   "  url: 'https://whatever.com:6769/x/',\n"
                                   "  names: [whatever.com, '[fe80::1]'],\n"
                                   "  token_file: token,\n"
                                   "  subscriptions: 50, store: 'postgresql://me@db/waybill'}\n"),
                             &err),
        E_OK);
    assert_slice_is(d.server.listen, "[::1]:6769");
    assert_slice_is(d.server.url, "https://whatever.com:6769/x");
    assert_int_equal(d.server.names.count, 2);
    assert_slice_is(d.server.names.items[1], "[fe80::1]");
    assert_slice_is(d.server.token_file, "/etc/waybill/token");
    assert_slice_is(d.server.store, "postgresql://me@db/waybill");
    assert_int_equal(d.server.subscriptions, 50);
}

static void a_token_file_is_left_as_it_is_where_it_can_be(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions a;
    CLEANUP(definitions) struct definitions b;
    struct err err = ERR_INIT;

    definitions_init(&a);
    definitions_init(&b);
    add(&a, "q.yaml", "server: {token_file: token, names: one.org}");
    assert_slice_is(a.server.token_file, "token");
    assert_slice_is(a.server.names.items[0], "one.org");
    assert_int_equal(
        definitions_add_from(&b, &in_etc, SLICE("server: {token_file: /run/token}"), &err), E_OK);
    assert_slice_is(b.server.token_file, "/run/token");
}

static void a_server_key_in_two_places_names_both(void **state)
{
    (void)state;
    static const char *const texts[] = {"listen: a:1", "url: http://a", "names: [b]",
                                        "token_file: t", "store: 'postgresql://a'"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(definitions) struct definitions d;
        char text[64];
        char message[200];
        struct err err = ERR_INIT;

        definitions_init(&d);
        snprintf(text, sizeof(text), "server: {%s}\n", texts[i]);
        add(&d, "a.yaml", text);
        snprintf(text, sizeof(text), "queues: {z: }\nserver:\n  %s\n", texts[i]);
        snprintf(message, sizeof(message),
                 "b.yaml:3: server.%.*s is defined twice, first in a.yaml:1",
                 (int)strcspn(texts[i], ":"), texts[i]);
        assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "b.yaml"},
                                              slice_of(text), &err),
                         E_INVALID);
        assert_string_equal(err.msg, message);
        assert_int_equal(d.of[DEFINITION_QUEUE].count, 0);
    }
}

static void wrong_addresses_and_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        const char *value;
        const char *cause;
    } cases[] = {
        {"listen", "localhost", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", ":80", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", "a:", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", "a:65536", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", "::1:80", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", "a b:80", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"listen", "", "is not an address like 127.0.0.1:6769 or [::1]:6769"},
        {"url", "whatever.com", "is not a URL like http://host:6769"},
        {"url", "ftp://whatever.com", "is not a URL like http://host:6769"},
        {"url", "http:", "is not a URL like http://host:6769"},
        {"url", "http://a b", "is not a URL like http://host:6769"},
        {"names", "a:80", "is not a host name (without a port)"},
        {"names", "*", "is not a host name (without a port)"},
        {"names", "", "is not a host name (without a port)"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[100];
        char message[200];

        snprintf(text, sizeof(text), "server:\n  %s: '%s'\n", cases[i].key, cases[i].value);
        snprintf(message, sizeof(message), "q.yaml:2: server.%s: '%s' %s", cases[i].key,
                 cases[i].value, cases[i].cause);
        assert_refused(text, message);
    }
    assert_refused("server: {store: 'mysql://me:secret@h/d'}\n",
                   "q.yaml:1: server.store: 'mysql://me:***@h/d' is not a store like "
                   "postgresql://user@host/database; leave it out to use the data directory");
    assert_refused("server: {subscriptions: many}\n",
                   "q.yaml:1: server.subscriptions: must be a whole number");
    assert_refused("server: {subscriptions: -1}\n",
                   "q.yaml:1: server.subscriptions: must be a whole number from 0 to 10000");
    assert_refused("server: {subscriptions: 10001}\n",
                   "q.yaml:1: server.subscriptions: must be a whole number from 0 to 10000");
    assert_refused("server: {token_file: ''}\n",
                   "q.yaml:1: server.token_file: must be a path of 1 to 4096 bytes");
}

static void names_of_a_failed_file_do_not_stay(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    CLEANUP(buf) struct buf text = BUF_INIT(10000);
    struct err err = ERR_INIT;

    definitions_init(&d);
    buf_add_str(&text, "server: {names: [");
    for (int i = 0; i <= DEFINITION_NAMES_MAX; i++)
        buf_addf(&text, "%sh%d", i > 0 ? "," : "", i);
    buf_add_str(&text, "]}");
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "a.yaml"},
                                          buf_slice(&text), &err),
                     E_INVALID);
    assert_string_equal(err.msg, "a.yaml:1: server.names: more than 64 names");
    assert_int_equal(d.server.names.count, 0);
    add(&d, "b.yaml", "server: {names: [x]}");
    assert_int_equal(d.server.names.count, 1);
}

/* ---- ceilings ---- */

static void too_many_queues_are_refused(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;

    definitions_init(&d);
    buf_add_str(&text, "queues:\n");
    for (int i = 0; i < DEFINITIONS_MAX; i++)
        buf_addf(&text, "  q%d:\n", i);
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "a.yaml"},
                                          buf_slice(&text), &err),
                     E_OK);
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "b.yaml"},
                                          SLICE("queues: {more: }"), &err),
                     E_TOO_LARGE);
    assert_string_equal(err.msg, "b.yaml:1: more than 10000 queues");
    assert_int_equal(d.of[DEFINITION_QUEUE].count, DEFINITIONS_MAX);
}

static void a_queue_too_large_is_refused(void **state)
{
    (void)state;
    CLEANUP(definitions) struct definitions d;
    CLEANUP(buf) struct buf text = BUF_INIT((size_t)4 << 20);
    struct err err = ERR_INIT;

    definitions_init(&d);
    buf_add_str(&text, "queues:\n  q:\n    command: [&x \"");
    for (int i = 0; i < 10000; i++)
        buf_add_char(&text, 'x');
    buf_add_str(&text, "\"");
    for (int i = 0; i < 200; i++)
        buf_add_str(&text, ",*x");
    buf_add_str(&text, "]\n");
    assert_int_equal(definitions_add_from(&d, &(struct definition_source){.file = "a.yaml"},
                                          buf_slice(&text), &err),
                     E_TOO_LARGE);
    assert_string_equal(err.msg, "a.yaml:2: queue 'q': this is larger than 1048576 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_become_canonical_json),
        cmocka_unit_test(nothing_is_a_definition_too),
        cmocka_unit_test(files_and_documents_add_up),
        cmocka_unit_test(the_same_queue_in_two_places_names_both),
        cmocka_unit_test(a_queue_with_a_command_knows_the_directory_of_its_file),
        cmocka_unit_test(a_directory_that_json_cannot_hold_is_refused),
        cmocka_unit_test(mistakes_are_told_with_line_and_nearest_word),
        cmocka_unit_test(every_mistake_can_be_had_at_once),
        cmocka_unit_test(every_key_of_later_issues_is_unknown),
        cmocka_unit_test(the_server_section_is_read),
        cmocka_unit_test(a_token_file_is_left_as_it_is_where_it_can_be),
        cmocka_unit_test(a_server_key_in_two_places_names_both),
        cmocka_unit_test(wrong_addresses_and_names_are_refused),
        cmocka_unit_test(names_of_a_failed_file_do_not_stay),
        cmocka_unit_test(too_many_queues_are_refused),
        cmocka_unit_test(a_queue_too_large_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
