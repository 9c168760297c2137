"""Python functions in the library's table of callbacks.

An exception cannot pass through C. It is kept, the callback returns a failure, the library gives
up, and the exception is raised again on the other side, KeyboardInterrupt too.

A signal may arrive while C runs. Python would then call its handler on the way into the next
callback, and what that raises, before anything can keep it, ctypes would drop. So during such calls
the handlers run only inside the user's function; otherwise a note is left for the next callback.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable

import numpy as np

from . import _errors
from ._bindings import Concave, ConcaveKind, FnOps, Measure, MeasureType, Status
from ._library import call
from ._numbers import real, real_array

_NUMBERS = tuple(map(int, signal.valid_signals()))


class _Signals:
    """Python handles signals in the main thread alone, so there is one."""

    def __init__(self) -> None:
        self.calls = 0  # one within the other, by way of callbacks
        self.noting = False  # the library is running in the main thread, and no user's function
        self.noted: list[int] = []
        self.handlers: dict[int, Any] = {}  # what would have handled them

    def handle(self, number: int, frame: Any) -> None:
        if not self.noting:
            self.handlers[number](number, frame)
        elif number not in self.noted:
            self.noted.append(number)

    def deliver(self) -> None:
        """What was noted, all of it, even if one raises."""
        if self.noted:
            number = self.noted.pop(0)
            try:
                self.handlers[number](number, None)
            finally:
                self.deliver()


_signals = _Signals()


def _in_main_thread() -> bool:
    """By number: threads of the library, which Python does not know, may ask."""
    return threading.get_ident() == threading.main_thread().ident


@contextmanager
def _signals_noted() -> Iterator[None]:
    """Whoever comes out of this calls _signals.deliver()."""
    if not _in_main_thread():
        yield
        return
    calls, noting = _signals.calls, _signals.noting
    try:
        _signals.calls = calls + 1
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != _signals.handle:
                _signals.handlers[number] = handler
                signal.signal(number, _signals.handle)
        _signals.noting = True
        yield
    finally:
        # From here on handlers may raise; ours then stay, pass everything on, and go next time.
        _signals.calls, _signals.noting = calls, noting
        if calls == 0:
            for number, handler in list(_signals.handlers.items()):
                if signal.getsignal(number) == _signals.handle:
                    signal.signal(number, handler)


_calls = threading.local()  # running: how many calls of this thread are, one within the other


class Trap:
    """Keeps the first exception that was raised in one of its callbacks. Those that run in a thread
    that called the library have one for each thread; those that run in threads of the library's own
    share one, which the first caller who asks gets."""

    def __init__(self) -> None:
        self._of_callers = threading.local()
        self._of_others = SimpleNamespace()

    def _slot(self) -> Any:
        return self._of_callers if getattr(_calls, "running", 0) else self._of_others

    def guard(self, function: Callable[..., None]) -> Callable[..., int]:
        """The function as a callback: a status for whatever happens."""

        def guarded(*arguments: Any) -> int:
            main = _in_main_thread()
            try:
                if main:
                    _signals.noting = False
                    _signals.deliver()
                function(*arguments)
                if main:
                    _signals.noting = True
                return Status.OK
            except BaseException as error:
                if main:
                    _signals.noting = True
                slot = self._slot()
                if getattr(slot, "error", None) is None:
                    slot.error = error
                return Status.ECALLBACK

        return guarded

    def take(self) -> BaseException | None:
        """What was kept, if anything, which is then forgotten."""
        found = [getattr(slot, "error", None) for slot in (self._of_callers, self._of_others)]
        self._of_callers.error = self._of_others.error = None
        return found[1] if found[0] is None else found[0]


def call_trapped(traps: Sequence[Trap], name: str, /, **arguments: Any) -> int:
    """submod_<name>(..), which calls back. What was raised there is raised here, even where the
    library could do without the callback."""
    if not traps:
        return call(name, **arguments)
    failure: BaseException | None = None
    status: int = Status.ECALLBACK
    running = getattr(_calls, "running", 0)
    with _signals_noted():
        try:
            _calls.running = running + 1
            status = call(name, **arguments)
        except _errors.SubmodError as error:
            failure = error
        finally:
            _calls.running = running
        raised = [error for error in (trap.take() for trap in traps) if error is not None]
    if _in_main_thread():
        _signals.deliver()
    if raised:
        raise raised[0]
    if failure is not None:
        raise failure
    return status


def call_inside(name: str, /, **arguments: Any) -> int:
    """Calls submod_<name>(..) from within a callback. The outer call of the library handles
    exceptions in nested callbacks, and signals that arrive meanwhile."""
    main = _in_main_thread()
    if main:
        _signals.noting = True
    try:
        return call(name, **arguments)
    finally:
        if main:
            _signals.noting = False


def put_callback(table: ctypes.Structure, name: str, function: Callable[..., Any]) -> None:
    """In the slot of this name, which then keeps it alive."""
    kinds: dict[str, Any] = {field[0]: field[1] for field in table._fields_}
    setattr(table, name, kinds[name](function))


def put_number(address: int, value: float) -> None:
    """Where a callback has to leave one."""
    ctypes.c_double.from_address(address).value = value


def copy_int32(address: int | None, count: int) -> Any:
    """A copy, which whoever gets it may keep and change."""
    data = ctypes.string_at(address or 0, 4 * count) if count else b""
    return np.frombuffer(bytearray(data), np.int32)


class Callbacks(Trap):
    """The ops of a function given as f(A) and, optionally, gains(A, order).

    For gains, the state of the incremental oracle is the set itself: a count and n elements."""

    def __init__(
        self, n: int, f: Callable[[Any], float], gains: Callable[[Any, Any], Any] | None
    ) -> None:
        super().__init__()
        self._f, self._gains = f, gains
        self.ops = FnOps()
        slots: dict[str, Callable[..., None]] = {"eval": self._eval}
        if gains is not None:
            self.ops.state_size = 4 * (n + 1)
            slots |= {"reset": self._reset, "chain": self._chain, "gain": self._gain}
        for name, slot in slots.items():
            put_callback(self.ops, name, self.guard(slot))

    def _eval(self, _: Any, members: int, count: int, value: int) -> None:
        put_number(value, real(self._f(copy_int32(members, count)), "the value of f"))

    @staticmethod
    def _reset(_: Any, state: int) -> None:
        ctypes.memset(state, 0, 4)

    @staticmethod
    def _members(state: int) -> Any:
        count = int.from_bytes(ctypes.string_at(state, 4), sys.byteorder)
        return copy_int32(state + 4, count)

    @staticmethod
    def _append(state: int, size: int, added: Any) -> None:
        ctypes.memmove(state + 4 * (1 + size), added.ctypes.data, added.nbytes)
        ctypes.memmove(state, (size + added.size).to_bytes(4, sys.byteorder), 4)

    def _ask(self, members: Any, order: Any) -> Any:
        assert self._gains is not None
        found = real_array(self._gains(members, order), "the result of gains")
        if found.shape != order.shape:
            raise ValueError(f"gains of shape {found.shape} for {order.size} elements")
        return found

    def _gain(self, _: Any, state: int, e: int, gain: int) -> None:
        put_number(gain, self._ask(self._members(state), np.array([e], np.int32))[0])

    def _chain(self, _: Any, state: int, order: int, count: int, gains: int) -> None:
        members, added = self._members(state), copy_int32(order, count)
        found = self._ask(members, added)
        ctypes.memmove(gains, found.ctypes.data, found.nbytes)
        self._append(state, members.size, added)


class ConcaveCallback(Trap):
    """The struct of a concave g, given as a function of one number."""

    def __init__(self, g: Callable[[float], float]) -> None:
        super().__init__()
        self.struct = Concave(kind=ConcaveKind.CUSTOM)

        def value(_: Any, t: float, value: int) -> None:
            put_number(value, real(g(t), "the value of g"))

        put_callback(self.struct, "value", self.guard(value))


class MeasureCallbacks(Trap):
    """The struct of a measure given as F(a, b, P, N), of arrays a and b or, if it cannot take them,
    of numbers. Threads of the library ask it side by side. zero_is_zero: F(0, 0) that is not 0 is
    refused; 0 / 0 there is taken for 0 in any case."""

    def __init__(
        self, f: Callable[[Any, Any, float, float], Any], zero_is_zero: bool = True
    ) -> None:
        super().__init__()
        self._zero_is_zero = zero_is_zero
        self.f, self._takes_arrays = f, True  # until it turns out otherwise
        self.largest = 0.0  # largest |F| so far
        self._sizes = (0.0, 0.0, 0.0, 0.0)
        self.struct = Measure(type=MeasureType.CUSTOM)
        guarded = self.guard(self._fill)

        def values(count: int, a: int, b: int, P: float, N: float, F: int, _: Any) -> None:
            if guarded(count, a, b, P, N, F) != Status.OK:
                ctypes.memset(F, 0xFF, 8 * count)  # NaN: it has failed

        put_callback(self.struct.ops, "values", values)

    def _fill(self, count: int, a: int, b: int, P: float, N: float, F: int) -> None:
        wrong, also = (np.frombuffer(ctypes.string_at(each, 8 * count)) for each in (a, b))
        found = self._ask(wrong, also, P, N)
        self.largest = max(self.largest, float(np.abs(found).max(initial=0)))
        self._sizes = max(self._sizes, (P * N, P + N, P, N))
        ctypes.memmove(F, found.ctypes.data, found.nbytes)

    @property
    def sizes(self) -> tuple[float, float]:
        """The P and N with the most pairs of counts among all evaluations; 0 and 0 before the
        first."""
        return self._sizes[2:]

    def _ask(self, a: Any, b: Any, P: float, N: float) -> Any:
        found = self._of_arrays(a, b, P, N) if self._takes_arrays else None
        if found is None:
            self._takes_arrays = False
            pairs = zip(a.tolist(), b.tolist())
            found = np.array([self._of_numbers(*pair, P, N) for pair in pairs])
        for i in np.flatnonzero(a + b == 0):
            if not abs(found[i]) > 1e-12:  # NaN too
                found[i] = 0
            elif self._zero_is_zero:
                raise ValueError(f"the measure is {found[i]:g} at a = b = 0; it must be 0 there")
        return found

    def _of_arrays(self, a: Any, b: Any, P: float, N: float) -> Any:
        """None: it cannot take them. A single pair is asked for twice, as an array of one number
        often passes for a number."""
        size = a.size
        a, b = (a.copy(), b.copy()) if size > 1 else (a.repeat(2), b.repeat(2))
        try:
            with np.errstate(all="ignore"):
                found = real_array(self.f(a, b, P, N), "the value of the measure").copy()
        except (TypeError, ValueError):
            return None
        return found[:size] if found.shape == a.shape else None

    def _of_numbers(self, a: float, b: float, P: float, N: float) -> float:
        try:
            return real(self.f(a, b, P, N), "the value of the measure")
        except ZeroDivisionError:
            if a == b == 0:
                return 0.0
            raise
