/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/view/output.h"
#include "core/definition/store_url.h"
#include "server/process/data_dir.h"
#include "store/copy/copy.h"

#define TEXT_MAX ((size_t)1 << 20)
#define DRAW_US (100 * US_PER_MS)

/* One end of the copy. */
struct end {
    char *name;
    bool is_url;
    struct own_dir dir;
};

struct copy_job {
    struct cli *cli;
    struct end from, to;
    struct buf findings; /* JSON strings with commas between */
    bool draws;          /* there is a terminal */
    int64_t drawn_at;
};

/* ---- the two ends ---- */

static enum err_code require_store_in(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int size = snprintf(path, sizeof(path), "%s/waybill.db", dir);

    if (size < 0 || (size_t)size >= sizeof(path) || stat(path, &st) < 0)
        return err_set(err, E_NOT_FOUND,
                       "there is no store in %s: name its data directory, or a "
                       "postgresql:// URL",
                       dir);
    return E_OK;
}

static bool same_dir(const char *a, const char *b)
{
    struct stat x;
    struct stat y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A password in a URL stays in our memory: the list of processes does not show it. */
static enum err_code name_end(struct end *e, const char *given, struct err *err)
{
    e->name = mem_strdup(given);
    e->is_url = strstr(given, "://") != NULL;
    if (!e->is_url)
        return E_OK;
    store_url_hide((char *)(uintptr_t)given);
    return store_url_check(slice_of(e->name), err);
}

/* What is made in it must be its owner's. */
static enum err_code require_owner(const char *dir, struct err *err)
{
    struct stat st;

    if (stat(dir, &st) < 0 || st.st_uid == geteuid())
        return E_OK;
    return err_set(
        err, E_FORBIDDEN,
        "%s belongs to another user (%u), whose server could not open the copy: run this as "
        "that user",
        dir, (unsigned)st.st_uid);
}

/* Holds the data directories, as a server would. */
static enum err_code take_ends(struct copy_job *j, struct err *err)
{
    if (name_end(&j->from, args_text(&j->cli->args, "from"), err) != E_OK ||
        name_end(&j->to, args_text(&j->cli->args, "to"), err) != E_OK)
        return err->code;
    if (!j->from.is_url && require_store_in(j->from.name, err) != E_OK)
        return err->code;
    if (!j->from.is_url && !j->to.is_url && same_dir(j->from.name, j->to.name))
        return err_set(err, E_CONFLICT, "source and target are the same directory: name another");
    if (!j->to.is_url && require_owner(j->to.name, err) != E_OK)
        return err->code;
    if (!j->from.is_url && data_dir_open(j->from.name, &j->from.dir, err) != E_OK)
        return err->code;
    return j->to.is_url ? E_OK : data_dir_open(j->to.name, &j->to.dir, err);
}

static void end_close(struct end *e)
{
    own_dir_close(&e->dir);
    free(e->name);
}

static struct store_config config_of(const struct end *e)
{
    struct store_config config = {.dir = NULL};

    *(e->is_url ? &config.url : &config.dir) = e->name;
    return config;
}

static void show_end(const struct end *e, struct buf *out)
{
    if (e->is_url)
        store_url_show(slice_of(e->name), out);
    else
        buf_add_str(out, e->name);
}

/* ---- progress ---- */

static void draw(void *ctx, const struct store_copy_progress *p)
{
    static const char *const words[] = {[STORE_COPY_ROWS] = "copying",
                                        [STORE_COPY_COMPARE] = "comparing",
                                        [STORE_COPY_VERIFY] = "checking"};
    CLEANUP(buf) struct buf line = BUF_INIT(400);
    struct copy_job *j = ctx;
    char size[SHORT_TEXT_SIZE];
    int64_t now = clock_mono_us();

    if (!j->draws || (p->table != NULL && now - j->drawn_at < DRAW_US))
        return;
    j->drawn_at = now;
    buf_addf(&line, "\r\033[K%s %s  %" PRId64 " rows  %s", words[p->stage],
             p->table == NULL ? "the target" : p->table, p->rows, bytes_format(p->bytes, size));
    output_status(buf_slice(&line));
}

static void undraw(struct copy_job *j)
{
    if (j->draws)
        output_status(SLICE("\r\033[K"));
    j->draws = false;
}

static void take_finding(void *ctx, const char *finding)
{
    struct copy_job *j = ctx;

    if (j->findings.size > 0)
        buf_add_char(&j->findings, ',');
    jtext_add_string(&j->findings, slice_of(finding));
    if (j->cli->json)
        return;
    undraw(j);
    fprintf(stderr, "%s\n", finding);
}

/* ---- what came of it ---- */

static void print_result_json(const struct copy_job *j, const struct store_copy_result *r)
{
    CLEANUP(buf) struct buf out = BUF_INIT(TEXT_MAX);
    CLEANUP(buf) struct buf end = BUF_INIT(STORE_URL_MAX);

    show_end(&j->from, &end);
    buf_add_str(&out, "{\"from\":");
    jtext_add_string(&out, buf_slice(&end));
    buf_clear(&end);
    show_end(&j->to, &end);
    jtext_put_string(&out, "to", buf_slice(&end));
    buf_addf(&out, ",\"ok\":%s,\"bytes\":%" PRId64 ",\"tables\":[", r->agrees ? "true" : "false",
             r->bytes);
    for (int i = 0; i < STORE_COPY_TABLES; i++) {
        if (i > 0)
            buf_add_char(&out, ',');
        buf_addf(&out, "{\"name\":\"%s\",\"rows\":%" PRId64 ",\"sum\":\"%016" PRIx64 "\"",
                 r->tables[i].name, r->tables[i].from.rows, r->tables[i].from.sum);
        buf_addf(&out, ",\"copied_rows\":%" PRId64 ",\"copied_sum\":\"%016" PRIx64 "\",\"ok\":%s}",
                 r->tables[i].to.rows, r->tables[i].to.sum,
                 store_copy_table_agrees(&r->tables[i]) ? "true" : "false");
    }
    buf_add_str(&out, "],\"findings\":[");
    buf_add_slice(&out, buf_slice(&j->findings));
    buf_add_str(&out, "]}");
    puts(buf_text(&out));
}

static void print_table(const struct copy_job *j, const struct store_copy_result *r)
{
    static const struct column columns[] = {{.title = "TABLE"}, {.title = "ROWS", .right = true},
                                            {.title = "SUM"},   {.title = "COPIED", .right = true},
                                            {.title = "SUM"},   {.title = ""}};
    CLEANUP(table) struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (int i = 0; i < STORE_COPY_TABLES; i++) {
        const struct store_copy_table *row = &r->tables[i];
        bool ok = store_copy_table_agrees(row);

        table_add(&t, COLOUR_PLAIN, row->name);
        table_add_count(&t, COLOUR_PLAIN, row->from.rows);
        table_addf(&t, COLOUR_DIM, "%016" PRIx64, row->from.sum);
        table_add_count(&t, COLOUR_PLAIN, row->to.rows);
        table_addf(&t, COLOUR_DIM, "%016" PRIx64, row->to.sum);
        table_add(&t, ok ? COLOUR_GREEN : COLOUR_RED, ok ? "the same" : "DIFFERS");
    }
    table_print(&t, &j->cli->screen);
}

static void print_result(const struct copy_job *j, const struct store_copy_result *r)
{
    CLEANUP(buf) struct buf to = BUF_INIT(STORE_URL_MAX);
    char size[SHORT_TEXT_SIZE];

    print_table(j, r);
    show_end(&j->to, &to);
    if (r->agrees) {
        printf("copied %s to %s; both agree, and the copy is sound\n", bytes_format(r->bytes, size),
               buf_text(&to));
        return;
    }
    fflush(stdout);
    fprintf(stderr,
            "waybill: %s is not the same as its source, and no server will open it: see to "
            "its disk, then repeat the copy\n",
            buf_text(&to));
}

static enum err_code copy(struct copy_job *j, struct store_copy_result *ret_result, struct err *err)
{
    const struct store_copy how = {.from = config_of(&j->from),
                                   .to = config_of(&j->to),
                                   .on_progress = draw,
                                   .on_finding = take_finding,
                                   .ctx = j};

    return store_copy_run(&how, ret_result, err);
}

int cmd_store_copy(struct cli *cli)
{
    struct copy_job j = {.cli = cli,
                         .from = {.dir = OWN_DIR_INIT},
                         .to = {.dir = OWN_DIR_INIT},
                         .findings = BUF_INIT(TEXT_MAX),
                         .draws = !cli->json && isatty(STDERR_FILENO)};
    struct store_copy_result result;
    struct err err = ERR_INIT;

    if (!args_has(&cli->args, "from") || !args_has(&cli->args, "to"))
        return cli_usage(cli, "say --from and --to");
    umask(0077); /* what is in a data directory is for its owner */
    enum err_code code = take_ends(&j, &err);

    if (code == E_OK)
        code = copy(&j, &result, &err);
    undraw(&j);
    if (code == E_OK && cli->json)
        print_result_json(&j, &result);
    else if (code == E_OK)
        print_result(&j, &result);
    buf_deinit(&j.findings);
    end_close(&j.to);
    end_close(&j.from);
    if (code != E_OK)
        return cli_fail(cli, &err);
    return result.agrees ? CLI_OK : CLI_FAILED;
}
