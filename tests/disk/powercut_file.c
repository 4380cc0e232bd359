/*
 * An open file: what SQLite does with it, by the disk in memory.
 */
/* SPDX-License-Identifier: MIT */
#include "powercut_internal.h"

enum { SECTOR_BYTES = 4096 };

static struct vfs_file *file_of(sqlite3_file *f)
{
    return (struct vfs_file *)(void *)f;
}

static bool is_dead(const struct vfs_file *f)
{
    return f->generation != f->owner->generation;
}

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
    int rc = powercut_gate(f->owner, POWERCUT_WRITE);

    if (rc == SQLITE_OK && grows)
        rc = powercut_gate(f->owner, POWERCUT_GROW);
    if (rc != SQLITE_OK)
        size = (int)rng_below(&f->owner->rng, (uint64_t)size);
    if (size > 0)
        disk_write(f->file, offset, data, (size_t)size);
    return rc;
}

static int vfs_write(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    struct vfs_file *f = file_of(base);

    powercut_tell(f->owner, POWERCUT_WRITE);
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

    powercut_tell(f->owner, POWERCUT_TRUNCATE);
    if (is_dead(f))
        return SQLITE_IOERR_TRUNCATE;
    hold(f->owner);
    int rc = powercut_gate(f->owner, POWERCUT_TRUNCATE);

    if (rc == SQLITE_OK && (size_t)size > f->file->now.size)
        rc = powercut_gate(f->owner, POWERCUT_GROW);
    if (rc == SQLITE_OK)
        disk_truncate(f->file, size);
    let_go(f->owner);
    return rc;
}

static int vfs_sync(sqlite3_file *base, int flags)
{
    struct vfs_file *f = file_of(base);

    (void)flags;
    powercut_tell(f->owner, POWERCUT_SYNC);
    if (is_dead(f))
        return SQLITE_IOERR_FSYNC;
    hold(f->owner);
    int rc = powercut_gate(f->owner, POWERCUT_SYNC);

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

const sqlite3_io_methods powercut_file_methods = {
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
