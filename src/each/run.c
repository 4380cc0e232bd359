/* SPDX-License-Identifier: MIT */
#include "each/run.h"

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

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "server/server.h"

#define IDENTITY_MAX ((size_t)1 << 20)
#define KEEP_US (30 * US_PER_DAY) /* of a finished run */

/* An old server sees the end of its parent at once and needs a moment to close its store. */
#define STORE_PATIENCE_US (15 * US_PER_S)
#define STORE_TERM_US (3 * US_PER_S)
#define STORE_KILL_US (9 * US_PER_S)
#define LOOK_AGAIN_US (5 * US_PER_MS)

void each_run_close(struct each_run *r)
{
    free(r->dir);
    free(r->store);
    free(r->cwd);
    own_dir_close(&r->own);
    *r = EACH_RUN_INIT;
}

/* ---- who it is ---- */

static enum err_code add_identity(const struct each_command *c, const char *cwd, struct buf *out,
                                  struct err *err)
{
    CLEANUP(buf) struct buf separator = BUF_INIT(IDENTITY_MAX);

    for (size_t i = 0; i < c->separator.size; i++)
        buf_addf(&separator, "%02x", (unsigned char)c->separator.data[i]);
    if (!utf8_valid(slice_of(cwd)))
        return err_set(err, E_INVALID, "the name of this directory is not UTF-8");
    buf_add_str(out, "{\"directory\":");
    jtext_add_string(out, slice_of(cwd));
    buf_add_str(out, ",\"command\":[");
    for (size_t i = 0; i < c->n_words; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(c->words[i]));
    }
    buf_addf(out, "],\"colsep\":\"%s\"", buf_text(&separator));
    if (c->lines > 1)
        jtext_put_int(out, "lines", (int64_t)c->lines);
    buf_add_str(out, "}\n");
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "the command is longer than %zu bytes", IDENTITY_MAX);
    return E_OK;
}

/* ---- files ---- */

static bool is_there(const struct each_run *r, const char *name)
{
    return faccessat(r->own.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* On disk when it returns: content, and its name. */
static enum err_code write_file(const struct each_run *r, const char *name, struct slice content,
                                struct err *err)
{
    int fd = openat(r->own.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_file(err, "make a file in", r->dir);
    if (write(fd, content.data, content.size) != (ssize_t)content.size || fsync(fd) < 0 ||
        fsync(r->own.fd) < 0) {
        enum err_code code = err_file(err, "write a file in", r->dir);

        close(fd);
        return code;
    }
    close(fd);
    return E_OK;
}

/* Checks that the directory holds this run, or nothing. */
static enum err_code check_identity(const struct each_run *r, struct slice identity,
                                    struct err *err)
{
    CLEANUP(buf) struct buf found = BUF_INIT(IDENTITY_MAX + 1);
    int fd = openat(r->own.fd, EACH_RUN_IDENTITY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return errno == ENOENT ? write_file(r, EACH_RUN_IDENTITY, identity, err)
                               : err_file(err, "open " EACH_RUN_IDENTITY " in", r->dir);
    char *room = buf_reserve(&found, identity.size + 1);
    ssize_t n = room == NULL ? -1 : read(fd, room, identity.size + 1);

    close(fd);
    if (n == 0 || (n > 0 && n < (ssize_t)identity.size && !is_there(r, EACH_RUN_STORE)))
        return write_file(r, EACH_RUN_IDENTITY, identity,
                          err); /* cut off when it was first written */
    if (n < 0 || !slice_equal(slice_make(room, (size_t)n), identity))
        return err_set(err, E_CONFLICT, "%s is of another run: remove it", r->dir);
    return E_OK;
}

/* Its identity, and the paths that follow from it. */
static enum err_code name_run(struct each_run *r, const char *data_dir,
                              const struct each_command *command, struct buf *identity,
                              struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX);

    r->cwd = getcwd(NULL, 0);
    if (r->cwd == NULL)
        return err_errno(err, E_INVALID, "the current directory");
    if (add_identity(command, r->cwd, identity, err) != E_OK)
        return err->code;
    buf_addf(&path, "%s/each/%016" PRIx64, data_dir, slice_hash(buf_slice(identity)));
    r->dir = buf_take(&path);
    buf_addf(&path, "%s/" EACH_RUN_STORE, r->dir);
    if (path.overflowed)
        return err_set(err, E_INVALID, "the path of the data directory is too long");
    r->store = buf_take(&path);
    return E_OK;
}

enum err_code each_run_find_unfinished(const char *data_dir, const struct each_command *command,
                                       bool *ret_found, struct err *err)
{
    CLEANUP(each_run) struct each_run r = EACH_RUN_INIT;
    CLEANUP(buf) struct buf identity = BUF_INIT(IDENTITY_MAX);
    CLEANUP(buf) struct buf finished = BUF_INIT(PATH_MAX);

    if (name_run(&r, data_dir, command, &identity, err) != E_OK)
        return err->code;
    buf_addf(&finished, "%s/" EACH_RUN_FINISHED, r.dir);
    *ret_found = access(r.store, F_OK) == 0 && access(buf_text(&finished), F_OK) != 0;
    return E_OK;
}

enum err_code each_run_open(const char *data_dir, const struct each_command *command,
                            struct each_run *ret_run, struct err *err)
{
    CLEANUP(each_run) struct each_run r = EACH_RUN_INIT;
    CLEANUP(buf) struct buf identity = BUF_INIT(IDENTITY_MAX);

    if (name_run(&r, data_dir, command, &identity, err) != E_OK ||
        own_dir_open(r.dir, "the directory of the run", EACH_RUN_LOCK, &r.own, err) != E_OK)
        return err->code;
    if (r.own.holder == 0 && check_identity(&r, buf_slice(&identity), err) != E_OK)
        return err->code;
    r.is_there = is_there(&r, EACH_RUN_STORE);
    r.is_finished = is_there(&r, EACH_RUN_FINISHED);
    r.has_all_lines = r.is_finished || is_there(&r, EACH_RUN_REOPENED);
    *ret_run = r;
    r = EACH_RUN_INIT;
    return E_OK;
}

enum err_code each_run_busy(const struct each_run *r, struct err *err)
{
    if (r->own.holder > 0)
        return err_set(err, E_CONFLICT, "this run is already active (process id %d)",
                       r->own.holder);
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

enum err_code each_run_begin_anew(struct each_run *r, struct err *err)
{
    /* `finished` is removed last: a process killed in between starts here again. */
    if (r->is_there && !r->is_finished) {
        if (write_file(r, EACH_RUN_FINISHED, SLICE("given up\n"), err) != E_OK)
            return err->code;
    }
    if (r->is_there && nftw(r->store, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return err_file(err, "remove", r->store);
    if ((unlinkat(r->own.fd, EACH_RUN_PRINTED, 0) < 0 && errno != ENOENT) ||
        (unlinkat(r->own.fd, EACH_RUN_REOPENED, 0) < 0 && errno != ENOENT) ||
        (unlinkat(r->own.fd, EACH_RUN_FINISHED, 0) < 0 && errno != ENOENT))
        return err_file(err, "remove what the last run left in", r->dir);
    (void)utimensat(r->own.fd, EACH_RUN_IDENTITY, NULL, 0); /* its time is when the run began */
    r->is_there = r->is_finished = r->has_all_lines = false;
    return E_OK;
}

enum err_code each_run_finish(struct each_run *r, struct err *err)
{
    if (write_file(r, EACH_RUN_FINISHED, SLICE("finished\n"), err) != E_OK)
        return err->code;
    (void)!unlinkat(r->own.fd, EACH_RUN_REOPENED, 0);
    r->is_finished = r->has_all_lines = true;
    return E_OK;
}

enum err_code each_run_reopen(struct each_run *r, struct err *err)
{
    if (renameat(r->own.fd, EACH_RUN_FINISHED, r->own.fd, EACH_RUN_REOPENED) < 0 ||
        fsync(r->own.fd) < 0)
        return err_file(err, "rename a file in", r->dir);
    r->is_finished = false;
    return E_OK;
}

enum err_code each_run_grows(struct each_run *r, struct err *err)
{
    if (unlinkat(r->own.fd, EACH_RUN_REOPENED, 0) < 0 || fsync(r->own.fd) < 0)
        return err_file(err, "remove a file in", r->dir);
    r->has_all_lines = false;
    return E_OK;
}

/* ---- old runs ---- */

static bool is_old(int runs_fd, const char *name, int64_t now_at)
{
    char path[NAME_MAX + sizeof("/" EACH_RUN_FINISHED)];
    struct stat st;

    snprintf(path, sizeof(path), "%s/" EACH_RUN_FINISHED, name);
    return fstatat(runs_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           now_at / US_PER_S - st.st_mtime > KEEP_US / US_PER_S;
}

/* The lock is held, so a process that starts the same run now is refused and not disturbed. */
static void remove_run(int runs_fd, const char *runs, const char *name)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX);

    buf_addf(&path, "%s/%s/" EACH_RUN_LOCK, runs, name);
    int lock_fd = open(buf_text(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    path.size -= sizeof("/" EACH_RUN_LOCK) - 1;
    path.data[path.size] = '\0';
    if (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB) == 0 &&
        is_old(runs_fd, name, clock_wall_us()))
        (void)nftw(path.data, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (lock_fd >= 0)
        close(lock_fd);
}

void each_run_sweep(const char *data_dir)
{
    CLEANUP(buf) struct buf runs = BUF_INIT(PATH_MAX - NAME_MAX - 8);
    int64_t now_at = clock_wall_us();

    buf_addf(&runs, "%s/each", data_dir);
    DIR *dir = runs.overflowed ? NULL : opendir(buf_text(&runs));

    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && is_old(dirfd(dir), entry->d_name, now_at))
            remove_run(dirfd(dir), buf_text(&runs), entry->d_name);
    closedir(dir);
}

/* ---- the server before ---- */

enum err_code each_run_wait_for_store(const struct each_run *r, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_US * 1000};
    int64_t from_at = clock_mono_us();
    int64_t next_urge_at = from_at + STORE_TERM_US;
    int fd = openat(r->own.fd, EACH_RUN_STORE "/" SERVER_LOCK_NAME, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? E_OK : err_file(err, "open the lock of", r->store);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int64_t now_at = clock_mono_us();

        if (errno != EWOULDBLOCK || now_at - from_at > STORE_PATIENCE_US) {
            close(fd);
            return err_set(err, E_UNAVAILABLE, "the store %s is in use by another server",
                           r->store);
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
