"""The first random calls of fuzz_boundary.py, which makes more of them for as long as it is let."""

import warnings

import fuzz_boundary
import pytest


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_calls(first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [seed for seed in range(first, first + 50) if not fuzz_boundary.run(seed)]
    assert wrong == []
