/* SPDX-License-Identifier: MIT */
#include "own/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "server/server.h"

/* An old server sees the end of its parent at once and needs a moment to close its store. */
#define STORE_PATIENCE_US (15 * US_PER_S)
#define STORE_TERM_US (3 * US_PER_S)
#define STORE_KILL_US (9 * US_PER_S)
#define LOOK_AGAIN_US (5 * US_PER_MS)

void run_dir_close(struct run_dir *d)
{
    free(d->path);
    free(d->store);
    own_dir_close(&d->own);
    *d = RUN_DIR_INIT;
}

enum err_code run_dir_name(struct run_dir *d, const char *data_dir, const char *kind,
                           struct slice identity, struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX);

    buf_addf(&path, "%s/%s/%016" PRIx64, data_dir, kind, slice_hash(identity));
    d->path = buf_take(&path);
    buf_addf(&path, "%s/" RUN_DIR_STORE, d->path);
    if (path.overflowed)
        return err_set(err, E_INVALID, "the path of the data directory is too long");
    d->store = buf_take(&path);
    return E_OK;
}

/* ---- files ---- */

bool run_dir_has(const struct run_dir *d, const char *name)
{
    return faccessat(d->own.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum err_code run_dir_write(const struct run_dir *d, const char *name, struct slice content,
                            struct err *err)
{
    int fd = openat(d->own.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_file(err, "make a file in", d->path);
    if (write(fd, content.data, content.size) != (ssize_t)content.size || fsync(fd) < 0 ||
        fsync(d->own.fd) < 0) {
        enum err_code code = err_file(err, "write a file in", d->path);

        close(fd);
        return code;
    }
    close(fd);
    return E_OK;
}

enum err_code run_dir_remove(const struct run_dir *d, const char *name, struct err *err)
{
    if (unlinkat(d->own.fd, name, 0) < 0 && errno != ENOENT)
        return err_file(err, "remove what the last run left in", d->path);
    return E_OK;
}

/* Checks that the directory holds this run, or nothing. */
static enum err_code check_identity(const struct run_dir *d, struct slice identity, struct err *err)
{
    CLEANUP(buf) struct buf found = BUF_INIT(RUN_DIR_IDENTITY_MAX + 1);
    int fd = openat(d->own.fd, RUN_DIR_IDENTITY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return errno == ENOENT ? run_dir_write(d, RUN_DIR_IDENTITY, identity, err)
                               : err_file(err, "open " RUN_DIR_IDENTITY " in", d->path);
    char *room = buf_reserve(&found, identity.size + 1);
    ssize_t n = room == NULL ? -1 : read(fd, room, identity.size + 1);

    close(fd);
    if (n == 0 || (n > 0 && n < (ssize_t)identity.size && !run_dir_has(d, RUN_DIR_STORE)))
        return run_dir_write(d, RUN_DIR_IDENTITY, identity,
                             err); /* cut off when it was first written */
    if (n < 0 || !slice_equal(slice_make(room, (size_t)n), identity))
        return err_set(err, E_CONFLICT, "%s is of another run: remove it", d->path);
    return E_OK;
}

enum err_code run_dir_open(struct run_dir *d, struct slice identity, struct err *err)
{
    if (own_dir_open(d->path, "the directory of the run", RUN_DIR_LOCK, &d->own, err) != E_OK)
        return err->code;
    if (d->own.holder == 0 && check_identity(d, identity, err) != E_OK)
        return err->code;
    d->is_there = run_dir_has(d, RUN_DIR_STORE);
    d->is_finished = run_dir_has(d, RUN_DIR_FINISHED);
    return E_OK;
}

enum err_code run_dir_busy(const struct run_dir *d, struct err *err)
{
    if (d->own.holder > 0)
        return err_set(err, E_CONFLICT, "this run is already active (process id %d)",
                       d->own.holder);
    return err_set(err, E_CONFLICT, "this run is already active");
}

/* ---- start and end ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

enum err_code run_dir_clear(struct run_dir *d, const char *const *names, struct err *err)
{
    if (d->is_there && !d->is_finished &&
        run_dir_write(d, RUN_DIR_FINISHED, SLICE("given up\n"), err) != E_OK)
        return err->code;
    if (d->is_there && nftw(d->store, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return err_file(err, "remove", d->store);
    for (; *names != NULL; names++)
        if (run_dir_remove(d, *names, err) != E_OK)
            return err->code;
    if (run_dir_remove(d, RUN_DIR_FINISHED, err) != E_OK)
        return err->code;
    (void)utimensat(d->own.fd, RUN_DIR_IDENTITY, NULL, 0); /* its time is when the run began */
    d->is_there = d->is_finished = false;
    return E_OK;
}

enum err_code run_dir_finish(struct run_dir *d, struct err *err)
{
    if (run_dir_write(d, RUN_DIR_FINISHED, SLICE("finished\n"), err) != E_OK)
        return err->code;
    d->is_finished = true;
    return E_OK;
}

/* ---- old runs ---- */

static bool is_old(int runs_fd, const char *name, int64_t before_at)
{
    char path[NAME_MAX + sizeof("/" RUN_DIR_FINISHED)];
    struct stat st;

    snprintf(path, sizeof(path), "%s/" RUN_DIR_FINISHED, name);
    return fstatat(runs_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtime < before_at / US_PER_S;
}

/* The lock is held, so a process that starts the same run now is refused and not disturbed. */
static void remove_run(int runs_fd, const char *runs, const char *name, int64_t before_at)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX);

    buf_addf(&path, "%s/%s/" RUN_DIR_LOCK, runs, name);
    int lock_fd = open(buf_text(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    path.size -= sizeof("/" RUN_DIR_LOCK) - 1;
    path.data[path.size] = '\0';
    if (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB) == 0 && is_old(runs_fd, name, before_at))
        (void)nftw(path.data, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (lock_fd >= 0)
        close(lock_fd);
}

void run_dir_sweep(const char *data_dir, const char *kind, int64_t keep_us)
{
    CLEANUP(buf) struct buf runs = BUF_INIT(PATH_MAX - NAME_MAX - 8);
    int64_t before_at = clock_wall_us() - keep_us;

    buf_addf(&runs, "%s/%s", data_dir, kind);
    DIR *dir = runs.overflowed ? NULL : opendir(buf_text(&runs));

    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && is_old(dirfd(dir), entry->d_name, before_at))
            remove_run(dirfd(dir), buf_text(&runs), entry->d_name, before_at);
    closedir(dir);
}

/* ---- the server before ---- */

enum err_code run_dir_wait_for_store(const struct run_dir *d, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_US * 1000};
    int64_t from_at = clock_mono_us();
    int64_t next_urge_at = from_at + STORE_TERM_US;
    int fd = openat(d->own.fd, RUN_DIR_STORE "/" SERVER_LOCK_NAME, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? E_OK : err_file(err, "open the lock of", d->store);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int64_t now_at = clock_mono_us();

        if (errno != EWOULDBLOCK || now_at - from_at > STORE_PATIENCE_US) {
            close(fd);
            return err_set(err, E_UNAVAILABLE, "the store %s is in use by another server",
                           d->store);
        }
        if (now_at >= next_urge_at) {
            int64_t waited_us = now_at - from_at;
            int pid = own_dir_holder(fd);

            if (pid > 1 && waited_us >= STORE_TERM_US)
                kill(pid, waited_us >= STORE_KILL_US ? SIGKILL : SIGTERM);
            next_urge_at = now_at + US_PER_S;
        }
        nanosleep(&pause, NULL);
    }
    close(fd);
    return E_OK;
}
