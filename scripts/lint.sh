#!/usr/bin/env bash
# Layout, static analysis, shell scripts and Python. All linters run, then those that failed are
# named. Needs: scripts/setup.sh lint; ruff is fetched into .venv-lint/ where there is none.
#
#   scripts/lint.sh           clang-tidy reads src/ only
#   scripts/lint.sh --all     clang-tidy also reads tests, benchmarks, examples and tools
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"

jobs=$(nproc 2>/dev/null || echo 2)
failed=()
tidied=src
case ${1-} in
--all) tidied='src|bench|examples|tests|tools' ;;
'') ;;
*)
    echo "lint: unknown option '$1', see the head of scripts/lint.sh" >&2
    exit 2
    ;;
esac

# check NAME COMMAND...
check() {
    local name=$1
    shift
    if ! command -v "$name" >/dev/null; then
        echo "lint: $name is not installed; run scripts/setup.sh lint" >&2
        failed+=("$name")
        return
    fi
    echo "lint: $name"
    "$@" || failed+=("$name")
}

# All our C files, committed or not.
c_files() {
    git ls-files -co --exclude-standard -- '*.c' '*.h' | sort -u | while read -r file; do
        if [ -e "$file" ]; then
            echo "$file"
        fi
    done
}

# The C files that are compiled on this machine.
compiled_files() {
    if ! sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/compile_commands.json | sort -u |
        grep -E "^$root/($tidied)/.*\.c$"; then
        echo "lint: build/ was made for other sources; remove it and start again" >&2
        return 1
    fi
}

run_clang_format() {
    c_files | xargs clang-format --dry-run -Werror
}

# One process per file: with several, version 14 takes every second va_list to be uninitialised.
run_clang_tidy() {
    compiled_files | xargs -r -P "$jobs" -n 1 clang-tidy -p build --quiet 2>&1 |
        sed '/^[0-9]* warnings\{0,1\} generated\.$/d'
}

run_cppcheck() {
    cppcheck --quiet -j "$jobs" --std=c11 --enable=warning,performance,portability \
        --error-exitcode=1 --inline-suppr -I include -I src src include
}

run_shellcheck() {
    shellcheck scripts/*.sh .ci/run tests/docs/first_steps.sh tests/failures/run.sh tests/gpu/check.sh \
        tests/gpu/ptxas.sh \
        tests/install/run.sh tests/makefiles/run.sh tests/miou/run.sh tests/mpi/killed.sh tests/report/run.sh \
        tests/studies/check.sh tests/studies/terminal.sh bench/ranks/run.sh
}

# Layout, documents, the picture of the architecture and numbers of the bench.
run_house() {
    python3 -B scripts/check_house.py &&
        python3 -B scripts/check_docs.py &&
        python3 -B docs/architecture.py --check &&
        python3 -B docs/optimisers.py --check
}

# A version of its own, so that all machines agree about the layout.
ruff_version=0.17.4
fetch_ruff() {
    local venv=.venv-lint
    PATH=$root/$venv/bin:$PATH
    if [ "$(ruff --version 2>/dev/null)" = "ruff $ruff_version" ]; then
        return
    fi
    if ! [ -x $venv/bin/python ]; then
        python3 -m venv $venv
        echo '*' >$venv/.gitignore
    fi
    $venv/bin/python -m pip install --quiet --disable-pip-version-check "ruff==$ruff_version"
}

run_ruff() {
    ruff check --quiet . && ruff format --check --quiet .
}

run_bindings() {
    python3 -B python/generate_bindings.py --check
}

# Quick, and makes new files appear in the compile database.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake --preset dev >/dev/null

check python3 run_house
check clang-format run_clang_format
check clang-tidy run_clang_tidy
check cppcheck run_cppcheck
check shellcheck run_shellcheck
fetch_ruff || echo "lint: ruff $ruff_version could not be fetched" >&2
check ruff run_ruff
check python3 run_bindings

if [ ${#failed[@]} -gt 0 ]; then
    echo "lint: FAILED: ${failed[*]}" >&2
    exit 1
fi
echo "lint: clean"
