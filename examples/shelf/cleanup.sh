#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cleanup.sh CASE: removes the working files of CASE.
rm -rf "$SHELF_DIR/case-$1"
