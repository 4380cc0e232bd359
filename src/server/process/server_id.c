/* SPDX-License-Identifier: MIT */
#include "server/process/server_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/random.h>
#include <sys/stat.h>

#define FILE_NEW SERVER_ID_NAME ".new"
#define FILE_MAX 512

static enum err_code refuse(struct err *err, const char *what)
{
    enum err_code code = E_INTERNAL;

    if (errno == ENOSPC || errno == EDQUOT)
        code = E_FULL;
    else if (errno == EACCES || errno == EPERM || errno == EROFS)
        code = E_FORBIDDEN;
    return err_errno(err, code, "%s " SERVER_ID_NAME " in the data directory", what);
}

/* False: there is none, it was made elsewhere, or it is incomplete. */
static enum err_code read_file(int dir_fd, const char *place, char id[static ID_TEXT_SIZE],
                               bool *ret_found, struct err *err)
{
    char text[FILE_MAX] = "";
    int64_t value;
    int fd = openat(dir_fd, SERVER_ID_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

    *ret_found = false;
    if (fd < 0)
        return errno == ENOENT ? E_OK : refuse(err, "open");
    ssize_t n = read(fd, text, sizeof(text) - 1);

    if (n < 0)
        (void)refuse(err, "read");
    close(fd);
    if (n < 0)
        return err->code;
    const size_t size = ID_TEXT_SIZE - 1;

    if ((size_t)n <= size || !id_parse(slice_make(text, size), &value) ||
        strcmp(text + size, place) != 0)
        return E_OK;
    id_format(value, id);
    *ret_found = true;
    return E_OK;
}

/* Writes the whole file or nothing. */
static enum err_code write_file(int dir_fd, struct slice text, struct err *err)
{
    int fd = openat(dir_fd, FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return refuse(err, "make");
    ssize_t n = write(fd, text.data, text.size);

    if (n >= 0 && (size_t)n < text.size)
        errno = ENOSPC;
    if (n != (ssize_t)text.size || fsync(fd) != 0)
        (void)refuse(err, "write");
    close(fd);
    if (err->code == E_OK &&
        (renameat(dir_fd, FILE_NEW, dir_fd, SERVER_ID_NAME) < 0 || fsync(dir_fd) < 0))
        (void)refuse(err, "write");
    if (err->code != E_OK)
        (void)unlinkat(dir_fd, FILE_NEW, 0);
    return err->code;
}

enum err_code server_id_get(int dir_fd, const char *host, char ret_id[static ID_TEXT_SIZE],
                            struct err *err)
{
    char place[FILE_MAX / 2];
    char text[FILE_MAX];
    char id[ID_TEXT_SIZE];
    bool found = false;

    /* What a file that was made here has behind its id. */
    struct stat st;

    if (fstat(dir_fd, &st) < 0)
        return refuse(err, "look for");
    snprintf(place, sizeof(place), " %.200s %llu\n", host, (unsigned long long)st.st_ino);
    if (read_file(dir_fd, place, id, &found, err) != E_OK)
        return err->code;
    if (!found) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return err_errno(err, E_INTERNAL, "ask the system for random bytes");
        id_format((int64_t)(random >> 1), id);
        snprintf(text, sizeof(text), "%s%s", id, place);
        if (write_file(dir_fd, slice_of(text), err) != E_OK)
            return err->code;
    }
    memcpy(ret_id, id, sizeof(id));
    return E_OK;
}
