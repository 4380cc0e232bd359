/*
 * What ties queues together in definitions: the sections `joins` and `triggers`, and names that lead nowhere.
 *
 * For src/core/definition*.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/definition/read.h"
#include "core/route/dest.h"

MUST_CHECK enum err_code definition_joins_add(struct definition_read *r, struct yaml_value *map);
MUST_CHECK enum err_code definition_triggers_add(struct definition_read *r, struct yaml_value *map);

/* One list of destinations, and where it was read. */
struct definition_dests {
    const char *kind;         /* of its owner: "queue" or "join" */
    struct yaml_value *owner; /* its JSON is `json` */
    struct slice json;
    const char *key; /* the member of the owner that holds the list */
    const struct dest_list *list;
};

/* Keeps the names with their places, for definitions_check_names. */
void definition_note_dests(struct definition_read *r, const struct definition_dests *dests);
