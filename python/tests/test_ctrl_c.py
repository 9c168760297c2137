"""A real SIGINT to a process in the middle of a long computation: it ends, and nothing runs on."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

import submod
from submod import Function

START = """
import os, signal, sys, threading, time
import numpy as np
import submod
from submod import Function

rng = np.random.default_rng(0)


def image(side, data):
    n = side * side
    at = np.arange(n).reshape(side, side)
    edges = [np.stack([a.ravel(), b.ravel()], 1) for a, b in
             ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]))]
    edges = np.concatenate(edges)
    return Function.cut(n, edges, rng.uniform(size=len(edges))) + data * rng.normal(size=n)


def kernel(n):
    points = rng.normal(size=(n, 4))
    return np.exp(-((points[:, None] - points[None]) ** 2).sum(2)) + 1e-3 * np.eye(n)

"""

END = """

print("ready", flush=True)
try:
    run()
except KeyboardInterrupt:
    caught = time.monotonic()
    time.sleep(0.3)  # threads that wait stay awake for a moment
    used = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - used < 0.1, "something runs on"
    assert threading.active_count() == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert Function.sqrt(3).prox([3, 1, 2], 1.0, "min_norm").gap < 1e-9
    print(caught, flush=True)
"""

LONG = {
    "measure": "scores = rng.normal(size=(60, 5, 200)); labels = rng.integers(5, size=(60, 200))\n"
    "measure = lambda a, b, P, N: (time.sleep(0.02), (a + b) / (P + b))[1]\n"
    "run = lambda: submod.lovasz_softmax(scores, labels, measure=measure, per_image=True)",
    "many flows": "f = image(700, 1.0); run = lambda: f.prox(np.zeros(700**2), 1.0)",
    "one flow": "f = image(600, 0.1); run = f.minimize",
    "min norm": "f = Function.logdet(kernel(300)) + 3 * rng.normal(size=300)\n"
    "run = lambda: f.prox(10 * rng.normal(size=300), 1e-3, 'min_norm', tolerance=0,"
    " start=submod.Certificate(np.stack([rng.permutation(300) for _ in range(3000)]),"
    " np.ones(3000)))",
    "exhaustive": "f = Function.logdet(kernel(24)); run = lambda: f.minimize('exhaustive')",
    "check": "f = Function.logdet(kernel(200))\n"
    "run = lambda: f.check(samples=10**9, time_limit=60)",
    "verify": "n = 400; f = Function.logdet(kernel(n)); x = rng.normal(size=n)\n"
    "c = submod.Certificate(np.stack([rng.permutation(n) for _ in range(200)]), np.ones(200))\n"
    "run = lambda: f.verify(x, 1.0, x, x, c)",
    "max affine": "a = rng.normal(size=(4000, 3000)); x = rng.normal(size=3000)\n"
    "run = lambda: submod.prox_max_affine(a, None, x, 1e-3)",
    "traced optimiser": "p = submod.optim.max_affine(rng.normal(size=(500, 200)))\n"
    "run = lambda: submod.optim.descend(p, rng.normal(size=200), 1e-6, max_iterations=10**9,"
    " trace=True, trace_every=10**8)",
    "optimiser": "p = submod.optim.max_affine(rng.normal(size=(500, 200)))\n"
    "run = lambda: submod.optim.descend(p, rng.normal(size=200), 1e-6, max_iterations=10**9)",
}


@pytest.mark.parametrize("name", sorted(LONG))
def test_ends_at_once(name):
    script = START + textwrap.dedent(LONG[name]) + END
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(0.5)
        assert process.poll() is None
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert output, "it had ended before"
    assert float(output) - sent < 1.0


def test_every_ctrl_c_is_one_interrupt():
    """However many come while the computation ends."""
    f = Function.logdet(np.eye(400))
    pid, stop = os.getpid(), threading.Event()

    def hammer():
        time.sleep(0.1)
        for _ in range(20):
            if not stop.is_set():
                os.kill(pid, signal.SIGINT)
            time.sleep(1e-4)

    thread = threading.Thread(target=hammer)
    seen = 0
    thread.start()
    while thread.is_alive():
        try:
            f.check(samples=10**9, time_limit=3)
        except KeyboardInterrupt:
            stop.set()
            seen += 1
            break
    stop.set()
    while thread.is_alive():
        with suppress(KeyboardInterrupt):  # sent before it heard of the stop
            thread.join()
    assert seen == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_raises_nothing_cancels_nothing():
    heard = []
    previous = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.warns(submod.AccuracyWarning, match="time limit"):
            found = Function.logdet(np.eye(100)).check(samples=10**9, time_limit=0.4)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert heard == [1] and not found.complete and found.seconds >= 0.4


def test_other_signals_that_raise():
    class Alarm(Exception):
        pass

    def handle(*_):
        raise Alarm

    previous = signal.signal(signal.SIGALRM, handle)
    start = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            Function.logdet(np.eye(400)).check(samples=10**9, time_limit=10)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert time.monotonic() - start < 2
    assert not [t for t in threading.enumerate() if t.name.startswith("submod_")]
