/* SPDX-License-Identifier: MIT */
#include "base/os/zone_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

static char dir[] = "zones-XXXXXX";

static void make_file(const char *name, size_t size)
{
    char path[100];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (size_t i = 0; i < size; i++)
        fputc('x', f);
    assert_int_equal(fclose(f), 0);
}

static int make_zones(void **state)
{
    char path[100];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/Europe", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    make_file("Europe/Berlin", 100);
    make_file("Europe/Dublin", 100);
    make_file("Huge", ZONE_FILE_MAX + 1);
    make_file("posixrules", 1);
    snprintf(path, sizeof(path), "%s/Pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    return 0;
}

static int remove_zones(void **state)
{
    static const char *const made[] = {"Europe/Berlin", "Europe/Dublin", "Huge", "posixrules",
                                       "Pipe",          "Europe",        ""};
    char path[100];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, made[i]);
        (void)remove(path);
    }
    return 0;
}

static void a_name_cannot_leave_the_directory(void **state)
{
    static const char *const bad[] = {"",   "..",  "../x", "Europe/../x", "/etc/passwd", "a//b",
                                      "a/", "a b", "a.b",  "a\nb",        "\xff",        "a\\b"};
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(ZONE_FILE_MAX);

        if (zone_name_is_valid(slice_of(bad[i])))
            fail_msg("'%s' is taken", bad[i]);
        assert_int_equal(zone_file_read(dir, slice_of(bad[i]), &out, &err), E_INVALID);
    }
    assert_false(zone_name_is_valid(slice_make("UTC\0x", 5)));
    assert_true(zone_name_is_valid(SLICE("America/Argentina/Buenos_Aires")));
    assert_true(zone_name_is_valid(SLICE("Etc/GMT+12")));
}

static void an_unknown_zone_is_told_with_the_nearest(void **state)
{
    static const struct {
        const char *name, *says;
    } cases[] = {
        {"Europe/Berln", "unknown time zone 'Europe/Berln', did you mean 'Europe/Berlin'?"},
        {"europe/berlin", "unknown time zone 'europe/berlin', did you mean 'Europe/Berlin'?"},
        {"Berlin", "unknown time zone 'Berlin', did you mean 'Europe/Berlin'?"},
        {"Mars/Dublin", "unknown time zone 'Mars/Dublin', did you mean 'Europe/Dublin'?"},
        {"Nowhere", "unknown time zone 'Nowhere', write it like Europe/Berlin"},
        {"Europe", "'Europe' is a region of time zones, not a time zone"},
        {"Huge", "time zone 'Huge': not a file of at most 64 KiB"},
        {"Pipe", "time zone 'Pipe': not a file of at most 64 KiB"},
        {"Europe/Berlin/X", "unknown time zone 'Europe/Berlin/X', did you mean 'Europe/Berlin'?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(ZONE_FILE_MAX);
        struct err err = ERR_INIT;

        assert_int_equal(zone_file_read(dir, slice_of(cases[i].name), &out, &err), E_INVALID);
        assert_string_equal(err.msg, cases[i].says);
    }
}

static void zones_are_read_from_where_tzdir_says(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(ZONE_FILE_MAX);
    struct err err = ERR_INIT;

    (void)state;
    setenv("TZDIR", dir, 1);
    assert_int_equal(zone_file_read(NULL, SLICE("Europe/Berlin"), &out, &err), E_OK);
    assert_int_equal(out.size, 100);
    setenv("TZDIR", "/nonexistent", 1);
    assert_int_equal(zone_file_read(NULL, SLICE("Europe/Berlin"), &out, &err), E_UNAVAILABLE);
    assert_string_equal(err.msg, "time zone 'Europe/Berlin': there are no time zones in "
                                 "/nonexistent (install tzdata, or set TZDIR)");
    unsetenv("TZDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_cannot_leave_the_directory),
        cmocka_unit_test(an_unknown_zone_is_told_with_the_nearest),
        cmocka_unit_test(zones_are_read_from_where_tzdir_says),
    };

    return cmocka_run_group_tests_name("zone_file", tests, make_zones, remove_zones);
}
