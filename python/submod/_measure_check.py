"""Whether a function is a measure: measure.h, checking."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Callable

from ._bindings import CheckReport, CheckSettings, Status
from ._bindings import Counterexample as RawFailure
from ._callbacks import MeasureCallbacks, Trap, call_trapped
from ._errors import InvalidArgumentError, UnsupportedError
from ._interruptible import call_interruptibly
from ._library import function, warn
from ._measures import CustomMeasure, Measure, as_measure, measure_struct
from ._numbers import set_fields, whole
from ._sampling import TOLERANCE, claim, silent_process, warn_of

ALL_PAIRS = 10**6  # as many are tried one by one; of more there are samples
SAMPLES = 10**5
FEW = 100  # samples after the first use, with 4 evaluations each and 4 more at both ends
MOST_PAIRS = 2**36
_PROPERTIES = {  # and their names in the report
    "finite": "finite",
    "normalised": "normalised",
    "increasing": "monotone",
    "submodular": "submodular",
}


@dataclass(frozen=True)
class MeasureFailure:
    """A pair of counts at which a property fails, and what should be ordered:

    increasing   left = F(a + da, b + db)  <  right = F(a, b)
    submodular   left = what da and db add after (a, b)  <  right = what they add after
                 (a + ea, b + eb)
    """

    a: float
    b: float
    da: float
    db: float
    ea: float
    eb: float
    left: float
    right: float


@dataclass(frozen=True)
class MeasureCheck:
    """What check_measure found. With proved = True all pairs of counts were tried, and True is a
    proof up to rounding; otherwise only False is one. str(check) is a report as text."""

    finite: bool
    normalised: bool  # F(0, 0) = 0
    increasing: bool
    submodular: bool
    proved: bool
    empty_value: float
    evaluations: int
    failures: dict[str, MeasureFailure]  # of finite, increasing and submodular
    complete: bool  # False: it was cancelled
    text: str = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.finite and self.normalised and self.increasing and self.submodular

    def __str__(self) -> str:
        return self.text


def check_measure(measure: Measure, P: int, N: int, *, samples: int | None = None) -> MeasureCheck:
    """Looks for a counterexample to what the losses need of a measure (as in lovasz_softmax), for P
    pixels in the foreground and N in the background: finite values, 0 where nothing is wrong,
    increasing and submodular.

    samples: so many random differences are tried; 0: all pairs of counts. Not given: all of up to a
    million pairs, and of more pairs 100000 samples. What the function raises is raised here.
    """
    counts = {"P": whole(P, "P", ctypes.c_uint64), "N": whole(N, "N", ctypes.c_uint64)}
    if samples is None:
        samples = 0 if (counts["P"] + 1) * (counts["N"] + 1) <= ALL_PAIRS else SAMPLES
    struct, traps = measure_struct(as_measure(measure), zero_is_zero=False)
    report, pairs = CheckReport(), (counts["P"] + 1) * (counts["N"] + 1)
    settings = _settings(whole(samples, "samples", ctypes.c_uint64), pairs)
    run = call_trapped if traps else call_interruptibly
    given = {"measure": struct, **counts, "settings": settings}
    status = run(traps, "measure_check", **given, report=report)
    warn(status, "check_measure")
    return _found(report, status)


def _settings(samples: int, pairs: int) -> CheckSettings:
    """Returns settings for so many samples, without a time limit; 0 means all pairs."""
    if samples == 0 and pairs > MOST_PAIRS:
        raise UnsupportedError(
            f"submod_measure_check: samples = 0 tries all pairs, but there are {pairs:g}, more "
            "than 2^36: give a number of samples"
        )
    settings: CheckSettings = function("check_defaults")()
    wanted = {"exhaustive_max": 0, "samples": samples or pairs, "time_limit": math.inf}
    set_fields(settings, wanted)
    return settings


def require_measure(measure: Measure, P: int, N: int, advice: str) -> None:
    """Refuses a function that is none."""
    found = check_measure(measure, P, N)
    if not found.ok:
        lines = _lines(found, [name for name in _PROPERTIES if not getattr(found, name)])
        raise InvalidArgumentError(f"this is no measure. {'; '.join(lines)}. {advice}")


def check_used(traps: Sequence[Trap]) -> None:
    """Checks each Python measure once, after a call that evaluated it, for the largest P and N of
    its evaluations."""
    for trap in traps:
        if isinstance(trap, MeasureCallbacks) and trap.sizes != (0, 0):
            check_measure_once(trap.f, *trap.sizes)


def check_measure_once(
    measure: Callable[..., Any],
    P: float,
    N: float,
    evaluate: Callable[..., Any] | None = None,
) -> None:
    """Warns with a counterexample if the measure is not increasing and submodular at FEW samples of
    whole counts up to P and N, in the first call with this measure. evaluate: a function with the
    same values to call instead of the measure. Exceptions end the check silently, because the user
    may never evaluate the measure at the sampled counts."""
    if (
        not wants_check(measure)
        or not max(P, N) < 2**53
        or silent_process()
        or not claim(_inner(measure))
    ):
        return
    callbacks = MeasureCallbacks(evaluate or measure, zero_is_zero=False)
    report, settings = CheckReport(), _settings(FEW, 0)
    given = {"P": int(P), "N": int(N), "settings": settings, "measure": callbacks.struct}
    try:
        call_trapped((callbacks,), "measure_check", **given, report=report)
    except Exception:
        return
    found, rounding = _found(report, Status.OK), TOLERANCE * callbacks.largest
    failures = {
        name: failure
        for name, failure in found.failures.items()
        if name in ("increasing", "submodular") and failure.right - failure.left > rounding
    }
    if failures:
        warn_of(
            f"the measure {_name_of(measure)} does not give a convex loss for P = {int(P)} and "
            f"N = {int(N)}. {'; '.join(_lines(found, failures))}. submod.general_surrogate is for "
            "losses that are not submodular; submod.CustomMeasure(f, check=False) skips this check"
        )


def wants_check(measure: Any) -> bool:
    """Returns whether the user has left the check on."""
    return not isinstance(measure, CustomMeasure) or measure.check


def _inner(measure: Any) -> Any:
    """Returns the user's function."""
    return measure.f if isinstance(measure, CustomMeasure) else measure


def _name_of(measure: Any) -> str:
    inner = _inner(measure)
    return str(getattr(inner, "__qualname__", None) or repr(inner))


def _lines(found: MeasureCheck, names: Iterable[str]) -> list[str]:
    """Returns the lines of the report that show how these properties fail."""
    failed = tuple(f"{name}: no" for name in names)
    return [line for line in found.text.splitlines() if line.startswith(failed)]


def _found(report: CheckReport, status: int) -> MeasureCheck:
    size = function("check_report_text")(ctypes.byref(report), None, 0) + 1
    text = ctypes.create_string_buffer(size)
    function("check_report_text")(ctypes.byref(report), text, size)
    holds = {name: bool(getattr(report, of)) for name, of in _PROPERTIES.items()}
    failed = {name: _PROPERTIES[name] for name, held in holds.items() if not held}
    raw = {name: getattr(report, "not_" + of, None) for name, of in failed.items()}
    return MeasureCheck(
        **holds,
        proved=bool(report.exhaustive),
        empty_value=report.empty_value,
        evaluations=report.evaluations,
        failures={name: _failure(each) for name, each in raw.items() if each is not None},
        complete=status == Status.OK,
        text=text.value.decode(),
    )


def _failure(raw: RawFailure) -> MeasureFailure:
    values: dict[str, Any] = {each.name: getattr(raw, each.name) for each in fields(MeasureFailure)}
    return MeasureFailure(**values)
