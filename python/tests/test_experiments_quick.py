"""scripts/experiments.sh: the whole path on generated folders of the shape of the real ones."""

# ruff: noqa: E402, as nothing of this runs without PyTorch

import contextlib
import io
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from experiments_path import BENCH

torch = pytest.importorskip("torch")
pytest.importorskip("PIL.Image", reason="Pillow is not installed")
pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from experiments import generated
from experiments.__main__ import main
from experiments.experiments import READS, load
from experiments.jobs import Pretrain, Tune, Way
from experiments.lab import Lab
from experiments.plan import QUICK
from experiments.pool import do
from experiments.progress import Progress
from experiments.street import batch_size
from experiments.telling import document
from experiments.telling.cells import write_csv
from experiments.telling.story import gather
from experiments.trouble import Failed, Trouble


def run(*words):
    """Status and what was printed."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        status = main([str(word) for word in words])
    return status, told.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    generated.camvid(folder / "camvid")
    generated.ibsr(folder / "ibsr")
    return folder


@pytest.fixture(scope="module")
def out(data, tmp_path_factory):
    """Of everything, quickly, in this process; with the document in the folder docs beside it."""
    folder = tmp_path_factory.mktemp("out") / "experiments"
    docs = folder.parent / "docs"
    (docs / "experiments").mkdir(parents=True)
    (docs / "experiments" / "old.csv").write_text("of an earlier page", encoding="utf-8")
    status, told = run(data, "--quick", "--jobs", 0, "--out", folder, "--document", docs)
    assert status == 0, told
    assert told.splitlines()[-1] == f"report: {folder / 'report.html'}"
    return folder


def contents(folder, pattern="**/*"):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.glob(pattern))
        if file.is_file()
    }


# ---- what is left behind -------------------------------------------------------------------------


def test_a_run_is_a_folder(out):
    runs = sorted((out / "runs").iterdir())
    assert len(runs) > 50
    for folder in runs:
        names = {file.name for file in folder.iterdir()}
        assert {"settings.json", "log.csv", "weights.pt"} <= names
        assert not any("checkpoint" in name or name.endswith(".new") for name in names)


def test_the_report_has_everything(out):
    page = (out / "report.html").read_text(encoding="utf-8")
    sections = re.findall(r'<section id="(.*)">', page)
    assert sections == ["claims", "method", *READS]
    for file in (out / "tables").glob("*.csv"):
        assert file.read_text(encoding="utf-8").count("\n") > 1, f"{file.name} is empty"
    assert (out / "tables" / "claims.csv").is_file()
    pictures = list((out / "figures").glob("*.png"))
    assert pictures and page.count("<figure>") == len(pictures)
    assert not re.search(r'(src|href)="(https?:)?//', page)  # no network
    assert str(out) not in page


def test_a_copy_has_nothing_to_do_and_the_same_page(data, out, tmp_path):
    copy = Lab(data, tmp_path / "elsewhere", QUICK)
    shutil.copytree(out, copy.out, ignore=shutil.ignore_patterns("tables", "figures"))
    before = {file: file.stat().st_mtime_ns for file in (copy.out / "runs").glob("*/*")}
    told = io.StringIO()
    do(copy, [job for one in load(READS) for job in one.jobs(copy)], 0, Progress(told))
    jobs, done = re.fullmatch(r"(\d+) jobs, (\d+) of them done before\n", told.getvalue()).groups()
    assert jobs == done
    story = gather(copy, None)
    assert before == {file: file.stat().st_mtime_ns for file in (copy.out / "runs").glob("*/*")}
    for table in story.tables():
        write_csv(table, tmp_path)
        file = f"{table.name}.csv"
        assert (tmp_path / file).read_bytes() == (out / "tables" / file).read_bytes()
    page = (out.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert document.page(story) == page


def test_the_document_has_everything(data, out):
    docs = contents(out.parent / "docs")
    assert "experiments/old.csv" not in docs
    page = docs["experiments.md"].decode()
    assert all(f"]({name})" in page for name in docs if name != "experiments.md")
    for text in docs.values():
        assert str(out.parent).encode() not in text and str(data).encode() not in text


def test_scores_are_the_same_from_the_weights(data, out, tmp_path):
    """Two clones with the same weights have the same tables."""
    copy = Lab(data, tmp_path / "copy", QUICK)
    shutil.copytree(out / "runs", copy.out / "runs", ignore=shutil.ignore_patterns("test.npz"))
    told = io.StringIO()
    do(copy, batch_size.jobs(copy), 0, Progress(told))
    assert " 0 of them done before" not in told.getvalue()  # the weights were taken
    assert "final camvid lovasz seed 1" in told.getvalue()  # and scored
    for table in batch_size.section(copy).tables:
        write_csv(table, tmp_path)
        file = f"{table.name}.csv"
        assert (tmp_path / file).read_bytes() == (out / "tables" / file).read_bytes()


# ---- killed, and again ---------------------------------------------------------------------------


def test_killed_and_resumed_is_as_never_killed(data, tmp_path, monkeypatch):
    """Bit for bit, in the middle of a training."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(BENCH)
    plan = replace(QUICK, pretraining_images=120, checkpoint_seconds=0.0)
    killed, whole = (Lab(data, tmp_path / name, plan) for name in ("killed", "whole"))
    folder = killed.folder(killed.pretraining(0))

    def kill():
        while folder.steps() < 3:
            time.sleep(0.002)
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(Failed, match=r"killed from outside, at pretrain seed 0"):
        do(killed, [Pretrain(0)], 1, Progress(io.StringIO()))
    assert folder.has("checkpoint.pt") and not folder.has("weights.pt")
    assert 3 <= folder.steps() < folder.run.steps
    for lab in (killed, whole):
        do(lab, [Pretrain(0)], 0, Progress(io.StringIO()))
    ours, theirs = (lab.folder(folder.run) for lab in (killed, whole))
    for mine, other in zip(*(x.read_state("weights.pt").values() for x in (ours, theirs))):
        assert torch.equal(mine, other)
    logs = [(x.path / "log.csv").read_bytes() for x in (ours, theirs)]
    assert logs[0] == logs[1]


def test_the_rate_with_the_best_validation_is_taken(data, tmp_path):
    lab = Lab(data, tmp_path, replace(QUICK, rates=(1e-1, 1e-2, 1e-3)))
    way = Way("camvid", "lovasz")
    for right, rate in ((3, 1e-1), (5, 1e-2), (1, 1e-3)):
        counts = np.zeros((2, 11, 11), int)
        counts[:, range(11), range(11)] = right
        counts[:, 0, 1] = 4
        folder = lab.folder(Tune(way, rate).training(lab))
        folder.write_arrays("val.npz", {"confusion": counts})
    assert way.rate(lab) == 1e-2


# ---- what goes wrong -----------------------------------------------------------------------------


def refused(words, *parts):
    status, told = run(*words)
    assert status == 2
    assert "\nexperiments: " in f"\n{told}" and "Traceback" not in told
    for part in parts:
        assert part in told


def test_data_that_is_not_there(data, tmp_path):
    refused((tmp_path,), f"no folder {tmp_path / 'camvid'}", "SegNet", "ibsr", "nitrc.org")
    shutil.copytree(data / "camvid", tmp_path / "camvid")
    refused((tmp_path,), f"no folder {tmp_path / 'ibsr'}", "nitrc.org", "--only multiclass")
    (tmp_path / "camvid" / "val.txt").unlink()
    refused((tmp_path, "--only", "binary"), f"{tmp_path / 'camvid'} has no val.txt", "SegNet")


def test_the_script_looks_for_the_data_first(tmp_path):
    """Before anything is installed or built."""
    script = BENCH.parent / "scripts" / "experiments.sh"
    ended = subprocess.run([script, tmp_path], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"no folder {tmp_path / 'camvid'}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert subprocess.run([script, "--help"], capture_output=True).returncode == 0


def quick(data, out):
    return (data, "--quick", "--jobs", 0, "--out", out, "--only", "multiclass")


@pytest.fixture
def broken(data, tmp_path):
    """A copy of the data, to be broken."""
    shutil.copytree(data, tmp_path / "data")
    return tmp_path / "data"


def test_label_maps_of_another_size(broken, tmp_path):
    from PIL import Image

    file = broken / "camvid" / "trainannot" / "train_3.png"
    Image.open(file).resize((20, 16)).save(file)
    refused(quick(broken, tmp_path / "out"), f"{file} is 20 x 16, its image 48 x 40 pixels")


def test_labels_that_are_no_class(broken, tmp_path):
    from PIL import Image

    file = broken / "camvid" / "trainannot" / "train_0.png"
    Image.fromarray(np.full((40, 48), 12, np.uint8)).save(file)
    refused(quick(broken, tmp_path / "out"), f"{file} has label 12")


@pytest.mark.parametrize("name", ["train/train_1.jpg", "valannot/val_0.png"])
def test_files_that_are_listed_and_not_there(broken, tmp_path, name):
    (broken / "camvid" / name).unlink()
    with pytest.raises(Trouble, match=r"there is no .*, though .*txt lists"):
        Lab(broken, tmp_path, QUICK).splits  # noqa: B018


def test_other_settings_do_not_take_a_folder(data, tmp_path):
    do(lab := Lab(data, tmp_path, QUICK), [Pretrain(0)], 0, Progress(io.StringIO()))
    wider = Lab(data, tmp_path, replace(QUICK, width=3))
    assert wider.pretraining(0).name == lab.pretraining(0).name
    with pytest.raises(Trouble, match="holds another run, with width 2"):
        do(wider, [Pretrain(0)], 0, Progress(io.StringIO()))
    longer = Lab(data, tmp_path, replace(QUICK, pretraining_images=36))
    assert not Pretrain(0).done(longer)


def test_names_for_people(data, tmp_path):
    assert str(Tune(Way("camvid", "lovasz", "equibatch"), 1e-3)) == (
        "tune camvid lovasz equibatch rate 0.001"
    )


def test_words_that_are_wrong(data, capsys):
    for words in ([str(data), "--only", "nothing"], [str(data), "--jobs", "-1"], []):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
