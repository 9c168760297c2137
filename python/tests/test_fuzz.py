"""The first random calls of fuzz_boundary.py, which makes more of them for as long as it is let."""

import warnings

import fuzz_boundary
import numpy as np
import pytest


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_calls(first):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [seed for seed in range(first, first + 50) if not fuzz_boundary.run(seed)]
    assert wrong == []


def test_good_calls_name_what_exists():
    """Without a wild argument, no call is refused because of a method name or another option."""
    refused = set()
    for seed in range(400):
        rng = np.random.default_rng(seed)
        makers = (fuzz_boundary.call_of_loss, fuzz_boundary.call_of_function)
        call, args, options = makers[seed % 2](rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(*args, **options)
        except ValueError as error:
            if "it must be one of" in str(error):
                refused.add(str(error))
        except NotImplementedError:  # the method does not support this function
            pass
    assert refused == set()
