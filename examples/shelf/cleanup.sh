#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cleanup.sh CASE
rm -rf "$SHELF_DIR/case-$1"
