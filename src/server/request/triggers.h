/*
 * Triggers: names that GET /job_start may start without the token, and from where.
 *
 * Read from the section `triggers:` of the definitions, at start and again on HUP.  HTTP thread
 * only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "base/vec.h"

struct cidr;
struct definitions;
struct sockaddr;

#define TRIGGER_PARAM "job_name" /* of GET /job_start: what to start */

struct trigger {
    struct slice name;
    struct cidr *nets;
    size_t n_nets;
};

struct triggers {
    struct arena arena;
    VEC(struct trigger) items;
};

void triggers_init(struct triggers *t);
void triggers_deinit(struct triggers *t);

/* Adds copies of those of the definitions. */
void triggers_add(struct triggers *t, const struct definitions *d);

/* Whether the name may be started from that address. */
bool triggers_open(const struct triggers *t, struct slice name, const struct sockaddr *from);
