#!/bin/sh
# SPDX-License-Identifier: MIT
#
# simulate.sh CASE DOCUMENTS YEARS: loses one document in fifty each year.
set -eu

if [ "$2" -eq 0 ]; then
    waybill fail "case $1 has no documents"
    exit 1
fi
lost=$(awk -v case="$1" -v left="$2" -v years="$3" 'BEGIN {
    srand(case)
    for (documents = left; years-- > 0; left -= gone) {
        gone = 0
        for (i = 0; i < left; i++) gone += rand() < 0.02
    }
    print documents - left
}')
echo "case $1: $lost of $2 lost after $3 years"
sleep "${PACE:-0.2}" # slow enough to watch
waybill set lost:="$lost"
