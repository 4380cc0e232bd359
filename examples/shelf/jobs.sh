#!/bin/sh
# SPDX-License-Identifier: MIT
#
# jobs.sh FILE: a job for each line, as a JSON array.  The key lets the same list be handed in twice: what is done is
# not done again.
awk 'BEGIN { printf "[" }
{
    printf "%s{\"key\": \"shelf case %s\", \"params\": {\"case\": \"%s\"}, \"steps\": [", (NR > 1 ? ",\n " : ""), $1, $1
    printf "{\"name\": \"extract\"}, {\"name\": \"main\", \"queue\": \"simulate\"}, "
    printf "{\"name\": \"cleanup\", \"final\": true}, {\"name\": \"log\", \"final\": true}]}"
}
END { print "]" }' "$1"
