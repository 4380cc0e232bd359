#!/bin/sh
# SPDX-License-Identifier: MIT
#
# log.sh CASE DOCUMENTS LOST: the step that always runs, also when one before it has failed.
printf 'case %2s  %4s documents  %s lost\n' "$1" "$2" "$3" >>"$SHELF_DIR/results"
