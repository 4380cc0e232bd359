/* SPDX-License-Identifier: MIT */
#include "powercut_lock.h"

#include "base/compiler.h"

/* ---- file locks ---- */

int vfs_lock_take(struct vfs_lock *l, struct vfs_holder *h, int level)
{
    if (h->level >= level)
        return SQLITE_OK;
    if (l->writer != NULL && l->writer != h &&
        (level > SQLITE_LOCK_SHARED || l->writer->level >= SQLITE_LOCK_PENDING))
        return SQLITE_BUSY;
    if (h->level == SQLITE_LOCK_NONE)
        l->readers++;
    if (level > SQLITE_LOCK_SHARED)
        l->writer = h;
    if (level == SQLITE_LOCK_EXCLUSIVE && l->readers > 1) {
        h->level = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
    }
    h->level = level;
    return SQLITE_OK;
}

void vfs_lock_drop(struct vfs_lock *l, struct vfs_holder *h, int level)
{
    if (h->level <= level)
        return;
    if (l->writer == h)
        l->writer = NULL;
    if (level == SQLITE_LOCK_NONE)
        l->readers--;
    h->level = level;
}

/* ---- shared memory ---- */

int vfs_shm_map(struct vfs_lock *l, struct vfs_holder *h, int region, int size, bool extend,
                void volatile **ret_region)
{
    if (h->shm == NULL) {
        if (l->shm == NULL)
            l->shm = mem_zalloc(sizeof(*l->shm));
        h->shm = l->shm;
        h->shm->refs++;
    }
    while (extend && h->shm->regions.count <= (size_t)region)
        VEC_PUSH(&h->shm->regions, mem_zalloc((size_t)size));
    *ret_region = (size_t)region < h->shm->regions.count ? h->shm->regions.items[region] : NULL;
    return SQLITE_OK;
}

static void shm_release(struct vfs_holder *h, int i)
{
    unsigned bit = 1U << i;

    if (h->shm_alone & bit)
        h->shm->shared[i] = 0;
    else if (h->shm_shared & bit)
        h->shm->shared[i]--;
    h->shm_alone &= ~bit;
    h->shm_shared &= ~bit;
}

static bool shm_free_for(const struct vfs_holder *h, int i, bool alone)
{
    if (h->shm_alone & (1U << i))
        return true;
    int others = h->shm->shared[i] - ((h->shm_shared & (1U << i)) ? 1 : 0);

    return alone ? others == 0 : others >= 0;
}

static void shm_take(struct vfs_holder *h, int i, bool alone)
{
    unsigned bit = 1U << i;

    if (alone) {
        h->shm->shared[i] = -1;
        h->shm_alone |= bit;
        h->shm_shared &= ~bit;
    } else if (!((h->shm_shared | h->shm_alone) & bit)) {
        h->shm->shared[i]++;
        h->shm_shared |= bit;
    }
}

int vfs_shm_lock(struct vfs_holder *h, int first, int n, int flags)
{
    bool alone = (flags & SQLITE_SHM_EXCLUSIVE) != 0;

    ASSERT(h->shm != NULL && first >= 0 && first + n <= SQLITE_SHM_NLOCK);
    if (flags & SQLITE_SHM_UNLOCK) {
        for (int i = first; i < first + n; i++)
            shm_release(h, i);
        return SQLITE_OK;
    }
    for (int i = first; i < first + n; i++)
        if (!shm_free_for(h, i, alone))
            return SQLITE_BUSY;
    for (int i = first; i < first + n; i++)
        shm_take(h, i, alone);
    return SQLITE_OK;
}

void vfs_shm_unmap(struct vfs_lock *l, struct vfs_holder *h)
{
    struct vfs_shm *shm = h->shm;

    if (shm == NULL)
        return;
    for (int i = 0; i < SQLITE_SHM_NLOCK; i++)
        shm_release(h, i);
    h->shm = NULL;
    if (--shm->refs > 0)
        return;
    if (l->shm == shm)
        l->shm = NULL;
    for (size_t i = 0; i < shm->regions.count; i++)
        free(shm->regions.items[i]);
    VEC_DEINIT(&shm->regions);
    free(shm);
}
