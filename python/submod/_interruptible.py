"""Calls that may take long, come back to no code of the user's, and still hear Ctrl-C."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Sequence
from typing import Any, Callable

from ._bindings import PROTOTYPES
from ._callbacks import Trap, call_trapped
from ._library import function

_libc = ctypes.CDLL(None)


def poll(flag: ctypes.Array[ctypes.c_char] | None) -> None:
    """Lets this thread's calls be cancelled once flag holds b"1". The callback is atoi, which reads
    the flag as an int without taking Python's lock: the library polls often."""
    kind = PROTOTYPES["set_poll"][1]["poll"]
    function("set_poll")(kind() if flag is None else ctypes.cast(_libc.atoi, kind), flag)


class _Waiting:
    """For a computation in another thread. Whatever is raised here meanwhile, by Ctrl-C or by the
    handler of another signal, cancels it and waits until it has ended."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.cancel_flag = ctypes.create_string_buffer(b"0")
        self.raised: list[BaseException] = []

    def cancel(self, error: BaseException) -> None:
        self.raised.append(error)
        self.cancel_flag.value = b"1"

    def run(self, start: Callable[[], None]) -> None:
        """Handlers run between any two lines of Python. That of Ctrl-C must not end the wait, so
        what it raises is kept; one that raises nothing cancels nothing."""
        handler = signal.getsignal(signal.SIGINT)

        def handle(number: int, frame: Any) -> None:
            assert callable(handler)
            try:
                handler(number, frame)
            except BaseException as error:
                self.cancel(error)

        if callable(handler):
            signal.signal(signal.SIGINT, handle)
        try:
            start()
            while not self.done.is_set():
                try:
                    self.done.wait()
                except BaseException as error:
                    self.cancel(error)
        finally:
            if signal.getsignal(signal.SIGINT) is handle:
                signal.signal(signal.SIGINT, handler)


def call_interruptibly(traps: Sequence[Trap], name: str, /, **arguments: Any) -> int:
    """call_trapped, in a thread of its own. Ctrl-C cancels the computation, waits for its end and
    is raised then. Only the main thread hears signals: in others this is a plain call."""
    if threading.current_thread() is not threading.main_thread():
        return call_trapped(traps, name, **arguments)
    waiting = _Waiting()
    outcome: list[Any] = []

    def work() -> None:
        poll(waiting.cancel_flag)
        try:
            outcome.append(call_trapped(traps, name, **arguments))
        except BaseException as error:  # handed to the caller below
            outcome.append(error)
        finally:
            waiting.done.set()

    waiting.run(threading.Thread(target=work, name=f"submod_{name}", daemon=True).start)
    if waiting.raised:
        raise waiting.raised[0]
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    status: int = outcome[0]
    return status
