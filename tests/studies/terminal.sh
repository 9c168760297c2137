#!/usr/bin/env bash
# Tests the output of submod-study: the run stamp on stdout, and on stderr the name, number and total
# of the running studies, without control characters when stderr is a file.
#
#   terminal.sh PROGRAM
set -euo pipefail
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "terminal: FAILED: $1" >&2
    cat "$scratch/stdout" "$scratch/stderr" >&2
    exit 1
}

# show OPTIONS..: runs two short studies.
show() {
    "$program" run surfaces nu --out "$scratch/out" "$@" >"$scratch/stdout" 2>"$scratch/stderr"
}

quick='quick run: verdicts are not meaningful'
stamp="version [0-9.]*, seed 7, $(date +%Y)-[0-9-]*"
show --seed 7 --quick
[ "$(grep -cx "submod-study: $quick; $stamp" "$scratch/stdout")" -eq 2 ] ||
    fail "a quick run must be marked at its beginning and at its end"
grep -qx "  $quick; $stamp" "$scratch/stdout" || fail "a quick run must be marked above its verdicts"
grep -q '^submod-study: 1 of 2, surfaces; ' "$scratch/stderr" || fail "the first study has no counter"
grep -q '^submod-study: 2 of 2, nu; ' "$scratch/stderr" || fail "the second study has no counter"
! LC_ALL=C grep '[[:cntrl:]]' "$scratch/stderr" || fail "stderr has control characters"
show --seed 7
[ "$(grep -cx "submod-study: $stamp" "$scratch/stdout")" -eq 2 ] || fail "a run must print its stamp twice"
! grep -rqi 'quick run' "$scratch" || fail "a full run must not be called a quick one"
