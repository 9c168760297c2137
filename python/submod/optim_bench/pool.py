"""Does jobs in processes of one thread each, or in this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

Job = TypeVar("Job")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def do(
    jobs: Sequence[Job],
    run: Callable[[Job], Any],
    open_worker: Callable[..., None],
    given: tuple[Any, ...],
    processes: int,
    ended: Callable[[Job], None],
) -> None:
    """run(job) for each, where open_worker(*given) was called; ended(job) here after each. Ctrl-C
    ends all processes at once: whoever writes results must do so whole or not at all."""
    if not jobs:
        return
    if processes <= 1:
        open_worker(*given)
        for job in jobs:
            run(job)
            ended(job)
        return
    context = multiprocessing.get_context("spawn")
    with _one_thread_each(), Workers(processes, context, open_worker, given) as workers:
        try:
            waiting = {workers.submit(run, job): job for job in jobs}
            for future in as_completed(waiting):
                future.result()
                ended(waiting[future])
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


class Workers(ProcessPoolExecutor):
    """They never see Ctrl-C, as it is blocked when they are started; we end them."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            return super().submit(function, *arguments, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
