"""Means of set functions of images, as one function of all their pixels: one call for a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import Function
from .linear import Array


def side_by_side(functions: list[Function], weights: Any) -> Function:
    """Sum of weight * F, each on elements of its own, one after the other."""
    ends = np.cumsum([0, *(f.n for f in functions)])
    n = int(ends[-1])
    terms = [w * f.embed(n, range(at, at + f.n)) for f, w, at in zip(functions, weights, ends)]
    return Function._sum(terms)


class Means:
    """Of images that have functions each: rows of them, and of their weights."""

    def __init__(self, functions: list[list[Function]], weights: Array) -> None:
        self.functions, self.weights = functions, weights
        self._of = lru_cache(None)(self._make)

    def _make(self, first: int, end: int) -> Function:
        functions = [f for row in self.functions[first:end] for f in row]
        return side_by_side(functions, self.weights[first:end].ravel() / (end - first))

    def lovasz(self, x: Array, images: slice) -> tuple[float, Array]:
        """The extension of the mean over these images and its subgradient, in the shape of x."""
        first, end, _ = images.indices(len(self.functions))
        value, g = self._of(first, end).lovasz(x.ravel())
        return value, g.reshape(x.shape)
