#!/usr/bin/env bash
# A rank is killed in the middle: the job ends with an error, nothing hangs, and what was saved is
# whole. Once just before a collective call that the others are in, then at times that nobody knows.
#
#   tests/mpi/killed.sh MPIEXEC PROGRAM
set -euo pipefail

mpiexec=$1
program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "killed: $*" >&2
    cat "$scratch/log" >&2
    exit 1
}

# ends JOB WHAT: the job, by its process, must have ended with an error, and not for want of time.
ends() {
    local code=0
    wait "$1" || code=$?
    [ $code -ne 0 ] || fail "$2: mpirun has reported success"
    [ $code -ne 124 ] || fail "$2: the job hangs"
    "$program" "$scratch" || fail "$2: a file is damaged"
    echo "$2: mpirun ended with $code"
    rm -f "$scratch"/*.submod* "$scratch/pid"
}

# start STEPS: in the background
start() {
    timeout -k 5 40 "$mpiexec" -n 3 "$program" "$scratch" "$1" >"$scratch/log" 2>&1 &
}

start 3
ends $! "before a collective call"

for delay in 0.01 0.05 0.1 0.2; do
    start 0
    job=$!
    until [ -e "$scratch/pid" ]; do
        kill -0 "$job" 2>/dev/null || fail "the job has ended by itself"
        sleep 0.02
    done
    sleep "$delay"
    kill -9 "$(cat "$scratch/pid")"
    ends "$job" "after $delay s"
done
