#!/bin/sh
# SPDX-License-Identifier: MIT
#
# import.sh DATE QUEUE: stands for the import of a day's dump on one machine.
set -eu

machine=${2#import_category_dump}
if [ "$1$machine" = broken@north ]; then
    waybill fail "the dump of $1 cannot be read"
    exit 1
fi
sleep "${PACE:-0.2}" # slow enough to watch
echo "$1 ${machine:-@server}" >>"$IMPORT_DIR/imported"
