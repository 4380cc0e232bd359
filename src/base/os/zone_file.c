/* SPDX-License-Identifier: MIT */
#include "base/os/zone_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/text/nearest.h"
#include "base/vec.h"

enum {
    DEPTH_MAX = 3,    /* America/Argentina/Ushuaia */
    NAMES_MAX = 5000, /* of a directory that is not tzdata's */
    ENTRIES_MAX = 20000,
};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-';
}

bool zone_name_is_valid(struct slice name)
{
    if (name.size == 0 || name.size > ZONE_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        bool slash = name.data[i] == '/';

        if (slash ? i == 0 || i + 1 == name.size || name.data[i - 1] == '/'
                  : !is_name_char(name.data[i]))
            return false;
    }
    return true;
}

static const char *zone_dir(const char *dir)
{
    const char *of_system = dir != NULL ? dir : getenv("TZDIR");

    return of_system != NULL && *of_system != '\0' ? of_system : "/usr/share/zoneinfo";
}

/* ---- the names that there are, for a message ---- */

struct names {
    VEC(const char *) list;
    size_t entries;
};

static void names_cleanup(struct names *names)
{
    for (size_t i = 0; i < names->list.count; i++)
        mem_cleanup(&names->list.items[i]);
    VEC_DEINIT(&names->list);
}

static void add_names(struct names *names, const char *dir, const char *prefix, int depth);

/* Zones and their regions begin with a capital; "right", "posixrules" and tables do not. */
static void add_name(struct names *names, const char *dir, const char *prefix, const char *entry,
                     int depth)
{
    char path[4096];
    char name[ZONE_NAME_MAX + 2];
    struct stat st;

    if (entry[0] < 'A' || entry[0] > 'Z')
        return;
    int n = snprintf(name, sizeof(name), "%s%s", prefix, entry);

    if (n > ZONE_NAME_MAX || !zone_name_is_valid(slice_of(name)) ||
        snprintf(path, sizeof(path), "%s/%s", dir, entry) >= (int)sizeof(path) ||
        stat(path, &st) != 0)
        return;
    if (S_ISREG(st.st_mode))
        VEC_PUSH(&names->list, mem_strdup(name));
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
        name[n] = '/';
        name[n + 1] = '\0';
        add_names(names, path, name, depth + 1);
    }
}

static void add_names(struct names *names, const char *dir, const char *prefix, int depth)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;

    if (d == NULL)
        return;
    while (names->list.count < NAMES_MAX && names->entries++ < ENTRIES_MAX &&
           (entry = readdir(d)) != NULL)
        add_name(names, dir, prefix, entry->d_name, depth);
    closedir(d);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash == NULL ? name : slash + 1;
}

/* By the whole name; else by its last part alone: "Berlin" is near Europe/Berlin. */
static const char *nearest_zone(struct names *names, struct slice name)
{
    size_t n = names->list.count;

    qsort(names->list.items, n, sizeof(names->list.items[0]), by_text);
    const char *near = nearest_word(name, names->list.items, n);

    if (near != NULL)
        return near;
    CLEANUP(mem) const char **parts = mem_alloc((n + 1) * sizeof(*parts));

    for (size_t i = 0; i < n; i++)
        parts[i] = last_part(names->list.items[i]);
    const char *slash = memrchr(name.data, '/', name.size);
    struct slice last = name;

    if (slash != NULL)
        last = slice_make(slash + 1, (size_t)(name.data + name.size - slash - 1));
    const char *part = nearest_word(last, parts, n);

    for (size_t i = 0; i < n; i++)
        if (parts[i] == part)
            return names->list.items[i];
    return NULL;
}

static enum err_code unknown_zone(const char *dir, struct slice name, struct err *err)
{
    CLEANUP(names) struct names names = {.list = VEC_INIT};

    add_names(&names, dir, "", 1);
    if (names.list.count == 0)
        return err_set(err, E_UNAVAILABLE,
                       "time zone '%.*s': there are no time zones in %.100s "
                       "(install tzdata, or set TZDIR)",
                       (int)name.size, name.data, dir);
    const char *near = nearest_zone(&names, name);

    if (near == NULL)
        return err_set(err, E_INVALID, "unknown time zone '%.*s', write it like Europe/Berlin",
                       (int)name.size, name.data);
    return err_set(err, E_INVALID, "unknown time zone '%.*s', did you mean '%s'?", (int)name.size,
                   name.data, near);
}

/* ---- reading ---- */

static enum err_code read_open(int fd, struct slice name, struct buf *out, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || (S_ISREG(st.st_mode) && !file_read_all(fd, out)))
        return err_errno(err, E_UNAVAILABLE, "time zone '%.*s'", (int)name.size, name.data);
    if (S_ISDIR(st.st_mode))
        return err_set(err, E_INVALID, "'%.*s' is a region of time zones, not a time zone",
                       (int)name.size, name.data);
    if (!S_ISREG(st.st_mode) || out->overflowed)
        return err_set(err, E_INVALID, "time zone '%.*s': not a file of at most %d KiB",
                       (int)name.size, name.data, ZONE_FILE_MAX >> 10);
    return E_OK;
}

enum err_code zone_file_read(const char *dir, struct slice name, struct buf *out, struct err *err)
{
    char path[4096];

    if (!zone_name_is_valid(name))
        return err_set(err, E_INVALID, "not the name of a time zone; write it like Europe/Berlin");
    dir = zone_dir(dir);
    if (snprintf(path, sizeof(path), "%s/%.*s", dir, (int)name.size, name.data) >=
        (int)sizeof(path))
        return err_set(err, E_UNAVAILABLE, "the path of the time zones is too long");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return unknown_zone(dir, name, err);
    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "time zone '%.*s'", (int)name.size, name.data);
    enum err_code code = read_open(fd, name, out, err);

    close(fd);
    return code;
}
