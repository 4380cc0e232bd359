/* SPDX-License-Identifier: MIT */
#include "worker/run/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/buf.h"
#include "base/os/log.h"
#include "worker/process/empty_dir.h"
#include "worker/process/state_dir.h"

enum {
    EMPTY_AT_ONCE = 64, /* entries; directories with more go to the trash */
    DIR_MODE = 0700,
    JOB_MODE = 0600,
    NAME_SIZE = 48,
};

#define SLOTS_NAME "slots"
#define TRASH_NAME "trash"
#define DIR_NAME "dir"
#define JOB_NAME "job.json"

/* A file or directory that we made; device and inode show whether it was replaced. */
struct made {
    int fd; /* -1: not made yet */
    dev_t dev;
    ino_t ino;
};

#define MADE_INIT ((struct made){.fd = -1})

struct place {
    struct slot slot; /* first: callers hold a pointer to it */
    int base_fd;      /* STATE/slots/N; -1: not opened yet */
    struct made dir;
    struct made job;
    bool clean; /* empty, and nothing has run in it since */
};

struct slots {
    struct state_dir state;
    int slots_fd;
    int trash_fd;
    struct process_registry registry;
    struct place *places;
    unsigned count;
    unsigned *free; /* numbers of free slots; the one released last is at the end */
    unsigned n_free;
    unsigned next_end; /* where to look for a free record of an end */
    unsigned trash_number;
    bool trash_full;
    uid_t uid;
    char boot[PROCESS_RECORD_BOOT_SIZE];
};

static void make_places(struct slots *s, unsigned count)
{
    s->count = s->n_free = count;
    s->places = mem_zalloc(count * sizeof(*s->places));
    s->free = mem_alloc(count * sizeof(*s->free));
    for (unsigned i = 0; i < count; i++) {
        struct place *p = &s->places[i];
        CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX * 2);

        buf_addf(&path, "%s/" SLOTS_NAME "/%u/" DIR_NAME, s->state.path, i);
        p->slot.dir = buf_take(&path);
        buf_addf(&path, "%s/" SLOTS_NAME "/%u/" JOB_NAME, s->state.path, i);
        p->slot.job_path = buf_take(&path);
        p->slot.number = i;
        p->slot.record = process_registry_at(&s->registry, i);
        p->base_fd = -1;
        p->dir = p->job = MADE_INIT;
        s->free[count - 1 - i] = i;
    }
}

static enum err_code open_all(struct slots *s, const char *state_dir, unsigned count,
                              struct err *err)
{
    if (state_dir_open(state_dir, &s->state, err) != E_OK ||
        state_dir_part(&s->state, SLOTS_NAME, &s->slots_fd, err) != E_OK ||
        state_dir_part(&s->state, TRASH_NAME, &s->trash_fd, err) != E_OK ||
        process_registry_open(s->state.own.fd, count + SLOT_ENDS_MAX, &s->registry, err) != E_OK)
        return err->code;
    make_places(s, count);
    return E_OK;
}

enum err_code slots_open(const char *state_dir, unsigned count, struct slots **ret_slots,
                         struct err *err)
{
    if (count == 0 || count > SLOT_COUNT_MAX)
        return err_set(err, E_INVALID, "a worker has 1 to %d slots", SLOT_COUNT_MAX);
    struct slots *s = mem_zalloc(sizeof(*s));

    s->state = STATE_DIR_INIT;
    s->slots_fd = s->trash_fd = -1;
    s->uid = geteuid();
    s->trash_full = true; /* an earlier worker may have left something */
    boot_id(s->boot);
    if (open_all(s, state_dir, count, err) != E_OK) {
        slots_close(s);
        return err->code;
    }
    *ret_slots = s;
    return E_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void place_close(struct place *p)
{
    close_fd(&p->dir.fd);
    close_fd(&p->job.fd);
    close_fd(&p->base_fd);
    p->clean = false;
}

void slots_close(struct slots *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < s->count; i++) {
        place_close(&s->places[i]);
        free((void *)(uintptr_t)s->places[i].slot.dir);
        free((void *)(uintptr_t)s->places[i].slot.job_path);
    }
    process_registry_close(&s->registry);
    close_fd(&s->trash_fd);
    close_fd(&s->slots_fd);
    state_dir_close(&s->state);
    free(s->places);
    free(s->free);
    free(s);
}

const char *slots_state_dir(const struct slots *s)
{
    return s->state.path;
}

const char *slots_boot(const struct slots *s)
{
    return s->boot;
}

const struct process_registry *slots_registry(const struct slots *s)
{
    return &s->registry;
}

struct slot *slot_take(struct slots *s)
{
    return s->n_free == 0 ? NULL : &s->places[s->free[--s->n_free]].slot;
}

static enum err_code open_base(struct slots *s, struct place *p, struct err *err)
{
    char name[NAME_SIZE];

    if (p->base_fd >= 0)
        return E_OK;
    snprintf(name, sizeof(name), "%u", p->slot.number);
    if (!own_dir_make(s->slots_fd, name))
        return err_file(err, "make the directory of", p->slot.dir);
    int fd = openat(s->slots_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_file(err, "open the directory of", p->slot.dir);
    p->base_fd = fd;
    return E_OK;
}

/* Removes the entry of that name from the slot, or moves it to the trash. */
static bool discard(struct slots *s, struct place *p, const char *name)
{
    if (unlinkat(p->base_fd, name, 0) == 0 || errno == ENOENT ||
        unlinkat(p->base_fd, name, AT_REMOVEDIR) == 0)
        return true;
    for (int tries = 0; tries < 1000; tries++) {
        char target[NAME_SIZE];

        snprintf(target, sizeof(target), "%u-%u", p->slot.number, s->trash_number++);
        if (renameat(p->base_fd, name, s->trash_fd, target) == 0) {
            s->trash_full = true;
            return true;
        }
        if (errno == EACCES && tries == 0)
            dir_permit_owner(p->base_fd, name);
        else if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return false;
    }
    return false;
}

static uid_t owner(const struct slots *s, const struct slot_job *job)
{
    return job->user != NULL && !job->user->same ? job->user->uid : s->uid;
}

/* True when it is still the one that we made, with that owner. */
static bool still_there(const struct place *p, const char *name, const struct made *m, uid_t uid,
                        struct stat *ret_st)
{
    return m->fd >= 0 && fstatat(p->base_fd, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0 &&
           ret_st->st_ino == m->ino && ret_st->st_dev == m->dev && ret_st->st_uid == uid;
}

static enum err_code own(struct slots *s, struct made *m, const struct slot_job *job,
                         const char *path, struct err *err)
{
    struct stat st;

    if (owner(s, job) != s->uid && fchown(m->fd, job->user->uid, job->user->gid) < 0)
        return err_file(err, "give the user", path);
    if (fstat(m->fd, &st) < 0)
        return err_file(err, "look at", path);
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    return E_OK;
}

/* A directory is never passed from one user to another: its attributes would go along. */
static enum err_code make_dir(struct slots *s, struct place *p, const struct slot_job *job,
                              struct err *err)
{
    close_fd(&p->dir.fd);
    p->clean = false;
    if (!discard(s, p, DIR_NAME))
        return err_file(err, "remove what is left in", p->slot.dir);
    if (mkdirat(p->base_fd, DIR_NAME, DIR_MODE) < 0)
        return err_file(err, "make the directory", p->slot.dir);
    p->dir.fd = openat(p->base_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->dir.fd < 0)
        return err_file(err, "open the directory", p->slot.dir);
    if (own(s, &p->dir, job, p->slot.dir, err) != E_OK)
        return err->code;
    p->clean = true;
    return E_OK;
}

static enum err_code ready_dir(struct slots *s, struct place *p, const struct slot_job *job,
                               struct err *err)
{
    struct stat st;

    if (!p->clean || !still_there(p, DIR_NAME, &p->dir, owner(s, job), &st))
        return make_dir(s, p, job, err);
    if ((st.st_mode & 07777) != DIR_MODE && fchmod(p->dir.fd, DIR_MODE) < 0)
        return make_dir(s, p, job, err);
    return E_OK;
}

static enum err_code write_job_file(struct slots *s, struct place *p, const struct slot_job *job,
                                    struct err *err)
{
    struct stat st = {.st_size = 0};

    if (!still_there(p, JOB_NAME, &p->job, owner(s, job), &st) ||
        ((st.st_mode & 07777) != JOB_MODE && fchmod(p->job.fd, JOB_MODE) < 0)) {
        st.st_size = 0;
        close_fd(&p->job.fd);
        if (!discard(s, p, JOB_NAME))
            return err_file(err, "remove", p->slot.job_path);
        p->job.fd = openat(p->base_fd, JOB_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           JOB_MODE);
        if (p->job.fd < 0)
            return err_file(err, "make", p->slot.job_path);
        if (own(s, &p->job, job, p->slot.job_path, err) != E_OK)
            return err->code;
    }
    for (size_t at = 0; at < job->json.size;) {
        ssize_t n = pwrite(p->job.fd, job->json.data + at, job->json.size - at, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_file(err, "write", p->slot.job_path);
        at += (size_t)n;
    }
    if (st.st_size > (off_t)job->json.size && ftruncate(p->job.fd, (off_t)job->json.size) < 0)
        return err_file(err, "write", p->slot.job_path);
    return E_OK;
}

static struct place *place_of(struct slots *s, const struct slot *slot)
{
    ASSERT(slot->number < s->count && &s->places[slot->number].slot == slot);
    return &s->places[slot->number];
}

static enum err_code make_ready(struct slots *s, struct place *p, const struct slot_job *job,
                                struct err *err)
{
    if (open_base(s, p, err) != E_OK || ready_dir(s, p, job, err) != E_OK ||
        write_job_file(s, p, job, err) != E_OK)
        return err->code;
    return E_OK;
}

enum err_code slot_prepare(struct slots *s, struct slot *slot, const struct slot_job *job,
                           struct err *err)
{
    struct place *p = place_of(s, slot);
    struct err first = ERR_INIT;

    if (make_ready(s, p, job, &first) != E_OK) {
        place_close(p); /* the whole slot may have been removed: tries again from the top */
        /* Programs of the worker's own user may have removed the directory of all slots. */
        close_fd(&s->slots_fd);
        close_fd(&s->trash_fd);
        if (state_dir_part(&s->state, SLOTS_NAME, &s->slots_fd, err) != E_OK)
            return err->code;
        if (state_dir_part(&s->state, TRASH_NAME, &s->trash_fd, err) != E_OK ||
            make_ready(s, p, job, err) != E_OK)
            return err->code;
    }
    p->clean = false;
    process_record_begin(slot->record, job->id, job->lease, s->boot);
    return E_OK;
}

void slot_release(struct slots *s, struct slot *slot)
{
    struct place *p = place_of(s, slot);
    unsigned budget = EMPTY_AT_ONCE;

    process_record_end(slot->record);
    ASSERT(s->n_free < s->count);
    s->free[s->n_free++] = slot->number;
    if (p->dir.fd < 0)
        return;
    p->clean = dir_is_empty(p->dir.fd) || empty_dir(p->dir.fd, &budget) == EMPTY_DIR_DONE;
    if (!p->clean) {
        close_fd(&p->dir.fd);
        (void)discard(s, p, DIR_NAME); /* the next job tries again and reports the error */
    }
}

void slots_repair(struct slots *s, int64_t now_us)
{
    struct err err = ERR_INIT;
    bool repaired = false;

    if (process_registry_repair(&s->registry, s->state.own.fd, now_us, &repaired, &err) != E_OK)
        log_error("%s; if this worker is killed, the next one does not know what it runs", err.msg);
    if (repaired)
        log_warn("another process has truncated or removed " PROCESS_REGISTRY_NAME
                 " of this worker: written again");
}

bool slots_empty_trash(struct slots *s, unsigned most)
{
    if (s->trash_full && empty_dir(s->trash_fd, &most) != EMPTY_DIR_MORE)
        s->trash_full = false;
    return s->trash_full;
}

struct process_record *slots_note_end(struct slots *s, struct slice job, struct slice lease)
{
    for (unsigned i = 0; i < SLOT_ENDS_MAX; i++) {
        struct process_record *r = process_registry_at(&s->registry, s->count + s->next_end);

        s->next_end = (s->next_end + 1) % SLOT_ENDS_MAX;
        if (r->process.pid != 0)
            continue;
        process_record_begin(r, job, lease, s->boot);
        r->process.pid = PROCESS_RECORD_ENDED;
        return r;
    }
    return NULL;
}
