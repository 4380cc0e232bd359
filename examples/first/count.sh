#!/bin/sh
# SPDX-License-Identifier: MIT
#
# count.sh FILE: counts the words of FILE line by line and reports progress.
set -eu

name=$(basename "$1")
lines=$(wc -l <"$1")
line_number=0
words=0

# For this text the first attempt fails; the retry succeeds.
if [ "$name" = lighthouse.txt ] && [ "$WAYBILL_ATTEMPT" = 1 ]; then
    echo "$name is not available yet"
    exit 1
fi

while read -r line; do
    line_number=$((line_number + 1))
    words=$((words + $(echo "$line" | wc -w)))
    # or: waybill progress "$line_number/$lines" "$name"
    echo "progress $line_number/$lines $name" >&3
    sleep "${PACE:-0.15}" # slow enough to watch
done <"$1"

echo "$name has $words words"
waybill set file="$name" words:="$words" # the job's result
