/* SPDX-License-Identifier: MIT */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "core/definition/definition.h"
#include "server/process/definition_files.h"
#include "testing.h"

/* A directory of its own for each test: *state is its path. */
static int make_dir(void **state)
{
    char *dir = mem_strdup("/tmp/definition_files.XXXXXX");

    *state = mkdtemp(dir);
    return *state == NULL ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st, (void)type, (void)place;
    return remove(path);
}

static int remove_dir(void **state)
{
    CLEANUP(mem) char *dir = *state;

    return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* dir/name, good until the next call but three. */
static const char *in(void **state, const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % ARRAY_LEN(paths)];

    snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_names(const struct definitions *d, const char *want)
{
    CLEANUP(buf) struct buf names = BUF_INIT(1000);

    for (size_t i = 0; i < d->of[DEFINITION_QUEUE].count; i++) {
        buf_add_slice(&names, d->of[DEFINITION_QUEUE].items[i].name);
        buf_add_char(&names, ' ');
    }
    assert_string_equal(buf_text(&names), want);
}

static void assert_refused(const char *path, enum err_code code, const char *message)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_equal(definitions_read(&d, path, &err), code);
    assert_string_equal(err.msg, message);
}

static void one_file_is_read(void **state)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    write_file(in(state, "any.name"), "queues: {a: {slots: 1}, b: }\n");
    assert_int_equal(definitions_read(&d, in(state, "any.name"), &err), E_OK);
    assert_names(&d, "a b ");
    assert_slice_is(d.of[DEFINITION_QUEUE].items[0].from.file, in(state, "any.name"));
}

static void a_directory_is_read_in_the_order_of_its_names(void **state)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    write_file(in(state, "20.yaml"), "queues: {second: }\n");
    write_file(in(state, "10.yml"), "queues: {first: }\n");
    write_file(in(state, "Z.yaml"), "queues: {third: }\n");
    write_file(in(state, "a.yaml"), "queues: {fourth: }\n");
    write_file(in(state, "notes.txt"), "not: for us\n");
    write_file(in(state, "yaml"), "not: for us\n");
    write_file(in(state, "b.yaml~"), "not: for us\n");
    write_file(in(state, ".hidden.yaml"), "not: for us\n");
    assert_int_equal(mkdir(in(state, "sub"), 0700), 0);
    assert_int_equal(definitions_read(&d, *state, &err), E_OK);
    assert_names(&d, "first second third fourth ");
}

static void an_empty_directory_defines_nothing(void **state)
{
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    assert_int_equal(definitions_read(&d, *state, &err), E_OK);
    assert_int_equal(d.of[DEFINITION_QUEUE].count, 0);
}

static void a_trailing_slash_does_not_double_in_messages(void **state)
{
    char message[600];

    write_file(in(state, "a.yaml"), "queus: {}\n");
    snprintf(message, sizeof(message), "%s:1: unknown key 'queus', did you mean 'queues'?",
             in(state, "a.yaml"));
    assert_refused(in(state, ""), E_INVALID, message);
    assert_refused(*state, E_INVALID, message);
}

static void two_files_that_define_one_queue_are_both_named(void **state)
{
    char message[1200];

    write_file(in(state, "a.yaml"), "queues:\n  q:\n");
    write_file(in(state, "b.yaml"), "\n\nqueues:\n  q:\n");
    snprintf(message, sizeof(message), "%s:4: queue 'q' is defined twice, first in %s:2",
             in(state, "b.yaml"), in(state, "a.yaml"));
    assert_refused(*state, E_INVALID, message);
}

static void assert_dir(const char *path, const char *dir)
{
    CLEANUP(definitions) struct definitions d;
    CLEANUP(buf) struct buf want = BUF_INIT(1000);
    struct err err = ERR_INIT;

    definitions_init(&d);
    if (definitions_read(&d, path, &err) != E_OK)
        fail_msg("%s", err.msg);
    buf_addf(&want, "{\"command\":[\"./x\"],\"dir\":\"%s\"}", dir);
    assert_slice_is(d.of[DEFINITION_QUEUE].items[0].json, buf_text(&want));
}

static void dir_is_the_absolute_directory_however_the_file_is_named(void **state)
{
    CLEANUP(mem) char *real = realpath(*state, NULL);
    CLEANUP(mem) char *before = getcwd(NULL, 0);

    assert_non_null(real);
    assert_int_equal(mkdir(in(state, "sub"), 0700), 0);
    write_file(in(state, "q.yaml"), "queues: {q: {command: [./x]}}\n");
    assert_dir(in(state, "q.yaml"), real);
    assert_dir(in(state, "sub/../q.yaml"), real);
    assert_dir(*state, real);
    assert_int_equal(chdir(*state), 0);
    assert_dir("q.yaml", real);
    assert_dir("./q.yaml", real);
    assert_dir(".", real);
    assert_int_equal(chdir(before), 0);
}

/* A link's programs lie beside the link: that is where its owner put it. */
static void a_linked_file_belongs_to_the_directory_of_the_link(void **state)
{
    CLEANUP(mem) char *real = realpath(*state, NULL);

    assert_int_equal(mkdir(in(state, "sub"), 0700), 0);
    write_file(in(state, "sub/q.yaml"), "queues: {q: {command: [./x]}}\n");
    assert_int_equal(symlink("sub/q.yaml", in(state, "link.yaml")), 0);
    assert_dir(in(state, "link.yaml"), real);
}

static void what_is_not_there_is_not_found(void **state)
{
    char message[600];

    snprintf(message, sizeof(message), "%s: No such file or directory", in(state, "none.yaml"));
    assert_refused(in(state, "none.yaml"), E_NOT_FOUND, message);
    write_file(in(state, "file"), "");
    snprintf(message, sizeof(message), "%s: Not a directory", in(state, "file/x"));
    assert_refused(in(state, "file/x"), E_NOT_FOUND, message);
    assert_refused("", E_NOT_FOUND, "the name of a definition file is empty");
}

static void a_dangling_link_in_a_directory_is_not_passed_over(void **state)
{
    char message[600];

    assert_int_equal(symlink("nowhere", in(state, "a.yaml")), 0);
    snprintf(message, sizeof(message), "%s: No such file or directory", in(state, "a.yaml"));
    assert_refused(*state, E_NOT_FOUND, message);
}

static void what_is_no_file_in_a_directory_is_not_waited_for(void **state)
{
    char message[600];

    assert_int_equal(mkfifo(in(state, "a.yaml"), 0600), 0);
    snprintf(message, sizeof(message), "%s: not a file", in(state, "a.yaml"));
    assert_refused(*state, E_INVALID, message);
}

/* Root may read everything: it becomes somebody else for a moment. */
static void a_file_that_may_not_be_read_is_forbidden(void **state)
{
    bool root = geteuid() == 0;
    char message[600];

    write_file(in(state, "a.yaml"), "");
    assert_int_equal(chmod(in(state, "a.yaml"), 0), 0);
    assert_int_equal(chmod(*state, 0755), 0);
    snprintf(message, sizeof(message), "%s: Permission denied", in(state, "a.yaml"));
    if (root)
        assert_int_equal(seteuid(65534), 0);
    assert_refused(in(state, "a.yaml"), E_FORBIDDEN, message);
    if (root)
        assert_int_equal(seteuid(0), 0);
}

static void a_file_too_large_is_refused_before_it_is_parsed(void **state)
{
    char message[600];

    write_file(in(state, "a.yaml"), "");
    assert_int_equal(truncate(in(state, "a.yaml"), (off_t)DEFINITION_FILE_MAX + 1), 0);
    snprintf(message, sizeof(message), "%s: larger than 8 MiB", in(state, "a.yaml"));
    assert_refused(in(state, "a.yaml"), E_TOO_LARGE, message);
}

static void a_long_path_leaves_room_for_the_cause(void **state)
{
    CLEANUP(buf) struct buf path = BUF_INIT(2000);
    CLEANUP(definitions) struct definitions d;
    struct err err = ERR_INIT;

    definitions_init(&d);
    buf_add_str(&path, *state);
    for (int i = 0; i < 300; i++)
        buf_add_str(&path, "/x");
    assert_int_equal(definitions_read(&d, buf_text(&path), &err), E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/x/x/x: No such file or directory"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_file_is_read),
        TEST(a_directory_is_read_in_the_order_of_its_names),
        TEST(an_empty_directory_defines_nothing),
        TEST(a_trailing_slash_does_not_double_in_messages),
        TEST(two_files_that_define_one_queue_are_both_named),
        TEST(dir_is_the_absolute_directory_however_the_file_is_named),
        TEST(a_linked_file_belongs_to_the_directory_of_the_link),
        TEST(what_is_not_there_is_not_found),
        TEST(a_dangling_link_in_a_directory_is_not_passed_over),
        TEST(what_is_no_file_in_a_directory_is_not_waited_for),
        TEST(a_file_that_may_not_be_read_is_forbidden),
        TEST(a_file_too_large_is_refused_before_it_is_parsed),
        TEST(a_long_path_leaves_room_for_the_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
