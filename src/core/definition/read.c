/* SPDX-License-Identifier: MIT */
#include "core/definition/read.h"

#include "core/definition/yaml.h"
#include "core/object/quote.h"

enum err_code definitions_fault(const struct definitions *d, struct err *err)
{
    struct definition_faults *faults = d->faults;

    if (faults == NULL || faults->items.count == DEFINITION_FAULTS_MAX)
        return err->code;
    VEC_PUSH(&faults->items, *err);
    *err = ERR_INIT;
    return E_OK;
}

enum err_code definitions_unread(const struct definitions *d, struct err *err)
{
    if (d->faults != NULL)
        d->faults->unread = true;
    return definitions_fault(d, err);
}

void definition_faults_deinit(struct definition_faults *faults)
{
    VEC_DEINIT(&faults->items);
}

enum err_code definition_fault(const struct definition_read *r)
{
    return definitions_fault(r->d, r->err);
}

enum err_code definition_wrong(const struct definition_read *r, const struct yaml_value *v,
                               const char *cause)
{
    (void)err_set(r->err, E_INVALID, "%s", cause);
    return yaml_err_at(r->err, r->source->file, v->line);
}

enum err_code definition_unknown(const struct definition_read *r, const struct yaml_value *v,
                                 const char *const *words, size_t count)
{
    (void)unknown_key(v->name, words, count, count, r->err);
    return yaml_err_at(r->err, r->source->file, v->name_line);
}

enum err_code definition_twice(const struct definition_read *r, const char *kind, const char *name,
                               struct definition_place before)
{
    char place[YAML_PLACE_SIZE];

    return err_set(r->err, E_INVALID, "%s %s is defined twice, first in %s", kind, name,
                   yaml_place_format(before.file.data, before.line, place));
}
