/*
 * What a resource is: slots, rates, opening hours, a probe.
 *
 * Kept in the store as canonical JSON, members in the order of the table.  Only the form of the
 * zone's name is checked here; whoever loads the zone finds out whether it exists.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/gate/gate.h"
#include "core/time/hours.h"

struct object_faults;

struct resource_probe {
    struct slice command; /* canonical JSON: a text (sh -c) or a list; empty: no probe */
    struct slice dir;     /* programs with a slash are relative to it */
    int64_t every_us;
    int64_t timeout_us;
};

struct resource_def {
    struct slice description;
    int64_t slots; /* 0: any number */
    struct rates rates;
    struct slice *open, *closed; /* as written */
    size_t n_open, n_closed;
    bool has_hours;     /* `hours` are given and settled */
    struct hours hours; /* large: 8 KiB */
    struct slice zone;  /* empty: UTC */
    struct resource_probe probe;
};

extern const struct object resource_object;

/* Reads a checked JSON object, from outside or from the store.  E_INVALID: "open[1]: …".  With
 * `faults`, which may be NULL, mistakes in members go there. */
MUST_CHECK enum err_code resource_def_parse(struct slice json, struct arena *arena,
                                            struct resource_def *ret_def,
                                            struct object_faults *faults, const char **fault_at,
                                            struct err *err);
MUST_CHECK enum err_code resource_def_canonical(struct slice json, struct buf *out,
                                                struct err *err);

/* The canonical definition with the directory of its file, if its probe needs one. */
MUST_CHECK enum err_code resource_def_canonical_in(struct slice json, struct slice dir,
                                                   struct buf *out, struct err *err);

/* 1 to GATE_NAME_MAX bytes, as for queues; not `lane`, nor what is counted by worker. */
MUST_CHECK enum err_code resource_name_check(struct slice name, struct err *err);

/* The gate of a resource; `def` and the zone (NULL: UTC) must outlive it. */
struct gate_rules resource_rules(const struct resource_def *def, const struct zone *zone);
