"""The examples run, without a warning, and say what they claim."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, *arguments):
    command = [sys.executable, "-B", "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_custom_function():
    printed = run("custom_function.py")
    assert "submodular: no counterexample found" in printed
    assert "adding 1 gains 1 at [], but 3 once 0 is there" in printed


def test_dice_surrogate():
    printed = run("dice_surrogate.py")
    equal, tangent = (float(line.split(": ")[1]) for line in printed.splitlines())
    assert equal < 1e-12 and tangent < 1e-12


def test_prox_path(tmp_path):
    table = tmp_path / "path.csv"
    printed = run("prox_path.py", "--csv", table)
    gap = float(printed.split("largest gap ")[1].split()[0])
    difference = float(printed.split("Fujishige-Wolfe ")[1].split()[0])
    assert gap < 1e-9 and difference < 1e-6
    assert "D and e are together from 0.60 to 1.00 by the prox" in printed
    assert "D and e are together from 0.60 to 2.95 by Algorithm 2" in printed
    head, *lines = table.read_text().splitlines()
    assert head == "lambda,gap,u0,u1,u2,u3,u4,a0,a1,a2,a3,a4" and len(lines) == 72
    rows = np.array([[float(number) for number in line.split(",")] for line in lines])
    lam, gaps, exact, greedy = rows[:, 0], rows[:, 1], rows[:, 2:7], rows[:, 7:]
    assert (np.diff(lam) < 0).all() and gaps.max() < 1e-9
    parted = (lam < 1 / 1.01) & (lam > 1 / 2.2)  # by hand: D falls by 1/5 of 1/lambda, e by 1/20
    for pixel, start, fall in ((3, 0.45, 1 / 5), (4, 0.3, 1 / 20)):
        assert np.allclose(exact[parted, pixel], start - fall / lam[parted], atol=1e-12)
        assert np.allclose(greedy[parted, pixel], (0.75 - 0.25 / lam[parted]) / 2, atol=1e-12)


def test_tv_denoise():
    printed = run("tv_denoise.py", "--size", 24)
    for name in ("signal", "image"):
        line = next(line for line in printed.splitlines() if line.startswith(name))
        before, after = line.split(": ")[1].split(" dB")[0].split(" -> ")
        assert float(after) > float(before) + 5
        assert float(line.split("gap ")[1].split(",")[0]) < 1e-9


def test_isotonic():
    printed = run("isotonic.py")
    for line in printed.splitlines():
        if "largest fall" in line and "nearly" not in line:
            assert float(line.split("largest fall ")[1]) < 1e-12
        if "sklearn.isotonic " in line:
            assert float(line.split("sklearn.isotonic ")[1]) < 1e-9
    sys.path.insert(0, str(EXAMPLES))
    try:
        import isotonic
    finally:
        sys.path.remove(str(EXAMPLES))
    x = np.random.default_rng(2).normal(size=40)
    u = isotonic.isotonic(x, isotonic.along_a_line(40)).u
    for i in range(40):  # the largest of the least means, from the left and to the right
        least = [min(x[a : b + 1].mean() for b in range(i, 40)) for a in range(i + 1)]
        assert u[i] == pytest.approx(max(least), abs=1e-12)


def test_segment():
    printed = run("segment.py", "--size", 16, "--count", 2)
    rough = float(printed.split("rough mask ")[1].split(",")[0])
    scores = float(printed.split("scores > 0 ")[1].split()[0])
    best = float(printed.split("best ")[1].split()[0])
    gap = float(printed.split("largest gap ")[1].split()[0])
    assert best > max(rough, scores) and gap < 1e-5


def test_segment_of_photographs(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rng = np.random.default_rng(7)
    mask = np.zeros((40, 40), np.uint8)
    mask[8:30, 12:33] = 5
    pixels = np.where(mask[..., None] == 5, [200, 80, 60], [60, 90, 190])
    pixels = np.clip(pixels + rng.normal(scale=60, size=pixels.shape), 0, 255).astype(np.uint8)
    for name, array in (("images", pixels), ("masks", mask)):
        (tmp_path / name).mkdir()
        image.fromarray(array).save(tmp_path / name / "one.png")
    folders = ["--images", tmp_path / "images", "--masks", tmp_path / "masks", "--label", 5]
    printed = run("segment.py", "--size", 16, *folders)
    assert "1 images of 16 x 16 pixels" in printed


@pytest.mark.parametrize("name, options", [("tv_denoise", ["--size", 16]), ("isotonic", [])])
def test_pictures(name, options, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    file = tmp_path / "picture.png"
    run(f"{name}.py", *options, "--png", file)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_decide():
    lines = run("decide.py", "--size", 40).splitlines()
    expected = [float(line.split("expected IoU ")[1].split(",")[0]) for line in lines[:3]]
    drawn = [float(line.split("truths ")[1]) for line in lines[:3]]
    assert expected[0] < expected[1] - 0.01 and expected[1] <= expected[2]
    assert np.allclose(expected, drawn, atol=0.01)
    assert float(lines[3].split(" by ")[1]) < 1e-9


def test_torch_prox_direction():
    """Adam takes both directions, and gets below what it starts from: 1, at scores of 0."""
    pytest.importorskip("torch")
    printed = run("optim_bench/torch_prox_direction.py", "--steps", 40)
    by_gradient, by_prox = (float(part.split()[0]) for part in printed.split(": ")[1].split(", "))
    assert by_gradient < 0.95 and by_prox < 0.95
