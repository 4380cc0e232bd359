#!/bin/sh
# SPDX-License-Identifier: MIT
#
# log.sh CASE DOCUMENTS LOST: the final step, which runs even if an earlier step has failed.
printf 'case %2s  %4s documents  %s lost\n' "$1" "$2" "$3" >>"$SHELF_DIR/results"
