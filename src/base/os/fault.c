/* SPDX-License-Identifier: MIT */
#include "base/os/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os/log.h"

enum action { KILL, FAIL, FAIL_ALL };

static const char *const actions[] = {[KILL] = "kill", [FAIL] = "fail", [FAIL_ALL] = "fail-all"};

static struct {
    char name[64];
    uint64_t count;
    enum action action;
    atomic_uint_fast64_t hits;
} plan;

atomic_bool fault_armed;

bool fault_arm(const char *text)
{
    unsigned action = KILL;
    char *rest;

    atomic_store(&fault_armed, false);
    if (text == NULL)
        return true;
    size_t name_size = strcspn(text, ":");

    if (name_size == 0 || name_size >= sizeof(plan.name) || text[name_size] == '\0' ||
        text[name_size + 1] < '0' || text[name_size + 1] > '9')
        return false;
    errno = 0;
    plan.count = strtoull(text + name_size + 1, &rest, 10);
    if (errno != 0 || plan.count == 0 || (*rest != '\0' && *rest != ':'))
        return false;
    while (*rest == ':' && action < ARRAY_LEN(actions) && strcmp(rest + 1, actions[action]) != 0)
        action++;
    if (action == ARRAY_LEN(actions))
        return false;
    plan.action = (enum action)action;
    memcpy(plan.name, text, name_size);
    plan.name[name_size] = '\0';
    atomic_store(&plan.hits, 0);
    atomic_store(&fault_armed, true);
    return true;
}

bool fault_init(void)
{
    const char *text = getenv("WAYBILL_FAULT");

    if (fault_arm(text))
        return true;
    fprintf(stderr, "waybill: WAYBILL_FAULT='%s' is not NAME:COUNT[:kill|fail|fail-all]\n", text);
    return false;
}

bool fault_hit_armed(const char *name)
{
    if (strcmp(name, plan.name) != 0)
        return false;
    uint64_t hit = atomic_fetch_add(&plan.hits, 1) + 1;

    /* A failure that is made up for leaves no other trace. */
    if (hit == plan.count && plan.action != KILL)
        log_warn("WAYBILL_FAULT: %s fails", name);
    switch (plan.action) {
    case KILL:
        if (hit == plan.count)
            raise(SIGKILL);
        return false;
    case FAIL: return hit == plan.count;
    case FAIL_ALL: return hit >= plan.count;
    }
    return false;
}
