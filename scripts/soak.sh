#!/usr/bin/env bash
# Mixed calls from several threads for an hour: are results still right, does memory stay flat?
#
#   scripts/soak.sh                  an hour, a thread for each core and two more
#   scripts/soak.sh --minutes 20     as long as you like
#   scripts/soak.sh --threads 8      so many callers
#   scripts/soak.sh --help           this text
#
# A line every ten seconds, also in out/reliability/soak.tsv. Fails when a call finds something else
# than it found alone, when the library keeps an allocation, or when the process grows.
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
mkdir -p out/reliability
status=0
OMP_WAIT_POLICY=passive build/tests/soak/submod-soak "$minutes" "$threads" | tee out/reliability/soak.tsv || status=1
docs/reliability.py row soak \
    --what "mixed calls of all kinds from several threads for a long time, against what one thread found" \
    --cases "$minutes minutes, $threads threads" \
    --found "$(sed -n 's/^soak: [0-9]* threads, //p' out/reliability/soak.tsv)" \
    --remains "one machine; the GPU and MPI" \
    --command "scripts/soak.sh --minutes $minutes --threads $threads"
exit $status
