/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/rng.h"
#include "process_fixture.h"
#include "testing.h"
#include "worker/process/process_registry.h"

static int directory(void)
{
    int fd = open(in_dir("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static struct process_registry opened(int dir, unsigned count)
{
    struct process_registry r = {.map = NULL};
    struct err err = ERR_INIT;

    if (process_registry_open(dir, count, &r, &err) != E_OK)
        fail_msg("%s", err.msg);
    return r;
}

static void note(struct process_registry *r, unsigned i, int pid)
{
    process_record_begin(process_registry_at(r, i), SLICE("01JOB"), SLICE("lease"), "boot");
    process_registry_at(r, i)->process.pid = pid;
}

static void a_file_that_is_truncated_meanwhile_is_written_anew(void **state)
{
    (void)state;
    int dir = directory();
    struct process_registry r = opened(dir, 100);
    struct err err = ERR_INIT;
    bool mended = true;

    assert_int_equal(process_registry_repair(&r, dir, 0, &mended, &err), E_OK);
    assert_false(mended);
    note(&r, 0, 41);
    assert_int_equal(truncate(in_dir(PROCESS_REGISTRY_NAME), 0), 0);
    note(&r, 99, 42); /* a SIGBUS, and nothing comes of it */
    assert_int_equal(process_registry_at(&r, 0)->process.pid, 0);
    assert_int_equal(process_registry_at(&r, 99)->process.pid, 42);
    assert_int_equal(process_registry_repair(&r, dir, 0, &mended, &err), E_OK);
    assert_true(mended);
    note(&r, 1, 43);
    assert_int_equal(process_registry_repair(&r, dir, 0, &mended, &err), E_OK);
    assert_false(mended);
    process_registry_close(&r);

    CLEANUP(process_record_list) struct process_record_list list = {VEC_INIT};

    process_registry_copy(in_dir(PROCESS_REGISTRY_NAME), &list); /* what the next worker sees */
    assert_int_equal(list.all.count, 2);
    assert_int_equal(list.all.items[0].process.pid, 43);
    assert_int_equal(list.all.items[1].process.pid, 42);
    close(dir);
}

static void a_file_that_is_cut_within_a_page_or_removed_is_seen_within_a_second(void **state)
{
    (void)state;
    int dir = directory();
    struct process_registry r = opened(dir, 10);
    struct err err = ERR_INIT;
    bool mended = true;
    struct stat st;

    note(&r, 0, 41);
    assert_int_equal(truncate(in_dir(PROCESS_REGISTRY_NAME), 1000), 0);
    assert_int_equal(process_registry_repair(&r, dir, 999999, &mended, &err), E_OK);
    assert_false(mended);
    assert_int_equal(process_registry_repair(&r, dir, 1000000, &mended, &err), E_OK);
    assert_true(mended);
    assert_int_equal(unlink(in_dir(PROCESS_REGISTRY_NAME)), 0);
    assert_int_equal(process_registry_repair(&r, dir, 2000000, &mended, &err), E_OK);
    assert_true(mended);
    assert_int_equal(stat(in_dir(PROCESS_REGISTRY_NAME), &st), 0);
    assert_true(st.st_size >= 64 + 10 * 232);
    assert_int_equal(process_registry_at(&r, 0)->process.pid, 41);
    process_registry_close(&r);
    close(dir);
}

static void a_file_cut_off_anywhere_is_opened(void **state)
{
    (void)state;
    int dir = directory();

    for (off_t size = 0; size < 3000; size += 7) {
        struct process_registry r = opened(dir, 10);

        note(&r, 9, 44);
        process_registry_close(&r);
        assert_int_equal(truncate(in_dir(PROCESS_REGISTRY_NAME), size), 0);
        r = opened(dir, 10);
        for (unsigned i = 0; i < 10; i++)
            assert_true(process_registry_at(&r, i)->process.pid == 0 || size >= 2384);
        process_registry_close(&r);
    }
    close(dir);
}

/* Whatever is in it: texts have an end, and hold nothing that a request could not carry. */
static void garbled_records_are_not_believed(void **state)
{
    (void)state;
    int dir = directory();
    struct rng rng;

    rng_init(&rng, 5);
    for (int round = 0; round < 500; round++) {
        struct process_registry r = opened(dir, 10);
        CLEANUP(process_record_list) struct process_record_list list = {VEC_INIT};

        note(&r, 3, 45);
        for (size_t n = rng_below(&rng, 400); n > 0; n--)
            ((char *)r.map)[64 + rng_below(&rng, r.size - 64)] = (char)rng_below(&rng, 256);
        process_registry_close(&r);
        process_registry_copy(in_dir(PROCESS_REGISTRY_NAME), &list);
        r = opened(dir, 10);
        for (unsigned i = 0; i < 10; i++) {
            const struct process_record *record = process_registry_at(&r, i);

            assert_non_null(memchr(record->job, 0, sizeof(record->job)));
            assert_non_null(memchr(record->lease, 0, sizeof(record->lease)));
            assert_non_null(memchr(record->boot, 0, sizeof(record->boot)));
            for (const char *p = record->job; *p != '\0'; p++)
                assert_true(*p > ' ' && *p < 0x7F && *p != '"');
            process_record_end(process_registry_at(&r, i));
        }
        process_registry_close(&r);
        for (size_t i = 0; i < list.all.count; i++)
            assert_non_null(memchr(list.all.items[i].boot, 0, sizeof(list.all.items[i].boot)));
    }
    close(dir);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, process_setup, process_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_is_truncated_meanwhile_is_written_anew),
        TEST(a_file_that_is_cut_within_a_page_or_removed_is_seen_within_a_second),
        TEST(a_file_cut_off_anywhere_is_opened),
        TEST(garbled_records_are_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
