#!/bin/sh
# SPDX-License-Identifier: MIT
#
# look.sh FOLDER: creates a job in the queue `count` for each text in FOLDER.  The jobs start when
# this one is done; if it fails, none is created.
set -eu

for file in "$1"/*.txt; do
    waybill emit count -p file="$file"
    echo "found $file"
done
