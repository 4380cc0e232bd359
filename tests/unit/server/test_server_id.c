/* SPDX-License-Identifier: MIT */
#include "server/process/server_id.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "testing.h"

/* A data directory, and another one beside it. */
struct dirs {
    char path[2][64];
    int fd[2];
};

static int make_dirs(void **state)
{
    struct dirs *d = calloc(1, sizeof(*d));

    for (int i = 0; i < 2; i++) {
        snprintf(d->path[i], sizeof(d->path[i]), "/tmp/test_server_id.XXXXXX");
        assert_non_null(mkdtemp(d->path[i]));
        d->fd[i] = open(d->path[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(d->fd[i] >= 0);
    }
    *state = d;
    return 0;
}

static int remove_dirs(void **state)
{
    struct dirs *d = *state;

    for (int i = 0; i < 2; i++) {
        (void)unlinkat(d->fd[i], SERVER_ID_NAME, 0);
        close(d->fd[i]);
        assert_int_equal(rmdir(d->path[i]), 0); /* nothing else was left there */
    }
    free(d);
    return 0;
}

static void get(int fd, const char *host, char id[static ID_TEXT_SIZE])
{
    struct err err = ERR_INIT;
    int64_t value;

    assert_int_equal(server_id_get(fd, host, id, &err), E_OK);
    assert_true(id_parse(slice_of(id), &value));
}

static void put(int fd, const char *text)
{
    int file = openat(fd, SERVER_ID_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static void the_id_is_made_once(void **state)
{
    const struct dirs *d = *state;
    char first[ID_TEXT_SIZE];
    char second[ID_TEXT_SIZE];
    struct stat st;

    get(d->fd[0], "a.example", first);
    get(d->fd[0], "a.example", second);
    assert_string_equal(first, second);
    assert_int_equal(fstatat(d->fd[0], SERVER_ID_NAME, &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void two_directories_have_two_ids(void **state)
{
    const struct dirs *d = *state;
    char first[ID_TEXT_SIZE];
    char second[ID_TEXT_SIZE];

    get(d->fd[0], "a.example", first);
    get(d->fd[1], "a.example", second);
    assert_string_not_equal(first, second);
}

static void a_copy_of_the_directory_has_an_id_of_its_own(void **state)
{
    const struct dirs *d = *state;
    char first[ID_TEXT_SIZE];
    char second[ID_TEXT_SIZE];
    char text[512] = "";

    get(d->fd[0], "a.example", first);
    int fd = openat(d->fd[0], SERVER_ID_NAME, O_RDONLY | O_CLOEXEC);

    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    put(d->fd[1], text);
    get(d->fd[1], "a.example", second);
    assert_string_not_equal(first, second);
}

static void another_host_has_an_id_of_its_own(void **state)
{
    const struct dirs *d = *state;
    char first[ID_TEXT_SIZE];
    char second[ID_TEXT_SIZE];

    get(d->fd[0], "a.example", first);
    get(d->fd[0], "b.example", second);
    assert_string_not_equal(first, second);
}

static void a_file_that_is_not_whole_is_made_anew(void **state)
{
    static const char *const broken[] = {"", "0", "0AHXZCQE40000", "0AHXZCQE40000 a.example",
                                         "!!!!!!!!!!!!! a.example 1\n"};
    const struct dirs *d = *state;

    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        char first[ID_TEXT_SIZE];
        char second[ID_TEXT_SIZE];

        put(d->fd[0], broken[i]);
        get(d->fd[0], "a.example", first);
        get(d->fd[0], "a.example", second);
        assert_string_equal(first, second);
        assert_string_not_equal(first, "0AHXZCQE40000");
    }
}

static void what_cannot_be_read_is_told(void **state)
{
    const struct dirs *d = *state;
    char id[ID_TEXT_SIZE];
    struct err err = ERR_INIT;

    assert_int_equal(symlinkat("/nonexistent", d->fd[0], SERVER_ID_NAME), 0);
    assert_int_equal(server_id_get(d->fd[0], "a.example", id, &err), E_INTERNAL);
    assert_non_null(strstr(err.msg, "open server-id in the data directory: "));
}

#define IN_DIRS(test) cmocka_unit_test_setup_teardown(test, make_dirs, remove_dirs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRS(the_id_is_made_once),
        IN_DIRS(two_directories_have_two_ids),
        IN_DIRS(a_copy_of_the_directory_has_an_id_of_its_own),
        IN_DIRS(another_host_has_an_id_of_its_own),
        IN_DIRS(a_file_that_is_not_whole_is_made_anew),
        IN_DIRS(what_cannot_be_read_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
