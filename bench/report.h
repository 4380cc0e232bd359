/*
 * What a run came to, as the one line of JSON that bench/run reads.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "load/load.h"

void report_print(const struct load_report *report);
