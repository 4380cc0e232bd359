/* SPDX-License-Identifier: MIT */
#include "store/db/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/os/fault.h"
#include "core/definition/store_url.h"

enum { LOOKED_MAX = 600 };

static bool hit_fault(const char *name)
{
    return fault_hit(name);
}

const struct db_host db_host = {
    .texts = sql_texts,
    .n_texts = SQL_COUNT,
    .migrations = sql_migrations,
    .n_migrations = SQL_MIGRATION_COUNT,
    .fault_hit = hit_fault,
};

/* ---- where modules are ---- */

struct search {
    const char *name;
    char path[PATH_MAX]; /* when found */
    struct buf looked;   /* where it was not */
};

static bool look_in(struct search *s, const char *dir)
{
    int size = snprintf(s->path, sizeof(s->path), "%s/%s.so", dir, s->name);

    if (size > 0 && (size_t)size < sizeof(s->path) && access(s->path, R_OK) == 0)
        return true;
    if (s->looked.size > 0)
        buf_add_str(&s->looked, ", ");
    buf_add_str(&s->looked, dir);
    return false;
}

/* Cuts the last name off; false at the top. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static bool is_build_root(const char *dir)
{
    char mark[PATH_MAX];
    int size = snprintf(mark, sizeof(mark), "%s/build.ninja", dir);

    return size > 0 && (size_t)size < sizeof(mark) && access(mark, F_OK) == 0;
}

/* Programs of a build are below its root, which has the modules. */
static bool look_beside_program(struct search *s)
{
    char dir[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

    if (size <= 0)
        return false;
    dir[size] = '\0';
    if (!go_up(dir))
        return false;
    if (look_in(s, dir))
        return true;
    while (!is_build_root(dir))
        if (!go_up(dir))
            return false;
    return look_in(s, dir);
}

/* ---- loading ---- */

/* The module stays for as long as the process lives. */
static void *loaded_handle;

static enum err_code open_module(const char *path, const struct db_module **ret_module,
                                 struct err *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL) {
        const char *why = dlerror();

        if (strstr(why, "libpq") == NULL)
            return err_set(err, E_UNAVAILABLE, "load %s: %s", path, why);
        return err_set(err, E_UNAVAILABLE,
                       "PostgreSQL needs its client library: install the package libpq5 (%s)", why);
    }
    db_module_fn *get = (db_module_fn *)dlsym(handle, DB_MODULE_SYMBOL);

    if (get == NULL) {
        dlclose(handle);
        return err_set(err, E_UNAVAILABLE, "%s is no module of waybill", path);
    }
    const struct db_module *module = get();

    if (strcmp(module->version, WAYBILL_VERSION) != 0 || module->seam != DB_SEAM) {
        err_set(err, E_UNAVAILABLE,
                "%s is of another waybill (%s) than this one (%s): install both from one package",
                path, module->version, WAYBILL_VERSION);
        dlclose(handle);
        return err->code;
    }
    loaded_handle = handle;
    *ret_module = module;
    return E_OK;
}

static enum err_code load_module(const char *name, const struct db_module **ret_module,
                                 struct err *err)
{
    struct search search = {.name = name, .looked = BUF_INIT(LOOKED_MAX)};
    const char *given = getenv("WAYBILL_MODULES");
    enum err_code code = E_OK;

    if ((given != NULL && given[0] != '\0' && look_in(&search, given)) ||
        look_beside_program(&search) || look_in(&search, WAYBILL_MODULE_DIR))
        code = open_module(search.path, ret_module, err);
    else
        code = err_set(err, E_UNAVAILABLE,
                       "the module %s.so is not installed (looked in %s): name its directory in "
                       "WAYBILL_MODULES",
                       name, buf_text(&search.looked));
    buf_deinit(&search.looked);
    return code;
}

enum err_code db_module_for(const char *url, const struct db_module **ret_module, struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const struct db_module *loaded; /* of the only kind so far */
    enum err_code code = store_url_check(slice_of(url), err);

    if (code != E_OK)
        return code;
    pthread_mutex_lock(&lock);
    if (loaded == NULL)
        code = load_module("postgres", &loaded, err);
    if (code == E_OK)
        *ret_module = loaded;
    pthread_mutex_unlock(&lock);
    return code;
}
