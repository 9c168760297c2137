"""An evaluation in shards, by several processes that share a folder: kill it, start it again.

    python examples/evaluate_shards.py --folder counts [--shards 12] [--processes 2]

On a cluster each job runs the lines of `work` with its own rank, and the last lines of `main` run
once, when all are done:

    python examples/evaluate_shards.py --folder /shared/counts --rank $RANK --ranks 64
    python examples/evaluate_shards.py --folder /shared/counts --report

The images are made up here, and the predictions are wrong near contours; `batches` is the place for
a network and files.
"""

import argparse
import subprocess
import sys

import numpy as np

import submod

CLASSES, VOID = 5, 255


def metrics():
    return {
        "iou": submod.metrics.Confusion(CLASSES, ignore_index=VOID, absent="skip"),
        "contours": submod.metrics.BoundaryIoU(CLASSES, ignore_index=VOID, absent="skip"),
    }


def batches(shard):
    """Predictions and truths of the images of a shard."""
    random = np.random.default_rng(shard)
    for _ in range(4):
        truth = np.repeat(np.repeat(random.integers(0, CLASSES, (2, 6, 8)), 16, 1), 16, 2)
        prediction = np.roll(truth, random.integers(-3, 4, 2), (1, 2))
        truth[:, :2] = VOID
        yield prediction.astype(np.uint8), truth.astype(np.uint8)


def work(evaluator, rank, ranks):
    def say(done, of, shard):
        print(f"rank {rank}: shard {shard}, {done} of {of}", flush=True)

    evaluator.count(batches, rank=rank, ranks=ranks, progress=say)


def report(evaluator):
    found = evaluator.compute()
    iou, contours = found["iou"], found["contours"]
    print(f"{iou.pixels} pixels of {len(evaluator.shards)} shards")
    print(f"mIoU {iou.mean.iou:.6f}, boundary mIoU {contours.mean:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where the counts of shards are kept")
    parser.add_argument("--shards", type=int, default=12)
    parser.add_argument("--processes", type=int, default=2, help="started here, without --rank")
    parser.add_argument("--rank", type=int, help="count the part of this one alone")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="report, count nothing")
    given = parser.parse_args()
    evaluator = submod.metrics.Evaluator(given.folder, metrics, given.shards)
    if given.rank is not None:
        work(evaluator, given.rank, given.ranks)
        return
    if not given.report:
        again = [sys.executable, __file__, "--folder", given.folder, "--shards", str(given.shards)]
        parts = [
            subprocess.Popen([*again, "--rank", str(r), "--ranks", str(given.processes)])
            for r in range(given.processes)
        ]
        codes = [part.wait() for part in parts]
        if any(codes):
            sys.exit("a process has failed; start again to go on")
    report(evaluator)


if __name__ == "__main__":
    main()
