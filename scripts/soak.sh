#!/usr/bin/env bash
# Mixed calls from several threads for an hour: are results still right, does memory stay flat?
#
#   scripts/soak.sh                  an hour, a thread for each core and two more
#   scripts/soak.sh --minutes 20     as long as you like
#   scripts/soak.sh --threads 8      so many callers
#   scripts/soak.sh --help           this text
#
# Prints a line every ten seconds. Fails when a call finds something else than it found alone, when
# the library keeps an allocation, or when the process grows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cores=$(nproc 2>/dev/null || echo 2)
minutes=60
threads=$((cores + 2))
while [ $# -gt 0 ]; do
    case $1 in
    --minutes) minutes=${2:?--minutes needs a number} && shift ;;
    --threads) threads=${2:?--threads needs a number} && shift ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/soak.sh
        exit 0
        ;;
    *)
        echo "soak: unknown option '$1', see scripts/soak.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

scripts/build.sh submod-soak
OMP_WAIT_POLICY=passive exec build/tests/soak/submod-soak "$minutes" "$threads"
