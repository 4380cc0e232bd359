/*
 * How the load generator speaks to Waybill: keep-alive HTTP/1.1 over TCP or a Unix socket, one
 * request at a time on a connection.  Requests are put together from ready-made bytes; answers are
 * scanned for ids and leases, not parsed.  What a claim brings is finished by the next claim.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "load/load.h"

extern const struct load_protocol load_http;
