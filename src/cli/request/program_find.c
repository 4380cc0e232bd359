/* SPDX-License-Identifier: MIT */
#include "cli/request/program_find.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define PATH_STANDARD "/usr/local/bin:/usr/bin:/bin"

static int file_fault(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

static int fault_in_path(const char *name)
{
    const char *path = getenv("PATH");
    int worst = ENOENT;

    for (const char *at = path != NULL ? path : PATH_STANDARD; at != NULL;) {
        size_t size = strcspn(at, ":");
        CLEANUP(buf) struct buf file = BUF_INIT(2 * PATH_MAX);

        buf_add(&file, size > 0 ? at : ".", size > 0 ? size : 1);
        buf_addf(&file, "/%s", name);
        int fault = file.overflowed ? ENAMETOOLONG : file_fault(buf_text(&file));

        if (fault == 0)
            return 0;
        if (fault == EACCES)
            worst = EACCES;
        at = at[size] == ':' ? at + size + 1 : NULL;
    }
    return worst;
}

int program_fault(const char *word)
{
    return strchr(word, '/') != NULL ? file_fault(word) : fault_in_path(word);
}
