#!/bin/sh
# SPDX-License-Identifier: MIT
#
# complain.sh DATE CAUSE: CAUSE is JSON that says which job failed, where, and why.
printf '%s: %s\n' "$1" "$2" >>"$IMPORT_DIR/complaints"
