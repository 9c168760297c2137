#!/usr/bin/env bash
# Do products and sums of sizes wrap? The tests of sizes and refusals, built by clang such that every
# unsigned number that wraps is reported.
#
#   scripts/wraps.sh           names the lines where one wraps and should not; fails if there is one
#   scripts/wraps.sh --help    this text
#
# Meant to wrap are random numbers and hashes, sums with a carry, loops that count down, the size of a
# negative stride, and what OpenMP makes of a loop without turns.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
--help | -h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/wraps.sh
    exit 0
    ;;
'') ;;
*)
    echo "wraps: unknown option '$1', see scripts/wraps.sh --help" >&2
    exit 2
    ;;
esac

tests=(arguments bad_input boundary confusion decision functions hostile loss_errors memory overflows refusals rows settings)
scripts/setup.sh clang
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake -S . -B build-wraps -DCMAKE_C_COMPILER=clang -DSUBMOD_CUDA=OFF -DSUBMOD_MPI=OFF -DSUBMOD_BUILD_BENCH=OFF \
    -DSUBMOD_BUILD_TOOLS=OFF -DSUBMOD_BUILD_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-g1 \
    "-DCMAKE_C_FLAGS=-O1 -fsanitize=unsigned-integer-overflow"
cmake --build build-wraps --parallel "$(nproc 2>/dev/null || echo 2)" --target "${tests[@]/#/test_}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for test in "${tests[@]}"; do
    CK_TIMEOUT_MULTIPLIER=10 build-wraps/tests/"test_$test" >>"$log" 2>&1 || { tail -n 20 "$log" && exit 1; }
done

# is_meant FILE LINE
is_meant() {
    local text before
    text=$(sed -n "$2p" "$1")
    before=$(sed -n "$(($2 > 3 ? $2 - 3 : 1)),$(($2 - 1))p" "$1")
    [ "$1" = src/base/random.c ] || [ "$1" = src/submod/metrics/fraction.h ] || [[ $text == *"-- > "* ]] || [[ $text == *hash* ]] ||
        [[ $text == *"-(size_t)"* ]] || { [[ $text == *"for ("* ]] && [[ $before == *"#pragma omp"* ]]; }
}

seen=0
wrong=0
while IFS=: read -r file line; do
    seen=$((seen + 1))
    if ! is_meant "$file" "$line"; then
        wrong=$((wrong + 1))
        echo "$file:$line: a size wraps: $(sed -n "${line}p" "$file" | tr -s ' ')"
    fi
done < <(grep 'runtime error' "$log" | sed -nE 's#.*\b(src/[^:]+):([0-9]+):.*#\1:\2#p' | sort -u)
if [ $seen -eq 0 ]; then
    echo "wraps: not even random numbers wrapped: the sanitizer was not at work" >&2
    exit 1
fi
echo "wraps: $seen lines where an unsigned number wraps, $wrong of them not meant to"
docs/reliability.py row wraps \
    --what "sizes that wrap: the tests of sizes, refusals and bad input, with every unsigned overflow reported" \
    --cases "${#tests[@]} test programs" \
    --found "lines that wrap: $seen; not meant to: $wrong" \
    --remains "what these tests do not run" \
    --command scripts/wraps.sh
[ "$wrong" -eq 0 ]
