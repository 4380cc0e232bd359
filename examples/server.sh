# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For the `run` scripts of the examples: a server in a temporary directory, removed afterwards.

waybill=$(realpath "${WAYBILL_BIN:-$(dirname "${BASH_SOURCE[0]}")/../build/waybill}")
[[ -x $waybill ]] || { echo "$waybill does not exist: build it first (make)" >&2; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/waybill-example.XXXXXX")
mkdir "$dir/bin"
ln -s "$waybill" "$dir/bin/waybill"
export PATH=$dir/bin:$PATH WAYBILL_DATA=$dir/data
unset WAYBILL_URL WAYBILL_TOKEN
started=()
server=
url=

# shellcheck disable=SC2317 # called by the trap
clean_up() {
    for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

say() { printf '\n%s\n' "$*"; }

# start_server OPTION…
start_server() {
    local ready

    mkfifo "$dir/out"
    waybill serve --listen 127.0.0.1:0 "$@" >"$dir/out" 2>"$dir/server.log" &
    server=$!
    started+=("$server")
    exec 5<"$dir/out"
    if ! read -r -t 30 -u 5 ready; then
        cat "$dir/server.log" >&2
        exit 1
    fi
    # shellcheck disable=SC2034 # used by scripts that source this file
    url=$(echo "$ready" | cut -d ' ' -f 2)
    echo "$ready"
}

stop_server() {
    kill -TERM "$server"
    wait "$server"
}

# until_true WHAT COMMAND…: repeats COMMAND for up to 30 s, until it succeeds.
until_true() {
    local what=$1 end=$((SECONDS + 30))

    shift
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= end)); then
            echo "not within 30 s: $what" >&2
            exit 1
        fi
        sleep 0.1
    done
}
