/*
 * The engine when the power is cut, the process is killed, or the disk fails, at every point of a
 * script.
 *
 * The state after each step is known from a run in which nothing goes wrong.  Whatever happens
 * within a step, the store must then be exactly as after the step before or as after this one; once
 * the step was answered, only the latter.  Nothing acknowledged is lost, nothing is half done,
 * nothing else appears.
 *
 * `make test` takes a sample of the points; WAYBILL_TORTURE=1 takes all, with more seeds.
 */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/compiler.h"
#include "base/id.h"
#include "dump.h"
#include "powercut_vfs.h"
#include "script.h"
#include "store/damage.h"
#include "store/sqlite/wal.h"
#include "store/store.h"

enum { STEPS_MAX = 100 };

/* states[i] is before step i, states[i + 1] after it. */
static char *states[STEPS_MAX];

static bool torture(void)
{
    const char *text = getenv("WAYBILL_TORTURE");

    return text != NULL && strcmp(text, "") != 0 && strcmp(text, "0") != 0;
}

/* ---- the run in which nothing goes wrong ---- */

static int learn_states(void **state)
{
    struct powercut *disk = powercut_new("pc-main", 1);
    struct script s;
    struct err err = ERR_INIT;

    (void)state;
    if (script_open(&s, "pc-main", &err) != E_OK)
        fail_msg("the engine does not open: %s", err.msg);
    for (size_t i = 0; i < script_count(); i++) {
        states[i] = dump_store("pc-main", SCRIPT_FILE);
        if (script_step(&s, i, SCRIPT_FIRST, &err) != E_OK)
            fail_msg("step %zu (%s): %s", i, script_name(i), err.msg);
    }
    states[script_count()] = dump_store("pc-main", SCRIPT_FILE);
    script_close(&s, SCRIPT_STOP);
    return powercut_free(disk) ? 0 : -1;
}

static int forget_states(void **state)
{
    (void)state;
    for (size_t i = 0; i <= script_count(); i++)
        free(states[i]);
    return 0;
}

static void the_script_changes_something_in_nearly_every_step(void **state)
{
    size_t same = 0;

    (void)state;
    for (size_t i = 0; i < script_count(); i++)
        same += strcmp(states[i], states[i + 1]) == 0;
    assert_true(same <= script_count() / 5);
}

/* ---- looking at what is left ---- */

static void on_finding(void *ctx, const char *finding)
{
    fail_msg("%s: the store's check says: %s", (const char *)ctx, finding);
}

/* `between`: what may be there is the state before or after the step. */
static void check_content(const char *where, const char *vfs, size_t step, bool between)
{
    char *is = dump_store(vfs, SCRIPT_FILE);

    if (strcmp(is, states[step + 1]) != 0 && !(between && strcmp(is, states[step]) == 0)) {
        char *before = dump_difference(is, states[step]);
        char *after = dump_difference(is, states[step + 1]);

        fail_msg("%s, step %zu (%s): the store is neither as before\n%s\nnor as after\n%s", where,
                 step, script_name(step), before, after);
    }
    free(is);
}

/* Whatever is missing was not acknowledged: no commit is told as lost. */
static void check_nothing_lost(const char *place, const char *vfs)
{
    struct wal_loss loss;
    struct err err = ERR_INIT;

    if (sqlite_wal_scan(SCRIPT_DIR "/waybill.db", vfs, &loss, &err) != E_OK)
        fail_msg("%s: %s", place, err.msg);
    if (loss.commits > 0)
        fail_msg("%s: %lld commits behind frame %lld are told as lost", place,
                 (long long)loss.commits, (long long)loss.frame);
}

/* The server starts on what is left, unaided, finds it sound, and works. */
static void check_restart(const char *where, const char *vfs, size_t step, bool between)
{
    char place[200], text[DAMAGE_TEXT_SIZE];
    struct store_damage damage = STORE_DAMAGE_INIT;
    struct err err = ERR_INIT;
    struct store *store = NULL;
    struct script s;

    snprintf(place, sizeof(place), "%s, step %zu (%s)", where, step, script_name(step));
    check_nothing_lost(place, vfs);
    if (store_open(&(struct store_config){.dir = SCRIPT_DIR,
                                          .mode = STORE_WRITE,
                                          .vfs = vfs,
                                          .damage = &damage},
                   &store, &err) != E_OK)
        fail_msg("%s: the store does not open: %s", place, err.msg);
    if (damage_find(&damage, text))
        fail_msg("%s: damage is reported: %s", place, text);
    check_content(where, vfs, step, between);
    if (store_verify(store, STORE_CHECK_FULL, on_finding, place, &err) != E_OK)
        fail_msg("%s: %s", place, err.msg);
    store_close(store);
    if (script_open(&s, vfs, &err) != E_OK || script_canary(&s, &err) != E_OK)
        fail_msg("%s: the engine does not go on: %s", place, err.msg);
    if (store_verify(s.store, STORE_CHECK_FULL, on_finding, place, &err) != E_OK)
        fail_msg("%s: %s", place, err.msg);
    script_close(&s, SCRIPT_STOP);
}

/* ---- power cuts and kills ---- */

struct watcher {
    struct powercut *disk;
    size_t step;
    bool busy; /* looking at a copy: its operations do not count */
    bool by_power;
    int64_t events; /* disk operations so far */
    int64_t every;  /* take one of so many writes; all syncs, truncations and deletions */
    int64_t looks;
    uint64_t seeds;
};

static void look(struct watcher *w, uint64_t seed, bool between)
{
    struct powercut *copy = powercut_copy("pc-copy", w->disk);

    w->looks++;
    if (w->by_power)
        powercut_cut(copy, seed * 7919 + (uint64_t)w->events);
    else
        powercut_kill(copy);
    check_restart(w->by_power ? "a power cut" : "a kill", "pc-copy", w->step, between);
    assert_true(powercut_free(copy));
}

static void on_disk(void *ctx, enum powercut_io io)
{
    struct watcher *w = ctx;

    if (w->busy)
        return;
    w->events++;
    if (io == POWERCUT_WRITE && w->events % w->every != 0)
        return;
    w->busy = true;
    for (uint64_t seed = 0; seed < w->seeds; seed++)
        look(w, seed, true);
    w->busy = false;
}

static void run_watched(struct watcher *w)
{
    struct script s;
    struct err err = ERR_INIT;

    w->disk = powercut_new("pc-main", 1);
    if (script_open(&s, "pc-main", &err) != E_OK)
        fail_msg("%s", err.msg);
    powercut_watch(w->disk, on_disk, w);
    for (w->step = 0; w->step < script_count(); w->step++) {
        if (script_step(&s, w->step, SCRIPT_FIRST, &err) != E_OK)
            fail_msg("step %zu (%s): %s", w->step, script_name(w->step), err.msg);
        w->busy = true;
        look(w, w->step, false); /* it was answered: it is a promise now */
        w->busy = false;
    }
    w->step--;
    script_close(&s, SCRIPT_STOP);
    assert_true(powercut_free(w->disk));
    assert_true(w->looks > (int64_t)script_count());
}

static void the_power_may_be_cut_at_any_point(void **state)
{
    struct watcher w = {.by_power = true, .every = torture() ? 1 : 7, .seeds = torture() ? 12 : 2};

    (void)state;
    run_watched(&w);
    print_message("%lld power cuts\n", (long long)w.looks);
}

static void the_process_may_be_killed_at_any_point(void **state)
{
    struct watcher w = {.by_power = false, .every = torture() ? 1 : 11, .seeds = 1};

    (void)state;
    run_watched(&w);
    print_message("%lld kills\n", (long long)w.looks);
}

/* A store that is being made: whatever is left of it, the next start makes it whole. */
static void on_disk_at_birth(void *ctx, enum powercut_io io)
{
    struct watcher *w = ctx;

    (void)io;
    if (w->busy)
        return;
    w->busy = true;
    w->events++;
    for (uint64_t seed = 0; seed < w->seeds; seed++) {
        struct powercut *copy = powercut_copy("pc-copy", w->disk);
        struct script s;
        struct err err = ERR_INIT;

        powercut_cut(copy, seed * 104729 + (uint64_t)w->events);
        if (script_open(&s, "pc-copy", &err) != E_OK || script_canary(&s, &err) != E_OK)
            fail_msg("after %lld operations: %s", (long long)w->events, err.msg);
        script_close(&s, SCRIPT_STOP);
        assert_true(powercut_free(copy));
    }
    w->busy = false;
}

static void the_power_may_be_cut_while_the_store_is_made(void **state)
{
    struct watcher w = {.seeds = torture() ? 20 : 3};
    struct script s;
    struct err err = ERR_INIT;

    (void)state;
    w.disk = powercut_new("pc-main", 1);
    powercut_watch(w.disk, on_disk_at_birth, &w);
    if (script_open(&s, "pc-main", &err) != E_OK)
        fail_msg("%s", err.msg);
    powercut_watch(w.disk, NULL, NULL);
    script_close(&s, SCRIPT_STOP);
    assert_true(powercut_free(w.disk));
    assert_true(w.events > 5);
}

/* ---- failing disks ---- */

struct fault {
    enum powercut_io io;
    int code;
    int64_t times;
};

/* A step met the fault and was answered with an error: nothing of it is there.  A crash may still
 * bring it to light as a whole, if only its sync failed; then the client's repetition succeeds. */
static void check_refused(struct powercut *disk, struct script *s, size_t step,
                          const struct err *err)
{
    if (err->code != E_FULL && err->code != E_UNAVAILABLE)
        fail_msg("step %zu (%s) fails with %s: %s", step, script_name(step), err_name(err->code),
                 err->msg);
    char *is = dump_store(s->vfs, SCRIPT_FILE);

    if (strcmp(is, states[step]) != 0) {
        char *differs = dump_difference(is, states[step]);

        fail_msg("step %zu (%s) failed and left something\n%s", step, script_name(step), differs);
    }
    free(is);
    for (uint64_t seed = 0; seed < (torture() ? 4 : 1); seed++) {
        struct powercut *copy = powercut_copy("pc-copy", disk);

        powercut_cut(copy, seed);
        check_restart("after a failed step, a power cut", "pc-copy", step, true);
        assert_true(powercut_free(copy));
    }
}

/* Runs the script with the nth operation of a kind failing.  False when there is no nth. */
static bool run_with_fault(const struct fault *f, int64_t nth)
{
    struct powercut *disk = powercut_new("pc-main", (uint64_t)nth);
    struct script s;
    struct err err = ERR_INIT;

    if (script_open(&s, "pc-main", &err) != E_OK)
        fail_msg("%s", err.msg);
    powercut_fail(disk, &(struct powercut_plan){f->io, nth, f->times, f->code});
    for (size_t i = 0; i < script_count(); i++) {
        bool answered = script_step(&s, i, SCRIPT_FIRST, &err) == E_OK;

        if (!answered) {
            if (powercut_failed(disk) == 0)
                fail_msg("step %zu (%s) fails before the fault: %s", i, script_name(i), err.msg);
            check_refused(disk, &s, i, &err);
            powercut_heal(disk);
            if (script_step(&s, i, SCRIPT_AGAIN, &err) != E_OK)
                fail_msg("step %zu (%s) does not succeed after the fault: %s", i, script_name(i),
                         err.msg);
        }
        check_content("a failing disk", "pc-main", i, false);
    }
    bool met = powercut_failed(disk) > 0;

    powercut_heal(disk);
    powercut_cut(disk, (uint64_t)nth);
    script_close(&s, SCRIPT_DROP);
    check_restart("a failing disk, then a power cut", "pc-main", script_count() - 1, false);
    assert_true(powercut_free(disk));
    return met;
}

static void check_faults(const struct fault *f, int64_t stride)
{
    int64_t n = 0;

    for (int64_t nth = 1; run_with_fault(f, nth); nth += torture() ? 1 : stride)
        n++;
    assert_true(n > 3);
    print_message("%lld faults\n", (long long)n);
}

static void any_write_may_fail(void **state)
{
    (void)state;
    check_faults(&(struct fault){POWERCUT_WRITE, SQLITE_IOERR_WRITE, 1}, 17);
}

static void any_write_may_find_the_disk_full(void **state)
{
    (void)state;
    check_faults(&(struct fault){POWERCUT_WRITE, SQLITE_FULL, POWERCUT_FOR_EVER}, 19);
}

static void any_sync_may_fail(void **state)
{
    (void)state;
    check_faults(&(struct fault){POWERCUT_SYNC, SQLITE_IOERR_FSYNC, 1}, 3);
}

static void syncs_may_fail_for_long(void **state)
{
    (void)state;
    check_faults(&(struct fault){POWERCUT_SYNC, SQLITE_IOERR_FSYNC, POWERCUT_FOR_EVER}, 5);
}

static void room_may_run_out_at_any_point(void **state)
{
    (void)state;
    check_faults(&(struct fault){POWERCUT_GROW, SQLITE_FULL, POWERCUT_FOR_EVER}, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_script_changes_something_in_nearly_every_step),
        cmocka_unit_test(the_power_may_be_cut_at_any_point),
        cmocka_unit_test(the_process_may_be_killed_at_any_point),
        cmocka_unit_test(the_power_may_be_cut_while_the_store_is_made),
        cmocka_unit_test(any_write_may_fail),
        cmocka_unit_test(any_write_may_find_the_disk_full),
        cmocka_unit_test(any_sync_may_fail),
        cmocka_unit_test(syncs_may_fail_for_long),
        cmocka_unit_test(room_may_run_out_at_any_point),
    };

    return cmocka_run_group_tests(tests, learn_states, forget_states);
}
