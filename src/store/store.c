/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/os/log.h"
#include "core/definition/store_url.h"
#include "store/copy/copy.h"
#include "store/damage.h"
#include "store/db/module.h"
#include "store/internal.h"
#include "store/meta.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/wal.h"

#define STORE_FILE "waybill.db"
#define META_RUNNING "running"
#define DAMAGE_FILE "damage"

static char *join_path(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = mem_alloc(size);

    snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* Marks that a writer is running; the old mark tells how the last one stopped. */
static enum err_code mark_running(struct store *s, struct err *err)
{
    int64_t running = 0;

    if (store_begin(s, err) != E_OK)
        return err->code;
    if (store_meta_get(s, META_RUNNING, &running, err) != E_OK ||
        store_meta_set(s, META_RUNNING, 1, err) != E_OK || store_commit(s, err) != E_OK) {
        store_rollback(s);
        return err->code;
    }
    s->unclean = running != 0;
    return E_OK;
}

/* A file name is on stable storage once its directory is synced. */
static int sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);

    if (fd >= 0)
        close(fd);
    return rc;
}

/* Adds a line for people and for the next start.  If it cannot be written the store starts anyway:
 * the loss is in the log. */
static void keep_loss(const struct store *s, const char *dir, const char *loss)
{
    char now[TIME_TEXT_SIZE];

    damage_note(s->damage, "%s", loss);
    FILE *file = fopen(s->damage_path, "ae");
    bool written = file != NULL &&
                   fprintf(file, "%s: %s\n", time_format(clock_wall_us(), now), loss) > 0 &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;

    if (file == NULL || fclose(file) != 0 || !written || sync_dir(dir) != 0)
        log_error("write %s: %s: the next start does not know of this loss", s->damage_path,
                  strerror(errno));
}

/* Must run before SQLite recovers the log and drops the frames behind a bad one. */
static enum err_code look_for_losses(const struct store *s, const struct store_config *config,
                                     const char *path, bool *ret_found, struct err *err)
{
    struct wal_loss loss = {0};

    if (s->mode == STORE_WRITE && sqlite_wal_scan(path, config->vfs, &loss, err) != E_OK)
        return err->code;
    *ret_found = loss.commits > 0;
    if (*ret_found) {
        char text[DAMAGE_TEXT_SIZE];

        snprintf(text, sizeof(text),
                 "the write-ahead log was damaged at frame %lld: %lld frames with %lld commits "
                 "behind it are lost",
                 (long long)loss.frame, (long long)loss.frames, (long long)loss.commits);
        keep_loss(s, config->dir, text);
    }
    return E_OK;
}

bool store_read_damage(const struct store *s, char ret_text[static DAMAGE_TEXT_SIZE])
{
    FILE *file = s->damage_path == NULL ? NULL : fopen(s->damage_path, "re");

    if (file == NULL)
        return false;
    ret_text[fread(ret_text, 1, DAMAGE_TEXT_SIZE - 1, file)] = '\0';
    (void)fclose(file);
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return ret_text[0] != '\0';
}

enum err_code store_damaged(struct store *s, struct err *err, const char *fmt, ...)
{
    char text[160];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    damage_note(s->damage, "%s", text);
    err_set(err, E_INTERNAL, "the store is damaged: %s", text);
    err->bad_row = true;
    return err->code;
}

enum err_code store_job_damaged(struct store *s, int64_t job, const char *what, struct err *err)
{
    char id[ID_TEXT_SIZE];

    return store_damaged(s, err, "job %s: %s", id_format(job, id), what);
}

enum err_code store_queue_damaged(struct store *s, int64_t queue, struct err *err)
{
    return store_damaged(s, err, "queue %lld is missing or duplicate", (long long)queue);
}

static enum err_code open_embedded(struct store *s, const struct store_config *config,
                                   struct db **ret_db, struct err *err)
{
    CLEANUP(mem) char *path = join_path(config->dir, STORE_FILE);
    bool lost = false;

    s->damage_path = join_path(config->dir, DAMAGE_FILE);
    if (look_for_losses(s, config, path, &lost, err) != E_OK)
        return err->code;
    struct sqlite_config sqlite = {.path = path,
                                   .vfs = config->vfs,
                                   .read_only = config->mode == STORE_READ,
                                   .read_limit_us = config->read_limit_us,
                                   .damage = config->damage,
                                   .empty_log = lost,
                                   .may_be_new = config->half_copied};

    return sqlite_db_open(&sqlite, ret_db, err);
}

/* Must run before the next commit, which hides the loss of the log. */
static void report_damage(struct store *s, const char *dir)
{
    char damage[DAMAGE_TEXT_SIZE];

    s->log_lost = s->mode == STORE_READ && sqlite_log_is_lost(s->db);
    if (s->mode == STORE_WRITE && sqlite_log_is_lost(s->db))
        keep_loss(s, dir, STORE_LOG_LOST);
    if (store_read_damage(s, damage))
        damage_note(s->damage, "%s", damage);
}

static enum err_code open_remote(const struct store_config *config, struct db **ret_db,
                                 struct err *err)
{
    const struct db_module *module = NULL;
    struct db_config db = {.host = &db_host,
                           .url = config->url,
                           .read_only = config->mode == STORE_READ,
                           .read_limit_us = config->read_limit_us};

    if (db_module_for(config->url, &module, err) != E_OK)
        return err->code;
    return module->open(&db, ret_db, err);
}

enum err_code store_open(const struct store_config *config, struct store **ret_store,
                         struct err *err)
{
    struct store *s = mem_zalloc(sizeof(*s));

    s->mode = config->mode;
    s->damage = config->damage;
    s->shared = config->url != NULL;
    if (s->shared) {
        struct buf shown = BUF_INIT(2 * STORE_URL_MAX);

        store_url_show(slice_of(config->url), &shown);
        s->url = buf_take(&shown);
    }
    enum err_code code = s->shared ? open_remote(config, &s->db, err)
                                   : open_embedded(s, config, &s->db, err);

    if (code == E_OK)
        s->db->damage = config->damage;
    if (code == E_OK)
        code = s->db->driver->migrate(s->db, &s->version, err);
    if (code == E_OK && !config->half_copied && s->version > 0)
        code = store_copy_refuse_half(s, err);
    if (code == E_OK && !s->shared)
        report_damage(s, config->dir);
    /* A shared store has several servers, and its database checks its own files. */
    if (code == E_OK && s->mode == STORE_WRITE && !s->shared)
        code = mark_running(s, err);
    if (code != E_OK) {
        store_abandon(s);
        return code;
    }
    *ret_store = s;
    return E_OK;
}

static void free_store(struct store *s)
{
    ready_cache_clear(&s->ready_cache);
    free(s->url);
    free(s->damage_path);
    free(s);
}

void store_close(struct store *s)
{
    struct err err = ERR_INIT;

    if (s == NULL)
        return;
    if (s->mode == STORE_WRITE && !s->broken && !s->shared && store_begin(s, &err) == E_OK &&
        (store_meta_set(s, META_RUNNING, 0, &err) != E_OK || store_commit(s, &err) != E_OK))
        store_rollback(s);
    db_close(s->db, DB_CLOSE_CLEAN);
    free_store(s);
}

void store_abandon(struct store *s)
{
    db_close(s->db, DB_CLOSE_PLAIN);
    free_store(s);
}

bool store_is_shared(const struct store *s)
{
    return s->shared;
}

bool store_is_away(const struct store *s)
{
    return atomic_load_explicit(&s->db->away, memory_order_relaxed);
}

enum err_code store_in_place(const struct store *s, struct err *err)
{
    return s->db->driver->in_place == NULL ? E_OK : s->db->driver->in_place(s->db, err);
}

bool store_was_unclean(const struct store *s)
{
    return s->unclean;
}

enum err_code store_begin(struct store *s, struct err *err)
{
    return db_begin(s->db, err);
}

static enum err_code commit(struct store *s, enum db_sync when, struct err *err)
{
    enum err_code code = db_commit(s->db, when, err);

    if (code != E_OK && s->db->refused)
        code = shared_refused(s, err);
    if (code != E_OK && s->db->commit_unknown)
        code = shared_outcome(s, err);
    s->broken = code != E_OK;
    return code;
}

enum err_code store_commit(struct store *s, struct err *err)
{
    return commit(s, DB_SYNC_NOW, err);
}

enum err_code store_commit_early(struct store *s, struct err *err)
{
    return commit(s, DB_SYNC_LATER, err);
}

bool store_owes_sync(const struct store *s)
{
    return db_owes_sync(s->db);
}

enum err_code store_sync(struct store *s, struct err *err)
{
    return db_sync(s->db, err);
}

void store_rollback(struct store *s)
{
    ready_cache_clear(&s->ready_cache);
    db_rollback(s->db);
}

struct db_rows store_id_rows(const int64_t *ids, size_t n, struct arena *arena)
{
    struct db_value *values = arena_array(arena, n + 1, sizeof(*values));

    for (size_t i = 0; i < n; i++)
        values[i] = db_i(ids[i]);
    return (struct db_rows){values, n, 1};
}

static int compare_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

bool store_row_place(const struct db_row *row, const int64_t *ids, size_t n, size_t *ret_place)
{
    int64_t id = db_col_int(row, 0);
    const int64_t *place = bsearch(&id, ids, n, sizeof(id), compare_id);

    if (place == NULL) {
        db_row_refuse(row, "row %lld does not belong to the answer", (long long)id);
        return false;
    }
    *ret_place = (size_t)(place - ids);
    return true;
}

static bool is_empty_dir(const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    bool empty = d != NULL;

    while (empty && (entry = readdir(d)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (d != NULL)
        closedir(d);
    return empty;
}

enum err_code store_backup(struct store *s, const char *dir, int64_t *ret_bytes, struct err *err)
{
    CLEANUP(mem) char *path = join_path(dir, STORE_FILE);
    CLEANUP(mem) char *part = join_path(dir, STORE_FILE ".part");
    struct stat st;

    if (s->db->driver->backup == NULL)
        return err_set(err, E_INVALID, "waybill does not back up a PostgreSQL store: use pg_dump");
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return err_errno(err, E_INVALID, "make directory %s", dir);
    if (!is_empty_dir(dir))
        return err_set(err, E_CONFLICT, "%s is not an empty directory: name a new or an empty one",
                       dir);
    if (s->db->driver->backup(s->db, part, err) != E_OK) {
        unlink(part);
        return err->code;
    }
    if (rename(part, path) != 0 || stat(path, &st) != 0)
        return err_errno(err, E_UNAVAILABLE, "name the backup %s", path);
    if (sync_dir(dir) != 0)
        return err_errno(err, E_UNAVAILABLE, "sync %s", dir);
    *ret_bytes = st.st_size;
    return E_OK;
}

struct store_traffic store_traffic(const struct store *s)
{
    return (struct store_traffic){s->db->statements, s->db->rounds};
}

enum err_code store_facts(struct store *s, struct store_facts *ret_facts, struct err *err)
{
    if (s->db->driver->facts(s->db, ret_facts, err) != E_OK)
        return err->code;
    ret_facts->version = s->version;
    if (s->shared)
        snprintf(ret_facts->path, sizeof(ret_facts->path), "%s", s->url);
    return E_OK;
}

enum err_code store_shrink(struct store *s, int pages, struct err *err)
{
    return s->db->driver->shrink == NULL ? E_OK : s->db->driver->shrink(s->db, pages, err);
}
