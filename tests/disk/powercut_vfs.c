/* SPDX-License-Identifier: MIT */
#include "powercut_vfs.h"

#include <time.h>

#include "powercut_internal.h"

enum { PATH_BYTES_MAX = 512 };

/* ---- faults ---- */

void powercut_tell(struct powercut *p, enum powercut_io io)
{
    if (p->watch != NULL)
        p->watch(p->watch_ctx, io);
}

int powercut_gate(struct powercut *p, enum powercut_io io)
{
    p->counts[io]++;
    if (p->plan.nth == 0 || p->plan.io != io)
        return SQLITE_OK;
    if (p->plan.nth > 1) {
        p->plan.nth--;
        return SQLITE_OK;
    }
    if (p->plan_left == 0)
        return SQLITE_OK;
    p->plan_left--;
    p->failed++;
    return p->plan.code;
}

/* ---- the VFS ---- */

static struct powercut *powercut_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static int open_held(struct powercut *p, struct vfs_file *f, const char *name, int flags)
{
    struct disk_file *file = name == NULL ? NULL : disk_find(&p->disk, name);
    int journal = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;

    if (file != NULL)
        disk_file_ref(file);
    else if (name == NULL || (flags & SQLITE_OPEN_CREATE))
        file = disk_create(&p->disk, name);
    else
        return SQLITE_CANTOPEN;
    if (file->lock == NULL)
        file->lock = mem_zalloc(sizeof(*file->lock));
    *f = (struct vfs_file){
        .base.pMethods = &powercut_file_methods,
        .owner = p,
        .file = file,
        .generation = p->generation,
        .sync_names = (flags & SQLITE_OPEN_CREATE) && (flags & journal),
        .delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0,
    };
    p->handles++;
    return SQLITE_OK;
}

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *base, int flags,
                    int *ret_flags)
{
    struct powercut *p = powercut_of(vfs);

    base->pMethods = NULL;
    hold(p);
    int rc = open_held(p, (struct vfs_file *)(void *)base, name, flags);

    let_go(p);
    if (ret_flags != NULL)
        *ret_flags = flags;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_names)
{
    struct powercut *p = powercut_of(vfs);

    powercut_tell(p, POWERCUT_DELETE);
    if (p->dead_handles > 0) /* nobody else is there yet who could ask for it */
        return SQLITE_IOERR_DELETE;
    hold(p);
    struct disk_file *file = disk_find(&p->disk, name);
    int rc = file == NULL ? SQLITE_IOERR_DELETE_NOENT : powercut_gate(p, POWERCUT_DELETE);

    if (rc == SQLITE_OK) {
        disk_delete(&p->disk, file);
        if (sync_names)
            disk_sync_names(&p->disk);
    }
    let_go(p);
    return rc;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
    struct powercut *p = powercut_of(vfs);

    (void)flags;
    hold(p);
    *ret_there = disk_find(&p->disk, name) != NULL;
    let_go(p);
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret_path)
{
    (void)vfs;
    int n = snprintf(ret_path, (size_t)size, "%s", name);

    return n >= 0 && n < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *ret_bytes)
{
    struct powercut *p = powercut_of(vfs);

    hold(p);
    for (int i = 0; i < size; i++)
        ret_bytes[i] = (char)rng_next(&p->rng);
    let_go(p);
    return size;
}

enum { SLEEP_MAX_US = 1000 };

/* Sleeps, so that the thread that holds a lock can run: SQLite gives up after a number of tries, so
 * yielding alone is not enough.  Short, because with one thread nobody else can release it. */
static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    const struct timespec pause = {.tv_nsec = us < SLEEP_MAX_US ? us * 1000L
                                                                : SLEEP_MAX_US * 1000L};

    (void)vfs;
    nanosleep(&pause, NULL);
    return us;
}

static int vfs_time(sqlite3_vfs *vfs, sqlite3_int64 *ret_ms)
{
    (void)vfs;
    *ret_ms = INT64_C(212000000000000); /* an instant of 2005: statements ask for no time */
    return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *ret_text)
{
    (void)vfs;
    (void)size;
    (void)ret_text;
    return 0;
}

/* ---- what tests use ---- */

struct powercut *powercut_new(const char *name, uint64_t seed)
{
    struct powercut *p = mem_zalloc(sizeof(*p));

    p->name = mem_strdup(name);
    p->vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = sizeof(struct vfs_file),
        .mxPathname = PATH_BYTES_MAX,
        .zName = p->name,
        .pAppData = p,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xGetLastError = vfs_last_error,
        .xCurrentTimeInt64 = vfs_time,
    };
    ASSERT(pthread_mutex_init(&p->lock, NULL) == 0);
    disk_init(&p->disk);
    rng_init(&p->rng, seed);
    ASSERT(sqlite3_vfs_register(&p->vfs, 0) == SQLITE_OK);
    return p;
}

struct powercut *powercut_copy(const char *name, const struct powercut *from)
{
    struct powercut *p = powercut_new(name, from->rng.state);

    hold(from);
    disk_copy(&p->disk, &from->disk);
    let_go(from);
    return p;
}

bool powercut_free(struct powercut *p)
{
    if (p == NULL)
        return true;
    sqlite3_vfs_unregister(&p->vfs);
    if (p->handles > 0)
        return false;
    disk_deinit(&p->disk);
    pthread_mutex_destroy(&p->lock);
    free(p->name);
    free(p);
    return true;
}

const char *powercut_name(const struct powercut *p)
{
    return p->name;
}

void powercut_kill(struct powercut *p)
{
    hold(p);
    p->dead_handles = p->handles;
    p->generation++;
    disk_kill(&p->disk);
    let_go(p);
}

void powercut_cut(struct powercut *p, uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    hold(p);
    p->dead_handles = p->handles;
    p->generation++;
    disk_cut(&p->disk, &rng);
    let_go(p);
}

int64_t powercut_count(const struct powercut *p, enum powercut_io io)
{
    return p->counts[io];
}

void powercut_fail(struct powercut *p, const struct powercut_plan *plan)
{
    ASSERT(plan->nth > 0 && plan->times > 0 && plan->code != SQLITE_OK);
    p->plan = *plan;
    p->plan_left = plan->times;
    p->failed = 0;
}

void powercut_heal(struct powercut *p)
{
    p->plan.nth = 0;
}

int64_t powercut_failed(const struct powercut *p)
{
    return p->failed;
}

void powercut_watch(struct powercut *p, powercut_watch_fn *fn, void *ctx)
{
    p->watch = fn;
    p->watch_ctx = ctx;
}

bool powercut_peek(struct powercut *p, const char *file, int64_t offset, void *data, int64_t size)
{
    hold(p);
    struct disk_file *f = disk_find(&p->disk, file);
    bool there = f != NULL && disk_read(f, offset, data, (size_t)size) == (size_t)size;

    let_go(p);
    return there;
}

bool powercut_poke(struct powercut *p, const char *file, int64_t offset, const void *data,
                   int64_t size)
{
    hold(p);
    struct disk_file *f = disk_find(&p->disk, file);

    if (f != NULL) {
        disk_write(f, offset, data, (size_t)size);
        disk_sync(f);
    }
    let_go(p);
    return f != NULL;
}

int64_t powercut_size(struct powercut *p, const char *file)
{
    hold(p);
    struct disk_file *f = disk_find(&p->disk, file);
    int64_t size = f == NULL ? -1 : (int64_t)f->now.size;

    let_go(p);
    return size;
}
