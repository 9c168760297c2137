"""Scores of -Inf, for which a softmax gives a class the probability 0: a masked class.

The library refuses them like all that is not finite. Who gets that refusal asks here for scores
that it takes, with the same probabilities. So nothing is spent where all scores are finite; where
some are -Inf, a copy of the scores and a second call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import NonFiniteError
from ._views import KINDS

_LOW = np.float32(-1e4)  # below the largest of a pixel, such a score adds nothing to the sum
Mask = npt.NDArray[np.bool_]


def unmasked(
    name: str, scores: Any, labels: Any, from_logits: bool, ignore_index: int | None
) -> tuple[npt.NDArray[np.float32], Mask] | None:
    """Finite scores, and which of them were -Inf; classes are dimension 1. None if there is nothing
    to be done: no softmax, no -Inf, or NaN or Inf too. The derivative is that by the given scores
    where these were finite, and has to be set to 0 where not."""
    if KINDS.get(name, "soft") not in ("multiclass", "soft") or not from_logits:
        return None
    given = np.asarray(scores, np.float32)
    mask: Mask = given == -np.inf
    if given.ndim < 2 or not mask.any() or not np.isfinite(given[~mask]).all():
        return None
    rows = mask.any(1, keepdims=True)
    _refuse(name, mask, labels, ignore_index)
    # A softmax does not see what is added to all scores of a pixel; other pixels stay as they are.
    largest = np.where(rows, given.max(1, keepdims=True), np.float32(0))
    with np.errstate(over="ignore"):
        return np.where(rows, np.maximum(given - largest, _LOW), given), mask


def _refuse(name: str, mask: Mask, labels: Any, ignore_index: int | None) -> None:
    nothing: Mask = np.logical_and.reduce(mask, 1)
    if nothing.any():
        raise NonFiniteError(
            f"{name}: all scores of pixel {_first(nothing)} are -Inf; a pixel needs a class that "
            "is not masked"
        )
    if name != "cross_entropy":
        return
    numbers = np.asarray(labels).reshape(nothing.shape).astype(np.int64)
    counts = (numbers >= 0) & (numbers < mask.shape[1]) & (numbers != ignore_index)
    chosen = np.where(counts, numbers, 0)[:, None]
    hit = np.take_along_axis(mask, chosen, 1)[:, 0] & counts
    if hit.any():
        raise NonFiniteError(
            f"{name}: the score of the label of pixel {_first(hit)} is -Inf, and the loss would be "
            "Inf; do not mask a class where it is the label, or ignore the pixel"
        )


def _first(where: Mask) -> list[int]:
    return [int(i) for i in np.argwhere(where)[0]]
