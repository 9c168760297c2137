"""One-hot labels, which have a channel per class, as class numbers. For arrays and tensors."""

from __future__ import annotations

from typing import Any


def channel_of(scores: Any, labels: Any) -> int | None:
    """Where the channel of one-hot labels is: 1, or -1 for the last; None: labels are class
    numbers, or nobody can say which dimension it is."""
    shape, given = tuple(scores.shape), tuple(labels.shape)
    if len(shape) < 2 or shape[1] < 2:
        return None
    places = [1] if given == shape else []
    if len(shape) > 2 and given == (shape[0], *shape[2:], shape[1]):
        places.append(-1)
    return places[0] if len(places) == 1 else None


def class_numbers(labels: Any, channel: int, other: int) -> tuple[Any, Any]:
    """And which pixels have a 1 and else zeros; the number of all others is `other`."""
    ones = (labels == 1) * 1
    valid = (ones.sum(channel) == 1) & (((labels != 0) * 1).sum(channel) == 1)
    return ones.argmax(channel) * valid + other * ~valid, valid


def no_class(ignore_index: int | None) -> int:
    """A number that is refused as a label."""
    return -1 if ignore_index != -1 else -2


def not_one_hot() -> ValueError:
    return ValueError(
        "labels have a channel per class, but are not one-hot: each pixel needs a single 1 and "
        "else zeros. Pixels to be ignored need class numbers, with ignore_index"
    )
