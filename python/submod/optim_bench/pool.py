"""Does jobs in processes of one thread each."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

Job = TypeVar("Job")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Pool:
    """open_worker(*given) is called in each process first. processes = 0: all is done in this one,
    where NumPy may use several threads, and add up in another order."""

    def __init__(
        self, processes: int, open_worker: Callable[..., None], given: tuple[Any, ...]
    ) -> None:
        self.workers = None
        if processes:
            context = multiprocessing.get_context("spawn")
            self.workers = Workers(processes, context, _open, (open_worker, given))
        else:
            open_worker(*given)

    def do(
        self, jobs: Sequence[Job], run: Callable[[Job], Any], ended: Callable[[Job], None]
    ) -> None:
        """run(job) for each, and ended(job) here after each."""
        if self.workers is None:
            for job in jobs:
                run(job)
                ended(job)
            return
        with _one_thread_each():
            waiting = {self.workers.submit(run, job): job for job in jobs}
        for future in as_completed(waiting):
            future.result()
            ended(waiting[future])

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """After an exception, Ctrl-C for one, all processes end at once: whoever writes results
        must do so whole or not at all."""
        if self.workers is None:
            return
        if kind is not None:
            for child in multiprocessing.active_children():
                child.terminate()
        self.workers.shutdown(cancel_futures=kind is not None)


class Workers(ProcessPoolExecutor):
    """They never see Ctrl-C, as it is blocked when they are started; we end them."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(function, *arguments, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _open(open_worker: Callable[..., None], given: tuple[Any, ...]) -> None:
    """In a new process."""
    watch_parent()
    open_worker(*given)


def watch_parent() -> None:
    """In a process of a pool: it ends when its parent does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Nobody waits for results when the parent has been killed, and its successor may want to write
    into the same folders."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """For the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
