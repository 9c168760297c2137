#!/usr/bin/env bash
# Every allocation fails once in every C test program, and after it all (tests/failures/failing.h).
#
#   scripts/failures.sh                 all of them, under AddressSanitizer: about an hour
#   scripts/failures.sh --release       without sanitizers: several times faster, and blind to leaks
#   scripts/failures.sh NAME..          of these tests alone, such as sums
#   scripts/failures.sh --help          this text
#
# A line per program: its name, how memory fails (once, or from then on), the failures that the call
# reported as SUBMOD_ENOMEM, those that it survived, those that went wrong. Fails when something is
# wrong.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build-asan
names=()
for option in "$@"; do
    case $option in
    --release) folder=build ;;
    --help | -h)
        sed -n '2,/^set/s/^# \{0,1\}//p' scripts/failures.sh
        exit 0
        ;;
    -*)
        echo "failures: unknown option '$option', see scripts/failures.sh --help" >&2
        exit 2
        ;;
    *) names+=("$option") ;;
    esac
done

scripts/setup.sh
jobs=$(nproc 2>/dev/null || echo 2)
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
if [ $folder = build ]; then
    cmake --preset dev
else
    cmake --preset asan
    export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
    export UBSAN_OPTIONS=print_stacktrace=1
fi
programs=()
if [ ${#names[@]} -eq 0 ]; then
    cmake --build $folder --parallel "$jobs" --target failing_programs
    mapfile -t programs < <(find $folder/tests/failures -maxdepth 1 -name 'failing_*' -type f -perm -u+x | sort)
else
    cmake --build $folder --parallel "$jobs" --target "${names[@]/#/failing_}"
    programs=("${names[@]/#/$folder/tests/failures/failing_}")
fi

printf 'program\tmemory fails\treported\tsurvived\twrong\n'
printf '%s\n' "${programs[@]}" | xargs -P "$jobs" -n 1 tests/failures/run.sh
