/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/checkup/health.h"
#include "cli/checkup/store_check.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "core/definition/definition.h"
#include "server/process/definition_files.h"
#include "server/process/settings.h"
#include "server/server.h"

/* What came of one file; of all of them together when `file` is NULL. */
struct file_result {
    const char *file;
    size_t added[DEFINITION_KINDS];
    struct definition_faults faults;
};

static void print_result_json(const struct file_result *r)
{
    CLEANUP(buf) struct buf line = BUF_INIT((size_t)1 << 20);
    bool ok = r->faults.items.count == 0;

    buf_add_char(&line, '{');
    if (r->file != NULL)
        jtext_put_string(&line, "file", slice_of(r->file));
    jtext_put_bool(&line, "ok", ok);
    if (ok) {
        for (size_t kind = 0; kind < DEFINITION_KINDS; kind++)
            jtext_put_int(&line, definition_kinds[kind].section, (int64_t)r->added[kind]);
    } else {
        jtext_put_string(&line, "error", slice_of(r->faults.items.items[0].msg));
        jtext_add_key(&line, "errors");
        buf_add_char(&line, '[');
        for (size_t i = 0; i < r->faults.items.count; i++) {
            jtext_add_comma(&line);
            jtext_add_string(&line, slice_of(r->faults.items.items[i].msg));
        }
        buf_add_char(&line, ']');
    }
    buf_add_char(&line, '}');
    puts(buf_text(&line));
}

static void print_result(struct cli *cli, const struct file_result *r)
{
    if (cli->json) {
        print_result_json(r);
        return;
    }
    for (size_t i = 0; i < r->faults.items.count; i++)
        (void)cli_fail(cli, &r->faults.items.items[i]);
    if (r->faults.items.count > 0)
        return;
    printf("%s: ok", r->file);
    for (size_t kind = 0; kind < DEFINITION_KINDS; kind++)
        if (r->added[kind] > 0 || kind == DEFINITION_QUEUE)
            printf(", %zu %s", r->added[kind],
                   r->added[kind] == 1 ? definition_kinds[kind].name
                                       : definition_kinds[kind].section);
    printf("\n");
}

/* Checks all files together: references between them, and the server's section. */
static void judge_all(struct definitions *d, bool whole, struct file_result *r)
{
    const struct server_config config = {.listen = NULL};
    struct err err = ERR_INIT;

    d->faults = &r->faults;
    if (whole && definitions_check_names(d, &err) != E_OK)
        VEC_PUSH(&r->faults.items, err);
    err = ERR_INIT;
    if (definitions_check_zones(d, &err) != E_OK)
        VEC_PUSH(&r->faults.items, err);
    err = ERR_INIT;
    if (settings_check(&config, d, &err) != E_OK)
        VEC_PUSH(&r->faults.items, err);
}

/* All that is wrong is told at once.  Names are judged when every file could be read: else those
 * would be missed that stand in the others. */
static int check_files(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    size_t n = cli->args.words.count;
    struct file_result *results = arena_array(&arena, n + 1, sizeof(*results));
    struct file_result *all = &results[n];
    size_t faults = 0;
    bool whole = true;

    definitions_init(&d);
    for (size_t i = 0; i < n; i++) {
        results[i] = (struct file_result){.file = cli->args.words.items[i]};
        /* Mistakes are gathered; one that ends the reading, as there are too many, comes last. */
        struct err err = ERR_INIT;

        for (size_t kind = 0; kind < DEFINITION_KINDS; kind++)
            results[i].added[kind] = d.of[kind].count;
        d.faults = &results[i].faults;
        if (definitions_read(&d, results[i].file, &err) != E_OK)
            VEC_PUSH(&results[i].faults.items, err);
        for (size_t kind = 0; kind < DEFINITION_KINDS; kind++)
            results[i].added[kind] = d.of[kind].count - results[i].added[kind];
        whole &= !results[i].faults.unread;
    }
    *all = (struct file_result){.file = NULL};
    judge_all(&d, whole, all);
    for (size_t i = 0; i <= n; i++)
        faults += results[i].faults.items.count;
    for (size_t i = 0; i <= n; i++) {
        bool shown = i < n ? all->faults.items.count == 0 || results[i].faults.items.count > 0
                           : all->faults.items.count > 0;

        if (shown)
            print_result(cli, &results[i]);
        definition_faults_deinit(&results[i].faults);
    }
    d.faults = NULL;
    return faults == 0 ? CLI_OK : CLI_USAGE;
}

int cmd_check(struct cli *cli)
{
    bool store = args_has(&cli->args, "store");

    if (args_has(&cli->args, "full") && !store)
        return cli_usage(cli, "--full goes with --store");
    if (cli->args.words.count > 0 && store)
        return cli_usage(cli, "say files or --store, not both");
    if (cli->args.words.count > 0)
        return check_files(cli);
    return store ? store_check_run(cli) : health_check(cli);
}
