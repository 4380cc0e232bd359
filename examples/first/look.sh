#!/bin/sh
# SPDX-License-Identifier: MIT
#
# look.sh FOLDER: makes a job of the queue `count` for each text in it.  They begin when this one is
# done; if it fails, there are none.
set -eu

for file in "$1"/*.txt; do
    waybill emit count -p file="$file"
    echo "found $file"
done
