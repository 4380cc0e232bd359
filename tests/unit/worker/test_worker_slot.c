/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "process_fixture.h"
#include "testing.h"
#include "worker/process/empty_dir.h"
#include "worker/run/slot.h"

static struct slots *slots;

static const struct slot_job a_job = {
    .id = {"01JOBJOBJOB00", 13},
    .lease = {"01LEASELEASE0", 13},
    .json = {"{\"id\":\"01JOBJOBJOB00\"}", 22},
};

static int setup(void **state)
{
    struct err err = ERR_INIT;

    return process_setup(state) != 0 ||
                   slots_open(in_dir("data/workers/w"), 3, &slots, &err) != E_OK
               ? -1
               : 0;
}

static int teardown(void **state)
{
    slots_close(slots);
    slots = NULL;
    return process_teardown(state);
}

static void prepare(struct slot *slot, const struct slot_job *job)
{
    struct err err = ERR_INIT;

    if (slot_prepare(slots, slot, job, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static struct stat status_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st;
}

static void run_in(const struct slot *slot, const char *script)
{
    struct spawn s = shell(script, NULL);
    struct spawned started;
    struct err err = ERR_INIT;

    s.dir = slot->dir;
    if (spawn_start(&s, &started, &err) != E_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(await_exit(started.pid), 0);
    shell_done(&s);
}

static void assert_empty(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

    assert_true(fd >= 0);
    assert_true(dir_is_empty(fd));
    close(fd);
    assert_int_equal(status_of(dir).st_mode & 07777, 0700);
}

static void a_slot_has_a_directory_and_a_job_file(void **state)
{
    (void)state;
    struct slot *slot = slot_take(slots);

    prepare(slot, &a_job);
    assert_empty(slot->dir);
    assert_string_equal(read_text("data/workers/w/slots/0/job.json"), a_job.json.data);
    assert_string_equal(slot->job_path, in_dir("data/workers/w/slots/0/job.json"));
    assert_int_equal(status_of(slot->job_path).st_mode & 07777, 0600);
    assert_int_equal(status_of(in_dir("data/workers")).st_mode & 07777, 0711);
    assert_int_equal(status_of(in_dir("data/workers/w/slots/0")).st_mode & 07777, 0711);
    assert_string_equal(slot->record->job, "01JOBJOBJOB00");
    assert_string_equal(slot->record->lease, "01LEASELEASE0");
    assert_string_equal(slot->record->boot, slots_boot(slots));
    assert_int_equal(slot->record->process.pid, 0);
    slot_release(slots, slot);
}

static void slots_are_taken_once_and_the_last_one_first(void **state)
{
    (void)state;
    struct slot *taken[3] = {slot_take(slots), slot_take(slots), slot_take(slots)};

    assert_int_equal(taken[0]->number, 0);
    assert_int_equal(taken[2]->number, 2);
    assert_null(slot_take(slots));
    slot_release(slots, taken[1]);
    assert_ptr_equal(slot_take(slots), taken[1]);
    for (int i = 0; i < 3; i++)
        slot_release(slots, taken[i]);
}

static void directories_are_passable_whatever_the_umask(void **state)
{
    (void)state;
    struct slots *other = NULL;
    struct err err = ERR_INIT;
    mode_t old = umask(077);

    assert_int_equal(slots_open(in_dir("tight/workers/w"), 1, &other, &err), E_OK);
    umask(old);
    assert_int_equal(status_of(in_dir("tight")).st_mode & 07777, 0711);
    assert_int_equal(status_of(in_dir("tight/workers/w/slots")).st_mode & 07777, 0711);
    slots_close(other);
}

static void an_empty_directory_is_used_again(void **state)
{
    (void)state;
    struct slot *slot = slot_take(slots);

    prepare(slot, &a_job);
    struct stat dir = status_of(slot->dir);
    struct stat file = status_of(slot->job_path);

    slot_release(slots, slot);
    struct slot_job shorter = a_job;

    shorter.json = SLICE("{}");
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &shorter);
    assert_int_equal(status_of(slot->dir).st_ino, dir.st_ino);
    assert_int_equal(status_of(slot->job_path).st_ino, file.st_ino);
    assert_string_equal(read_text("data/workers/w/slots/0/job.json"), "{}");
    slot_release(slots, slot);
}

/* Runs the script in a slot and sees that the next job finds all in order. */
static void survives(const char *script)
{
    struct slot *slot = slot_take(slots);

    prepare(slot, &a_job);
    run_in(slot, script);
    slot_release(slots, slot);
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &a_job);
    assert_empty(slot->dir);
    assert_string_equal(read_text("data/workers/w/slots/0/job.json"), a_job.json.data);
    assert_int_equal(status_of(slot->job_path).st_mode & 07777, 0600);
    slot_release(slots, slot);
    while (slots_empty_trash(slots, 1000))
        ;
    assert_empty(in_dir("data/workers/w/trash"));
}

static void what_a_program_leaves_is_removed(void **state)
{
    (void)state;
    survives("mkdir -p a/b/c; echo x > a/b/c/f; echo y > .hidden; mkfifo p; ln -s nowhere l");
    survives("mkdir closed; echo x > closed/f; chmod 000 closed; chmod 000 .");
    survives("echo x >> ../job.json; chmod 000 ../job.json");
    survives("chmod 755 .");
    survives("mkdir .waybill-0 .waybill-1; echo x > .waybill-0/f; mkdir -p d/.waybill-0/e; "
             "echo x > .waybill-2");
}

static void a_program_may_take_its_places_away(void **state)
{
    (void)state;
    survives("rmdir \"$PWD\"");
    survives("mv ../dir ../elsewhere; mkdir ../dir; echo x > ../dir/f");
    survives("rmdir \"$PWD\"; ln -s / ../dir");
    survives("rm ../job.json; mkdir -p ../job.json/x");
    survives("mv ../job.json ../old; ln -s /dev/null ../job.json");
    survives("cd ..; rm -r ../0");
}

static void a_non_root_program_may_lock_itself_out(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        /* The same as somebody who is not root. */
        if (chown(test_dir, 65534, 65534) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
            _exit(1);
        struct err err = ERR_INIT;

        if (slots_open(in_dir("own/workers/w"), 1, &slots, &err) != E_OK)
            _exit(2);
        struct slot *slot = slot_take(slots);

        prepare(slot, &a_job);
        run_in(slot,
               "mkdir -p a/b; echo x > a/b/f; chmod 000 a/b a; mkdir c; chmod 000 c; chmod 000 .");
        slot_release(slots, slot);
        prepare(slot_take(slots), &a_job);
        assert_empty(slot->dir);
        run_in(slot, "mkdir a; chmod 000 a; chmod 000 .");
        slots_close(slots); /* as if killed: the next one finds it so */
        if (slots_open(in_dir("own/workers/w"), 1, &slots, &err) != E_OK)
            _exit(3);
        slot = slot_take(slots);
        prepare(slot, &a_job);
        assert_empty(slot->dir);
        while (slots_empty_trash(slots, 100))
            ;
        assert_empty(in_dir("own/workers/w/trash"));
        _exit(0);
    }
    assert_int_equal(await_exit(pid), 0);
}

static void links_are_removed_and_not_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_dir("precious"), 0755), 0);
    write_text("precious/file", "keep\n", 0644);
    char script[256];

    snprintf(script, sizeof(script), "ln -s %s d; ln -s %s/file f; mkdir e; ln -s %s e/d",
             in_dir("precious"), in_dir("precious"), in_dir("precious"));
    survives(script);
    assert_string_equal(read_text("precious/file"), "keep\n");
}

static void a_mount_is_not_entered(void **state)
{
    (void)state;
    char mount_it[256];
    char leave[256];

    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(in_dir("precious"), 0755), 0);
    write_text("precious/file", "keep\n", 0644);
    struct slot *slot = slot_take(slots);

    prepare(slot, &a_job);
    snprintf(mount_it, sizeof(mount_it), "mkdir -p m/n; mount --bind %s m/n && echo yes",
             in_dir("precious"));
    run_in(slot, mount_it);
    bool mounted = strstr(read_text("out"), "yes") != NULL;

    slot_release(slots, slot);
    (void)slots_empty_trash(slots, 1000);
    assert_string_equal(read_text("precious/file"), "keep\n");
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &a_job);
    assert_empty(slot->dir);
    slot_release(slots, slot);
    snprintf(leave, sizeof(leave),
             "for m in $(grep -o '%s/data[^ ]*' /proc/self/mounts); do umount \"$m\"; done",
             test_dir);
    run_in(slot, leave);
    if (!mounted)
        skip();
}

static void a_large_rest_goes_to_the_trash(void **state)
{
    (void)state;
    struct slot *slot = slot_take(slots);
    unsigned rounds = 0;

    prepare(slot, &a_job);
    run_in(slot, "i=0; while test $i -lt 300; do : > f$i; i=$((i + 1)); done");
    slot_release(slots, slot);
    assert_false(access(in_dir("data/workers/w/trash/0-0"), F_OK) < 0);
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &a_job);
    assert_empty(slot->dir);
    while (slots_empty_trash(slots, 50))
        rounds++;
    assert_true(rounds >= 4);
    assert_empty(in_dir("data/workers/w/trash"));
    slot_release(slots, slot);
}

static void a_tree_deeper_than_there_are_descriptors_is_removed(void **state)
{
    (void)state;
    struct rlimit old;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    const struct rlimit few = {.rlim_cur = 40, .rlim_max = old.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    survives("exec perl -e 'for (1..200) { mkdir q(d); open F, q(>f); chdir q(d) or die } exit 0'");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void a_directory_belongs_to_the_user_of_its_job(void **state)
{
    (void)state;
    struct spawn_user *nobody = NULL;
    struct err err = ERR_INIT;
    struct slot *slot = slot_take(slots);

    if (geteuid() != 0)
        skip();
    assert_int_equal(spawn_user_find(SLICE("nobody"), &nobody, &err), E_OK);
    struct slot_job job = a_job;

    job.user = nobody;
    prepare(slot, &job);
    struct stat dir = status_of(slot->dir);

    assert_int_equal(dir.st_uid, nobody->uid);
    assert_int_equal(status_of(slot->job_path).st_uid, nobody->uid);
    struct spawn s = shell("cat ../job.json > copy && touch x && ls /proc/self/fd >/dev/null",
                           NULL);
    struct spawned started;

    s.user = nobody;
    s.dir = slot->dir;
    assert_int_equal(spawn_start(&s, &started, &err), E_OK);
    assert_int_equal(await_exit(started.pid), 0);
    shell_done(&s);
    slot_release(slots, slot);
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &job);
    assert_int_equal(status_of(slot->dir).st_ino, dir.st_ino);
    slot_release(slots, slot);
    assert_ptr_equal(slot_take(slots), slot);
    prepare(slot, &a_job);
    assert_int_equal(status_of(slot->dir).st_uid, 0);
    assert_int_equal(status_of(slot->job_path).st_uid, 0);
    assert_empty(slot->dir);
    slot_release(slots, slot);
    spawn_user_free(nobody);
}

static void a_second_worker_of_that_name_is_refused(void **state)
{
    (void)state;
    struct slots *second = NULL;
    struct err err = ERR_INIT;
    char want[128];

    assert_int_equal(slots_open(in_dir("data/workers/w"), 3, &second, &err), E_CONFLICT);
    snprintf(want, sizeof(want), "a worker named w runs here already (pid %ld): give --name",
             (long)getpid());
    assert_string_equal(err.msg, want);
}

static void records_outlive_the_worker_that_made_them(void **state)
{
    (void)state;
    struct slot *slot = slot_take(slots);
    struct err err = ERR_INIT;

    slot_take(slots);
    slot = slot_take(slots);
    prepare(slot, &a_job);
    slot->record->process.pid = 12345;
    slots_close(slots);
    assert_int_equal(slots_open(in_dir("data/workers/w"), 1, &slots, &err), E_OK);
    assert_int_equal(slots_registry(slots)->count, 3 + SLOT_ENDS_MAX);
    assert_int_equal(process_registry_at(slots_registry(slots), 2)->process.pid, 12345);
    assert_string_equal(process_registry_at(slots_registry(slots), 2)->lease, "01LEASELEASE0");
}

static void records_that_cannot_be_believed_are_begun_anew(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char noise[5000];

    slots_close(slots);
    memset(noise, 'x', sizeof(noise) - 1);
    noise[sizeof(noise) - 1] = '\0';
    write_text("data/workers/w/records", noise, 0600);
    assert_int_equal(slots_open(in_dir("data/workers/w"), 2, &slots, &err), E_OK);
    assert_int_equal(slots_registry(slots)->count, 2 + SLOT_ENDS_MAX);
    assert_int_equal(process_registry_at(slots_registry(slots), 1)->process.pid, 0);
    process_registry_at(slots_registry(slots), 1)->process.pid = 7;
    slots_close(slots);
    int fd = open(in_dir("data/workers/w/records"), O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, "\xff", 1, 16), 1); /* of another version */
    close(fd);
    assert_int_equal(slots_open(in_dir("data/workers/w"), 2, &slots, &err), E_OK);
    assert_int_equal(process_registry_at(slots_registry(slots), 1)->process.pid, 0);
}

static void another_job_for_the_same_program_is_recorded(void **state)
{
    (void)state;
    struct slot *slot = slot_take(slots);

    prepare(slot, &a_job);
    slot->record->process.pid = 4711;
    process_record_change(slot->record, SLICE("01NEXTNEXT000"), SLICE("01LEASELEASE1"));
    assert_int_equal(slot->record->process.pid, 4711);
    assert_string_equal(slot->record->job, "01NEXTNEXT000");
    assert_string_equal(slot->record->lease, "01LEASELEASE1");
    assert_string_equal(slot->record->mark, "01LEASELEASE0");
    slot_release(slots, slot);
    assert_int_equal(slot->record->process.pid, 0);
}

static unsigned ends_noted(void)
{
    const struct process_registry *records = slots_registry(slots);
    unsigned n = 0;

    for (unsigned i = 0; i < records->count; i++)
        n += process_registry_at(records, i)->process.pid == PROCESS_RECORD_ENDED;
    return n;
}

static void an_end_that_was_not_told_is_known_to_the_next_worker(void **state)
{
    struct err err = ERR_INIT;
    struct process_record *told = slots_note_end(slots, SLICE("01A"), SLICE("01B"));

    (void)state;
    assert_non_null(told);
    assert_non_null(slots_note_end(slots, SLICE("01C"), SLICE("01D")));
    process_record_end(told);
    slots_close(slots);
    assert_int_equal(slots_open(in_dir("data/workers/w"), 3, &slots, &err), E_OK);
    assert_int_equal(ends_noted(), 1);
    for (unsigned i = 1; i < SLOT_ENDS_MAX; i++)
        assert_non_null(slots_note_end(slots, SLICE("01E"), SLICE("01F")));
    assert_null(slots_note_end(slots, SLICE("01G"), SLICE("01H")));
}

static void a_path_that_is_no_directory_is_refused(void **state)
{
    (void)state;
    struct slots *other = NULL;
    struct err err = ERR_INIT;

    write_text("file", "", 0600);
    assert_int_equal(slots_open(in_dir("file/w"), 1, &other, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "Not a directory"));
    assert_int_equal(slots_open(in_dir("x"), 0, &other, &err), E_INVALID);
    assert_int_equal(slots_open(in_dir("x"), SLOT_COUNT_MAX + 1, &other, &err), E_INVALID);
    assert_int_equal(slots_open("", 1, &other, &err), E_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slot_has_a_directory_and_a_job_file),
        TEST(an_end_that_was_not_told_is_known_to_the_next_worker),
        TEST(slots_are_taken_once_and_the_last_one_first),
        TEST(directories_are_passable_whatever_the_umask),
        TEST(an_empty_directory_is_used_again),
        TEST(what_a_program_leaves_is_removed),
        TEST(a_program_may_take_its_places_away),
        TEST(a_non_root_program_may_lock_itself_out),
        TEST(links_are_removed_and_not_followed),
        TEST(a_mount_is_not_entered),
        TEST(a_large_rest_goes_to_the_trash),
        TEST(a_tree_deeper_than_there_are_descriptors_is_removed),
        TEST(a_directory_belongs_to_the_user_of_its_job),
        TEST(a_second_worker_of_that_name_is_refused),
        TEST(records_outlive_the_worker_that_made_them),
        TEST(records_that_cannot_be_believed_are_begun_anew),
        TEST(another_job_for_the_same_program_is_recorded),
        TEST(a_path_that_is_no_directory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
