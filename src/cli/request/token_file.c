/* SPDX-License-Identifier: MIT */
#include "cli/request/token_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/os/own_dir.h"

enum err_code token_file_read(const char *file, struct buf *token, struct err *err)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_INVALID, "--token-file %s", file);
    char *room = buf_reserve(token, TOKEN_FILE_MAX);

    ASSERT(room != NULL);
    enum err_code code = own_check(fd, "the token file", file, err);
    ssize_t n = code == E_OK ? read(fd, room, TOKEN_FILE_MAX) : -1;

    if (code == E_OK && n < 0)
        code = err_errno(err, E_INVALID, "--token-file %s", file);
    close(fd);
    if (code != E_OK)
        return code;
    room[n] = '\0';
    room[strcspn(room, "\r\n")] = '\0';
    token->size = strlen(room);
    if (token->size == 0)
        return err_set(err, E_INVALID, "--token-file %s: there is no token in its first line",
                       file);
    return E_OK;
}
