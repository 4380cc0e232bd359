/* SPDX-License-Identifier: MIT */
#include "worker/talk/instance.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os/log.h"

#define INSTANCE_NAME "instance"

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
}

static void find_previous(struct instance *i)
{
    char text[INSTANCE_SIZE + PLACE_SIZE + 2];
    size_t n = INSTANCE_SIZE - 1;

    read_text(i->path, text, sizeof(text));
    if (strspn(text, "0123456789abcdef") == n && text[n] == ' ' &&
        strcmp(text + n + 1, i->place) == 0) {
        memcpy(i->previous, text, n);
        i->previous[n] = '\0';
    }
}

/* Device and inode tell a copy of the directory from the original. */
static enum err_code find_place(struct instance *i, const char *dir, struct err *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return err_errno(err, E_INTERNAL, "look at %s", dir);
    snprintf(i->place, sizeof(i->place), "%" PRIu64 ":%" PRIu64 "\n", (uint64_t)st.st_dev,
             (uint64_t)st.st_ino);
    return E_OK;
}

enum err_code instance_open(struct instance *i, const char *dir, struct err *err)
{
    uint64_t random[2];
    size_t size = strlen(dir) + sizeof(INSTANCE_NAME) + 1;

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return err_errno(err, E_INTERNAL, "ask the system for random bytes");
    *i = (struct instance){.path = mem_alloc(size)};
    snprintf(i->path, size, "%s/%s", dir, INSTANCE_NAME);
    snprintf(i->own, sizeof(i->own), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    if (find_place(i, dir, err) != E_OK)
        return err->code;
    find_previous(i);
    return E_OK;
}

void instance_close(struct instance *i)
{
    free(i->path);
    i->path = NULL;
}

/* Written to a new file and renamed, so that a crash leaves either the old or the new one. */
static bool write_file(const struct instance *i, const char *beside)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return false;
    bool ok = dprintf(fd, "%s %s", i->own, i->place) > 0;

    ok = close(fd) == 0 && ok;
    return ok && rename(beside, i->path) == 0;
}

void instance_keep(struct instance *i)
{
    size_t size = strlen(i->path) + sizeof(".new");
    CLEANUP(mem) char *beside = mem_alloc(size);

    if (i->kept)
        return;
    i->kept = true;
    snprintf(beside, size, "%s.new", i->path);
    if (!write_file(i, beside))
        log_warn("%s cannot be written: the next worker of this name will have to wait for the "
                 "lease of this one if it is killed",
                 i->path);
}
