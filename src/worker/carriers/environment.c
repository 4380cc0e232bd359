/* SPDX-License-Identifier: MIT */
#include "worker/carriers/environment.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/jtext/jtext.h"
#include "worker/talk/served_queues.h"

#define VALUE_MAX ((size_t)120 << 10)  /* the kernel's limit is 128 KiB, with the name */
#define PARAMS_MAX ((size_t)512 << 10) /* of all params together */
#define OWN_PREFIX "WAYBILL_"

enum { FIXED_MAX = 24 };

char **environment_base(struct arena *arena)
{
    size_t n = 0;

    while (environ[n] != NULL)
        n++;
    char **base = arena_array(arena, n + 1, sizeof(*base));
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], OWN_PREFIX, strlen(OWN_PREFIX)) != 0)
            base[kept++] = arena_strdup(arena, slice_of(environ[i]));
    return base;
}

struct env {
    struct arena *arena;
    char **items;
    size_t count;
};

static void add(struct env *e, const char *name, struct slice value)
{
    size_t name_size = strlen(name);

    if (value.size > VALUE_MAX || (value.size > 0 && memchr(value.data, '\0', value.size) != NULL))
        return;
    char *text = arena_alloc(e->arena, name_size + value.size + 2);

    memcpy(text, name, name_size);
    text[name_size] = '=';
    if (value.size > 0)
        memcpy(text + name_size + 1, value.data, value.size);
    text[name_size + 1 + value.size] = '\0';
    e->items[e->count++] = text;
}

static void add_number(struct env *e, const char *name, int64_t value)
{
    CLEANUP(buf) struct buf text = BUF_INIT(32);

    buf_add_int(&text, value);
    add(e, name, buf_slice(&text));
}

/* WAYBILL_PARAM_ and the name in upper case, with `_` for characters other than letters and
 * digits. */
static const char *param_name(struct env *e, struct slice name)
{
    static const char prefix[] = OWN_PREFIX "PARAM_";
    char *text = arena_alloc(e->arena, sizeof(prefix) + name.size);
    size_t n = sizeof(prefix) - 1;

    memcpy(text, prefix, n);
    for (size_t i = 0; i < name.size; i++)
        text[n++] = isalnum((unsigned char)name.data[i]) != 0
                        ? (char)toupper((unsigned char)name.data[i])
                        : '_';
    text[n] = '\0';
    return text;
}

static void add_params(struct env *e, struct slice params)
{
    size_t total = 0;
    struct slice key;
    struct slice value;

    if (params.size == 0)
        return;
    for (struct jtext_iter it = jtext_members(params); jtext_next_member(&it, &key, &value);) {
        struct slice text = jtext_type_of(value) == JTEXT_STRING ? jtext_text(value, e->arena)
                                                                 : value;

        if (total + text.size > PARAMS_MAX)
            continue;
        total += text.size;
        add(e, param_name(e, jtext_text(key, e->arena)), text);
    }
}

static bool is_of_user(const char *variable)
{
    return strncmp(variable, "HOME=", 5) == 0 || strncmp(variable, "USER=", 5) == 0 ||
           strncmp(variable, "LOGNAME=", 8) == 0;
}

/* ---- what queue and job give ---- */

/* Replaces a variable of that name, or adds it. */
static void set(struct env *e, const char *name, struct slice value)
{
    size_t size = strlen(name);
    size_t before = e->count;

    add(e, name, value);
    for (size_t i = 0; i < before && e->count > before; i++)
        if (strncmp(e->items[i], name, size) == 0 && e->items[i][size] == '=') {
            e->items[i] = e->items[before];
            e->items[before] = NULL;
            e->count = before;
        }
}

static void add_given(struct env *e, struct slice given)
{
    struct slice name;
    struct slice value;

    if (given.size == 0)
        return;
    for (struct jtext_iter it = jtext_members(given); jtext_next_member(&it, &name, &value);)
        set(e, arena_strdup(e->arena, jtext_text(name, e->arena)), jtext_text(value, e->arena));
}

static void begin(struct env *e, const struct environment_of *of, size_t n)
{
    for (size_t i = 0; of->base[i] != NULL; i++)
        n++;
    n += of->queue_env.size > 0 ? jtext_count_members(of->queue_env) : 0;
    n += of->job_env.size > 0 ? jtext_count_members(of->job_env) : 0;
    e->items = arena_array(e->arena, n + FIXED_MAX + 1, sizeof(*e->items));
    /* Programs see the first of two variables of one name, so those that are set below are left
     * out. */
    for (size_t i = 0; of->base[i] != NULL; i++)
        if ((of->user == NULL || !is_of_user(of->base[i])) &&
            (of->workdir == NULL || strncmp(of->base[i], "PWD=", 4) != 0))
            e->items[e->count++] = of->base[i];
    if (of->user != NULL) {
        add(e, "HOME", slice_of(of->user->home));
        add(e, "USER", slice_of(of->user->name));
        add(e, "LOGNAME", slice_of(of->user->name));
    }
    if (of->workdir != NULL)
        add(e, "PWD", slice_of(of->workdir));
    add_given(e, of->queue_env);
    add_given(e, of->job_env);
    add(e, "WAYBILL_URL", slice_of(of->server_url));
}

char **environment_of_resident(const struct environment_of *of, struct slice queue,
                               struct slice mark, struct arena *arena)
{
    struct env e = {.arena = arena};

    begin(&e, of, 0);
    add(&e, "WAYBILL_LEASE", mark);
    add(&e, "WAYBILL_QUEUE", queue);
    return e.items;
}

/* Where the finaliser of a group finds what its members have brought. */
static void add_results(struct env *e, const struct environment_of *of, const struct task *t)
{
    static const char jobs[] = "/v1/jobs/";
    CLEANUP(buf) struct buf url = BUF_INIT(PARAMS_MAX);
    struct slice base = slice_of(of->server_url);

    if (t->closes.size == 0)
        return;
    if (t->url.size > t->id.size + sizeof(jobs) - 1) /* the server's own address */
        base = slice_make(t->url.data, t->url.size - t->id.size - (sizeof(jobs) - 1));
    buf_add_slice(&url, base);
    buf_add_str(&url, "/v1/groups/");
    buf_add_slice(&url, t->closes);
    buf_add_str(&url, "/results");
    add(e, "WAYBILL_GROUP_RESULTS", buf_slice(&url));
}

char **environment_make(const struct environment_of *of, struct task *t)
{
    struct env e = {.arena = &t->arena};

    begin(&e, of, t->params.size > 0 ? jtext_count_members(t->params) : 0);
    add(&e, "WAYBILL_ID", t->id);
    add(&e, "WAYBILL_LEASE", t->lease);
    add(&e, "WAYBILL_JOB_URL", t->url);
    add(&e, "WAYBILL_QUEUE", t->queue);
    add_number(&e, "WAYBILL_ATTEMPT", t->attempt);
    add_number(&e, "WAYBILL_STEP", t->step);
    add(&e, "WAYBILL_CURSOR", t->cursor);
    add(&e, "WAYBILL_GROUP", t->group);
    add_results(&e, of, t);
    add(&e, "WAYBILL_JOB_FILE", slice_of(of->job_file));
    add_params(&e, t->params);
    return e.items;
}
