/*
 * The sync thread: nothing that depends on a commit leaves before its sync, and nothing overtakes.
 */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "base/os/fault.h"
#include "server/threads/sync_thread.h"
#include "store/meta.h"
#include "store/store.h"
#include "testing.h"

struct numbered {
    struct delivery delivery; /* must be first */
    int number;
    bool failed;
};

static struct fixture {
    char dir[64];
    struct store *store;
    struct inbox home;
    int fd;
    struct sync_thread sync;
    int broke;
} fx;

static void on_broken(struct delivery *d)
{
    assert_ptr_equal(d, &fx.sync.broken);
    assert_int_equal(fx.sync.err.code, E_UNAVAILABLE);
    fx.broke++;
}

static void on_fail(struct delivery *d, const struct err *err)
{
    assert_int_equal(err->code, E_UNAVAILABLE);
    ((struct numbered *)d)->failed = true;
}

static int start(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    snprintf(fx.dir, sizeof(fx.dir), "/tmp/test-sync-XXXXXX");
    assert_non_null(mkdtemp(fx.dir));
    struct store_config config = {.dir = fx.dir, .mode = STORE_WRITE};

    assert_int_equal(store_open(&config, &fx.store, &err), E_OK);
    fx.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fx.broke = 0;
    inbox_init(&fx.home, fx.fd);
    assert_int_equal(sync_thread_start(&fx.sync, fx.store, &fx.home, on_broken, &err), E_OK);
    return 0;
}

static int stop(void **state)
{
    char command[128];

    (void)state;
    sync_thread_stop(&fx.sync);
    (void)fault_arm(NULL);
    store_close(fx.store);
    inbox_deinit(&fx.home);
    close(fx.fd);
    snprintf(command, sizeof(command), "rm -r %s", fx.dir);
    return system(command);
}

static void commit(enum err_code (*how)(struct store *s, struct err *err), enum err_code expected)
{
    static int64_t value;
    struct err err = ERR_INIT;

    assert_int_equal(store_begin(fx.store, &err), E_OK);
    assert_int_equal(store_meta_set(fx.store, "test", ++value, &err), E_OK);
    assert_int_equal(how(fx.store, &err), expected);
}

/* The first commit after a start renews the log's mark, and syncs at once. */
static void commit_early(void)
{
    commit(store_commit, E_OK);
    commit(store_commit_early, E_OK);
    assert_true(store_owes_sync(fx.store));
}

static void forward(struct numbered *n, int number)
{
    struct inbox_list list = INBOX_LIST_INIT;

    *n = (struct numbered){.delivery.fail = on_fail, .number = number};
    inbox_list_add(&list, &n->delivery.item);
    sync_thread_forward(&fx.sync, &list);
}

static struct inbox_item *take(void)
{
    struct pollfd p = {.fd = fx.fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, 10000), 1);
    return inbox_take_now(&fx.home);
}

static void without_a_commit_nothing_waits(void **state)
{
    (void)state;
    struct numbered n;

    forward(&n, 1);
    assert_ptr_equal(inbox_take_now(&fx.home), &n.delivery.item);
    assert_false(n.failed);
}

static void what_depends_on_a_commit_leaves_after_its_sync(void **state)
{
    (void)state;
    struct numbered n[3];
    int next = 0;

    commit_early();
    for (int i = 0; i < 3; i++)
        forward(&n[i], i);
    while (next < 3)
        for (struct inbox_item *item = take(); item != NULL; item = item->next) {
            assert_int_equal(((struct numbered *)item)->number, next++);
            assert_false(store_owes_sync(fx.store));
        }
    assert_false(n[0].failed || n[1].failed || n[2].failed);
    assert_int_equal(fx.broke, 0);
}

static void a_failed_sync_fails_what_waits_for_it_and_all_that_follows(void **state)
{
    (void)state;
    struct numbered n[2];
    int seen = 0;

    assert_true(fault_arm("log.sync:1:fail"));
    commit_early();
    forward(&n[0], 0);
    while (seen < 2)
        for (struct inbox_item *item = take(); item != NULL; item = item->next, seen++)
            if (item == &fx.sync.broken.item)
                fx.sync.broken.deliver(&fx.sync.broken);
    assert_true(n[0].failed);
    assert_int_equal(fx.broke, 1);
    forward(&n[1], 1);
    assert_ptr_equal(take(), &n[1].delivery.item);
    assert_true(n[1].failed);
    commit(store_commit, E_UNAVAILABLE);
    store_rollback(fx.store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(without_a_commit_nothing_waits),
        TEST(what_depends_on_a_commit_leaves_after_its_sync),
        TEST(a_failed_sync_fails_what_waits_for_it_and_all_that_follows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
