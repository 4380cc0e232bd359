/*
 * How the load generator speaks to beanstalkd: its text protocol, pipelined.  There is no batch in
 * it: a batch of B is B commands sent in one go.  The tube is the plan's queue.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "load/load.h"

extern const struct load_protocol beanstalk;
