/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/fault.h"
#include "store/meta.h"
#include "store/store.h"
#include "testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/waybill-unit-XXXXXX");
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"waybill.db", "waybill.db-wal", "waybill.db-shm",
                                        "waybill.db-journal", "waybill.db-mark"};

    (void)state;
    fault_arm(NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static enum err_code open_as(struct store_config config, struct store **ret_store, struct err *err)
{
    config.dir = dir;
    return store_open(&config, ret_store, err);
}

/* This VFS has no shared memory, as network file systems have none that works. */
static void a_file_system_without_wal_is_refused(void **state)
{
    (void)state;
    struct store *store = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(open_as((struct store_config){.mode = STORE_WRITE, .vfs = "unix-dotfile"},
                             &store, &err),
                     E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "write-ahead log"));
    assert_null(store);
}

static void a_reader_sees_what_is_committed(void **state)
{
    (void)state;
    struct store *writer = NULL;
    struct store *reader = NULL;
    struct err err = ERR_INIT;
    int64_t value = 0;

    assert_int_equal(open_as((struct store_config){.mode = STORE_WRITE}, &writer, &err), E_OK);
    assert_int_equal(open_as((struct store_config){.mode = STORE_READ}, &reader, &err), E_OK);
    assert_int_equal(store_begin(writer, &err), E_OK);
    assert_int_equal(store_meta_set(writer, "x", 7, &err), E_OK);
    assert_int_equal(store_meta_get(reader, "x", &value, &err), E_OK);
    assert_int_equal(value, 0);
    assert_int_equal(store_commit(writer, &err), E_OK);
    assert_int_equal(store_meta_get(reader, "x", &value, &err), E_OK);
    assert_int_equal(value, 7);
    store_close(reader);
    store_close(writer);
}

static void a_reader_whose_time_is_up_says_so(void **state)
{
    (void)state;
    struct store *writer = NULL;
    struct store *reader = NULL;
    struct err err = ERR_INIT;
    int64_t value = 0;

    assert_int_equal(open_as((struct store_config){.mode = STORE_WRITE}, &writer, &err), E_OK);
    assert_int_equal(open_as((struct store_config){.mode = STORE_READ, .read_limit_us = 1}, &reader,
                             &err),
                     E_OK);
    assert_true(fault_arm("read.slow:2:fail"));
    assert_int_equal(store_meta_get(reader, "x", &value, &err), E_OK);
    assert_int_equal(store_meta_get(reader, "x", &value, &err), E_TOO_SLOW);
    assert_string_equal(err.msg, "the store took too long: narrow the request");
    assert_int_equal(store_meta_get(reader, "x", &value, &err), E_OK);
    assert_int_equal(store_meta_get(writer, "x", &value, &err), E_OK);
    store_close(reader);
    store_close(writer);
}

#define FILES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(a_file_system_without_wal_is_refused),
        FILES_TEST(a_reader_sees_what_is_committed),
        FILES_TEST(a_reader_whose_time_is_up_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
