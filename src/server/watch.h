/*
 * A descriptor in the loop of the HTTP thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

struct watch {
    int fd;
    void (*ready)(struct watch *w);
};
