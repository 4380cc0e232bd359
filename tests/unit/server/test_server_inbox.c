/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "base/clock.h"
#include "server/threads/inbox.h"
#include "server/threads/timers.h"
#include "testing.h"

struct numbered {
    struct inbox_item item;
    int number;
};

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

static int number_of(const struct inbox_item *item)
{
    return ((const struct numbered *)item)->number;
}

static void items_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    struct numbered n[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct inbox_list list = INBOX_LIST_INIT;
    struct inbox_item *items = NULL;
    struct inbox in;
    int expected = 0;

    inbox_init(&in, -1);
    inbox_put(&in, &n[0].item);
    inbox_list_add(&list, &n[1].item);
    inbox_list_add(&list, &n[2].item);
    inbox_put_list(&in, &list);
    assert_null(list.first);
    inbox_put(&in, &n[3].item);
    assert_int_equal(inbox_take(&in, TIME_NEVER, &items), INBOX_ITEMS);
    for (; items != NULL; items = items->next)
        assert_int_equal(number_of(items), expected++);
    assert_int_equal(expected, 4);
    inbox_deinit(&in);
}

static void an_empty_list_rings_nobody(void **state)
{
    (void)state;
    struct inbox_list list = INBOX_LIST_INIT;
    struct inbox in;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    inbox_init(&in, fd);
    inbox_put_list(&in, &list);
    assert_false(is_readable(fd));
    inbox_deinit(&in);
    close(fd);
}

static void one_ring_for_all_until_they_are_taken(void **state)
{
    (void)state;
    struct numbered n[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
    struct inbox in;
    uint64_t rings = 0;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    inbox_init(&in, fd);
    inbox_put(&in, &n[0].item);
    inbox_put(&in, &n[1].item);
    assert_int_equal(read(fd, &rings, sizeof(rings)), sizeof(rings));
    assert_int_equal(rings, 1);
    assert_int_equal(number_of(inbox_take_now(&in)), 0);
    assert_null(inbox_take_now(&in));
    inbox_put(&in, &n[2].item);
    assert_true(is_readable(fd));
    assert_int_equal(number_of(inbox_take_now(&in)), 2);
    assert_false(is_readable(fd));
    inbox_deinit(&in);
    close(fd);
}

static void a_take_ends_with_its_time_or_with_a_poke(void **state)
{
    (void)state;
    struct inbox_item *items = NULL;
    struct inbox in;
    int64_t begun_at = clock_mono_us();

    inbox_init(&in, -1);
    assert_int_equal(inbox_take(&in, begun_at + 20 * US_PER_MS, &items), INBOX_NOTHING);
    assert_true(clock_mono_us() >= begun_at + 20 * US_PER_MS);
    inbox_poke(&in);
    assert_int_equal(inbox_take(&in, TIME_NEVER, &items), INBOX_NOTHING);
    assert_int_equal(inbox_take(&in, 0, &items), INBOX_NOTHING);
    inbox_deinit(&in);
}

static void what_is_in_a_closed_inbox_still_comes_out(void **state)
{
    (void)state;
    struct numbered n[2] = {{.number = 7}, {.number = 8}};
    struct inbox_item *items = NULL;
    struct inbox in;

    inbox_init(&in, -1);
    inbox_put(&in, &n[0].item);
    inbox_close(&in);
    assert_int_equal(inbox_take(&in, TIME_NEVER, &items), INBOX_ITEMS);
    assert_int_equal(number_of(items), 7);
    assert_int_equal(inbox_take(&in, TIME_NEVER, &items), INBOX_CLOSED);
    assert_null(inbox_take_one(&in));
    inbox_deinit(&in);
}

/* ---- several takers ---- */

enum { TAKERS = 3, ITEMS = 3000 };

struct crowd {
    struct inbox inbox;
    struct numbered items[ITEMS];
    atomic_int taken[ITEMS];
};

static void *take_each(void *arg)
{
    struct crowd *c = arg;
    const struct inbox_item *item;

    while ((item = inbox_take_one(&c->inbox)) != NULL)
        atomic_fetch_add(&c->taken[number_of(item)], 1);
    return NULL;
}

static void several_takers_get_every_item_once(void **state)
{
    (void)state;
    static struct crowd c;
    pthread_t threads[TAKERS];
    struct inbox_list list = INBOX_LIST_INIT;

    inbox_init(&c.inbox, -1);
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_each, &c), 0);
    for (int i = 0; i < ITEMS; i++) {
        c.items[i].number = i;
        inbox_list_add(&list, &c.items[i].item);
        if (i % 7 == 0)
            inbox_put_list(&c.inbox, &list);
    }
    inbox_put_list(&c.inbox, &list);
    inbox_close(&c.inbox);
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(atomic_load(&c.taken[i]), 1);
    inbox_deinit(&c.inbox);
}

/* ---- timers ---- */

struct alarm {
    struct timer timer;
    struct timers *timers;
    struct alarm *clears;
    int fired;
};

static void fire(struct timer *t)
{
    struct alarm *a = (struct alarm *)t;

    assert_false(timer_is_set(t));
    a->fired++;
    if (a->clears != NULL)
        timer_clear(&a->clears->timer);
}

static void timers_fire_once_when_they_are_due(void **state)
{
    (void)state;
    struct timers ts;
    struct alarm a = {.timer.fire = fire};
    struct alarm b = {.timer.fire = fire};

    timers_init(&ts);
    assert_true(ts.next_at == TIME_NEVER);
    timer_set(&ts, &a.timer, 100);
    timer_set(&ts, &b.timer, 50);
    timer_set(&ts, &b.timer, 200);
    assert_true(ts.next_at <= 100);
    timers_run(&ts, 99);
    assert_int_equal(a.fired + b.fired, 0);
    timers_run(&ts, 100);
    assert_int_equal(a.fired, 1);
    assert_int_equal(b.fired, 0);
    assert_int_equal(ts.next_at, 200);
    timer_clear(&b.timer);
    timers_run(&ts, 1000);
    assert_int_equal(b.fired, 0);
    assert_true(ts.next_at == TIME_NEVER);
}

static void a_timer_may_clear_another_as_it_fires(void **state)
{
    (void)state;
    struct timers ts;
    struct alarm b = {.timer.fire = fire};
    struct alarm a = {.timer.fire = fire, .clears = &b};

    timers_init(&ts);
    timer_set(&ts, &a.timer, 10);
    timer_set(&ts, &b.timer, 10);
    timers_run(&ts, 10);
    assert_int_equal(a.fired, 1);
    assert_int_equal(b.fired, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_come_out_in_the_order_they_went_in),
        cmocka_unit_test(an_empty_list_rings_nobody),
        cmocka_unit_test(one_ring_for_all_until_they_are_taken),
        cmocka_unit_test(a_take_ends_with_its_time_or_with_a_poke),
        cmocka_unit_test(what_is_in_a_closed_inbox_still_comes_out),
        cmocka_unit_test(several_takers_get_every_item_once),
        cmocka_unit_test(timers_fire_once_when_they_are_due),
        cmocka_unit_test(a_timer_may_clear_another_as_it_fires),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
