#!/bin/sh
# SPDX-License-Identifier: MIT
#
# summary.sh DATE: writes which machines imported the dump of DATE.
printf '%s: imported by %s\n' "$1" \
    "$(grep "^$1 " "$IMPORT_DIR/imported" | cut -d @ -f 2 | sort | paste -sd ' ')" \
    >>"$IMPORT_DIR/summary"
