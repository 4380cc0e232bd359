/* SPDX-License-Identifier: MIT */
#include "worker/talk/instance.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/os/log.h"

enum {
    LENGTH = INSTANCE_SIZE - 1,
    PLACE_SIZE = 48,
    FILE_SIZE = (INSTANCE_PREVIOUS_MAX + 1) * INSTANCE_SIZE + PLACE_SIZE,
};

/* "INSTANCE INSTANCE … PLACE\n"; anything else has no previous instances. */
static void read_previous(struct instance *i, const char *path, const char *place)
{
    char text[FILE_SIZE] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* it may be a FIFO */
    const char *at = text;

    if (fd >= 0) {
        (void)!read(fd, text, sizeof(text) - 1); /* nothing is read: there were none */
        close(fd);
    }
    while (strspn(at, "0123456789abcdef") == LENGTH && at[LENGTH] == ' ') {
        if (i->n_previous < INSTANCE_PREVIOUS_MAX)
            memcpy(i->previous[i->n_previous++], at, LENGTH);
        at += LENGTH + 1;
    }
    if (strcmp(at, place) != 0)
        i->n_previous = 0;
}

/* Written to a new file and renamed, so that a crash leaves either the old or the new one.  Not
 * synced: after a crash of the machine the boot is another, and no previous instance helps. */
static bool write_file(const struct instance *i, const char *path, const char *beside,
                       const char *place)
{
    (void)!unlink(beside); /* left by a crash, or not of ours */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    bool ok = dprintf(fd, "%s ", i->own) > 0;

    for (size_t k = 0; k < i->n_previous; k++)
        ok = dprintf(fd, "%s ", i->previous[k]) > 0 && ok;
    ok = dprintf(fd, "%s", place) > 0 && ok;
    ok = close(fd) == 0 && ok;
    return ok && rename(beside, path) == 0;
}

enum err_code instance_open(struct instance *i, const char *dir, struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(8192);
    CLEANUP(buf) struct buf beside = BUF_INIT(8192);
    char place[PLACE_SIZE]; /* tells a copy of the directory from the original */
    uint64_t random[2];
    struct stat st;

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return err_errno(err, E_INTERNAL, "ask the system for random bytes");
    if (stat(dir, &st) < 0)
        return err_errno(err, E_INTERNAL, "look at %s", dir);
    *i = (struct instance){.n_previous = 0};
    snprintf(i->own, sizeof(i->own), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    snprintf(place, sizeof(place), "%" PRIu64 ":%" PRIu64 "\n", (uint64_t)st.st_dev,
             (uint64_t)st.st_ino);
    buf_addf(&path, "%s/instance", dir);
    buf_addf(&beside, "%s.new", buf_text(&path));
    read_previous(i, buf_text(&path), place);
    if (!write_file(i, buf_text(&path), buf_text(&beside), place))
        log_warn("%s cannot be written: the next worker of this name will have to wait for the "
                 "lease of this one if it is killed",
                 buf_text(&path));
    return E_OK;
}
