/* SPDX-License-Identifier: MIT */
#include "worker/records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#define RECORDS_MAGIC "waybill records"
#define RECORDS_VERSION 1

struct head {
    char magic[16];
    uint32_t version;
    uint32_t record_size;
    uint32_t count;
    uint32_t unused[9];
};

_Static_assert(sizeof(struct head) == 64, "the layout is persisted");
_Static_assert(sizeof(struct slot_record) == 232, "the layout is persisted");

static size_t size_for(unsigned count)
{
    return sizeof(struct head) + count * sizeof(struct slot_record);
}

/* How many records a file of that head and size has; 0 when it is not to be believed. */
static unsigned believed(const struct head *h, off_t size)
{
    if (memcmp(h->magic, RECORDS_MAGIC, sizeof(RECORDS_MAGIC)) != 0 ||
        h->version != RECORDS_VERSION || h->record_size != sizeof(struct slot_record) ||
        h->count > RECORDS_MAX || size < (off_t)size_for(h->count))
        return 0;
    return h->count;
}

static enum err_code refuse(struct err *err, int error, const char *what)
{
    errno = error;
    if (error == ENOSPC || error == EDQUOT)
        return err_errno(err, E_FULL, "%s the worker's records", what);
    return err_errno(err, E_FORBIDDEN, "%s the worker's records", what);
}

static enum err_code map(int fd, unsigned count, struct records *ret, struct err *err)
{
    struct head h = {0};
    struct stat st;

    if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof(h), 0) < 0)
        return refuse(err, errno, "read");
    unsigned known = believed(&h, st.st_size);

    if (known == 0 && ftruncate(fd, 0) < 0)
        return refuse(err, errno, "write");
    if (count < known)
        count = known;
    /* Blocks, not a hole: a full disk shows here, and not as a SIGBUS when a job starts. */
    int error = posix_fallocate(fd, 0, (off_t)size_for(count));

    if (error != 0)
        return refuse(err, error, "make room for");
    void *map = mmap(NULL, size_for(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return refuse(err, errno, "map");
    *(struct head *)map = (struct head){
        .magic = RECORDS_MAGIC,
        .version = RECORDS_VERSION,
        .record_size = sizeof(struct slot_record),
        .count = count,
    };
    *ret = (struct records){.map = map, .size = size_for(count), .count = count};
    return E_OK;
}

enum err_code records_open(int dir_fd, unsigned count, struct records *ret, struct err *err)
{
    int fd = openat(dir_fd, RECORDS_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    ASSERT(count > 0 && count <= RECORDS_MAX);
    if (fd < 0)
        return refuse(err, errno, "open");
    enum err_code code = map(fd, count, ret, err);

    close(fd);
    return code;
}

void records_close(struct records *r)
{
    if (r->map != NULL)
        munmap(r->map, r->size);
    *r = (struct records){.map = NULL};
}

struct slot_record *records_at(const struct records *r, unsigned i)
{
    ASSERT(i < r->count);
    return (struct slot_record *)((char *)r->map + sizeof(struct head)) + i;
}

static void set_text(char *to, size_t room, struct slice text)
{
    size_t size = text.size < room ? text.size : room - 1;

    memset(to, 0, room);
    if (size > 0)
        memcpy(to, text.data, size);
}

void record_end(struct slot_record *r)
{
    __atomic_store_n(&r->process.pid, 0, __ATOMIC_RELEASE);
}

void record_change(struct slot_record *r, struct slice job, struct slice lease)
{
    set_text(r->job, sizeof(r->job), job);
    set_text(r->lease, sizeof(r->lease), lease);
}

void record_begin(struct slot_record *r, struct slice job, struct slice lease, const char *boot)
{
    record_end(r);
    r->process.before_us = 0;
    r->process.after_us = 0;
    r->session = (int32_t)getsid(0);
    set_text(r->boot, sizeof(r->boot), slice_of(boot));
    set_text(r->mark, sizeof(r->mark), lease);
    record_change(r, job, lease);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void copy_from(int fd, struct record_list *list)
{
    struct head h = {0};
    struct stat st;

    if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
        return;
    unsigned count = believed(&h, st.st_size);

    for (unsigned i = 0; i < count; i++) {
        struct slot_record r;

        if (pread(fd, &r, sizeof(r), (off_t)size_for(i)) != sizeof(r))
            return;
        r.boot[sizeof(r.boot) - 1] = r.job[sizeof(r.job) - 1] = '\0';
        r.lease[sizeof(r.lease) - 1] = r.mark[sizeof(r.mark) - 1] = '\0';
        if (r.process.pid > 0)
            VEC_PUSH(&list->all, r);
    }
}

void records_copy(const char *path, struct record_list *list)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    copy_from(fd, list);
    close(fd);
}

void boot_id(char text[static RECORD_BOOT_SIZE])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, RECORD_BOOT_SIZE - 1);

    if (fd >= 0)
        close(fd);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    memset(text + (n > 0 ? n : 0), 0, RECORD_BOOT_SIZE - (size_t)(n > 0 ? n : 0));
}
