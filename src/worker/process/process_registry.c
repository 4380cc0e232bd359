/* SPDX-License-Identifier: MIT */
#include "worker/process/process_registry.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"

#define REGISTRY_MAGIC "waybill records"
#define REGISTRY_VERSION 1

struct head {
    char magic[16];
    uint32_t version;
    uint32_t record_size;
    uint32_t count;
    uint32_t unused[9];
};

_Static_assert(sizeof(struct head) == 64, "the layout is persisted");
_Static_assert(sizeof(struct process_record) == 232, "the layout is persisted");

/* The mapped file, for the handler of SIGBUS. */
static struct {
    char *map;
    size_t size;
    volatile sig_atomic_t torn; /* a page was replaced */
} guarded;

static size_t size_for(unsigned count)
{
    return sizeof(struct head) + count * sizeof(struct process_record);
}

static struct head head_of(unsigned count)
{
    return (struct head){
        .magic = REGISTRY_MAGIC,
        .version = REGISTRY_VERSION,
        .record_size = sizeof(struct process_record),
        .count = count,
    };
}

/* The number of records in a file with that head and size; 0: it is not a valid registry. */
static unsigned believed(const struct head *h, off_t size)
{
    if (memcmp(h->magic, REGISTRY_MAGIC, sizeof(REGISTRY_MAGIC)) != 0 ||
        h->version != REGISTRY_VERSION || h->record_size != sizeof(struct process_record) ||
        h->count > PROCESS_REGISTRY_MAX || size < (off_t)size_for(h->count))
        return 0;
    return h->count;
}

/* Maps over what is mapped there; false with errno. */
static bool map_over(char *at, size_t size, int flags, int fd)
{
    struct process_registry new = {
        .map = mmap(at, size, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0)};

    return new.map == at;
}

/* ---- a file that is truncated while it is mapped ---- */

/* Replaces a page beyond the end of the file by an empty one; other faults stay fatal. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(page - 1));

    (void)context;
    if (guarded.map != NULL && at >= guarded.map && at < guarded.map + guarded.size &&
        map_over(at, page, MAP_PRIVATE | MAP_ANONYMOUS, -1)) {
        guarded.torn = 1;
        return;
    }
    (void)signal(number, SIG_DFL); /* the fault repeats and kills us */
}

static void guard(const struct process_registry *r)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    guarded.map = r->map;
    guarded.size = r->size;
    guarded.torn = 0;
    ASSERT(sigaction(SIGBUS, &action, NULL) == 0);
}

/* ---- opening ---- */

/* A terminated text of the characters that ids and leases have. */
static bool is_text(const char *text, size_t room)
{
    size_t size = strnlen(text, room);

    for (size_t i = 0; i < size; i++)
        if (!isgraph((unsigned char)text[i]) || text[i] == '"' || text[i] == '\\')
            return false;
    return size < room;
}

static bool is_sound(const struct process_record *r)
{
    return r->process.pid >= PROCESS_RECORD_ENDED && is_text(r->boot, sizeof(r->boot)) &&
           is_text(r->job, sizeof(r->job)) && is_text(r->lease, sizeof(r->lease)) &&
           is_text(r->mark, sizeof(r->mark));
}

static enum err_code refuse(struct err *err, int error, const char *what)
{
    errno = error;
    if (error == ENOSPC || error == EDQUOT)
        return err_errno(err, E_FULL, "%s the worker's records", what);
    return err_errno(err, E_FORBIDDEN, "%s the worker's records", what);
}

static enum err_code map(int fd, unsigned count, struct process_registry *ret, struct err *err)
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
    /* Allocates blocks: a full disk fails here, and not as a SIGBUS when a job starts. */
    int error = posix_fallocate(fd, 0, (off_t)size_for(count));

    if (error != 0)
        return refuse(err, error, "make room for");
    void *map = mmap(NULL, size_for(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return refuse(err, errno, "map");
    *(struct head *)map = head_of(count);
    *ret = (struct process_registry){.map = map, .size = size_for(count), .count = count, .fd = fd};
    guard(ret);
    for (unsigned i = 0; i < count; i++)
        if (!is_sound(process_registry_at(ret, i)))
            *process_registry_at(ret, i) = (struct process_record){.unused = 0};
    return E_OK;
}

enum err_code process_registry_open(int dir_fd, unsigned count, struct process_registry *ret,
                                    struct err *err)
{
    int fd = openat(dir_fd, PROCESS_REGISTRY_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    ASSERT(count > 0 && count <= PROCESS_REGISTRY_MAX);
    if (fd < 0)
        return refuse(err, errno, "open");
    if (map(fd, count, ret, err) != E_OK) {
        close(fd);
        return err->code;
    }
    return E_OK;
}

void process_registry_close(struct process_registry *r)
{
    if (r->map != NULL && guarded.map == r->map)
        guarded.map = NULL;
    if (r->map != NULL) {
        munmap(r->map, r->size);
        close(r->fd);
    }
    *r = (struct process_registry){.map = NULL};
}

/* Maps the new file at the same address, because slots point into it. */
static enum err_code write_anew(struct process_registry *r, int fd, const void *content,
                                struct err *err)
{
    int error = posix_fallocate(fd, 0, (off_t)r->size);

    if (error != 0)
        return refuse(err, error, "make room for");
    if (pwrite(fd, content, r->size, 0) != (ssize_t)r->size ||
        !map_over(r->map, r->size, MAP_SHARED, fd))
        return refuse(err, errno, "write");
    return E_OK;
}

/* SIGBUS does not show every truncation: writes beyond the end within the last page are lost. */
static bool is_whole(struct process_registry *r, int64_t now_us)
{
    struct stat st;

    if (guarded.torn && guarded.map == r->map)
        return false;
    if (now_us - r->looked_at < US_PER_S)
        return true;
    r->looked_at = now_us;
    return fstat(r->fd, &st) == 0 && st.st_nlink > 0 && st.st_size >= (off_t)r->size;
}

enum err_code process_registry_repair(struct process_registry *r, int dir_fd, int64_t now_us,
                                      bool *ret_repaired, struct err *err)
{
    *ret_repaired = false;
    if (is_whole(r, now_us))
        return E_OK;
    CLEANUP(mem) char *content = mem_alloc(r->size);

    memcpy(content, r->map, r->size); /* pages may be missing: see on_bus_error */
    guarded.torn = 0;
    *(struct head *)content = head_of(r->count);
    int fd = openat(dir_fd, PROCESS_REGISTRY_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return refuse(err, errno, "open");
    if (write_anew(r, fd, content, err) != E_OK) {
        close(fd);
        return err->code;
    }
    close(r->fd);
    r->fd = fd;
    *ret_repaired = true;
    return E_OK;
}

struct process_record *process_registry_at(const struct process_registry *r, unsigned i)
{
    ASSERT(i < r->count);
    return (struct process_record *)((char *)r->map + sizeof(struct head)) + i;
}

static void set_text(char *to, size_t room, struct slice text)
{
    size_t size = text.size < room ? text.size : room - 1;

    memset(to, 0, room);
    if (size > 0)
        memcpy(to, text.data, size);
}

void process_record_end(struct process_record *r)
{
    __atomic_store_n(&r->process.pid, 0, __ATOMIC_RELEASE);
}

void process_record_change(struct process_record *r, struct slice job, struct slice lease)
{
    set_text(r->job, sizeof(r->job), job);
    set_text(r->lease, sizeof(r->lease), lease);
}

void process_record_begin(struct process_record *r, struct slice job, struct slice lease,
                          const char *boot)
{
    process_record_end(r);
    r->process.before_us = 0;
    r->process.after_us = 0;
    r->session = (int32_t)getsid(0);
    set_text(r->boot, sizeof(r->boot), slice_of(boot));
    set_text(r->mark, sizeof(r->mark), lease);
    process_record_change(r, job, lease);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void copy_from(int fd, struct process_record_list *list)
{
    struct head h = {0};
    struct stat st;

    if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
        return;
    unsigned count = believed(&h, st.st_size);

    for (unsigned i = 0; i < count; i++) {
        struct process_record r;

        if (pread(fd, &r, sizeof(r), (off_t)size_for(i)) != sizeof(r))
            return;
        if (is_sound(&r) && r.process.pid > 0)
            VEC_PUSH(&list->all, r);
    }
}

void process_registry_copy(const char *path, struct process_record_list *list)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return;
    copy_from(fd, list);
    close(fd);
}

void boot_id(char text[static PROCESS_RECORD_BOOT_SIZE])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, PROCESS_RECORD_BOOT_SIZE - 1);

    if (fd >= 0)
        close(fd);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    memset(text + (n > 0 ? n : 0), 0, PROCESS_RECORD_BOOT_SIZE - (size_t)(n > 0 ? n : 0));
}
