#!/bin/sh
# SPDX-License-Identifier: MIT
#
# extract.sh CASE: reads the description of the case and sets its values for later steps.
set -eu

mkdir -p "$SHELF_DIR/case-$1"
grep "^$1 " "$SHELF_CASES" >"$SHELF_DIR/case-$1/description"
read -r _ documents years <"$SHELF_DIR/case-$1/description"
echo "case $1: $documents documents for $years years"
waybill set documents:="$documents" years:="$years"
