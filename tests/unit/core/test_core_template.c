/*
 * Templates: what is filled, what stays, and what is refused; string commands are run by the shell
 * itself.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/program/template.h"
#include "testing.h"

static struct arena arena;

static int begin(void **state)
{
    (void)state;
    arena = ARENA_INIT;
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

static struct slice as_json(const char *text)
{
    struct buf b = BUF_INIT(1 << 20);

    jtext_add_string(&b, slice_of(text));
    struct slice json = arena_copy(&arena, buf_slice(&b));

    buf_deinit(&b);
    return json;
}

static struct template_values values_of(const struct slice *objects, size_t count)
{
    return (struct template_values){
        .objects = objects,
        .n_objects = count,
        .id = SLICE("01J0000000000"),
        .queue = SLICE("letters to print"),
        .attempt = 3,
        .now_at = INT64_C(1763245800) * US_PER_S + 123456,
    };
}

static struct template_command parsed(struct slice command)
{
    struct template_command c;
    struct err err = ERR_INIT;

    if (template_command_parse(command, &arena, &c, NULL, &err) != E_OK)
        fail_msg("%.*s: %s", (int)command.size, command.data, err.msg);
    return c;
}

static char **filled(struct slice command, const char *params)
{
    struct slice object = slice_of(params);
    struct template_values values = values_of(&object, 1);
    struct template_command c = parsed(command);
    struct err err = ERR_INIT;
    char **argv = NULL;

    if (template_command_fill(&c, &values, &arena, &argv, &err) != E_OK)
        fail_msg("%s", err.msg);
    return argv;
}

static const char *refusal(struct slice command)
{
    static struct err err;
    struct template_command c;

    err = ERR_INIT;
    assert_int_equal(template_command_parse(command, &arena, &c, NULL, &err), E_INVALID);
    return err.msg;
}

/* ---- lists ---- */

static void a_value_is_one_argument_whatever_is_in_it(void **state)
{
    (void)state;
    char **argv = filled(
        SLICE("[\"./fetch.sh\",\"{url}\",\"-o{out}.gz\",\"{n}\"]"),
        "{\"url\":\"a b; rm -rf $HOME `x` '\\\"\\n{out}\",\"out\":\"\",\"n\":[1, 2]}");

    assert_string_equal(argv[0], "./fetch.sh");
    assert_string_equal(argv[1], "a b; rm -rf $HOME `x` '\"\n{out}");
    assert_string_equal(argv[2], "-o.gz");
    assert_string_equal(argv[3], "[1, 2]");
    assert_null(argv[4]);
}

static void strings_are_raw_and_the_rest_is_json(void **state)
{
    (void)state;
    char **argv = filled(
        SLICE("[\"x\",\"{s}\",\"{i}\",\"{r}\",\"{t}\",\"{z}\",\"{o}\"]"),
        "{\"s\":\"\\u00e4\\t\",\"i\":-7,\"r\":1.50,\"t\":true,\"z\":null,\"o\":{\"a\":[]}}");
    const char *want[] = {"\xC3\xA4\t", "-7", "1.50", "true", "null", "{\"a\":[]}"};

    for (size_t i = 0; i < 6; i++)
        assert_string_equal(argv[i + 1], want[i]);
}

static void the_first_object_that_has_a_name_fills_it(void **state)
{
    (void)state;
    const struct slice objects[] = {SLICE("{\"a\":\"step\"}"), slice_make(NULL, 0),
                                    SLICE("{\"a\":\"set\",\"b\":\"set\"}"),
                                    SLICE("{\"a\":\"job\",\"b\":\"job\",\"c\":\"job\"}")};
    struct template_values values = values_of(objects, 4);
    struct template_command c = parsed(SLICE("[\"x\",\"{a}\",\"{b}\",\"{c}\"]"));
    struct err err = ERR_INIT;
    char **argv;

    assert_int_equal(template_command_fill(&c, &values, &arena, &argv, &err), E_OK);
    assert_string_equal(argv[1], "step");
    assert_string_equal(argv[2], "set");
    assert_string_equal(argv[3], "job");
}

static void the_jobs_own_names_are_always_there(void **state)
{
    (void)state;
    char **argv = filled(SLICE("[\"x\",\"{id}/{queue}\",\"{attempt}\",\"{now}\",\"{day}\"]"),
                         "{\"id\":\"other\",\"day\":1}");

    assert_string_equal(argv[1], "01J0000000000/letters to print");
    assert_string_equal(argv[2], "3");
    assert_string_equal(argv[3], "2025-11-15T22:30:00Z");
    assert_string_equal(argv[4], "2025-11-15");
}

static void a_default_is_taken_when_the_name_is_missing_only(void **state)
{
    (void)state;
    char **argv = filled(SLICE("[\"x\",\"{a:-one two}\",\"{b:-}\",\"{c:-d}\",\"{e:-f:-g{}\"]"),
                         "{\"c\":\"\"}");

    assert_string_equal(argv[1], "one two");
    assert_string_equal(argv[2], "");
    assert_string_equal(argv[3], "");
    assert_string_equal(argv[4], "f:-g{");
}

static void braces_without_a_plain_name_stay(void **state)
{
    (void)state;
    const char *same[] = {"{}", "{ a }", "{a b}", "{a,b}",     "{1..3}", "${HOME}", "{-a}",
                          "{a", "}",     "{a.b}", "{\"a\":1}", "{a:b}",  "a{",      "{\xC3\xA4}"};

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        CLEANUP(buf) struct buf command = BUF_INIT(1000);

        buf_add_str(&command, "[\"x\",");
        buf_add_slice(&command, as_json(same[i]));
        buf_add_char(&command, ']');
        assert_string_equal(filled(buf_slice(&command), "{}")[1], same[i]);
    }
    char **argv = filled(SLICE("[\"x\",\"{{a}\",\"{{{a}}\",\"{{{{\"]"), "{\"a\":\"b\"}");

    assert_string_equal(argv[1], "{a}");
    assert_string_equal(argv[2], "{b}");
    assert_string_equal(argv[3], "{{");
}

/* ---- what is needed ---- */

static void a_command_tells_what_it_needs(void **state)
{
    (void)state;
    struct template_command c = parsed(
        SLICE("[\"x\",\"{a}{b:-1}{a}\",\"{id}\",\"{c-d}\",\"{b}\"]"));

    assert_int_equal(c.n_needs, 3);
    assert_slice_is(c.needs[0], "a");
    assert_slice_is(c.needs[1], "c-d");
    assert_slice_is(c.needs[2], "b");
    assert_int_equal(parsed(SLICE("[\"true\",\"{}\",\"{now}\"]")).n_needs, 0);
    assert_int_equal(parsed(SLICE("\"echo {x} {x} ${y}\"")).n_needs, 1);
    assert_int_equal(parsed(SLICE("\"echo {x:-} {x}\"")).n_needs, 1);
}

static void a_missing_param_is_named(void **state)
{
    (void)state;
    struct template_command c = parsed(SLICE("[\"x\",\"{a}\",\"{b}\"]"));
    const struct slice objects[] = {SLICE("{\"a\":1}")};
    struct template_values values = values_of(objects, 1);
    struct err err = ERR_INIT;
    char **argv;

    assert_int_equal(template_command_check(&c, objects, 1, &err), E_INVALID);
    assert_string_equal(err.msg, "the command needs the param 'b', which the job does not have");
    err = ERR_INIT;
    assert_int_equal(template_command_fill(&c, &values, &arena, &argv, &err), E_INVALID);
    assert_string_equal(err.msg, "the command needs the param 'b', which the job does not have");
    const struct slice both[] = {SLICE("{\"a\":1,\"b\":null}")};

    assert_int_equal(template_command_check(&c, both, 1, &err), E_OK);
}

static struct slice object_with(size_t size, const char *filler)
{
    struct buf b = BUF_INIT((size_t)1 << 22);

    buf_add_str(&b, "{\"a\":\"");
    for (size_t i = 0; i < size; i++)
        buf_add_str(&b, filler);
    buf_add_str(&b, "\"}");
    struct slice object = arena_copy(&arena, buf_slice(&b));

    buf_deinit(&b);
    return object;
}

static void a_value_too_large_for_an_argument_is_refused(void **state)
{
    (void)state;
    struct template_command c = parsed(SLICE("[\"x\",\"{a}\"]"));
    struct slice fits = object_with(TEMPLATE_ARG_MAX,
                                    "\\n"); /* escapes are longer than the value */
    struct slice above = object_with(TEMPLATE_ARG_MAX + 1, "y");
    struct template_values values = values_of(&fits, 1);
    struct err err = ERR_INIT;
    char **argv;

    assert_int_equal(template_command_check(&c, &fits, 1, &err), E_OK);
    assert_int_equal(template_command_fill(&c, &values, &arena, &argv, &err), E_OK);
    assert_int_equal(strlen(argv[1]), TEMPLATE_ARG_MAX);
    assert_int_equal(template_command_check(&c, &above, 1, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "'a' has 131072 bytes"));
    values = values_of(&above, 1);
    err = ERR_INIT;
    assert_int_equal(template_command_fill(&c, &values, &arena, &argv, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "more than 131071 bytes"));
}

static void a_default_without_an_end_is_an_error_with_its_place(void **state)
{
    (void)state;
    assert_string_equal(refusal(SLICE("[\"x\",\"--{a:-b\"]")),
                        "'{a:-' at byte 2 has no '}' at its end");
    assert_string_equal(refusal(SLICE("\"echo {a:-b\"")), "'{a:-' at byte 5 has no '}' at its end");
}

static void the_place_of_a_fault_is_told(void **state)
{
    (void)state;
    struct slice command = SLICE("[\"x\", \"ok\", \"{a:-b\"]");
    struct template_fault fault;
    struct template_command c;
    struct err err = ERR_INIT;

    assert_int_equal(template_command_parse(command, &arena, &c, &fault, &err), E_INVALID);
    assert_int_equal(fault.at - command.data, strlen("[\"x\", \"ok\", "));
    assert_int_equal(fault.place, TEMPLATE_PLACE_OTHER);
    command = SLICE("[\"bash\", \"-ec\", \"echo {a}\"]");
    assert_int_equal(template_command_parse(command, &arena, &c, &fault, &err), E_INVALID);
    assert_int_equal(fault.at - command.data, strlen("[\"bash\", \"-ec\", "));
    assert_int_equal(fault.place, TEMPLATE_PLACE_CODE);
}

static void a_value_is_not_pasted_into_a_shell_given_as_a_list(void **state)
{
    (void)state;
    const char *bad[] = {"[\"sh\",\"-c\",\"echo {x}\"]", "[\"/bin/bash\",\"-e\",\"-c\",\"{x}\"]",
                         "[\"dash\",\"-xec\",\"a {x:-1}\",\"b\"]"};
    const char *good[] = {"[\"sh\",\"-c\",\"echo $1\",\"sh\",\"{x}\"]",
                          "[\"sh\",\"-c\",\"echo ${HOME} {}\"]",
                          "[\"sh\",\"script\",\"-c\",\"{x}\"]",
                          "[\"python3\",\"-c\",\"print({x})\"]", "[\"sh\",\"--\",\"{x}\"]"};

    for (size_t i = 0; i < 3; i++)
        assert_non_null(
            strstr(refusal(slice_of(bad[i])), "a script of its own, where it would be code"));
    for (size_t i = 0; i < 5; i++)
        (void)parsed(slice_of(good[i]));
}

/* ---- string commands ---- */

static const char *script_of(const char *text)
{
    return parsed(as_json(text)).script.data;
}

static void names_become_positional_parameters(void **state)
{
    (void)state;
    assert_string_equal(script_of("echo {x} {y}"), "echo \"${1}\" \"${2}\"");
    assert_string_equal(script_of("echo {x} {x} {x:-a}"), "echo \"${1}\" \"${1}\" \"${2}\"");
    assert_string_equal(script_of("cat > {dir}/{name}.txt"), "cat > \"${1}\"/\"${2}\".txt");
    char **argv = filled(as_json("echo {x} {attempt}"), "{\"x\":\"$(rm -rf /) '\\\"\"}");
    const char *want[] = {"sh", "-c", "echo \"${1}\" \"${2}\"", "sh", "$(rm -rf /) '\"", "3"};

    for (size_t i = 0; i < 6; i++)
        assert_string_equal(argv[i], want[i]);
    assert_null(argv[6]);
}

static void what_is_the_shells_is_left_to_the_shell(void **state)
{
    (void)state;
    const char *same[] = {
        "echo ${HOME} {} $1 $$ $((1 + (2))) `date` ${x:-it} ${#x}",
        "find . -exec ls {} \\;",
        "f() { echo \"$1\"; }; f a",
        "for i in a b; do { echo $i; }; done",
        "awk '{ print $1 }' # it's {x} here",
        "echo \\{x} \"\\{x}\"",
        "cat <<E\nit's\nE\n",
        "echo {a,b} {1..3}",
        "echo 'a'\\''b'",
    };

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct template_command c = parsed(as_json(same[i]));

        assert_string_equal(c.script.data, same[i]);
        assert_int_equal(c.n_args, 0);
    }
    assert_string_equal(script_of("awk '{{print}'"), "awk '{print}'");
    assert_string_equal(script_of("echo {{x} \"{{x}\""), "echo {x} \"{x}\"");
}

static void a_name_where_the_shell_fills_in_nothing_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *script, *why;
    } bad[] = {
        {"echo '{x}'", "{x} at byte 6 is in single quotes"},
        {"awk '{print}' a", "{print} at byte 5 is in single quotes"},
        {"echo it's {x}", "{x} at byte 10 is in single quotes"},
        {"echo \"$(echo '{x}')\"", "in single quotes"},
        {"echo \"${a#'{x}'}\"", "in single quotes"},
        {"cat <<'E'\n{x}\nE\n", "{x} at byte 10 is in a here-document whose end is quoted"},
        {"cat <<-\\E\n\t{x}\n\tE\n", "in a here-document whose end is quoted"},
        {"echo $(( {x} + 1 ))", "{x} at byte 9 is in arithmetic"},
        {"f() { echo {x}; }; f", "{x} at byte 11 is in a function"},
        {"f ()\n{\n{ echo a; }\necho {x}\n}", "in a function"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *msg = refusal(as_json(bad[i].script));

        if (strstr(msg, bad[i].why) == NULL)
            fail_msg("%s: %s", bad[i].script, msg);
    }
}

static void too_much_is_refused(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1 << 20);

    for (int i = 0; i <= TEMPLATE_NAMES_MAX; i++)
        buf_addf(&b, "{n%d}", i);
    assert_non_null(strstr(refusal(as_json(buf_text(&b))), "at most 1000 names"));
    buf_clear(&b);
    for (int i = 0; i < 100; i++)
        buf_add_str(&b, "$(");
    assert_non_null(strstr(refusal(as_json(buf_text(&b))), "nested more than 64 deep"));
    buf_clear(&b);
    for (int i = 0; i < 9; i++)
        buf_add_str(&b, "<<E ");
    assert_non_null(strstr(refusal(as_json(buf_text(&b))), "here-documents on one line"));
}

/* ---- run by the shell ---- */

static void run_shell(char **argv, struct buf *out)
{
    int fds[2];
    char chunk[4096];
    ssize_t n;
    int status;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();

    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(fds[1]);
    while ((n = read(fds[0], chunk, sizeof(chunk))) > 0)
        buf_add(out, chunk, (size_t)n);
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Evil enough to show any reading of it by the shell: `printf '[%s]'` shows each word it became. */
#define EVIL "a  b; $(echo pwned) `echo pwned` \"q\" 'q' \\ * ${HOME} {y} #\tz"

static void the_shell_gives_each_value_whole(void **state)
{
    (void)state;
    static const struct {
        const char *script, *want;
    } cases[] = {
        {"printf '[%s]' {x}", "[" EVIL "]"},
        {"printf '[%s]' \"{x}\"", "[" EVIL "]"},
        {"printf '[%s]' a{x}b\"c{x}d\"", "[a" EVIL "bc" EVIL "d]"},
        {"printf '[%s]' \"$(printf %s {x})\"", "[" EVIL "]"},
        {"printf '[%s]' \"$(printf %s \"{x}\")\"", "[" EVIL "]"},
        {"printf '[%s]' \"`printf %s {x}`\"", "[" EVIL "]"},
        {"printf '[%s]' ${NOT_SET:-{x}}", "[" EVIL "]"},
        {"printf '[%s]' \"${NOT_SET:-{x}}\"", "[" EVIL "]"},
        {"printf '[%s]' \"${NOT_SET:-it's}{x}\"", "[it's" EVIL "]"},
        {"cat <<E\n<{x}> $(printf '[%s]' {x})\nE", "<" EVIL "> [" EVIL "]\n"},
        {"cat <<-E; printf '[%s]' {x}\n\t{x}\n\tE\n", EVIL "\n[" EVIL "]"},
        {"cat <<A <<'B'\nnot read\nA\nit's\nB\nprintf '[%s]' {x}", "it's\n[" EVIL "]"},
        {"cat <<-E\n\tit's\n\tE\nprintf '[%s]' {x}", "it's\n[" EVIL "]"},
        {"# it's a comment\nprintf '[%s]' {x}", "[" EVIL "]"},
        {"case {x} in a*) printf '[%s]' {x};; esac", "[" EVIL "]"},
        {"(printf '[%s]' {x}); f() { printf '(%s)' \"$@\"; }; f {x}", "[" EVIL "](" EVIL ")"},
        {"printf '[%s]' $((1 + (2 * 3))){x}", "[7" EVIL "]"},
        {"v={x}; printf '[%s]' \"$v\"", "[" EVIL "]"},
        {"printf '[%s]' {a1} {a2} {a3} {a4} {a5} {a6} {a7} {a8} {a9} {b1} {b2}",
         "[1][2][3][4][5][6][7][8][9][10][11]"},
        {"printf '[%s]' \"{none:-it's \"two\" $HOME}\"", "[it's \"two\" $HOME]"},
    };
    CLEANUP(buf) struct buf params = BUF_INIT(10000);

    buf_add_str(&params, "{\"x\":");
    buf_add_slice(&params, as_json(EVIL));
    for (int i = 1; i <= 11; i++)
        buf_addf(&params, ",\"%c%d\":%d", i < 10 ? 'a' : 'b', i < 10 ? i : i - 9, i);
    buf_add_char(&params, '}');
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(10000);

        run_shell(filled(as_json(cases[i].script), buf_text(&params)), &out);
        if (strcmp(buf_text(&out), cases[i].want) != 0)
            fail_msg("%s\ngave %s\nnot  %s", cases[i].script, buf_text(&out), cases[i].want);
    }
}

/* Every text of up to seven of these characters; each other byte is none of a template's. */
static void a_literal_fills_in_to_itself(void **state)
{
    static const char alphabet[] = "{}$:-x";
    const size_t base = sizeof(alphabet) - 1;
    CLEANUP(buf) struct buf literal = BUF_INIT(100);
    CLEANUP(buf) struct buf out = BUF_INIT(100);
    struct template_values values = values_of(NULL, 0);
    struct err err = ERR_INIT;

    (void)state;
    for (size_t length = 0, count = 1; length <= 7; length++, count *= base)
        for (size_t number = 0; number < count; number++) {
            CLEANUP(arena) struct arena own = ARENA_INIT;
            struct template_text template;
            char text[8];

            for (size_t i = 0, rest = number; i < length; i++, rest /= base)
                text[i] = alphabet[rest % base];
            buf_clear(&literal);
            buf_clear(&out);
            template_add_literal(slice_make(text, length), &literal);
            if (template_text_parse(buf_slice(&literal), &own, &template, &err) != E_OK ||
                template_text_fill(&template, &values, &out, &err) != E_OK ||
                !slice_equal(buf_slice(&out), slice_make(text, length)))
                fail_msg("'%.*s' becomes '%s'", (int)length, text, buf_text(&out));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_one_argument_whatever_is_in_it, begin, end),
        cmocka_unit_test_setup_teardown(strings_are_raw_and_the_rest_is_json, begin, end),
        cmocka_unit_test_setup_teardown(the_first_object_that_has_a_name_fills_it, begin, end),
        cmocka_unit_test_setup_teardown(the_jobs_own_names_are_always_there, begin, end),
        cmocka_unit_test_setup_teardown(a_default_is_taken_when_the_name_is_missing_only, begin,
                                        end),
        cmocka_unit_test_setup_teardown(braces_without_a_plain_name_stay, begin, end),
        cmocka_unit_test_setup_teardown(a_command_tells_what_it_needs, begin, end),
        cmocka_unit_test_setup_teardown(a_missing_param_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_value_too_large_for_an_argument_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_default_without_an_end_is_an_error_with_its_place, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_place_of_a_fault_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_value_is_not_pasted_into_a_shell_given_as_a_list, begin,
                                        end),
        cmocka_unit_test_setup_teardown(names_become_positional_parameters, begin, end),
        cmocka_unit_test_setup_teardown(what_is_the_shells_is_left_to_the_shell, begin, end),
        cmocka_unit_test_setup_teardown(a_name_where_the_shell_fills_in_nothing_is_refused, begin,
                                        end),
        cmocka_unit_test_setup_teardown(too_much_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(the_shell_gives_each_value_whole, begin, end),
        cmocka_unit_test(a_literal_fills_in_to_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
