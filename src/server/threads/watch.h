/*
 * A descriptor in the loop of the HTTP thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

struct watch {
    int fd;
    void (*ready)(struct watch *w, uint32_t events); /* of epoll */
};
