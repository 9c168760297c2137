#!/usr/bin/env bash
# Fuzzes the library with libFuzzer, AddressSanitizer and UBSan: each fuzzer of tests/fuzz for some time,
# as many at once as there are cores. What it finds stays in out/fuzz/found/, and it says how to replay it.
# The fuzzer "python" makes seeded random calls of the Python package instead.
#
#   scripts/fuzz.sh                     an hour in total
#   scripts/fuzz.sh --seconds S         so long in total, over all fuzzers
#   scripts/fuzz.sh --each S            so long for each of them
#   scripts/fuzz.sh --only NAME         this one alone; may be given several times
#   scripts/fuzz.sh --jobs N            so many at once
#   scripts/fuzz.sh --minimize FILE     makes an input that was found smaller; --only says whose it is
#   scripts/fuzz.sh --build             only builds
#   scripts/fuzz.sh --help              this text
#
# The inputs that it learns from are kept in out/fuzz/corpus/, where the next run goes on; those of
# tests/fuzz/seeds/ are where it begins. Needs clang. Exit code 1 if anything was found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=3600
each=
only=()
jobs=$(nproc 2>/dev/null || echo 2)
smaller=
run=yes
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=${2:?--seconds needs a number} && shift ;;
    --each) each=${2:?--each needs a number} && shift ;;
    --only) only+=("${2:?--only needs the name of a fuzzer}") && shift ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift ;;
    --minimize) smaller=${2:?--minimize needs a file} && shift ;;
    --build) run=no ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/fuzz.sh
        exit 0
        ;;
    *)
        echo "fuzz: unknown option '$1', see scripts/fuzz.sh --help" >&2
        exit 2
        ;;
    esac
    shift
done

scripts/setup.sh ccache fuzz
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER:-ccache}
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
cmake --preset fuzz >/dev/null
cmake --build build-fuzz --parallel "$(nproc 2>/dev/null || echo 2)" --target fuzzers
# For Python the library as it is: sanitizers would have to be loaded before Python itself.
scripts/build.sh submod
if [ $run = no ]; then
    exit 0
fi
if [ ${#only[@]} -eq 0 ]; then
    for program in build-fuzz/tests/fuzz/fuzz_*; do
        [ -x "$program" ] && [ -f "$program" ] && only+=("${program##*/fuzz_}")
    done
    only+=(python)
fi
# The first Python that has NumPy.
for python in .venv-test/bin/python python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
each=${each:-$((seconds * jobs / ${#only[@]}))}

# The library has to survive a failing allocation; one thread is enough for most inputs.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export LSAN_OPTIONS=suppressions=$PWD/tests/fuzz/leaks.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
root=$PWD
limits=(-max_len=512 -len_control=0 -timeout=60 -rss_limit_mb=4096)

# Calls of the Python package, other ones each time.
fuzz_python() {
    if ! SUBMOD_LIBRARY=$root/build/libsubmod.so PYTHONPATH=$root/python "$python" -B \
        python/tests/fuzz_boundary.py --seconds "$each" --first "$(date +%s)000" >out/fuzz/python.log 2>&1; then
        cat out/fuzz/python.log >&2
        echo "fuzz: python FOUND something. To replay a call:" >&2
        echo "    SUBMOD_LIBRARY=build/libsubmod.so PYTHONPATH=python $python python/tests/fuzz_boundary.py --seed N" >&2
        return 1
    fi
    echo "fuzz: python: $(sed -n 's/^stat::number_of_executed_units: *//p' out/fuzz/python.log) calls in $each s"
}

# fuzz NAME: until its time is over, or something is found.
fuzz() {
    local name=$1 status=0
    mkdir -p "out/fuzz/corpus/$name" out/fuzz/found
    if [ "$name" = python ]; then
        fuzz_python
        return
    fi
    "build-fuzz/tests/fuzz/fuzz_$name" "${limits[@]}" -max_total_time="$each" -print_final_stats=1 \
        -artifact_prefix="$root/out/fuzz/found/$name-" "out/fuzz/corpus/$name" \
        "tests/fuzz/seeds/$name" >"out/fuzz/$name.log" 2>&1 || status=$?
    local runs
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "out/fuzz/$name.log" | tail -n 1)
    echo "fuzz: $name: ${runs:-0} inputs in $each s"
    if [ $status -ne 0 ]; then
        local input
        input=$(sed -n 's/.*Test unit written to \(.*\)/\1/p' "out/fuzz/$name.log" | tail -n 1)
        grep -E -m 3 '^[^ ]+\.[ch]:[0-9]+: |runtime error|ERROR: ' "out/fuzz/$name.log" >&2 || true
        echo "fuzz: $name FOUND something; all of it is in out/fuzz/$name.log. To replay it:" >&2
        echo "    FUZZ_SHOW=1 build-fuzz/tests/fuzz/fuzz_$name ${input#"$root"/}" >&2
        return 1
    fi
}

if [ -n "$smaller" ]; then
    "build-fuzz/tests/fuzz/fuzz_${only[0]}" -minimize_crash=1 -max_total_time="$each" \
        -exact_artifact_path="$smaller.smaller" "$smaller" || true
    echo "fuzz: $smaller.smaller"
    exit 0
fi

echo "fuzz: ${only[*]}: $each s each, $jobs at once"
found=0 # fuzzers that have
running=0
for name in "${only[@]}"; do
    if [ $running -eq "$jobs" ]; then
        wait -n || found=$((found + 1))
        running=$((running - 1))
    fi
    fuzz "$name" &
    running=$((running + 1))
done
while [ $running -gt 0 ]; do
    wait -n || found=$((found + 1))
    running=$((running - 1))
done

exit $((found > 0))
