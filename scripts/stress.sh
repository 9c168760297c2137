#!/usr/bin/env bash
# Numbers at all ends of their range, for the prox, sums, minimisers and losses: how often the
# certificate holds, the status says that it does not, or the call is refused. What is wrong fails.
#
#   scripts/stress.sh             the table, also in out/reliability/stress.tsv, and the row of
#                                 docs/reliability.md
#   scripts/stress.sh --help      this text
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/stress.sh
    exit 0
    ;;
'') ;;
*)
    echo "stress: unknown option '$1', see scripts/stress.sh --help" >&2
    exit 2
    ;;
esac

scripts/build.sh test_stress
mkdir -p out/reliability
status=0
build/tests/test_stress --table >out/reliability/stress.log || status=1
grep "$(printf '\t')" out/reliability/stress.log >out/reliability/stress.tsv
cat out/reliability/stress.log

# The sum of a column of the table.
sum() {
    awk -F '\t' -v column="$1" 'NR > 1 { all += $column } END { print all }' out/reliability/stress.tsv
}
docs/reliability.py row stress \
    --what "numbers at all ends of their range: lambda and x from 1e-300 to 1e300, denormals, equal errors, heavy ties" \
    --cases "$(sum 3) problems" \
    --found "certificate holds: $(sum 4); status says that it does not: $(sum 5); refused, with words: $(sum 6); wrong: $(sum 7)" \
    --remains "7 elements, 40 pixels: larger problems only by the tests of each method" \
    --command scripts/stress.sh
exit $status
