#!/bin/sh
# SPDX-License-Identifier: MIT
#
# jobs.sh FILE: prints a job for each line, as a JSON array.  Because of the key, the same list can
# be submitted twice: jobs that are done are not run again.
awk 'BEGIN { printf "[" }
{
    printf "%s{\"key\": \"shelf case %s\", ", (NR > 1 ? ",\n " : ""), $1
    printf "\"params\": {\"case\": \"%s\"}, \"steps\": [", $1
    printf "{\"name\": \"extract\"}, {\"name\": \"main\", \"queue\": \"simulate\"}, "
    printf "{\"name\": \"cleanup\", \"final\": true}, {\"name\": \"log\", \"final\": true}]}"
}
END { print "]" }' "$1"
