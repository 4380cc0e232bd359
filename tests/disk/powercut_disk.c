/* SPDX-License-Identifier: MIT */
#include "powercut_disk.h"

#include "base/compiler.h"

/* ---- images ---- */

static void image_resize(struct disk_image *m, size_t size)
{
    if (size > m->capacity) {
        size_t capacity = m->capacity == 0 ? 4096 : m->capacity;

        while (capacity < size)
            capacity *= 2;
        m->data = mem_realloc(m->data, capacity);
        m->capacity = capacity;
    }
    if (size > m->size)
        memset(m->data + m->size, 0, size - m->size);
    m->size = size;
}

static void image_write(struct disk_image *m, size_t offset, const void *data, size_t size)
{
    if (size == 0)
        return;
    if (offset + size > m->size)
        image_resize(m, offset + size);
    memcpy(m->data + offset, data, size);
}

static void image_copy(struct disk_image *to, const struct disk_image *from)
{
    to->size = 0;
    image_resize(to, from->size);
    if (from->size > 0)
        memcpy(to->data, from->data, from->size);
}

static void image_deinit(struct disk_image *m)
{
    free(m->data);
    *m = (struct disk_image){.data = NULL};
}

/* ---- changes not yet synced ---- */

static void change_apply(struct disk_image *m, const struct disk_change *c)
{
    if (c->data == NULL)
        image_resize(m, (size_t)c->offset);
    else
        image_write(m, (size_t)c->offset, c->data, c->size);
}

static void changes_clear(struct disk_file *f)
{
    for (size_t i = 0; i < f->changes.count; i++)
        free(f->changes.items[i].data);
    VEC_CLEAR(&f->changes);
}

static void change_add(struct disk_file *f, int64_t offset, const void *data, size_t size)
{
    struct disk_change c = {.offset = offset, .size = size};

    if (data != NULL) {
        c.data = mem_alloc(size == 0 ? 1 : size);
        if (size > 0)
            memcpy(c.data, data, size);
    }
    change_apply(&f->now, &c);
    VEC_PUSH(&f->changes, c);
}

/* ---- files ---- */

void disk_init(struct disk *d)
{
    *d = (struct disk){.files = VEC_INIT};
}

void disk_deinit(struct disk *d)
{
    for (size_t i = 0; i < d->files.count; i++)
        disk_file_unref(d->files.items[i]);
    VEC_DEINIT(&d->files);
}

struct disk_file *disk_find(const struct disk *d, const char *name)
{
    for (size_t i = 0; i < d->files.count; i++)
        if (!d->files.items[i]->deleted && strcmp(d->files.items[i]->name, name) == 0)
            return d->files.items[i];
    return NULL;
}

struct disk_file *disk_create(struct disk *d, const char *name)
{
    struct disk_file *f = mem_zalloc(sizeof(*f));

    f->refs = 1;
    if (name != NULL) {
        ASSERT(disk_find(d, name) == NULL);
        f->name = mem_strdup(name);
        f->refs = 2;
        VEC_PUSH(&d->files, f);
    }
    return f;
}

void disk_file_ref(struct disk_file *f)
{
    f->refs++;
}

void disk_file_unref(struct disk_file *f)
{
    ASSERT(f->refs > 0);
    if (--f->refs > 0)
        return;
    changes_clear(f);
    VEC_DEINIT(&f->changes);
    image_deinit(&f->now);
    image_deinit(&f->stable);
    free(f->name);
    free(f->lock);
    free(f);
}

void disk_write(struct disk_file *f, int64_t offset, const void *data, size_t size)
{
    change_add(f, offset, data, size);
}

void disk_truncate(struct disk_file *f, int64_t size)
{
    change_add(f, size, NULL, 0);
}

size_t disk_read(const struct disk_file *f, int64_t offset, void *data, size_t size)
{
    if (offset < 0 || (size_t)offset >= f->now.size)
        return 0;
    size_t left = f->now.size - (size_t)offset;

    if (left > size)
        left = size;
    memcpy(data, f->now.data + offset, left);
    return left;
}

void disk_sync(struct disk_file *f)
{
    for (size_t i = 0; i < f->changes.count; i++)
        change_apply(&f->stable, &f->changes.items[i]);
    changes_clear(f);
}

void disk_sync_lost(struct disk_file *f, struct rng *rng)
{
    for (size_t i = 0; i < f->changes.count; i++)
        if (rng_below(rng, 2) == 0)
            change_apply(&f->stable, &f->changes.items[i]);
    changes_clear(f);
}

/* ---- names ---- */

static void forget_at(struct disk *d, size_t i)
{
    disk_file_unref(d->files.items[i]);
    d->files.items[i] = d->files.items[--d->files.count];
}

void disk_delete(struct disk *d, struct disk_file *f)
{
    (void)d;
    f->deleted = true;
}

void disk_sync_names(struct disk *d)
{
    for (size_t i = d->files.count; i-- > 0;) {
        if (d->files.items[i]->deleted)
            forget_at(d, i);
        else
            d->files.items[i]->named_for_sure = true;
    }
}

/* ---- the end of a process, and of all ---- */

/* The handles keep the old file, which is dead; the disk goes on with a new one that has the
 * content. */
static struct disk_file *reborn(struct disk_file *old)
{
    struct disk_file *f = mem_zalloc(sizeof(*f));

    f->name = mem_strdup(old->name);
    f->now = old->now;
    f->stable = old->stable;
    f->changes.items = old->changes.items;
    f->changes.count = old->changes.count;
    f->changes.capacity = old->changes.capacity;
    f->named_for_sure = old->named_for_sure;
    f->deleted = old->deleted;
    f->refs = 1;
    old->now = old->stable = (struct disk_image){.data = NULL};
    old->changes.items = NULL;
    old->changes.count = old->changes.capacity = 0;
    disk_file_unref(old);
    return f;
}

void disk_kill(struct disk *d)
{
    for (size_t i = 0; i < d->files.count; i++)
        d->files.items[i] = reborn(d->files.items[i]);
}

/* How the dice treat the un-synced changes of one file. */
enum cut { CUT_NONE_STAY, CUT_ALL_STAY, CUT_FIRST_STAY, CUT_SOME_STAY, CUT_TORN, CUT_KINDS };

/* A write of which only some sectors arrived.  New room that nothing arrived in holds anything. */
static void apply_torn(struct disk_image *m, const struct disk_change *c, struct rng *rng)
{
    size_t end = (size_t)c->offset + c->size;
    size_t old_size = m->size;
    unsigned char junk = rng_below(rng, 2) == 0 ? 0 : (unsigned char)rng_next(rng);

    if (end > old_size) {
        image_resize(m, end);
        memset(m->data + old_size, junk, end - old_size);
    }
    for (size_t at = (size_t)c->offset; at < end;) {
        size_t stop = (at / DISK_SECTOR + 1) * DISK_SECTOR;

        if (stop > end)
            stop = end;
        if (rng_below(rng, 2) == 0)
            memcpy(m->data + at, c->data + (at - (size_t)c->offset), stop - at);
        at = stop;
    }
}

static void cut_file(struct disk_file *f, struct rng *rng)
{
    enum cut cut = (enum cut)rng_below(rng, CUT_KINDS);
    size_t first = f->changes.count == 0 ? 0 : (size_t)rng_below(rng, f->changes.count);

    for (size_t i = 0; i < f->changes.count; i++) {
        const struct disk_change *c = &f->changes.items[i];
        bool torn = (cut == CUT_TORN && rng_below(rng, 2) == 0) ||
                    (cut == CUT_FIRST_STAY && i == first);

        if (torn && c->data != NULL)
            apply_torn(&f->stable, c, rng);
        else if (cut == CUT_ALL_STAY || (cut == CUT_FIRST_STAY && i < first) ||
                 (cut >= CUT_SOME_STAY && rng_below(rng, 2) == 0))
            change_apply(&f->stable, c);
    }
    changes_clear(f);
    image_copy(&f->now, &f->stable);
}

/* Two files of one name: the directory has one of them. */
static bool drop_double(struct disk *d, struct rng *rng)
{
    for (size_t i = 1; i < d->files.count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(d->files.items[i]->name, d->files.items[j]->name) == 0) {
                forget_at(d, rng_below(rng, 2) == 0 ? i : j);
                return true;
            }
    return false;
}

void disk_cut(struct disk *d, struct rng *rng)
{
    disk_kill(d);
    for (size_t i = d->files.count; i-- > 0;) {
        struct disk_file *f = d->files.items[i];
        bool gone = (f->deleted || !f->named_for_sure) && rng_below(rng, 2) == 0;

        if (gone) {
            forget_at(d, i);
            continue;
        }
        f->deleted = false;
        f->named_for_sure = true;
        cut_file(f, rng);
    }
    while (drop_double(d, rng))
        ;
}

void disk_copy(struct disk *d, const struct disk *from)
{
    for (size_t i = 0; i < from->files.count; i++) {
        const struct disk_file *f = from->files.items[i];
        struct disk_file *copy = mem_zalloc(sizeof(*copy));

        copy->name = mem_strdup(f->name);
        copy->named_for_sure = f->named_for_sure;
        copy->deleted = f->deleted;
        copy->refs = 1;
        image_copy(&copy->stable, &f->stable);
        image_copy(&copy->now, &f->stable);
        for (size_t k = 0; k < f->changes.count; k++) {
            const struct disk_change *c = &f->changes.items[k];

            change_add(copy, c->offset, c->data, c->size);
        }
        image_copy(&copy->now, &f->now);
        VEC_PUSH(&d->files, copy);
    }
}
