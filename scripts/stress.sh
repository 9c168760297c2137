#!/usr/bin/env bash
# Numbers at all ends of their range, for the prox, sums, minimisers and losses: how often the
# certificate holds, the status says that it does not, or the call is refused. What is wrong fails.
#
#   scripts/stress.sh             the table, also in out/reliability/stress.tsv
#   scripts/stress.sh --help      this text
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/stress.sh
    exit 0
    ;;
esac

if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
if ! [ -f build/CMakeCache.txt ]; then
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release >/dev/null
fi
cmake --build build --parallel "$(nproc 2>/dev/null || echo 2)" --target test_stress
mkdir -p out/reliability
status=0
build/tests/test_stress --table >out/reliability/stress.log || status=1
grep "$(printf '\t')" out/reliability/stress.log >out/reliability/stress.tsv
cat out/reliability/stress.log
exit $status
