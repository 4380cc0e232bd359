/* SPDX-License-Identifier: MIT */
#include "each/run.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"

#define KEEP_US (30 * US_PER_DAY) /* of a finished run */

void each_run_close(struct each_run *r)
{
    free(r->cwd);
    run_dir_close(&r->dir);
    *r = EACH_RUN_INIT;
}

/* ---- who it is ---- */

static enum err_code add_identity(const struct each_command *c, const char *cwd, struct buf *out,
                                  struct err *err)
{
    CLEANUP(buf) struct buf separator = BUF_INIT(RUN_DIR_IDENTITY_MAX);

    for (size_t i = 0; i < c->separator.size; i++)
        buf_addf(&separator, "%02x", (unsigned char)c->separator.data[i]);
    if (!utf8_valid(slice_of(cwd)))
        return err_set(err, E_INVALID, "the name of this directory is not UTF-8");
    buf_add_str(out, "{\"directory\":");
    jtext_add_string(out, slice_of(cwd));
    buf_add_str(out, ",\"command\":[");
    for (size_t i = 0; i < c->n_words; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(c->words[i]));
    }
    buf_addf(out, "],\"colsep\":\"%s\"", buf_text(&separator));
    if (c->lines > 1)
        jtext_put_int(out, "lines", (int64_t)c->lines);
    buf_add_str(out, "}\n");
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "the command is longer than %zu bytes",
                       RUN_DIR_IDENTITY_MAX);
    return E_OK;
}

/* ---- its directory ---- */

/* Its identity, and the paths that follow from it. */
static enum err_code name_run(struct each_run *r, const char *data_dir,
                              const struct each_command *command, struct buf *identity,
                              struct err *err)
{
    r->cwd = getcwd(NULL, 0);
    if (r->cwd == NULL)
        return err_errno(err, E_INVALID, "the current directory");
    if (add_identity(command, r->cwd, identity, err) != E_OK)
        return err->code;
    return run_dir_name(&r->dir, data_dir, EACH_RUN_KIND, buf_slice(identity), err);
}

enum err_code each_run_find_unfinished(const char *data_dir, const struct each_command *command,
                                       bool *ret_found, struct err *err)
{
    CLEANUP(each_run) struct each_run r = EACH_RUN_INIT;
    CLEANUP(buf) struct buf identity = BUF_INIT(RUN_DIR_IDENTITY_MAX);
    CLEANUP(buf) struct buf finished = BUF_INIT(PATH_MAX);

    if (name_run(&r, data_dir, command, &identity, err) != E_OK)
        return err->code;
    buf_addf(&finished, "%s/" RUN_DIR_FINISHED, r.dir.path);
    *ret_found = access(r.dir.store, F_OK) == 0 && access(buf_text(&finished), F_OK) != 0;
    return E_OK;
}

enum err_code each_run_open(const char *data_dir, const struct each_command *command,
                            struct each_run *ret_run, struct err *err)
{
    CLEANUP(each_run) struct each_run r = EACH_RUN_INIT;
    CLEANUP(buf) struct buf identity = BUF_INIT(RUN_DIR_IDENTITY_MAX);

    if (name_run(&r, data_dir, command, &identity, err) != E_OK ||
        run_dir_open(&r.dir, buf_slice(&identity), err) != E_OK)
        return err->code;
    r.has_all_lines = r.dir.is_finished || run_dir_has(&r.dir, EACH_RUN_REOPENED);
    *ret_run = r;
    r = EACH_RUN_INIT;
    return E_OK;
}

/* ---- start and end ---- */

enum err_code each_run_begin_anew(struct each_run *r, struct err *err)
{
    static const char *const left[] = {EACH_RUN_PRINTED, EACH_RUN_REOPENED, NULL};

    r->has_all_lines = false;
    return run_dir_clear(&r->dir, left, err);
}

enum err_code each_run_finish(struct each_run *r, struct err *err)
{
    if (run_dir_finish(&r->dir, err) != E_OK)
        return err->code;
    (void)!unlinkat(r->dir.own.fd, EACH_RUN_REOPENED, 0);
    r->has_all_lines = true;
    return E_OK;
}

enum err_code each_run_reopen(struct each_run *r, struct err *err)
{
    int fd = r->dir.own.fd;

    if (renameat(fd, RUN_DIR_FINISHED, fd, EACH_RUN_REOPENED) < 0 || fsync(fd) < 0)
        return err_file(err, "rename a file in", r->dir.path);
    r->dir.is_finished = false;
    return E_OK;
}

enum err_code each_run_grows(struct each_run *r, struct err *err)
{
    if (unlinkat(r->dir.own.fd, EACH_RUN_REOPENED, 0) < 0 || fsync(r->dir.own.fd) < 0)
        return err_file(err, "remove a file in", r->dir.path);
    r->has_all_lines = false;
    return E_OK;
}

void each_run_sweep(const char *data_dir)
{
    run_dir_sweep(data_dir, EACH_RUN_KIND, KEEP_US);
}
