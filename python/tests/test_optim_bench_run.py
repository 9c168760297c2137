"""The bench as a whole, on tiny problems: what runs, what is cached, what is the same every time,
and files of users."""

import json
import math
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from submod import optim
from submod.optim_bench import (
    Instance,
    Parts,
    Reference,
    Task,
    bench,
    cache,
    command,
    jobs,
    reference,
)
from submod.optim_bench.catalogue import Extras, load

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "optim_bench"

TINY = """
import numpy as np
from submod import optim
from submod.optim_bench import Instance, Problem

class Ridge(Problem):
    name, title, calls = "ridge", "a ridge", (20, 20)
    def instances(self, quick):
        return [{"nu": 0.5}]
    def make(self, settings, seed):
        start = np.random.default_rng(seed).uniform(1, 2, size=2)
        return Instance(optim.nu_problem(settings["nu"]), start, radius=9.0,
                        ridge=lambda x: settings["nu"] * x[0] - x[1])

class Hinge(Problem):
    name, title, calls = "tiny-hinge", "hinge", (6, 6)
    def instances(self, quick):
        return [{}]
    def make(self, settings, seed):
        rows = np.random.default_rng(seed).normal(size=(6, 3)) + 0.5
        def subgradient(x, batch):
            some = rows if batch is None else rows[2 * batch:2 * batch + 2]
            short = 1 - some @ x
            return np.maximum(short, 0).mean(), -(some * (short > 0)[:, None]).mean(0)
        return Instance(optim.Problem(3, subgradient, batches=3), np.zeros(3), weight_decay=0.1)
"""
ONE_MORE = """
from submod.optim_bench import Optimiser

class Lazy(Optimiser):
    name, title, tuned = "lazy", "one step", False
    def run(self, task):
        value, g = task.subgradient(task.start)
        task.tell(task.start - 0.1 * task.step * g)
"""
FEW = ("gd", "prox", "bundle", "bcfw")


@pytest.fixture()
def tiny(tmp_path):
    file = tmp_path / "tiny.py"
    file.write_text(TINY, encoding="utf-8")
    return str(file)


def compare(tiny, folder, optimisers=FEW, *more, **settings):
    plan = {
        "quick": True,
        "problems": ("ridge", "tiny-hinge"),
        "quiet": True,
        "seeds": 2,
    } | settings
    extras = Extras((tiny, *map(str, more)))
    return bench.compare(bench.Plan(**plan, optimisers=optimisers, extras=extras), folder)


def test_who_runs(tiny, tmp_path):
    outcome = compare(tiny, tmp_path / "cache")
    ran = {(job.member.problem, job.optimiser) for job in outcome.runs}
    assert ran == {
        ("ridge", "gd"), ("ridge", "prox"), ("ridge", "bundle"),
        ("tiny-hinge", "gd"), ("tiny-hinge", "bundle"), ("tiny-hinge", "bcfw"),
    }  # fmt: skip
    why = {(one.problem, one.optimiser): one.why for one in outcome.skipped}
    assert why == {
        ("ridge (nu = 0.5)", "bcfw"): "the problem has no minibatches and no weight decay",
        ("tiny-hinge", "prox"): "the problem has no prox direction",
    }
    for found in outcome.minima.values():
        assert -1e-12 <= found["f_star"] - found["lower_bound"] < 1e-7
    for job, runs in outcome.runs.items():
        assert [run["size"] for run in runs] == list(job.sizes)
        for run in runs:
            assert run["status"] == "ran" and max(run["calls"]) <= job.calls
            assert len(run["calls"]) == len(run["seconds"]) == len(run["f"])
            assert ("crossings" in run["oscillation"]) == (job.member.problem == "ridge")


def test_cache_counts(tiny, tmp_path):
    """Only what is new runs: for one more optimiser, one more seed, and one class that changes."""
    folder, more = tmp_path / "cache", tmp_path / "more.py"
    first = compare(tiny, folder, ("gd", "bundle"))
    assert (first.new_minima, first.new_jobs) == (4, 8)
    again = compare(tiny, folder, ("gd", "bundle"))
    assert (again.new_minima, again.new_jobs) == (0, 0) and again.runs == first.runs
    more.write_text(ONE_MORE, encoding="utf-8")
    assert compare(tiny, folder, ("gd", "bundle", "lazy"), more).new_jobs == 4
    seeds = compare(tiny, folder, ("gd", "bundle"), seeds=3)
    assert (seeds.new_minima, seeds.new_jobs) == (2, 4)
    more.write_text(ONE_MORE.replace("0.1", "0.2"), encoding="utf-8")
    assert compare(tiny, folder, ("gd", "bundle", "lazy"), more).new_jobs == 4
    more.write_text("# why\n" + ONE_MORE.replace("0.1", "0.2"), encoding="utf-8")
    assert compare(tiny, folder, ("gd", "bundle", "lazy"), more).new_jobs == 0
    Path(tiny).write_text(TINY.replace("+ 0.5", "+ 0.4"), encoding="utf-8")
    changed = compare(tiny, folder, ("gd", "bundle"))
    assert (changed.new_minima, changed.new_jobs) == (2, 4)  # those of the hinge


def test_a_start_that_is_a_minimum_is_skipped(tmp_path):
    """It would count as solved, by everyone and at once."""
    file = tmp_path / "there.py"
    file.write_text(TINY.replace("uniform(1, 2, size=2)", "uniform(-2, -1, size=2)"))
    outcome = compare(str(file), tmp_path / "cache", ("gd", "bundle"))
    assert {job.member.problem for job in outcome.runs} == {"tiny-hinge"}
    found = [one for one in outcome.skipped if one.why == "its start is a minimum"]
    assert [one.problem for one in found] == [f"ridge (nu = 0.5), seed {k}" for k in (1, 2)]


def test_results_depend_on_the_package():
    """A change of how minima are found or of a step rule's default must not go unseen."""
    names = {file.name for file in cache.machinery_files()}
    assert {"reference.py", "task.py", "jobs.py", "_steps.py", "_problem.py", "optim.py"} <= names
    assert {"interfaces.py", "oscillation.py"} <= names


def modules_of(member):
    return {name.rpartition(".")[2] for name in cache.modules_of(member)}


def test_results_depend_on_what_a_problem_imports():
    """On all of it, and on no other problem: one more in problems/ runs nothing anew."""
    members = load(Extras())
    linear = {"linear_family", "discs", "layers", "linear", "means", "short_prox"}
    assert modules_of(members.problems["lovasz_hinge"]) == {"lovasz_hinge", *linear}
    assert modules_of(members.problems["worst_case"]) == {
        "worst_case", "known", "linear", "short_prox",
    }  # fmt: skip
    assert modules_of(members.optimisers["gd"]) == {"descent"}
    for kind, folder in ((members.problems, "problems"), (members.optimisers, "optimisers")):
        room = Path(cache.__file__).parent / folder
        reached = set().union(*map(modules_of, kind.values()))
        tables = {"step_rules", "features", "__init__"}  # rows are fields; --npz alone makes those
        assert {file.stem for file in room.glob("*.py")} - tables == reached


def test_a_helper_that_changes_is_seen(tmp_path, monkeypatch):
    """Each module that a problem's code is made of changes its content."""
    problem = load(Extras()).problems["cardinality"]
    before, real = cache.content(problem), cache.inspect.getsource
    for name in cache.modules_of(problem):

        def getsource(module, changed=name):
            return real(module) + "\nNEW = 1\n" * (module.__name__ == changed)

        monkeypatch.setattr(cache.inspect, "getsource", getsource)
        assert cache.content(problem) != before, name
        monkeypatch.undo()
    assert cache.content(problem) == before


def test_the_best_size_of_splitting_is_no_end_of_the_grid():
    catalogue = load(Extras())
    family = catalogue.problems["hinge"]
    instance = family.make(family.instances(True)[0], 1)
    minimum = family.reference(instance)

    def least(size):
        run = jobs.run_once(
            catalogue.optimisers["primal-dual"], Task(instance, minimum, 60, size, 0)
        )
        return min(run["f"]) - minimum.f_star

    assert 2 * least(1.0) < min(least(0.1), least(10.0))


def test_bcfw_pays_for_its_first_planes(tiny):
    catalogue = load(Extras((tiny,)))
    instance = catalogue.problems["tiny-hinge"].make({}, 3)
    task = Task(instance, reference.by_bundle(instance), 6, 1.0, 0)
    run = jobs.run_once(catalogue.optimisers["bcfw"], task)
    assert run["calls"][0] == 1 and run["calls"][-1] <= 6 and run["f"][0] != task.first


def without_seconds(value):
    if isinstance(value, dict):
        kept = {key: inner for key, inner in value.items() if not key.startswith("seconds")}
        return {key: without_seconds(inner) for key, inner in kept.items()}
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture()
def no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_the_same_every_time(tiny, tmp_path, capsys, no_matplotlib):
    """Two runs, in one process and in two: the same tables, but for the seconds."""
    found = []
    for processes in ("1", "2"):
        out = tmp_path / processes
        code = command.main(
            ["--quick", "--with", tiny, "--problems", "ridge,tiny-hinge", "--seed", "5",
             "--seeds", "2", "--optimisers", ",".join(FEW), "--jobs", processes, "--out", str(out)]
        )  # fmt: skip
        assert code == 0
        found.append(json.loads((out / "results.json").read_text(encoding="utf-8")))
        assert (out / "results.csv").exists() and (out / "curves.csv").exists()
    assert "12 jobs, 12 of them new" in capsys.readouterr().out
    assert without_seconds(found[0]) == without_seconds(found[1])
    assert found[0]["bench"]["seeds"] == [5, 6]
    assert len(found[0]["runs"]) == 2 * (5 + 5 + 1 + 5 + 1 + 1)


def test_report(tiny, tmp_path, capsys):
    """One file, with all figures in it."""
    pytest.importorskip("matplotlib")
    arguments = ["--quick", "--with", tiny, "--problems", "ridge", "--seeds", "1", "--jobs", "1"]
    out = tmp_path / "out"
    assert command.main([*arguments, "--optimisers", "gd,bundle", "--out", str(out)]) == 0
    assert "report.html" in capsys.readouterr().out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 5 and "http" not in page
    assert "gradient descent" in page and "crossings" in page


def test_no_matplotlib(tiny, tmp_path, capsys, no_matplotlib):
    """Tables all the same, and a sentence."""
    arguments = ["--quick", "--with", tiny, "--problems", "ridge", "--seeds", "1", "--jobs", "1"]
    assert command.main([*arguments, "--optimisers", "gd", "--out", str(tmp_path / "o")]) == 0
    assert "need matplotlib" in capsys.readouterr().out
    assert (tmp_path / "o" / "results.csv").exists() and not (tmp_path / "o/report.html").exists()


def test_examples(tmp_path):
    """A new optimiser in less than 30 lines, and a new problem; both get somewhere."""
    assert len((EXAMPLES / "new_optimiser.py").read_text().splitlines()) < 30
    files = Extras((str(EXAMPLES / "new_optimiser.py"), str(EXAMPLES / "new_problem.py")))
    plan = bench.Plan(True, ("median",), ("normalised", "gd"), files, seeds=1, quiet=True)
    outcome = bench.compare(plan, tmp_path)
    (minimum,) = outcome.minima.values()
    fall = minimum["first"] - minimum["f_star"]
    for runs in outcome.runs.values():
        assert min(min(run["f"]) for run in runs) - minimum["f_star"] < 0.1 * fall


def test_divergence_is_a_result():
    """Steps that grow without end."""
    problem = optim.Problem(1, lambda x: (x[0] ** 2, 2 * x))
    instance = Instance(problem, np.array([1.0]), radius=2.0)
    task = Task(instance, reference.by_bundle(instance), 2000, 1e6, 0)
    run = jobs.run_once(load(Extras()).optimisers["gd"], task)
    assert run["status"].startswith("diverged") and math.isfinite(run["f"][-1])


@pytest.mark.parametrize("name", ["bundle", "bmrm", "primal-dual"])
def test_no_run_ends_at_a_gap_of_its_own(name):
    """The defaults end at a gap of 1e-6, which all of this J is below."""
    a = 1e-8 * np.random.default_rng(1).normal(size=(12, 4))
    problem = optim.max_affine(a, 1e-8 * np.arange(12.0))
    instance = Instance(
        problem, np.ones(4), weight_decay=1e-8, parts=Parts(problem, np.eye(4)), radius=9.0
    )
    minimum = optim.bundle(problem, np.ones(4), weight_decay=1e-8, tolerance=1e-20)
    found = Reference(minimum.x, minimum.f, minimum.lower_bound)
    run = jobs.run_once(load(Extras()).optimisers[name], Task(instance, found, 20, 1.0, 0))
    accuracy = (run["f"][-1] - minimum.f) / (run["f"][0] - minimum.f)
    assert run["status"] == "ran" and (run["calls"][-1] == 20 or accuracy < 1e-9)


def test_task_counts_calls(tiny):
    """A minibatch is a part of a call; J of the task has the decay in it."""
    catalogue = load(Extras((tiny,)))
    instance = catalogue.problems["tiny-hinge"].make({}, 3)
    task = Task(instance, reference.by_bundle(instance), 2, 1.0, 0)
    x = np.array([0.3, -0.1, 0.2])
    value, g = task.subgradient(x)
    parts = [task.subgradient(x, batch) for batch in range(3)]
    assert task.calls == pytest.approx(2) and not task.left
    assert value == pytest.approx(np.mean([part[0] for part in parts]))
    assert g == pytest.approx(np.mean([part[1] for part in parts], axis=0))
    lines = optim.descend(
        instance.problem, x, 1.0, weight_decay=0.1, max_iterations=1, trace=True, keep_best=False
    ).trace
    assert value == pytest.approx(lines[0].f) and x - g == pytest.approx(lines[1].x)
    with pytest.raises(ValueError, match="there are 3"):
        task.subgradient(x, 3)
    with pytest.raises(ValueError, match="3 entries"):
        task.subgradient(x[:2])


@pytest.mark.parametrize("name", ["gd", "bcfw"])
def test_points_of_minibatches(tiny, name):
    """One at the end of each pass; the curve is the same without them, but that BCFW sees sooner
    that its gap is closed."""
    catalogue = load(Extras((tiny,)))
    instance = catalogue.problems["tiny-hinge"].make({}, 3)
    minimum = reference.by_bundle(instance)
    tasks = [Task(instance, minimum, 600, 0.01, 0) for _ in range(2)]
    tasks[1].keeps_points = False
    runs = [jobs.run_once(catalogue.optimisers[name], task) for task in tasks]
    kept, first = tasks[0].curve, 1 if name == "bcfw" else 0
    assert len(kept.points) == len(kept.at_points) == runs[0]["calls"][-1] - first + 1
    for x, f in zip(kept.points[::50], kept.at_points[::50]):
        assert tasks[0]._objective.value(x) == pytest.approx(f)
    assert runs[0]["calls"][:2] == [first, first + 6]
    for key in ("calls", "f"):
        end = -1 if name == "bcfw" else None
        assert runs[0][key][:end] == runs[1][key][:end]
    assert {"detour", "reversals", "uphill"} == set(runs[0]["oscillation"])
    assert runs[1]["oscillation"] == {}


def test_task_prox():
    """With the decay: against the library's step of size 1/lam, which lands on it."""
    instance = Instance(optim.nu_problem(0.7), np.array([1.0, 0.4]), weight_decay=0.5)
    task = Task(instance, reference.by_bundle(instance), 5, 1.0, 0)
    run = optim.descend(
        instance.problem, task.start, 0.25, direction="prox", weight_decay=0.5, max_iterations=1,
        keep_best=False,
    )  # fmt: skip
    assert task.prox(task.start, 4.0) == pytest.approx(run.x, abs=1e-12) and task.calls == 1


C_PROBLEM = r"""
#include <submod/optim.h>
static submod_status slope(void *ctx, size_t batch, const double *x, double *value, double *g)
{
    (void)ctx, (void)batch;
    *value = 0;
    for (int i = 0; i < 3; i++) {
        double d = x[i] - i;
        *value += d < 0 ? -d : d;
        g[i] = (d > 0) - (d < 0);
    }
    return SUBMOD_OK;
}
submod_status make(submod_problem *p)
{
    *p = (submod_problem){.dimension = 3, .subgradient = slope};
    return SUBMOD_OK;
}
"""


def test_problem_library(tmp_path):
    """|x - (0, 1, 2)| in the 1-norm, in C."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "ell1.c", tmp_path / "ell1.so"
    source.write_text(C_PROBLEM, encoding="utf-8")
    include = ["-I", str(ROOT / "include")]
    subprocess.run([compiler, "-shared", "-fPIC", *include, "-o", library, source], check=True)
    extras = Extras(libraries=(f"{library}:make",))
    plan = bench.Plan(True, ("ell1:make",), ("gd-sqrt",), extras, seed=0, seeds=2, quiet=True)
    outcome = bench.compare(plan, tmp_path / "cache")
    assert [found["f_star"] for found in outcome.minima.values()] == pytest.approx([0, 0], abs=1e-6)
    first = next(iter(outcome.minima.values()))
    assert first["first"] == 3 and first["n"] == 3
    with pytest.raises(ValueError, match="no function other"):
        load(Extras(libraries=(f"{library}:other",)))


def test_mistakes(tiny, tmp_path, capsys):
    assert command.main(["--problems", "nope", "--out", str(tmp_path)]) == 2
    assert "there is no problem 'nope'; there are" in capsys.readouterr().err
    assert command.main(["--out", f"{tiny}/results"]) == 2  # tiny is a file
    assert "results cannot be written to" in capsys.readouterr().err
    assert command.main(["--list", "--with", str(tmp_path / "absent.py")]) == 2
    assert "there is no file" in capsys.readouterr().err
    (tmp_path / "text.so").write_text("no library")
    assert command.main(["--list", "--problem-library", f"{tmp_path}/text.so:make"]) == 2
    assert "cannot be loaded as a library" in capsys.readouterr().err
    for wrong in (["--seed", "-1"], ["--seeds", "0"], ["--jobs", "two"]):
        with pytest.raises(SystemExit):
            command.main(wrong)
        assert "it must be a whole number" in capsys.readouterr().err
    assert command.main(["--list", "--with", tiny, "--with", tiny]) == 2
    assert "two called 'ridge'" in capsys.readouterr().err
    assert command.main(["--list", "--with", tiny]) == 0
    printed = capsys.readouterr().out
    assert "tiny-hinge" in printed and "averaged-momentum" in printed


SLOW = """
import os, time
from pathlib import Path
from submod.optim_bench import Optimiser

class Slow(Optimiser):
    name, title, tuned = "slow", "sleeps", False
    def run(self, task):
        Path(__file__).with_name(f"running.{os.getpid()}").touch()
        time.sleep(100)
"""


def interrupted(tiny, folder, processes, number):
    """The bench after a signal in the middle of a run: its code, what it printed, its processes."""
    slow = folder / "slow.py"
    slow.write_text(SLOW, encoding="utf-8")
    arguments = ["--quick", "--with", tiny, "--with", str(slow), "--problems", "ridge"]
    arguments += ["--seeds", "2", "--optimisers", "slow", "--jobs", processes, "--out", folder]
    child = subprocess.Popen(
        [sys.executable, "-B", "-m", "submod.optim_bench", *arguments],
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        if any(folder.glob("running.*")) or child.poll() is not None:
            break
        time.sleep(0.2)
    child.send_signal(number)
    _, printed = child.communicate(timeout=50)
    return child.returncode, printed, [int(file.suffix[1:]) for file in folder.glob("running.*")]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c(tiny, tmp_path, processes):
    """Ends at once, with a sentence and no traceback."""
    code, printed, _ = interrupted(tiny, tmp_path, processes, signal.SIGINT)
    assert code == 130, printed
    assert "the same command goes on" in printed and "Traceback" not in printed


def alive(process):
    """A zombie is not: whoever should bury it may take its time."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith("Z")


def test_killed(tiny, tmp_path):
    """Its processes do not outlive it: they close what we read, and are gone."""
    code, _, processes = interrupted(tiny, tmp_path, "1", signal.SIGKILL)
    assert code == -signal.SIGKILL and processes
    for _ in range(100):
        if not any(map(alive, processes)):
            return
        time.sleep(0.2)
    pytest.fail(f"still there: {processes}")


def test_everyone_runs_everywhere():
    """Every optimiser on every problem that has what it needs: a few calls, and none fails."""
    catalogue, pairs = load(Extras()), set()
    for problem in catalogue.problems.values():
        for settings in [] if problem.missing() else problem.instances(quick=True):
            instance = problem.make(settings, 1)
            somewhere = Reference(instance.start + 1.0, -1e9, -1e9)
            for optimiser in catalogue.optimisers.values():
                if instance.has.issuperset(optimiser.needs):
                    run = jobs.run_once(optimiser, Task(instance, somewhere, 5, 1e-3, 1))
                    assert run["status"] == "ran", (problem.name, optimiser.name, run["status"])
                    assert np.isfinite(run["f"]).all() and max(run["calls"]) <= 5
                    pairs.add((problem.name, optimiser.name))
    assert {optimiser for _, optimiser in pairs} == set(catalogue.optimisers)
    assert len(catalogue.problems) >= 10 and len(catalogue.optimisers) >= 20
