"""Fuzzes the boundary between Python and the library: seeded random calls of public functions.

    python python/tests/fuzz_boundary.py --seconds 30      call after call
    python python/tests/fuzz_boundary.py --seed 17         call 17 alone, with what it was

A call has arguments as users have them, and often one that nobody should have: None, text, NaN,
numbers beyond all types, arrays of other shapes, types, strides and byte orders. It returns, or
raises one of the exceptions that are meant for users; anything else is a bug, and so is a crash.
Where a loss returns, the same numbers in another layout (backwards, Fortran's order, another byte
order, with gaps) give the same result. When the call is over, nothing keeps its arrays alive.

Why not a fuzzer with coverage such as atheris: what decides here are shapes and types of arguments,
of which there are few. And it has compiled parts, to be fetched for each Python.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import submod

Call = tuple[Callable[..., Any], list[Any], dict[str, Any]]

# What a user may have to catch.
MEANT = (submod.SubmodError, TypeError, ValueError, OverflowError, MemoryError)
WILD: list[Callable[[np.random.Generator], Any]] = [
    lambda r: None,
    lambda r: "no such thing",
    lambda r: float("nan"),
    lambda r: -float("inf"),
    lambda r: 10**400,
    lambda r: -(2**63),
    lambda r: 2**63,
    lambda r: 1e-320,
    lambda r: [],
    lambda r: {},
    lambda r: [[1, 2], [3]],
    lambda r: b"bytes",
    lambda r: object(),
    lambda r: 1 + 2j,
    lambda r: np.array(3.0),
    lambda r: np.zeros((0, 3, 5), np.float32),
    lambda r: np.zeros((2, 0), np.int64),
    lambda r: np.full((2, 3, 7), np.nan, np.float32),
    lambda r: r.standard_normal((1, 1, 1, 1, 1)),
    lambda r: np.array(["a", "b"]),
    lambda r: np.array([object(), None]),
    lambda r: np.array([2**63], np.uint64),
    lambda r: np.array([True, False]),
    lambda r: r.standard_normal((2, 3, 7)).astype(">f8"),
    lambda r: np.zeros(4, "datetime64[s]"),
    lambda r: np.ma.masked_array([1.0, 2.0], [True, False]),
]


def pick(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


# ---- calls as users make them ----


def loss_options(rng: np.random.Generator, names: list[str]) -> dict[str, Any]:
    values: dict[str, list[Any]] = {
        "classes": ["present", "all", [0, 2], [1]],
        "per_image": [True, False],
        "ignore_index": [None, 255, 1, -1],
        "class_weight": [None, [1, 2, 0.5], np.array([0, 1, 1.0])],
        "engine": ["exact", "histogram"],
        "delta": [2.0**-13, 0.1, 2.0**-21],
        "return_grad": [True, False],
        "measure": [
            "jaccard",
            "hamming",
            submod.Tversky(1, 2),
            lambda a, b, P, N: (a + b) / (P + N),
        ],
        "pixel_weights": [None, np.ones((2, 7), np.float32), rng.random((2, 7))],
        "reduction": ["mean", "none"],
        "smoothing": [0.0, 1.0],
        "overlap": ["min", "product"],
    }
    chosen = [name for name in names if rng.random() < 0.4]
    return {name: pick(rng, values[name]) for name in chosen}


LOVASZ = ["per_image", "ignore_index", "engine", "delta", "return_grad", "measure", "pixel_weights"]
SOFT = ["classes", "per_image", "class_weight", "smoothing", "return_grad", "reduction"]


def call_of_loss(rng: np.random.Generator) -> Call:
    scores = rng.standard_normal((2, 3, 7)).astype(pick(rng, [np.float32, np.float16, np.float64]))
    labels = rng.integers(0, 3, (2, 7)).astype(pick(rng, [np.uint8, np.int32, np.int64, np.int16]))
    binary, many = labels % 2, rng.integers(0, 2, (2, 3, 7))
    soft = rng.random((2, 3, 7))
    multiclass = [*LOVASZ, "classes", "class_weight", "reduction"]
    call: Callable[..., Any]
    call, first, second, names = pick(
        rng,
        [
            (submod.lovasz_softmax, scores, labels, multiclass),
            (submod.lovasz_sigmoid, scores, many, multiclass),
            (submod.lovasz_hinge, scores[:, 0], binary, [*LOVASZ, "reduction"]),
            (submod.cross_entropy, scores, labels, ["per_image", "class_weight", "return_grad"]),
            (submod.hinge, scores[:, 0], binary, ["per_image", "return_grad", "pixel_weights"]),
            (submod.rahman_wang, scores[:, 0], binary, ["per_image", "return_grad", "reduction"]),
            (submod.soft_dice, scores, labels, SOFT),
            (submod.soft_jaccard, scores, labels, SOFT),
            (submod.jaccard_metric_loss, scores, soft, [*SOFT, "overlap"]),
            (submod.dice_metric_loss, scores, soft, [*SOFT, "overlap"]),
        ],
    )
    return call, [first, second], loss_options(rng, names)


def some_function(rng: np.random.Generator) -> submod.Function:
    n = 6
    f: submod.Function = pick(
        rng,
        [
            lambda: submod.Function.jaccard(rng.integers(0, 2, n)),
            lambda: submod.Function.modular(rng.standard_normal(n)),
            lambda: submod.Function.sqrt(n),
            lambda: submod.Function.cut(n, rng.integers(0, n, (9, 2)), rng.random(9)),
            lambda: submod.Function.facility(rng.random((4, n))),
            lambda: submod.Function.concave(rng.random(n), "log1p"),
            lambda: submod.Function.custom(n, lambda S: float(len(S)) ** 0.5),
            lambda: submod.Function.sqrt(n) + submod.Function.modular(rng.standard_normal(n)),
        ],
    )()
    return f


def call_of_function(rng: np.random.Generator) -> Call:
    f, x = some_function(rng), rng.standard_normal(6)
    call: Callable[..., Any]
    call, args, options = pick(
        rng,
        [
            (f.prox, [x, 2.0], {"method": pick(rng, ["auto", "min_norm", "sum", "jaccard"])}),
            (f.prox, [x, 1e-3], {"hinge": True, "max_iterations": 50}),
            (f.prox_path, [x, [1.0, 2.0]], {}),
            (f.level_sets, [x, 1.0, [0.0, 0.5]], {}),
            (f.minimize, [], {"method": pick(rng, ["auto", "min_norm", "exhaustive"])}),
            (f.maximize, [3], {"candidates": [0, 2, 4]}),
            (f.lovasz, [x], {}),
            (f.check, [], {"samples": 50, "time_limit": 1.0}),
            (f.chain, [[3, 1, 2]], {}),
            (f, [[0, 5]], {}),
            (f.restrict, [[1, 3]], {}),
            (f.contract, [[1, 3]], {}),
            (f.embed, [9, [0, 2, 4, 6, 8, 1]], {}),
            (f.__mul__, [3.0], {}),
            (f.__add__, [submod.Function.sqrt(6)], {}),
        ],
    )
    return call, args, options


def call_of_maker(rng: np.random.Generator) -> Call:
    F = submod.Function
    call: Callable[..., Any]
    call, args, options = pick(
        rng,
        [
            (F.jaccard, [rng.integers(0, 2, 6)], {}),
            (F.two_counts, [rng.integers(0, 2, 6)], {"measure": "hamming"}),
            (F.tversky, [rng.integers(0, 2, 6)], {"alpha": 1.0, "beta": 2.0}),
            (F.hamming, [6], {}),
            (F.modular, [rng.standard_normal(6)], {}),
            (F.cardinality, [np.sqrt(np.arange(7))], {}),
            (F.truncation, [6, 3], {}),
            (F.concave, [rng.random(6), "power", 0.5], {}),
            (F.cut, [6, rng.integers(0, 6, (9, 2)), rng.random(9)], {"directed": True}),
            (F.coverage, [[[0, 1], [2], [], [1], [0], [2]], rng.random(3)], {}),
            (F.facility, [rng.random((4, 6))], {}),
            (F.logdet, [np.eye(6)], {}),
        ],
    )
    return call, args, options


def call_of_rest(rng: np.random.Generator) -> Call:
    a, b = rng.integers(0, 3, (2, 7)), rng.integers(0, 3, (2, 7))
    mask, p = rng.integers(0, 2, 7), rng.random((2, 7))
    stream = submod.MeanIoU(3)
    call: Callable[..., Any]
    call, args, options = pick(
        rng,
        [
            (submod.miou, [a, b, 3], {"absent": "skip", "ignore_index": 1}),
            (stream.add, [a, b], {}),
            (submod.MeanIoU, [3], {"class_list": [0, 1]}),
            (submod.DatasetJaccard, [3, 0.01], {}),
            (submod.Equibatch, [[[0], [1, 2], [0, 2]], 3], {"seed": 5}),
            (submod.prox_lovasz_hinge, [p, mask * np.ones((2, 1), np.int64), 2.0], {}),
            (submod.prox_max_affine, [rng.random((4, 3)), rng.random(4), rng.random(3), 2.0], {}),
            (submod.prox_two_counts_points, [p[0], mask, rng.random(7) + 0.1, 2.0], {}),
            (submod.prox_two_counts_histogram, [p[0], mask, 2.0, 0.01], {}),
            (submod.decide, [p], {"measure": "dice"}),
            (submod.expected_iou, [p, p > 0.5], {}),
            (submod.check_measure, ["jaccard", 4, 5], {}),
            (submod.metrics.category_iou, [a, b, ["x", "y", "x"]], {}),
        ],
    )
    return call, args, options


# ---- one call ----


def in_another_layout(rng: np.random.Generator, value: Any) -> Any:
    """The same numbers elsewhere in memory."""
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    way = int(rng.integers(4))
    if way == 0:
        return np.ascontiguousarray(value[::-1])[::-1]
    if way == 1:
        return np.asfortranarray(value)
    if way == 2 and value.dtype.kind in "fi":
        return value.astype(value.dtype.newbyteorder(">"))
    wide = np.zeros((*value.shape, 2), value.dtype)
    wide[..., 0] = value
    return wide[..., 0]


def numbers(result: Any) -> list[Any]:
    """All arrays and numbers of a result that is made of such; anything else has none."""
    if isinstance(result, (tuple, list)):
        return [number for part in result for number in numbers(part)]
    return [np.asarray(result)] if isinstance(result, (float, int, np.ndarray)) else []


def same(first: Any, second: Any) -> bool:
    pairs = zip(numbers(first), numbers(second))
    return len(numbers(first)) == len(numbers(second)) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs
    )


def make(rng: np.random.Generator) -> Call:
    call, args, options = pick(rng, [call_of_loss, call_of_function, call_of_maker, call_of_rest])(
        rng
    )
    if rng.random() < 0.6:
        places: list[Any] = [*range(len(args)), *options]
        if places:
            place = pick(rng, places)
            (options if isinstance(place, str) else args)[place] = pick(rng, WILD)(rng)
    return call, args, options


def name_of(call: Callable[..., Any]) -> str:
    return str(getattr(call, "__qualname__", call))


def attempt(seed: int, rng: np.random.Generator, made: Call) -> bool:
    """Whether it ended as it should; says what happened if not."""
    call, args, options = made
    try:
        result = call(*args, **options)
    except MEANT as error:
        if str(error):
            return True
        print(
            f"call {seed}: {name_of(call)}: {type(error).__name__} without words", file=sys.stderr
        )
        return False
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        print(f"call {seed}: {name_of(call)}: {words}", file=sys.stderr)
        return False
    moved = [in_another_layout(rng, value) for value in args]
    if name_of(call).startswith(("lovasz", "cross", "hinge", "rahman", "soft", "jaccard", "dice")):
        if same(result, call(*moved, **options)):
            return True
        print(f"call {seed}: {name_of(call)}: another layout, another result", file=sys.stderr)
        return False
    return True


def run(seed: int, show: bool = False) -> bool:
    """Whether call `seed` ended as it should, and let go of its arrays."""
    rng = np.random.default_rng(seed)
    made = make(rng)
    name, given = name_of(made[0]), [*made[1], *made[2].values()]
    if show:
        print(f"{name}(*{made[1]!r}, **{made[2]!r})")
    arrays = [weakref.ref(value) for value in given if isinstance(value, np.ndarray)]
    well = attempt(seed, rng, made)
    del made, given
    if any(array() is not None for array in arrays):
        gc.collect()
    if any(array() is not None for array in arrays):
        print(f"call {seed}: {name}: an array is kept alive", file=sys.stderr)
        return False
    return well


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this call alone")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if options.seed is not None:
        return 0 if run(options.seed, show=True) else 1
    end, seed, wrong = time.monotonic() + options.seconds, options.first, 0
    while time.monotonic() < end and wrong < 20:
        wrong += not run(seed)
        seed += 1
    print(f"stat::number_of_executed_units: {seed - options.first}")
    print(f"wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
