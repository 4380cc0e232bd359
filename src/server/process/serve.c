/*
 * A server's life: everything is opened in order, served, and closed in the opposite order.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "server/limits.h"
#include "server/process/life.h"
#include "server/process/notify.h"
#include "server/process/reload.h"
#include "server/process/store_choice.h"
#include "server/server.h"
#include "store/store.h"

/* ---- starting ---- */

/* Runs on the engine's thread.  While the store fails, every batch does: logs one line a
 * second, and one a minute while the database is unavailable. */
static void log_trouble(void *ctx, const struct err *err)
{
    struct life *life = ctx;
    int64_t now = clock_mono_us();
    bool goes_on = store_is_away(life->store) && now - life->trouble_at < 3 * US_PER_S &&
                   strcmp(err->msg, life->trouble.msg) == 0;

    life->trouble_at = now;
    if (now - life->told_at < (goes_on ? US_PER_MIN : US_PER_S))
        return;
    life->told_at = now;
    life->trouble = *err;
    log_error("%s", err->msg);
}

static void log_adopted(void *ctx, const char *servers, int64_t claims)
{
    (void)ctx;
    log_warn("taken over from %s, which is gone: %lld claim%s; their leases start again", servers,
             (long long)claims, claims == 1 ? "" : "s");
}

static enum err_code open_engine(struct life *life, struct err *err)
{
    struct server *s = life->server;
    struct engine_config engine = {.on_trouble = log_trouble,
                                   .trouble_ctx = life,
                                   .on_adopted = log_adopted,
                                   .on_event = events_happened,
                                   .event_ctx = &s->events,
                                   .waiting_max = WAITING_MAX,
                                   .waiting_reserve = LOCAL_WAITING_MAX,
                                   .subscriptions_max = (uint32_t)life->settings.subscriptions,
                                   .member = &s->member,
                                   .clock_of_store = true,
                                   .trust_clock = s->config->trust_clock,
                                   .clock = clock_now};

    if (getrandom(&engine.seed, sizeof(engine.seed), 0) != (ssize_t)sizeof(engine.seed))
        engine.seed = (uint64_t)clock_wall_us();
    if (getrandom(&engine.lease_key, sizeof(engine.lease_key), 0) !=
        (ssize_t)sizeof(engine.lease_key))
        return err_errno(err, E_INTERNAL, "ask the system for random bytes");
    if (engine_open(life->store, &engine, clock_now(), &life->engine, err) != E_OK)
        return err->code;
    s->lease_key = *engine_lease_key(life->engine);
    engine_set_url(life->engine, s->url);
    return definitions_apply_now(life->engine, &life->definitions, err);
}

static enum err_code open_store(struct life *life, struct err *err)
{
    struct server *s = life->server;

    s->store_config.damage = &s->damage;
    if (store_open(&s->store_config, &life->store, err) != E_OK)
        return err->code;
    s->store = life->store;
    life->was_unclean = store_was_unclean(life->store);
    return open_engine(life, err);
}

static enum err_code open_sockets(struct life *life, struct err *err)
{
    struct listeners *ls = &life->listeners;
    const char *dir = life->server->data_dir;

    if (listen_inherited(ls, err) != E_OK)
        return err->code;
    if (listeners_tcp(ls) == NULL && strcmp(life->settings.listen, SERVER_LISTEN_NONE) != 0 &&
        listen_tcp(ls, life->settings.listen, err) != E_OK)
        return err->code;
    if (listeners_local(ls) == NULL) {
        if (listen_unix(ls, dir, life->dir.fd, err) != E_OK)
            return err->code;
        life->made_socket = true;
    }
    return settings_auth(&life->settings, ls, &life->server->auth, err);
}

/* ADDR:PORT as bound.  A server that listens on every address shows one that others can reach:
 * the first of its names, else an address of this machine. */
static const char *tcp_name(const struct listener *tcp, const struct settings *settings,
                            struct arena *arena)
{
    CLEANUP(buf) struct buf name = BUF_INIT(PATH_MAX);
    char own[LISTENER_HOST_SIZE];
    const char *host = tcp == NULL ? "" : tcp->host;

    if (tcp == NULL)
        return "";
    if (tcp->any && settings->names.count > 0)
        host = arena_strdup(arena, settings->names.items[0]);
    else if (tcp->any)
        host = listener_own_address(own);
    bool v6 = strchr(host, ':') != NULL;

    buf_addf(&name, v6 ? "[%s]:%u" : "%s:%u", host, (unsigned)tcp->port);
    return arena_strdup(arena, buf_slice(&name));
}

/* Sets our address and the base of full ids. */
static void set_names(struct life *life)
{
    struct server *s = life->server;
    CLEANUP(buf) struct buf url = BUF_INIT(PATH_MAX + 16);

    s->listen = tcp_name(listeners_tcp(&life->listeners), &life->settings, &s->arena);
    s->socket = arena_strdup(&s->arena, slice_of(listeners_local(&life->listeners)->path));
    if (s->listen[0] != '\0')
        buf_addf(&url, "http://%s", s->listen);
    else
        buf_addf(&url, "unix:%s", s->socket);
    s->url = life->settings.url != NULL ? life->settings.url
                                        : arena_strdup(&s->arena, buf_slice(&url));
}

static enum err_code start_threads(struct life *life, struct err *err)
{
    struct server *s = life->server;

    if (sync_thread_start(&s->sync, life->store, &s->http.inbox, life_store_broke, err) != E_OK)
        return err->code;
    life->has_sync = true;
    if (engine_thread_start(&s->engine, life->engine, &s->sync, err) != E_OK)
        return err->code;
    life->has_engine_thread = true;
    if (store_is_shared(s->store)) {
        if (news_thread_start(&s->news, &s->store_config, &s->engine, err) != E_OK)
            return err->code;
        life->has_news = true;
    }
    if (readers_start(&s->readers, &s->store_config, &s->sync, err) != E_OK)
        return err->code;
    life->has_readers = true;
    return E_OK;
}

static enum err_code serve_sockets(struct life *life, struct err *err)
{
    struct listeners *ls = &life->listeners;

    for (size_t i = 0; i < ls->count; i++) {
        struct listener *l = &ls->items[i];
        int fd = l->fd;

        l->fd = -1;
        if (http_listen(&life->server->http, fd, l->local, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code start(struct life *life, struct err *err)
{
    struct server *s = life->server;

    if (life_open_signals(life, err) != E_OK ||
        settings_read_definitions(s->config, &life->definitions, err) != E_OK ||
        settings_make(s->config, &life->definitions, &s->arena, &life->settings, err) != E_OK ||
        data_dir_open(s->config->data_dir, &life->dir, err) != E_OK)
        return err->code;
    /* Tokens and passwords are in memory: no core dumps, and no tracing by processes of the same
     * user. */
    if (life->settings.token.size > 0 || life->settings.store != NULL)
        (void)prctl(PR_SET_DUMPABLE, 0);
    triggers_add(&s->triggers, &life->definitions);
    s->data_fd = life->dir.fd;
    /* Relative paths would be wrong for readers elsewhere. */
    char *real = realpath(s->config->data_dir, NULL);
    const char *copy = arena_strdup(&s->arena, slice_of(real != NULL ? real : s->config->data_dir));

    free(real);
    s->data_dir = copy;
    if (open_sockets(life, err) != E_OK)
        return err->code;
    set_names(life);
    if (store_choice_make(s, life->settings.store, err) != E_OK || open_store(life, err) != E_OK ||
        http_open(&s->http, s, err) != E_OK)
        return err->code;
    life->has_http = true;
    chores_init(&s->chores, &s->store_config, &s->http.inbox);
    if (http_watch(&s->http, &life->signals, err) != E_OK || start_threads(life, err) != E_OK)
        return err->code;
    return serve_sockets(life, err);
}

/* ---- serving ---- */

static void quick_check_is_done(struct chore *c)
{
    struct server *s = (struct server *)((char *)c->chores - offsetof(struct server, chores));

    if (c->err.code != E_OK) {
        log_error("the check of the store failed: %s", c->err.msg);
        return;
    }
    if (c->n_findings == 0) {
        log_info("the check of the store found nothing wrong");
        return;
    }
    log_error("the check of the store found %zu faults: %.2000s", c->n_findings,
              buf_text(&c->findings));
    damage_note(&s->damage, "the check at start found %zu faults", c->n_findings);
}

static void serve(struct life *life)
{
    struct server *s = life->server;

    s->is_ready = true;
    if (s->listen[0] != '\0')
        printf("ready http://%s unix:%s\n", s->listen, s->socket);
    else
        printf("ready unix:%s\n", s->socket);
    fflush(stdout);
    notify_send("READY=1");
    if (life->was_unclean) {
        struct err err;
        struct chore *c = chore_new(CHORE_CHECK, NULL, quick_check_is_done);

        c->how = STORE_CHECK_QUICK;
        log_info("the last stop was not clean: the store is being checked");
        if (chores_begin(&s->chores, c, &err) != E_OK)
            log_error("the check of the store did not begin: %s", err.msg);
    }
    worker_child_begin(&s->worker);
    while (!s->is_stopping)
        http_pass(&s->http, TIME_NEVER);
}

enum err_code server_run(const struct server_config *config, struct err *err)
{
    struct server *s = mem_zalloc(sizeof(*s));
    struct life life = {.server = s, .dir = OWN_DIR_INIT, .signals.fd = -1};

    worker_child_init(&s->worker, s);
    /* Few arenas, and large blocks go back to the system when they are freed. */
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 512 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    umask(0077); /* what is in the data directory is for its owner */
    s->config = config;
    s->damage = (struct store_damage)STORE_DAMAGE_INIT;
    s->arena = ARENA_INIT;
    s->started_at = clock_wall_us();
    s->started_mono_at = clock_mono_us();
    definitions_init(&life.definitions);
    life.definitions.faults = config->faults;
    triggers_init(&s->triggers);
    events_init(&s->events, s);
    enum err_code code = start(&life, err);

    if (code == E_OK) {
        serve(&life);
        life_stop(&life);
        if (s->sync_broke)
            code = err_set(err, E_UNAVAILABLE, "%s", s->sync.err.msg);
    }
    life_close(&life);
    return code;
}
