"""Does jobs, several at a time in processes of one thread each: on a few cores that trains about
1.7 times as many small networks per minute as one process with all threads."""

from __future__ import annotations

import multiprocessing
import os
import re
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from submod.optim_bench.pool import Workers, watch_parent

from .progress import Progress
from .trouble import Failed, Trouble

if TYPE_CHECKING:  # they take PyTorch, and nothing here does
    from .jobs import Job
    from .lab import Lab

_lab: Lab | None = None


def closure(lab: Lab, wanted: Iterable[Job]) -> list[Job]:
    """The jobs and all that they need, each once, needs first."""
    ordered: dict[Job, None] = {}

    def add(job: Job) -> None:
        if job not in ordered:
            for need in job.needs(lab):
                add(need)
            ordered[job] = None

    for job in wanted:
        add(job)
    return list(ordered)


def do(lab: Lab, wanted: Iterable[Job], processes: int, progress: Progress) -> None:
    """All of them; with 0 processes in this one. A job that fails lets the running ones end, and no
    other begin. Ctrl-C ends them at once: their checkpoints are whole at any time."""
    jobs = closure(lab, wanted)
    missing = [job for job in jobs if not job.done(lab)]
    progress.start(sum(job.cost(lab) for job in missing), len(jobs), len(jobs) - len(missing))
    if not missing:
        return
    try:
        with executor(lab, processes) as workers:
            work = Work(lab, jobs, missing, progress)
            try:
                work.all(workers, max(processes, 1))
            except KeyboardInterrupt:
                for child in multiprocessing.active_children():
                    child.terminate()
                raise
    finally:
        progress.end()


class Work:
    """Jobs that wait, run and are done."""

    def __init__(self, lab: Lab, jobs: list[Job], missing: list[Job], progress: Progress) -> None:
        self.lab, self.progress = lab, progress
        self.missing, self.done = missing, set(jobs) - set(missing)
        self.running: dict[Future[float], Job] = {}

    def all(self, workers: Executor, at_once: int) -> None:
        while self.missing or self.running:
            self.begin(workers, at_once - len(self.running))
            ended, _ = wait(self.running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in ended:
                self.end(future)
            self.progress.show(self.left())

    def begin(self, workers: Executor, most: int) -> None:
        ready = [
            job
            for job in self.missing
            if all(need in self.done for need in job.needs(self.lab))
        ]  # fmt: skip
        for job in ready[:most]:
            self.missing.remove(job)
            self.progress.found(job.cost(self.lab) * job.share(self.lab))
            self.running[workers.submit(_run, job)] = job

    def end(self, future: Future[float]) -> None:
        try:
            seconds = future.result()
        except BrokenProcessPool:
            names = " or ".join(map(str, self.running.values()))
            raise Failed(
                f"a process was killed from outside, at {names}: too little memory? The same "
                "command goes on; --jobs 1 needs least"
            ) from None
        job = self.running.pop(future)
        self.done.add(job)
        self.progress.left = self.left()
        self.progress.advance(seconds, str(job))

    def left(self) -> float:
        """In the unit of costs."""
        waiting = sum(job.cost(self.lab) for job in self.missing)
        running = (job.cost(self.lab) * (1 - job.share(self.lab)) for job in self.running.values())
        return waiting + sum(running)


# ---- processes ----


class Here(Executor):
    """This process, one job after the other."""

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def executor(lab: Lab, processes: int) -> Iterator[Executor]:
    if processes == 0:
        with lab.opened():
            _set(lab)
            yield Here()
    else:
        os.environ["OMP_NUM_THREADS"] = "1"  # PyTorch's threads in each process
        context = multiprocessing.get_context("spawn")
        with Workers(processes, context, _open, (lab,)) as workers:
            yield workers


def _open(lab: Lab) -> None:
    watch_parent()
    _set(lab)


def _set(lab: Lab) -> None:
    global _lab
    _lab = lab


def _run(job: Job) -> float:
    """Returns the seconds that it took."""
    assert _lab is not None
    began = time.monotonic()
    try:
        job.run(_lab)
    except Trouble:
        raise
    except Exception as error:
        log = _write_log(_lab.out, job)
        raise Failed(f"'{job}' failed, {type(error).__name__}: {error}; its log: {log}") from None
    return time.monotonic() - began


def _write_log(out: Path, job: Job) -> Path:
    """With the traceback of what is being handled."""
    file = out / "logs" / (re.sub(r"[^\w.+-]+", "-", str(job)) + ".log")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{job!r}\n\n{traceback.format_exc()}", encoding="utf-8")
    return file
