#!/usr/bin/env bash
# More than 2^31 scores and more than 2^31 pixels in one call: losses, metrics, the prox.
#
#   scripts/large.sh              with at most 14 GiB of memory
#   scripts/large.sh --gib 8      with less; what needs more is left out, and says so
#   scripts/large.sh --help       this text
#
# Prints a table of what ran. Fails when a result is wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gib=14
while [ $# -gt 0 ]; do
    case $1 in
    --gib) gib=${2:?--gib needs a number} && shift ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/large.sh
        exit 0
        ;;
    *)
        echo "large: unknown option '$1', see scripts/large.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

scripts/build.sh submod-large
exec build/tests/large/submod-large "$gib"
