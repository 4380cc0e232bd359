/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/log.h"
#include "testing.h"

/* What a process of its own writes to standard error while it runs `body`. */
static size_t written_by(void (*body)(void), char *text, size_t room)
{
    int ends[2];
    size_t size = 0;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    while (size < room - 1 && (n = read(ends[0], text + size, room - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = '\0';
    close(ends[0]);
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return size;
}

static void say_one(void)
{
    log_warn("disk is %d%% full", 91);
}

static void a_line_has_time_level_and_text(void **state)
{
    (void)state;
    char text[200];

    written_by(say_one, text, sizeof(text));
    assert_int_equal(text[4], '-');
    assert_int_equal(text[10], 'T');
    assert_non_null(strstr(text, "Z warn: disk is 91% full\n"));
}

static void say_all(void)
{
    log_error("e");
    log_warn("w");
    log_info("i");
    log_debug("d");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("now");
    log_set_level(LOG_LEVEL_ERROR);
    log_warn("no more");
    log_error("still");
}

static void what_is_finer_than_the_level_is_not_written(void **state)
{
    (void)state;
    char text[1000];

    written_by(say_all, text, sizeof(text));
    assert_non_null(strstr(text, " error: e\n"));
    assert_non_null(strstr(text, " warn: w\n"));
    assert_non_null(strstr(text, " info: i\n"));
    assert_null(strstr(text, "debug: d\n"));
    assert_non_null(strstr(text, " debug: now\n"));
    assert_null(strstr(text, "no more"));
    assert_non_null(strstr(text, " error: still\n"));
}

static void say_as_the_journals_child(void)
{
    struct stat st;
    char stream[64];

    if (fstat(STDERR_FILENO, &st) != 0)
        _exit(1);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    if (setenv("JOURNAL_STREAM", stream, 1) != 0)
        _exit(1);
    log_set_level(LOG_LEVEL_DEBUG);
    log_error("a");
    log_warn("b");
    log_info("c");
    log_debug("d");
}

static void the_journal_gets_priorities_and_no_time(void **state)
{
    (void)state;
    char text[200];

    written_by(say_as_the_journals_child, text, sizeof(text));
    assert_string_equal(text, "<3>a\n<4>b\n<6>c\n<7>d\n");
}

static void say_with_a_journal_elsewhere(void)
{
    if (setenv("JOURNAL_STREAM", "8:1", 1) != 0)
        _exit(1);
    log_info("a");
}

static void a_journal_that_does_not_read_us_changes_nothing(void **state)
{
    (void)state;
    char text[200];

    written_by(say_with_a_journal_elsewhere, text, sizeof(text));
    assert_non_null(strstr(text, " info: a\n"));
}

static void say_something_wild(void)
{
    char large[5000];

    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    log_info("queue %s", "a\n2026-01-01T00:00:00Z error: forged\x1B[31m");
    log_info("%s", large);
    log_info("end");
}

static void one_event_is_one_line_whatever_it_quotes(void **state)
{
    (void)state;
    char text[8000];
    size_t lines = 0;

    written_by(say_something_wild, text, sizeof(text));
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, 3);
    assert_non_null(strstr(text, "queue a?2026"));
    assert_null(strchr(text, 0x1B));
    assert_non_null(strstr(text, " info: end\n"));
}

enum { THREADS = 4, LINES = 50 };

static void *say_many(void *letter)
{
    char text[101];

    memset(text, *(const char *)letter, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < LINES; i++)
        log_info("%s", text);
    return NULL;
}

static void say_at_once(void)
{
    static char letters[THREADS] = {'a', 'b', 'c', 'd'};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, say_many, &letters[i]) != 0)
            _exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void lines_of_several_threads_do_not_mix(void **state)
{
    (void)state;
    static char text[THREADS * LINES * 200];
    size_t lines = 0;

    written_by(say_at_once, text, sizeof(text));
    for (char *line = text; *line != '\0'; lines++) {
        char *end = strchr(line, '\n');
        const char *said = strstr(line, "info: ");

        assert_non_null(end);
        assert_true(said != NULL && said < end);
        assert_int_equal(end - said, 6 + 100);
        assert_int_equal(strspn(said + 6, (char[]){said[6], '\0'}), 100);
        line = end + 1;
    }
    assert_int_equal(lines, THREADS * LINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_and_text),
        cmocka_unit_test(what_is_finer_than_the_level_is_not_written),
        cmocka_unit_test(the_journal_gets_priorities_and_no_time),
        cmocka_unit_test(a_journal_that_does_not_read_us_changes_nothing),
        cmocka_unit_test(one_event_is_one_line_whatever_it_quotes),
        cmocka_unit_test(lines_of_several_threads_do_not_mix),
    };

    unsetenv("JOURNAL_STREAM");
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
