/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/buf.h"
#include "worker/process/spawn.h"

enum { USER_TEXT_MAX = 64 << 10, GROUPS_MAX = 65536, WORD_MAX = 256 };

/* E_OK when the file can be executed by the worker. */
static enum err_code judge(const char *file, struct slice word, struct err *err)
{
    struct stat st;

    if (stat(file, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            return err_errno(err, E_FORBIDDEN, "cannot start %.*s", (int)word.size, word.data);
        return err_set(err, E_NOT_FOUND, "cannot start %.*s: there is no file %s", (int)word.size,
                       word.data, file);
    }
    if (S_ISDIR(st.st_mode))
        return err_set(err, E_FORBIDDEN, "cannot start %.*s: %s is a directory", (int)word.size,
                       word.data, file);
    if (!S_ISREG(st.st_mode))
        return err_set(err, E_FORBIDDEN, "cannot start %.*s: %s is not a file", (int)word.size,
                       word.data, file);
    if (faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) < 0)
        return err_set(err, E_FORBIDDEN, "cannot start %.*s: %s is not executable (chmod +x?)",
                       (int)word.size, word.data, file);
    return E_OK;
}

static enum err_code find_by_path(struct slice word, const char *dir, char **ret_path,
                                  struct err *err)
{
    CLEANUP(buf) struct buf file = BUF_INIT(PATH_MAX);
    struct slice name = word;

    if (word.data[0] != '/') {
        if (dir == NULL || dir[0] != '/')
            return err_set(err, E_INVALID,
                           "cannot start %.*s: it is relative to its definition file, and the "
                           "definition came without one: give the whole path",
                           (int)word.size, word.data);
        buf_addf(&file, "%s/", dir);
        while (name.size > 2 && memcmp(name.data, "./", 2) == 0)
            name = slice_make(name.data + 2, name.size - 2);
    }
    buf_add_slice(&file, name);
    if (file.overflowed)
        return err_set(err, E_INVALID, "the name of the program is too long");
    if (judge(buf_text(&file), word, err) != E_OK)
        return err->code;
    *ret_path = buf_take(&file);
    return E_OK;
}

/* Searches as a shell does, but skips relative directories. */
static enum err_code find_by_name(struct slice word, const char *path, char **ret_path,
                                  struct err *err)
{
    struct err first = ERR_INIT; /* of a file with that name that cannot be started */

    for (const char *at = path; at != NULL;) {
        const char *colon = strchr(at, ':');
        struct slice part = slice_make(at, colon != NULL ? (size_t)(colon - at) : strlen(at));
        CLEANUP(buf) struct buf file = BUF_INIT(PATH_MAX);
        struct err fault = ERR_INIT;

        at = colon != NULL ? colon + 1 : NULL;
        if (part.size == 0 || part.data[0] != '/')
            continue;
        buf_add_slice(&file, part);
        buf_add_char(&file, '/');
        buf_add_slice(&file, word);
        if (file.overflowed)
            continue;
        if (judge(buf_text(&file), word, &fault) == E_OK) {
            *ret_path = buf_take(&file);
            return E_OK;
        }
        if (fault.code != E_NOT_FOUND && first.code == E_OK)
            first = fault;
    }
    if (first.code == E_OK)
        return err_set(err, E_NOT_FOUND, "no program %.*s in PATH", (int)word.size, word.data);
    *err = first;
    return err->code;
}

enum err_code spawn_find(struct slice word, const char *dir, const char *path, char **ret_path,
                         struct err *err)
{
    if (word.size == 0)
        return err_set(err, E_INVALID, "the name of the program is empty");
    if (memchr(word.data, '\0', word.size) != NULL)
        return err_set(err, E_INVALID, "the name of the program has a NUL byte in it");
    if (word.size >= PATH_MAX)
        return err_set(err, E_INVALID, "the name of the program is too long");
    if (memchr(word.data, '/', word.size) != NULL)
        return find_by_path(word, dir, ret_path, err);
    return find_by_name(word, path, ret_path, err);
}

void spawn_user_free(struct spawn_user *u)
{
    if (u == NULL)
        return;
    free(u->name);
    free(u->home);
    free(u->groups);
    free(u);
}

static bool is_number(const char *text, uid_t *ret_uid)
{
    int64_t n;

    if (!slice_number(slice_of(text), &n) || n >= UINT32_MAX)
        return false;
    *ret_uid = (uid_t)n;
    return true;
}

/* 0 with *entry NULL when there is no such user. */
static int look_up(const char *name, uid_t uid, struct buf *text, struct passwd *user,
                   struct passwd **entry)
{
    char *room = buf_reserve(text, USER_TEXT_MAX);

    return name != NULL ? getpwnam_r(name, user, room, USER_TEXT_MAX, entry)
                        : getpwuid_r(uid, user, room, USER_TEXT_MAX, entry);
}

static void find_groups(struct spawn_user *u, const char *login)
{
    int count = 64;

    u->groups = mem_alloc(sizeof(gid_t) * (size_t)count);
    while (getgrouplist(login, u->gid, u->groups, &count) < 0 && count <= GROUPS_MAX)
        u->groups = mem_realloc(u->groups, sizeof(gid_t) * (size_t)count);
    u->n_groups = count <= GROUPS_MAX ? count : 0;
}

static enum err_code may_become(struct spawn_user *u, struct err *err)
{
    if (geteuid() == 0)
        return E_OK;
    if (u->uid != geteuid())
        return err_set(err, E_FORBIDDEN,
                       "user %s: only a worker that is run by root can change the user", u->name);
    u->same = true;
    return E_OK;
}

enum err_code spawn_user_find(struct slice name, struct spawn_user **ret_user, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(USER_TEXT_MAX);
    char word[WORD_MAX];
    struct passwd user;
    struct passwd *entry = NULL;
    uid_t uid = 0;

    if (name.size == 0 || name.size >= sizeof(word) || memchr(name.data, '\0', name.size) != NULL)
        return err_set(err, E_INVALID, "the name of the user has 1 to %d bytes", WORD_MAX - 1);
    memcpy(word, name.data, name.size);
    word[name.size] = '\0';
    bool number = is_number(word, &uid);
    int error = look_up(number ? NULL : word, uid, &text, &user, &entry);

    if (error != 0 && !number) {
        errno = error;
        return err_errno(err, E_UNAVAILABLE, "user %s", word);
    }
    if (entry == NULL && !number)
        return err_set(err, E_NOT_FOUND, "user %s: there is no such user here", word);
    struct spawn_user *u = mem_zalloc(sizeof(*u));

    u->name = mem_strdup(word);
    u->home = mem_strdup(entry != NULL && entry->pw_dir[0] != '\0' ? entry->pw_dir : "/");
    u->uid = entry != NULL ? entry->pw_uid : uid;
    u->gid = entry != NULL ? entry->pw_gid : (gid_t)uid;
    if (entry != NULL)
        find_groups(u, entry->pw_name);
    if (may_become(u, err) != E_OK) {
        spawn_user_free(u);
        return err->code;
    }
    *ret_user = u;
    return E_OK;
}
