#!/bin/sh
# SPDX-License-Identifier: MIT
#
# count.sh FILE: counts its words, a line at a time, and says how far it is.
set -eu

name=$(basename "$1")
lines=$(wc -l <"$1")
line_number=0
words=0

# This one is lent out when it is first asked for: a failure that the next attempt puts right.
if [ "$name" = lighthouse.txt ] && [ "$WAYBILL_ATTEMPT" = 1 ]; then
    echo "$name is lent out"
    exit 1
fi

while read -r line; do
    line_number=$((line_number + 1))
    words=$((words + $(echo "$line" | wc -w)))
    echo "progress $line_number/$lines $name" >&3 # or: waybill progress "$line_number/$lines" "$name"
    sleep "${PACE:-0.15}"                         # so that there is something to see
done <"$1"

echo "$name has $words words"
waybill set file="$name" words:="$words" # the job's result
