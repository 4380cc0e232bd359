/* SPDX-License-Identifier: MIT */
#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "testing.h"

static void what_was_written_is_read_whole(void **state)
{
    CLEANUP(buf) struct buf data = BUF_INIT(100000);
    CLEANUP(buf) struct buf back = BUF_INIT(100000);
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    for (int i = 0; i < 100000; i++)
        buf_add_char(&data, (char)(i % 251));
    assert_true(file_write_all(fileno(file), buf_slice(&data)));
    assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
    assert_true(file_read_all(fileno(file), &back));
    assert_true(slice_equal(buf_slice(&data), buf_slice(&back)));
    assert_int_equal(fclose(file), 0);
}

static void what_is_too_large_overflows_the_buffer(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(10000);
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0 && file_read_all(fd, &out));
    assert_true(out.overflowed);
    close(fd);
}

static void failures_are_told_with_errno(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(10);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    assert_false(file_write_all(full, SLICE("x")));
    assert_int_equal(errno, ENOSPC);
    assert_false(file_read_all(dir, &out));
    assert_int_equal(errno, EISDIR);
    close(full);
    close(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_whole),
        cmocka_unit_test(what_is_too_large_overflows_the_buffer),
        cmocka_unit_test(failures_are_told_with_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
