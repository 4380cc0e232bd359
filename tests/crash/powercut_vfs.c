/* SPDX-License-Identifier: MIT */
#include "powercut_vfs.h"

#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "powercut_disk.h"
#include "powercut_lock.h"

enum { PATH_BYTES_MAX = 512, SECTOR_BYTES = 4096 };

struct powercut {
    sqlite3_vfs vfs;
    char *name;
    pthread_mutex_t lock; /* over all below */
    struct disk disk;
    struct rng rng;
    int64_t counts[POWERCUT_IO_COUNT];
    struct powercut_plan plan; /* nth 0: none.  Counts down to 0 … */
    int64_t plan_left;         /* … and then these fail */
    int64_t failed;
    int handles;
    int dead_handles;   /* of processes that are no more, still to be closed */
    int64_t generation; /* of processes: a handle of an older one is dead */
    powercut_watch_fn *watch;
    void *watch_ctx;
};

struct vfs_file {
    sqlite3_file base;
    struct powercut *owner;
    struct disk_file *file;
    struct vfs_holder holder;
    int64_t generation;
    bool sync_names; /* the next sync makes the directory stable too */
    bool delete_on_close;
};

static struct vfs_file *file_of(sqlite3_file *f)
{
    return (struct vfs_file *)(void *)f;
}

static struct powercut *powercut_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static void hold(const struct powercut *p)
{
    ASSERT(pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&p->lock) == 0);
}

static void let_go(const struct powercut *p)
{
    ASSERT(pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&p->lock) == 0);
}

static bool is_dead(const struct vfs_file *f)
{
    return f->generation != f->owner->generation;
}

/* ---- faults ---- */

static void watch(struct powercut *p, enum powercut_io io)
{
    if (p->watch != NULL)
        p->watch(p->watch_ctx, io);
}

/* Counts one of that kind: SQLITE_OK, or the code it fails with. */
static int gate(struct powercut *p, enum powercut_io io)
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

/* ---- files ---- */

static int vfs_close(sqlite3_file *base)
{
    struct vfs_file *f = file_of(base);
    struct powercut *p = f->owner;

    hold(p);
    vfs_lock_drop(f->file->lock, &f->holder, SQLITE_LOCK_NONE);
    vfs_shm_unmap(f->file->lock, &f->holder);
    if (is_dead(f))
        p->dead_handles--;
    else if (f->delete_on_close && f->file->name != NULL)
        disk_delete(&p->disk, f->file);
    disk_file_unref(f->file);
    p->handles--;
    let_go(p);
    return SQLITE_OK;
}

static int vfs_read(sqlite3_file *base, void *data, int size, sqlite3_int64 offset)
{
    struct vfs_file *f = file_of(base);
    int rc = SQLITE_IOERR_READ;

    hold(f->owner);
    if (!is_dead(f)) {
        size_t n = disk_read(f->file, offset, data, (size_t)size);

        memset((char *)data + n, 0, (size_t)size - n);
        rc = n == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
    }
    let_go(f->owner);
    return rc;
}

static int write_held(struct vfs_file *f, const void *data, int size, int64_t offset)
{
    bool grows = (size_t)(offset + size) > f->file->now.size;
    int rc = gate(f->owner, POWERCUT_WRITE);

    if (rc == SQLITE_OK && grows)
        rc = gate(f->owner, POWERCUT_GROW);
    if (rc != SQLITE_OK)
        size = (int)rng_below(&f->owner->rng, (uint64_t)size);
    if (size > 0)
        disk_write(f->file, offset, data, (size_t)size);
    return rc;
}

static int vfs_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    struct vfs_file *f = file_of(base);

    watch(f->owner, POWERCUT_WRITE);
    if (is_dead(f))
        return SQLITE_IOERR_WRITE;
    hold(f->owner);
    int rc = write_held(f, data, size, offset);

    let_go(f->owner);
    return rc;
}

static int vfs_truncate(sqlite3_file *base, sqlite3_int64 size)
{
    struct vfs_file *f = file_of(base);

    watch(f->owner, POWERCUT_TRUNCATE);
    if (is_dead(f))
        return SQLITE_IOERR_TRUNCATE;
    hold(f->owner);
    int rc = gate(f->owner, POWERCUT_TRUNCATE);

    if (rc == SQLITE_OK && (size_t)size > f->file->now.size)
        rc = gate(f->owner, POWERCUT_GROW);
    if (rc == SQLITE_OK)
        disk_truncate(f->file, size);
    let_go(f->owner);
    return rc;
}

static int vfs_sync(sqlite3_file *base, int flags)
{
    struct vfs_file *f = file_of(base);

    (void)flags;
    watch(f->owner, POWERCUT_SYNC);
    if (is_dead(f))
        return SQLITE_IOERR_FSYNC;
    hold(f->owner);
    int rc = gate(f->owner, POWERCUT_SYNC);

    if (rc != SQLITE_OK) {
        disk_sync_lost(f->file, &f->owner->rng);
    } else {
        disk_sync(f->file);
        if (f->sync_names)
            disk_sync_names(&f->owner->disk);
        f->sync_names = false;
    }
    let_go(f->owner);
    return rc;
}

static int vfs_size(sqlite3_file *base, sqlite3_int64 *ret_size)
{
    struct vfs_file *f = file_of(base);

    if (is_dead(f))
        return SQLITE_IOERR_FSTAT;
    hold(f->owner);
    *ret_size = (sqlite3_int64)f->file->now.size;
    let_go(f->owner);
    return SQLITE_OK;
}

static int vfs_take(sqlite3_file *base, int level)
{
    struct vfs_file *f = file_of(base);

    if (is_dead(f))
        return SQLITE_IOERR_LOCK;
    hold(f->owner);
    int rc = vfs_lock_take(f->file->lock, &f->holder, level);

    let_go(f->owner);
    return rc;
}

static int vfs_drop(sqlite3_file *base, int level)
{
    struct vfs_file *f = file_of(base);

    hold(f->owner);
    vfs_lock_drop(f->file->lock, &f->holder, level);
    let_go(f->owner);
    return SQLITE_OK;
}

static int vfs_reserved(sqlite3_file *base, int *ret_reserved)
{
    struct vfs_file *f = file_of(base);

    hold(f->owner);
    *ret_reserved = f->file->lock->writer != NULL;
    let_go(f->owner);
    return SQLITE_OK;
}

static int vfs_control(sqlite3_file *base, int op, void *arg)
{
    (void)base;
    if (op != SQLITE_FCNTL_HAS_MOVED)
        return SQLITE_NOTFOUND;
    *(int *)arg = 0;
    return SQLITE_OK;
}

static int vfs_sector(sqlite3_file *base)
{
    (void)base;
    return SECTOR_BYTES;
}

/* As SQLite's own VFS says of Linux: a write harms no byte outside of it. */
static int vfs_traits(sqlite3_file *base)
{
    (void)base;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int vfs_map(sqlite3_file *base, int region, int size, int extend, void volatile **ret_region)
{
    struct vfs_file *f = file_of(base);

    if (is_dead(f))
        return SQLITE_IOERR_SHMMAP;
    hold(f->owner);
    int rc = vfs_shm_map(f->file->lock, &f->holder, region, size, extend != 0, ret_region);

    let_go(f->owner);
    return rc;
}

static int vfs_map_lock(sqlite3_file *base, int first, int n, int flags)
{
    struct vfs_file *f = file_of(base);

    if (is_dead(f) && (flags & SQLITE_SHM_LOCK))
        return SQLITE_IOERR_SHMLOCK;
    hold(f->owner);
    int rc = vfs_shm_lock(&f->holder, first, n, flags);

    let_go(f->owner);
    return rc;
}

static void vfs_map_barrier(sqlite3_file *base)
{
    struct vfs_file *f = file_of(base);

    hold(f->owner);
    let_go(f->owner);
}

static int vfs_unmap(sqlite3_file *base, int delete_it)
{
    struct vfs_file *f = file_of(base);

    (void)delete_it;
    hold(f->owner);
    vfs_shm_unmap(f->file->lock, &f->holder);
    let_go(f->owner);
    return SQLITE_OK;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_size,
    .xLock = vfs_take,
    .xUnlock = vfs_drop,
    .xCheckReservedLock = vfs_reserved,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector,
    .xDeviceCharacteristics = vfs_traits,
    .xShmMap = vfs_map,
    .xShmLock = vfs_map_lock,
    .xShmBarrier = vfs_map_barrier,
    .xShmUnmap = vfs_unmap,
};

/* ---- the VFS ---- */

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
        .base.pMethods = &file_methods,
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
    int rc = open_held(p, file_of(base), name, flags);

    let_go(p);
    if (ret_flags != NULL)
        *ret_flags = flags;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_names)
{
    struct powercut *p = powercut_of(vfs);

    watch(p, POWERCUT_DELETE);
    if (p->dead_handles > 0) /* nobody else is there yet who could ask for it */
        return SQLITE_IOERR_DELETE;
    hold(p);
    struct disk_file *file = disk_find(&p->disk, name);
    int rc = file == NULL ? SQLITE_IOERR_DELETE_NOENT : gate(p, POWERCUT_DELETE);

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

/* Whoever waits for a lock lets the holder's thread run; in one thread there is nothing to wait for. */
static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    sched_yield();
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
