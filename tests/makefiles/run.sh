#!/usr/bin/env bash
# Configures the project for Make in a temporary folder and checks that each generated file has one
# target that makes it, so that `make -j` works. Builds nothing.
#
#   tests/makefiles/run.sh CMAKE_OPTIONS..
#
# Exits with code 77 (skipped) if there is no Make.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

if ! command -v make >/dev/null; then
    echo "makefiles: SKIPPED: there is no make"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake -S "$here/../.." -B "$scratch" -G "Unix Makefiles" "$@" >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    exit 1
}
python3 -B "$here/one_maker.py" "$scratch"
