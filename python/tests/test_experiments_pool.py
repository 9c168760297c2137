"""The jobs of bench/experiments: order, failures, Ctrl-C, the time left. They take no PyTorch."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from experiments.pool import closure, do
from experiments.progress import Progress
from experiments.trouble import Failed, Trouble
from experiments_path import BENCH

from submod.optim_bench.progress import duration


@dataclass
class Desk:
    """What these jobs need of a lab."""

    out: Path

    @contextmanager
    def opened(self):
        yield


@dataclass(frozen=True)
class Light:
    """Leaves a file, or does something else first."""

    name: str
    after: tuple = ()
    does: str = ""

    def needs(self, desk):
        return [Light(name) for name in self.after]

    def cost(self, desk):
        return 2.0

    def share(self, desk):
        return 0.0

    def done(self, desk):
        return (desk.out / self.name).exists()

    def run(self, desk):
        assert all(need.done(desk) for need in self.needs(desk))
        if self.does == "fails":
            raise ValueError("no luck")
        if self.does == "trouble":
            raise Trouble("put it right")
        if self.does == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.does == "sleeps":
            (desk.out / "asleep").write_text(str(os.getpid()), encoding="utf-8")
            time.sleep(60)
        (desk.out / self.name).write_text("done", encoding="utf-8")

    def __str__(self):
        return f"light {self.name}"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(BENCH)
    folders = [str(BENCH), str(Path(__file__).parent)]
    before = os.environ.get("PYTHONPATH")  # it may say where submod is
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*folders, before] if before else folders))
    return Desk(tmp_path)


def work(desk, jobs, processes=0):
    told = io.StringIO()
    do(desk, jobs, processes, Progress(told))
    return told.getvalue()


def test_what_is_needed_comes_first_and_once(desk):
    wanted = [Light("c", ("b",)), Light("d", ("b",))]
    jobs = closure(desk, wanted)
    assert [job.name for job in jobs] == ["b", "c", "d"]
    told = work(desk, wanted)
    assert told.startswith("3 jobs, 0 of them done before\n")
    assert [line.split()[-3] for line in told.splitlines()[1:]] == ["b,", "c,", "d,"]
    assert work(desk, wanted) == "3 jobs, 3 of them done before\n"


def test_in_processes(desk):
    work(desk, [Light("c", ("a", "b"))], processes=2)
    assert sorted(file.name for file in desk.out.iterdir()) == ["a", "b", "c"]


def test_a_job_that_fails_names_its_log(desk):
    with pytest.raises(
        Failed, match=r"^'light x' failed, ValueError: no luck; its log: "
    ) as caught:
        work(desk, [Light("x", does="fails"), Light("y")])
    log = Path(str(caught.value).split("its log: ")[1])
    assert log.parent == desk.out / "logs"
    assert "Traceback" in log.read_text(encoding="utf-8")
    assert not (desk.out / "y").exists()
    assert caught.value.status == 1


def test_trouble_is_told_as_it_is(desk):
    with pytest.raises(Trouble, match=r"^put it right$") as caught:
        work(desk, [Light("x", does="trouble")])
    assert caught.value.status == 2


def test_a_process_that_is_killed(desk):
    with pytest.raises(Failed, match=r"killed from outside, at light x: .* goes on"):
        work(desk, [Light("x", does="dies")], processes=1)


def test_ctrl_c_ends_processes(desk):
    """Though only this process gets the signal."""
    asleep = desk.out / "asleep"

    def interrupt():
        until(lambda: asleep.exists() and asleep.read_text())
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        work(desk, [Light("x", does="sleeps")], processes=1)
    until(lambda: not multiprocessing.active_children())
    assert not (desk.out / "x").exists()


ORPHAN = """
import os, signal, threading
from pathlib import Path
from test_experiments_pool import Desk, Light, until, work
asleep = Path("asleep")
def end():
    until(lambda: asleep.exists() and asleep.read_text())
    os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    threading.Thread(target=end).start()
    work(Desk(Path(".")), [Light("x", does="sleeps")], processes=1)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_processes_end_with_their_parent(desk):
    (desk.out / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-B", "orphan.py"], cwd=desk.out, stderr=subprocess.DEVNULL, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL
    stat = Path("/proc") / (desk.out / "asleep").read_text(encoding="utf-8") / "stat"
    until(lambda: not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def until(what):
    for _ in range(6000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


# ---- the time left -------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_time_left(clock):
    told = Progress(io.StringIO())
    told.start(100.0, jobs=10, done=4)
    assert "4/10 time left: ?" in told.line()
    clock[0] = 60.0
    told.show(75.0)
    assert told.line() == "[########                      ] 4/10 3 min left"
    told.found(50.0)  # of what was left, half a job turns out to be done
    assert "1 min left" in told.line()
    told.show(0.0)
    assert "0 s left" in told.line()


def test_nothing_to_do(clock):
    told = Progress(io.StringIO())
    told.start(0.0, jobs=3, done=3)
    assert told.line().startswith("[" + "#" * 30 + "]")


def test_a_bar_on_a_terminal(clock):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    to = Terminal()
    told = Progress(to)
    told.start(2.0, jobs=1, done=0)
    clock[0] = 1.0
    told.show(1.0)
    told.advance(1.0, "a job")
    told.end()
    assert to.getvalue().split("\r\033[K")[1] == "[###############               ] 0/1 1 s left\n"


def test_durations():
    assert [duration(x) for x in (4.2, 89, 3600, 7500)] == [
        "4 s",
        "1 min",
        "1 h 00 min",
        "2 h 05 min",
    ]
