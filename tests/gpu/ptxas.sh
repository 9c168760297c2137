#!/usr/bin/env bash
# Compiles the kernels for several architectures and fails when one of ours spills registers.
#
#   tests/gpu/ptxas.sh NVCC ARCHITECTURE...          such as 80 90 100
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: $0 NVCC ARCHITECTURE..." >&2
    exit 2
fi
nvcc=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The kernels of backend.h.
expected=$(sed -n '/define SUBMODI_GPU_KERNELS/,/^$/p' "$root/src/gpu/backend.h" | grep -c '^    X(')

for architecture in "$@"; do
    log=$scratch/$architecture
    "$nvcc" -O3 -std=c++17 -fmad=false -DNVTX_DISABLE -DCCCL_DISABLE_NVTX -Xptxas -v \
        -gencode "arch=compute_$architecture,code=sm_$architecture" \
        -I "$root/include" -I "$root/src" -cubin -o "$scratch/cubin" "$root/src/gpu/cuda.cu" \
        2>"$log" || {
        cat "$log" >&2
        exit 1
    }
    # One line per kernel of ours: name, bytes spilled, registers.
    awk -v architecture="sm_$architecture" -v expected="$expected" '
        /Compiling entry function/ {
            name = match($0, /submodi_gpu_global_[a-z_]+E/) ? substr($0, RSTART + 19, RLENGTH - 20) : ""
        }
        name && /spill stores/ { spilled = $5 }
        name && /Used [0-9]+ registers/ {
            match($0, /Used [0-9]+/)
            printf "%s  %-14s %3d registers, %d bytes spilled\n", architecture, name,
                substr($0, RSTART + 5, RLENGTH - 5), spilled
            bad += spilled > 0
            seen++
            name = ""
        }
        END {
            if (seen != expected) {
                print "ptxas named " seen " kernels of ours instead of " expected
                exit 1
            }
            exit bad > 0
        }' "$log"
done
