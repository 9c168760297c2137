#!/usr/bin/env bash
# Runs wrapped test programs (failing.h) and says what came of it, a line for each.
#
#   run.sh PROGRAM..
#
# Each runs twice: one allocation fails, and all from that one on. Fails when something is wrong, when
# a program crashes, when a test fails that is not in exempt.txt, and when nothing could fail at all.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMP_WAIT_POLICY=passive CK_TIMEOUT_MULTIPLIER=${CK_TIMEOUT_MULTIPLIER:-10}

# count WORD: lines of the log that begin with it.
count() {
    grep -c "^$1$(printf '\t')" "$scratch/log" || true
}

# Tests that failed and are not exempt; crashes never are.
failed_tests() {
    local name=$1
    { grep -E ':[FE]:all:' "$scratch/out" || true; } | while IFS= read -r line; do
        test=$(sed -E 's/.*:[FE]:all:([a-z0-9_A-Z]+):.*/\1/' <<<"$line")
        if [[ $line == *:E:all:* ]] || ! grep -q "^$name $test " "$here/exempt.txt"; then
            echo "$line"
        fi
    done
}

status=0
for program in "$@"; do
    name=$(basename "$program")
    name=${name#failing_}
    for how in once on; do
        : >"$scratch/log"
        SUBMOD_FAILURES=$how SUBMOD_FAILURES_LOG=$scratch/log "$program" >"$scratch/out" 2>&1 || true
        bad=$(failed_tests "$name")
        printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$how" "$(count failed)" "$(count survived)" "$(count wrong)"
        if [ -n "$bad" ] || [ "$(count wrong)" -gt 0 ] || ! grep -q '%: Checks:' "$scratch/out" ||
            ! [ -s "$scratch/log" ]; then
            status=1
            { grep -v '^Running suite' "$scratch/out" | tail -n 60; echo "$bad"
                grep '^wrong' "$scratch/log" | sort | uniq -c | head -n 20; } >&2 || true
        fi
    done
done
exit $status
