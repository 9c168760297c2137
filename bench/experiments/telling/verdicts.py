"""Whether a claim of the paper held: what the intervals say, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from ..intervals import Interval

MARGIN = 0.01  # a difference of the index that is called none: one percentage point


def rises(found: Sequence[Interval]) -> str:
    """That all are above 0. Not held: some are below and none above."""
    above = [one.low > 0 for one in found]
    below = [one.high < 0 for one in found]
    if all(above):
        return "held"
    return "not held" if any(below) and not any(above) else "not shown"


def negative(found: Interval) -> Interval:
    return Interval(-found.value, -found.high, -found.low)


def falls(found: Sequence[Interval]) -> str:
    return rises([negative(one) for one in found])


def stays(found: Sequence[Interval]) -> str:
    """That all are about 0. Not held: one lies outside of the margin as a whole."""
    if all(one.low > -MARGIN and one.high < MARGIN for one in found):
        return "held"
    outside = [one.low > MARGIN or one.high < -MARGIN for one in found]
    return "not held" if any(outside) else "not shown"


def mostly(for_it: int, against: int, of: int) -> str:
    """That something is general: most comparisons say so, and hardly any the opposite."""
    if for_it > of / 2 and against * 5 <= for_it:
        return "held"
    return "not held" if against > for_it else "not shown"
