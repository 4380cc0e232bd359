/*
 * The key `zone` of definitions: the form of a time zone's name.
 *
 * Whether a zone has that name is found out by whoever loads it (base/os/zone_file.h).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/os/zone_file.h"
#include "core/object/object.h"

/* For a FIELD_TEXT.  E_INVALID: "is not the name of a time zone like Europe/Berlin". */
field_fn zone_field_check;
