/* SPDX-License-Identifier: MIT */
#include "server/process/definition_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/jtext/jtext.h"
#include "base/os/file.h"
#include "base/os/zone_file.h"
#include "core/definition/definition.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"

enum { PATH_SHOWN_MAX = 160 };

static void fd_cleanup(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* The end of a path, so that the cause still fits into the message. */
static const char *tail(const char *path)
{
    size_t size = strlen(path);
    const char *at = size > PATH_SHOWN_MAX ? path + size - PATH_SHOWN_MAX : path;

    while (at > path && ((unsigned char)*at & 0xC0) == 0x80)
        at++;
    return at;
}

static enum err_code system_error(const char *path, struct err *err)
{
    path = tail(path);
    switch (errno) {
    case ENOENT:
    case ENOTDIR: return err_errno(err, E_NOT_FOUND, "%s", path);
    case EACCES:
    case EPERM: return err_errno(err, E_FORBIDDEN, "%s", path);
    default: return err_errno(err, E_INVALID, "%s", path);
    }
}

/* The real path of the directory the file is in; free() it. */
static enum err_code find_dir(const char *path, char **ret_dir, struct err *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem) char *dir = NULL;

    if (slash == NULL)
        dir = mem_strdup(".");
    else
        dir = mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
    *ret_dir = realpath(dir, NULL);
    return *ret_dir == NULL ? system_error(dir, err) : E_OK;
}

static enum err_code add_file(struct definitions *d, const char *path, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(DEFINITION_FILE_MAX);
    CLEANUP(mem) char *dir = NULL;
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || !file_read_all(fd, &text))
        return system_error(path, err);
    if (text.overflowed)
        return err_set(err, E_TOO_LARGE, "%s: larger than %zu MiB", tail(path),
                       DEFINITION_FILE_MAX >> 20);
    if (find_dir(path, &dir, err) != E_OK)
        return err->code;
    struct definition_source source = {.file = path, .dir = dir};

    return definitions_add_from(d, &source, slice_make(buf_text(&text), text.size), err);
}

/* ---- directories ---- */

struct file_list {
    struct dirent **items;
    int count;
};

static void file_list_cleanup(struct file_list *l)
{
    for (int i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
}

static int is_definition(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && dot != NULL &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

/* By bytes, whatever the locale: the same order everywhere. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum err_code add_entry(struct definitions *d, const char *dir, const char *name,
                               struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(2 * PATH_MAX);
    bool slashed = dir[strlen(dir) - 1] == '/';
    struct stat st;

    buf_add_str(&path, dir);
    buf_add_str(&path, slashed ? "" : "/");
    buf_add_str(&path, name);
    if (stat(buf_text(&path), &st) != 0)
        return system_error(buf_text(&path), err);
    if (!S_ISREG(st.st_mode)) /* a pipe would make us wait */
        return err_set(err, E_INVALID, "%s: not a file", tail(buf_text(&path)));
    return add_file(d, buf_text(&path), err);
}

static enum err_code add_directory(struct definitions *d, const char *path, struct err *err)
{
    CLEANUP(file_list) struct file_list list = {.items = NULL};
    int n = scandir(path, &list.items, is_definition, compare_names);

    if (n < 0)
        return system_error(path, err);
    list.count = n;
    for (int i = 0; i < n; i++)
        if (add_entry(d, path, list.items[i]->d_name, err) != E_OK &&
            definitions_unread(d, err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code definitions_read(struct definitions *d, const char *path, struct err *err)
{
    struct stat st;

    enum err_code code = E_OK;

    if (path[0] == '\0')
        code = err_set(err, E_NOT_FOUND, "the name of a definition file is empty");
    else if (stat(path, &st) != 0)
        code = system_error(path, err);
    else
        code = S_ISDIR(st.st_mode) ? add_directory(d, path, err) : add_file(d, path, err);
    return code == E_OK ? E_OK : definitions_unread(d, err);
}

static enum err_code check_zone(enum definition_kind kind, const struct definition *one,
                                struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf bytes = BUF_INIT(ZONE_FILE_MAX);
    struct slice zone;
    struct quote quote;

    if (one->json.size == 0 || !jtext_find(one->json, "zone", &zone) ||
        jtext_type_of(zone) != JTEXT_STRING)
        return E_OK;
    zone = jtext_text(zone, &arena);
    if (slice_is(zone, "UTC") || zone_file_read(NULL, zone, &bytes, err) == E_OK)
        return E_OK;
    (void)err_wrap(err, "%s %s: zone", definition_kinds[kind].name, quote_text(&quote, one->name));
    return yaml_err_at(err, one->from.file.data, one->from.line);
}

enum err_code definitions_check_zones(const struct definitions *d, struct err *err)
{
    static const enum definition_kind kinds[] = {DEFINITION_RESOURCE, DEFINITION_SCHEDULE};

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < d->of[kinds[k]].count; i++)
            if (check_zone(kinds[k], &d->of[kinds[k]].items[i], err) != E_OK &&
                definitions_fault(d, err) != E_OK)
                return err->code;
    return E_OK;
}
