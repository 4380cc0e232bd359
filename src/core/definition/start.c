/*
 * `start:` and `finally:`, which only `waybill run` and `waybill check` read.
 *
 * Names in braces are filled later, so a value is judged here only where it has none.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/definition/read.h"
#include "core/definition/yaml.h"
#include "core/group/group_def.h"
#include "core/submit/job.h"

enum { START_JSON_MAX = 1 << 20 };

/* The section may be given once, in one file. */
static enum err_code take_section(struct definition_read *r, const struct yaml_value *v,
                                  const char *name, struct definition_place *from)
{
    if (from->line > 0) {
        char before[YAML_PLACE_SIZE];

        (void)err_set(r->err, E_INVALID, "%s is given twice, first in %s", name,
                      yaml_place_format(from->file.data, from->line, before));
        return yaml_err_at(r->err, r->source->file, v->name_line);
    }
    *from = (struct definition_place){r->file, v->name_line};
    return E_OK;
}

static bool has_brace(struct slice text)
{
    return text.size > 0 && memchr(text.data, '{', text.size) != NULL;
}

/* Names in braces may stand in params and elsewhere; what is left is judged as a submitted job. */
static enum err_code check_job(struct slice json, struct arena *arena, struct err *err)
{
    const struct submit_source source = {.emitted = false};
    struct submit_item item = {0};
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(json); jtext_next_member(&it, &key, &value);)
        if (!jtext_key_is(key, "params") && has_brace(value) &&
            jtext_type_of(value) == JTEXT_STRING)
            return E_OK;
    return parse_job(json, &source, arena, &item, err);
}

static enum err_code wrong_job(const struct definition_read *r, const struct yaml_value *v)
{
    (void)err_wrap(r->err, "start[%zu]", r->d->start.jobs.count);
    return yaml_err_at(r->err, r->source->file, v->line);
}

static enum err_code add_job(struct definition_read *r, struct yaml_value *v)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(START_JSON_MAX);
    struct definition_start_job job = {.from = {r->file, v->line}};
    struct slice value;

    if (r->d->start.jobs.count == DEFINITION_START_MAX)
        return definition_wrong(r, v, "start: has more than 1000 jobs");
    if (v->type != YAML_T_MAP)
        return definition_wrong(r, v, "start: a job is a map like {queue: fetch, params: {…}}");
    if (yaml_json(v, &json, r->err) != E_OK ||
        jtext_check(buf_slice(&json), &job.json, r->err) != E_OK ||
        check_job(job.json, &arena, r->err) != E_OK)
        return wrong_job(r, v);
    job.json = arena_copy(&r->d->arena, job.json);
    if (jtext_find(job.json, "group", &value)) {
        (void)err_set(r->err, E_INVALID, "group: the jobs of start: are in the group of their run");
        return wrong_job(r, v);
    }
    if (jtext_find(job.json, "queue", &value) && jtext_type_of(value) == JTEXT_STRING &&
        !has_brace(value))
        job.queue = jtext_text(value, &r->d->arena);
    VEC_PUSH(&r->d->start.jobs, job);
    return E_OK;
}

enum err_code definition_start_add(struct definition_read *r, struct yaml_value *v)
{
    if (take_section(r, v, "start:", &r->d->start.from) != E_OK)
        return r->err->code;
    if (v->type == YAML_T_MAP)
        return add_job(r, v);
    if (v->type != YAML_T_LIST || v->first == NULL)
        return definition_wrong(r, v, "start: must be a job or a list of jobs");
    for (struct yaml_value *item = v->first; item != NULL; item = item->next)
        if (add_job(r, item) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

enum err_code definition_finally_add(struct definition_read *r, struct yaml_value *v)
{
    CLEANUP(buf) struct buf json = BUF_INIT(START_JSON_MAX);
    struct slice checked;

    if (take_section(r, v, "finally:", &r->d->start.finally_from) != E_OK)
        return r->err->code;
    if (v->type != YAML_T_MAP)
        return definition_wrong(r, v, "finally: must be a map like {queue: report, params: {…}}");
    struct object_read read = {
        .arena = &r->d->arena, .err = r->err, .copies = true, .key = "finally"};
    struct dest dest = {.kind = DEST_QUEUE};

    if (yaml_json(v, &json, r->err) != E_OK ||
        jtext_check(buf_slice(&json), &checked, r->err) != E_OK ||
        finally_read(&read, checked, &dest) != E_OK) {
        return yaml_err_at(r->err, r->source->file, v->line);
    }
    r->d->start.finally = arena_copy(&r->d->arena, checked);
    if (dest.kind == DEST_QUEUE)
        r->d->start.finally_queue = arena_copy(&r->d->arena, dest.name);
    return E_OK;
}
