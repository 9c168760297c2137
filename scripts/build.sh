#!/usr/bin/env bash
# Sets up, and builds these targets in build/, the release build. What other scripts begin with.
#
#   scripts/build.sh TARGET..
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -eq 0 ]; then
    echo "usage: scripts/build.sh TARGET.." >&2
    exit 2
fi
scripts/setup.sh
# Counts for a new build directory only; an old one stays with what it was made with.
if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
fi
cmake --preset dev >/dev/null
cmake --build build --parallel "$(nproc 2>/dev/null || echo 2)" --target "$@"
