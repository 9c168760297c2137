#!/usr/bin/env bash
# Numbers at all ends of their range, for the prox, sums, minimisers and losses: how often the
# certificate holds, the status says that it does not, or the call is refused. What is wrong fails.
#
#   scripts/stress.sh             prints the table
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
exec build/tests/test_stress --table
