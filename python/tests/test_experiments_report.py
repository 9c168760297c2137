"""How bench/experiments writes down what experiments tell, with an experiment that is made up."""

# ruff: noqa: E402, as nothing of this runs without PyTorch

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
matplotlib = pytest.importorskip("matplotlib")

from experiments.plan import QUICK, Plan
from experiments.telling import cells, document, method, report
from experiments.telling.section import Claim, Figure, Section, Table
from experiments.telling.story import CLAIMS, Story, claims_of

SCORES = Table(
    "made_up",
    "Scores of `a|b` in %.",
    ("loss", "mIoU", "images", "against cross-entropy", "verdict"),
    [
        ("a|b", 71.25, 233, "+0.50 [0.10, 0.90]", "better"),
        ("<c>", np.float32(8.5), np.int64(7), None, "worse"),
        ("d", None, 1, "-0.1 [-0.3, 0.1]", "not shown"),
    ],
)
RAW = Table(
    "made_up_raw", "Every score.", ("seed", "score"), [(k, k / 3) for k in range(40)], False
)


def draw():
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing((2, 1))
    drawing.subplots().plot([1, 2], [3, 5])
    return drawing


@pytest.fixture
def story():
    section = Section(
        "Made up",
        ["A paragraph with `code`."],
        [SCORES, RAW],
        [Figure("made_up_curve", "A curve.", draw)],
        [Claim("a beats b", "+1 % [0, 2]", "not shown", "made up, 2 seeds")],
    )
    claims = [Claim("old", "seen", "held", "study `nu`")]
    return Story({"fake": section}, ["binary"], claims, ["a machine"], method.section(Plan()))


def test_numbers_of_a_column_have_the_same_decimals():
    shown = list(zip(*cells.shown(SCORES)))
    assert shown[1] == ("71.25", "8.50", "")
    assert shown[2] == ("233", "7", "1")
    assert cells.formatted([0.01234567, 0.5]) == ["0.0123", "0.5000"]
    assert cells.formatted([12345.6, 1.0]) == ["12346", "1"]
    assert cells.formatted([0.0, float("nan")]) == ["0", "nan"]
    assert [cells.is_numeric(column) for column in cells.columns_of(SCORES)[:3]] == [
        False,
        True,
        True,
    ]


def test_csv(tmp_path):
    cells.write_csv(SCORES, tmp_path)
    lines = (tmp_path / "made_up.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "loss,mIoU,images,against cross-entropy,verdict"
    assert lines[1] == 'a|b,71.25,233,"+0.50 [0.10, 0.90]",better'
    cells.write_csv(RAW, tmp_path)
    assert "1,0.333333\n" in (tmp_path / "made_up_raw.csv").read_text(encoding="utf-8")


def test_page(story, tmp_path):
    page = report.write(story, tmp_path).read_text(encoding="utf-8")
    assert '<td class="good">better</td>' in page
    assert '<td class="bad">worse</td>' in page
    assert "&lt;c&gt;" in page and "<c>" not in page
    assert "<code>code</code>" in page
    assert "Not run yet: binary." in page
    assert '<a href="tables/made_up_raw.csv">' in page  # not shown, but there
    assert page.count("<figure>") == 1 and 'src="data:image/png;base64,' in page
    claims = (tmp_path / "tables" / "claims.csv").read_text(encoding="utf-8").splitlines()
    assert claims == [
        ",".join(CLAIMS),
        'a beats b,"+1 % [0, 2]",not shown,"made up, 2 seeds"',
        "old,seen,held,study `nu`",
    ]


def test_document(story, tmp_path):
    docs, drawn = tmp_path / "docs", tmp_path / "figures"
    report.write(story, tmp_path)
    document.write(story, drawn, docs)
    page = (docs / "experiments.md").read_text(encoding="utf-8")
    assert (
        "| loss | mIoU | images | against cross-entropy | verdict |\n| --- | ---: | ---: |" in page
    )
    assert "| a\\|b | 71.25 | 233 | +0.50 [0.10, 0.90] | better |" in page
    assert "![made up curve](img/experiments_made_up_curve.png)" in page
    assert "(experiments/made_up_raw.csv)" in page
    assert "a machine" in page
    picture = (docs / "img" / "experiments_made_up_curve.png").read_bytes()
    report.write(story, tmp_path)
    assert (drawn / "made_up_curve.png").read_bytes() == picture
    assert matplotlib.__version__.encode() not in picture


def test_the_plan_is_told_in_numbers():
    for plan in (Plan(), QUICK):
        told = dict(method.rows(plan))
        assert told["seeds"] == ", ".join(map(str, plan.seeds))
        assert f"{plan.images // plan.batch} steps" in told["fine-tuning"]
        assert str(plan.pretraining_images) in told["pre-training"]


def test_claims_of_studies(tmp_path):
    (tmp_path / "nu").mkdir()
    table = 'claim,measured,verdict,run\n"a, b",3 of 4,not held,"version 0.2.1, seed 1"\n'
    (tmp_path / "nu" / "table_claims.csv").write_text(table, encoding="utf-8")
    assert claims_of(tmp_path) == [Claim("a, b", "3 of 4", "not held", "study `nu`")]
    notes = "# Nu\n\nText.\n\nData: drawn,\n100 times.\n\nMore."
    (tmp_path / "nu" / "notes.md").write_text(notes, encoding="utf-8")
    assert claims_of(tmp_path)[0].data == "study `nu`: drawn, 100 times"
    shutil.copytree(tmp_path / "nu", tmp_path / "no_study_of_ours")
    assert len(claims_of(tmp_path)) == 1
    assert claims_of(tmp_path / "nowhere") == []
    run = "\n\nRun: quick run: verdicts are not meaningful; version 0.2.1, seed 1, 2026-11-18.\n"
    (tmp_path / "nu" / "notes.md").write_text(notes + run, encoding="utf-8")
    assert claims_of(tmp_path) == []
