"""The bench's numbers: profiles, tuning, basins and oscillation, against examples by hand."""

import math

import numpy as np
import pytest

from submod.optim_bench import basins, oscillation, profiles
from submod.optim_bench.records import Record, best_size, by_size, tuned, untuned
from submod.optim_bench.summary import quartiles

INF = math.inf


def record(accuracy, calls=None, *, optimiser="a", size=1.0, where="p", seed=1):
    calls = np.arange(float(len(accuracy))) if calls is None else np.array(calls, float)
    return Record(where, seed, optimiser, size, "ran", calls, calls / 100, np.array(accuracy))


def test_time_to_reach():
    run = record([1.0, 0.5, 0.01], [0, 4, 9])
    assert run.to_reach(0.5) == 4 and run.to_reach(0.1) == 9 and run.to_reach(1e-3) == INF
    assert run.to_reach(0.5, "seconds") == 0.04 and run.final == 0.01


def test_performance_profile():
    """Three problems, two optimisers; a is the fastest on two, b on one, which a does not solve."""
    table = np.array([[10.0, 20.0], [INF, 50.0], [10.0, 40.0]])
    ratios = profiles.performance_ratios(table)
    assert np.array_equal(ratios, [[1, 2], [INF, 1], [1, 4]])
    shares = profiles.share_within(ratios, np.array([1.0, 2.0, 3.9, 4.0]))
    assert shares * 3 == pytest.approx(np.array([[2, 1], [2, 2], [2, 2], [2, 3]]))


def test_performance_of_nobody():
    """A problem that nobody solves, and one that is solved at the start."""
    ratios = profiles.performance_ratios(np.array([[INF, INF], [0.0, 3.0]]))
    assert np.array_equal(ratios, [[INF, INF], [1, INF]])


def test_data_profile():
    """Two seeds are two problems; who does not take part does not solve."""
    runs = [
        record([1.0, 0.1, 0.01], [0, 5, 30]),
        record([1.0, 0.1, 0.05], [0, 7, 30], seed=2),
        record([1.0, 0.001], [0, 12], optimiser="b"),
    ]
    table = profiles.times(runs, ["a", "b"], 0.1)
    assert np.array_equal(table, [[5, 12], [7, INF]])
    shares = profiles.share_within(table, np.array([4.0, 5.0, 7.0, 12.0]))
    assert np.array_equal(shares, [[0, 0], [0.5, 0], [1, 0], [1, 0.5]])


def test_tuning():
    """The median over the seeds decides, then the calls; each problem has its own best size."""
    runs = [
        record([1.0, final], size=size, seed=seed)
        for size, finals in ((0.1, (1e-3, 1e-3, 1.0)), (1.0, (1e-4, 1e-2, 1e-2)))
        for seed, final in enumerate(finals)
    ]
    late = [record([1.0, 1.0, 1e-3], size=2.0, seed=seed) for seed in range(3)]
    sizes = by_size(runs + late)["p", "a"]
    assert best_size(sizes) == 0.1  # its median is that of 2.0, which takes a call more
    elsewhere = record([1.0, 0.9], size=1.0, where="q")
    assert {(run.where, run.size) for run in tuned([*runs, elsewhere])} == {("p", 0.1), ("q", 1.0)}


def test_one_size_for_all():
    """0.1 has 4 + 1 digits, 1.0 has 2 + 2: the mean decides."""
    finals = {("p", 0.1): 1e-4, ("q", 0.1): 1e-1, ("p", 1.0): 1e-2, ("q", 1.0): 1e-2}
    runs = [record([1.0, f], size=size, where=where) for (where, size), f in finals.items()]
    assert {(run.where, run.size) for run in untuned(runs)} == {("p", 0.1), ("q", 0.1)}


def test_basin():
    """Accuracies 1e-2 (best), 1e-1 on the left at half a decade, 1 on the right at one decade: the
    basin ends at the left point exactly, and half-way to the right one."""
    sizes = {
        0.01: [record([1.0])],
        1 / math.sqrt(10): [record([1e-1])],
        1.0: [record([1e-2])],
        10.0: [record([1.0])],
    }
    found = basins.basin(sizes)
    assert found.decades == pytest.approx(0.5 + 0.5) and not found.open
    wide = {10.0**k: [record([1e-2])] for k in range(3)}
    assert basins.basin(wide) == (2.0, True)


def test_quartiles():
    assert quartiles([1.0, 2.0, 3.0, 4.0, INF]) == quartiles([4.0, 3.0, INF, 1.0, 2.0])
    found = quartiles([1.0, 2.0, 3.0, 4.0, INF])
    assert (found.low, found.median, found.high) == (2, 3, 4)


def test_oscillation():
    """To and fro along a line, then on: by hand."""
    points = [np.array([x, 0.0]) for x in (3.0, 1.0, 2.0, -1.0, -2.0, 0.0)]
    f = [abs(x[0]) for x in points]
    found = oscillation.measure(points, f, lambda x: x[0], f_star=0.0)
    assert found["detour"] == pytest.approx((2 + 1 + 3 + 1 + 2) / 3)
    assert found["reversals"] == pytest.approx(3 / 4) and found["uphill"] == pytest.approx(2 / 5)
    assert found["crossings"] == 1 and found["away"] == 2  # the step across, and one more
    assert oscillation.measure(points[:1], f[:1], None, 0.0) == {}
    back = oscillation.measure([points[0], points[1], points[0]], [3, 1, 3], None, 0.0)
    assert back["detour"] == INF and "crossings" not in back
