#!/usr/bin/env bash
# The loss over ranks of MPI against one process with threads: what is sent, and times as ratios.
#
#   bench/ranks/run.sh BUILD_DIRECTORY [CORES]
#
# Rounds go through all ways in turn, and each way's best round counts, so that what the machine
# does meanwhile hits all of them. CORES (default 2) threads in one process; as many and twice as
# many ranks with one thread each.
set -euo pipefail

program=$1/bench/bench-ranks
cores=${2:-2}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
rounds=3

# ways: threads and ranks
ways=("$cores 1" "1 1" "1 $cores" "1 $((2 * cores))")

# a_round IMAGES SIDE CLASSES BINS
a_round() {
    local way threads ranks
    for way in "${ways[@]}"; do
        read -r threads ranks <<<"$way"
        OMP_NUM_THREADS=$threads mpirun --bind-to none -n "$ranks" "$program" time "$@"
    done
}

# The best of each way, over that of the first.
table() {
    awk '
        { way = $1 " " $2; if (!(way in best)) order[++n] = way
          if (!(way in best) || $7 < best[way]) { best[way] = $7; line[way] = $0 } }
        END {
            print "ranks threads  ms  ratio  check+count  talk  solve+gradient"
            for (i = 1; i <= n; i++) {
                way = order[i]; split(line[way], f)
                printf "%5d %7d %7.1f %5.2f", f[1], f[2], 1e3 * f[7], f[7] / best[order[1]]
                if (f[8] == "-") print "      -      -      -"
                else printf " %11.1f %6.1f %6.1f\n", 1e3 * f[8], 1e3 * f[9], 1e3 * f[10]
            }
        }'
}

OMP_NUM_THREADS=1 mpirun -n 2 "$program" bytes
for task in "16 256 21 4096" "16 256 21 1024" "4 128 21 4096"; do
    read -ra words <<<"$task"
    echo
    echo "${words[0]} images of ${words[1]} x ${words[1]} pixels, ${words[2]} classes, ${words[3]} bins"
    for ((round = 0; round < rounds; round++)); do
        a_round "${words[@]}"
    done | table
done
