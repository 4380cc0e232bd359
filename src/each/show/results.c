/* SPDX-License-Identifier: MIT */
#include "each/show/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/own_dir.h"

enum err_code each_results_open(const char *dir, int *ret_fd, struct err *err)
{
    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return err_file(err, "make the directory --results", dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_file(err, "open the directory --results", dir);
    *ret_fd = fd;
    return E_OK;
}

static enum err_code write_file(int dir_fd, const char *path, struct slice data, struct err *err)
{
    int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return err_file(err, "make the result", path);
    enum err_code code = file_write_all(fd, data) ? E_OK : err_file(err, "write the result", path);

    if (close(fd) < 0 && code == E_OK)
        code = err_file(err, "write the result", path);
    return code;
}

enum err_code each_results_write(int dir_fd, int64_t line, const struct each_output *output,
                                 struct err *err)
{
    char path[48];

    snprintf(path, sizeof(path), "%" PRId64, line);
    if (mkdirat(dir_fd, path, 0777) < 0 && errno != EEXIST)
        return err_file(err, "make the directory of a result", path);
    snprintf(path, sizeof(path), "%" PRId64 "/stdout", line);
    if (write_file(dir_fd, path, output->out, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "%" PRId64 "/stderr", line);
    return write_file(dir_fd, path, output->errors, err);
}
