"""examples/train_unet.py on tiny folders made here."""

import contextlib
import gzip
import io
import pickle
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCORE = re.compile(r"^(\S.*?)\s+(\d+)\s+(\S+)\s+(\S+)\s+\d+$", re.MULTILINE)


def run(*arguments):
    """In this process, where torch is loaded already."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        import train_unet
    finally:
        sys.path.remove(str(EXAMPLES))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = train_unet.main(["--quick", *map(str, arguments)])
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def scores(result):
    """{part: (steps, image-mIoU, dataset-mIoU)} from what was printed."""
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # no bar where there is no terminal
    rows = SCORE.findall(result.stdout)
    return {name: (int(steps), float(image), float(all_)) for name, steps, image, all_ in rows}


def assert_scores(found, names):
    assert list(found) == names
    for steps, image, dataset in found.values():
        assert steps > 0
        assert 0 <= image <= 100 and 0 <= dataset <= 100  # not NaN


def assert_refused(result, words):
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


# ---- folders -----------------------------------------------------------------------------------


def blocks(rng, ids, height, width):
    """A label map of rectangles."""
    labels = np.full((height, width), ids[0], np.uint8)
    for _ in range(6):
        top, left = rng.integers(height - 8), rng.integers(width - 8)
        labels[top : top + 16, left : left + 16] = rng.choice(ids)
    return labels


def write_pair(rng, image_file, labels_file, labels):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for file in (image_file, labels_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    noise = rng.integers(0, 40, size=(*labels.shape, 3))
    image.fromarray((labels[..., None] * 5 % 200 + noise).astype(np.uint8)).save(image_file)
    picture = image.fromarray(labels)
    if image_file.suffix == ".jpg":  # VOC's label maps have a palette
        picture.putpalette([value for i in range(256) for value in (i, 255 - i, i // 2)])
    picture.save(labels_file)


@pytest.fixture
def voc(tmp_path):
    rng = np.random.default_rng(5)
    lists = tmp_path / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True)
    for part, count in (("train", 5), ("val", 2)):
        names = [f"2007_{part}_{i}" for i in range(count)]
        (lists / f"{part}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
        for i, name in enumerate(names):
            labels = blocks(rng, [0, 3, 15, 20, 255], 40 + 9 * i, 61 - 4 * i)
            images = tmp_path / "JPEGImages", tmp_path / "SegmentationClass"
            write_pair(rng, images[0] / f"{name}.jpg", images[1] / f"{name}.png", labels)
    return tmp_path


@pytest.fixture
def cityscapes(tmp_path):
    rng = np.random.default_rng(6)
    for part, count in (("train", 3), ("val", 2)):
        for i in range(count):
            stem = f"{part}/ulm/ulm_{i:06d}_000019"
            write_pair(
                rng,
                tmp_path / "leftImg8bit" / f"{stem}_leftImg8bit.png",
                tmp_path / "gtFine" / f"{stem}_gtFine_labelIds.png",
                blocks(rng, [0, 7, 11, 23, 26, 33], 48, 96),
            )
    return tmp_path


def write_nifti(file, voxels):
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *voxels.shape, 1, 1, 1, 1)
    struct.pack_into("<h", header, 70, {"uint8": 2, "int16": 4}[voxels.dtype.name])
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    header[344:348] = b"n+1\0"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(bytes(header) + voxels.tobytes(order="F")))


@pytest.fixture
def ibsr(tmp_path):
    rng = np.random.default_rng(7)
    for number in range(1, 5):
        labels = np.zeros((24, 16, 6), np.uint8)
        labels[4:12, 4:12, 2:5] = 10
        labels[14:20, 6:14, 1:4] = 50
        image = (labels + rng.integers(0, 50, size=labels.shape)).astype(np.int16)
        stem = tmp_path / f"IBSR_{number:02d}" / f"IBSR_{number:02d}"
        write_nifti(Path(f"{stem}_ana.nii.gz"), image)
        write_nifti(Path(f"{stem}_seg_ana.nii.gz"), labels)
    return tmp_path


# ---- runs --------------------------------------------------------------------------------------


def test_shapes(tmp_path):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    files = tmp_path / "curves.csv", tmp_path / "masks.png"
    result = run(
        "--fine-tune", "ce", "ce+lovasz", "dataset", "--csv", files[0], "--pictures", files[1]
    )
    names = ["ce", "ce, then ce", "ce, then ce+lovasz", "ce, then dataset"]
    assert_scores(scores(result), names)
    rows = files[0].read_text(encoding="utf-8").splitlines()
    assert rows[0] == "part,step,loss,image_miou,dataset_miou"
    assert len(rows) == 1 + 4 * 2  # steps 2 and 4, then thrice steps 2 and 3
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert "'ce, then dataset' gains over 'ce, then ce' as in 10, 50, 90 %" in result.stdout


def test_voc_by_the_papers_recipe(voc, tmp_path):
    result = run("--data", "voc", "--root", voc, "--out", tmp_path / "out")
    assert "5 images to train with, 2 to test with, 21 classes" in result.stdout
    assert_scores(scores(result), ["ce", "lovasz"])
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == ["ce-3.pt", "lovasz-3.pt"]
    again = run("--data", "voc", "--root", voc, "--weights", tmp_path / "out" / "lovasz-3.pt")
    assert_scores(scores(again), ["ce", "lovasz"])


def test_cityscapes_by_the_papers_recipe(cityscapes):
    result = run("--data", "cityscapes", "--root", cityscapes, "--equibatch")
    assert "3 images to train with, 2 to test with, 19 classes" in result.stdout
    assert_scores(scores(result), ["ce", "lovasz"])


def test_network_of_the_supplement(ibsr):
    result = run("--data", "ibsr", "--root", ibsr, "--fine-tune", "lovasz", "--fine-steps", 1)
    # 4 volumes: the first is tested, the second left out; 4 of 6 slices have structures.
    assert "8 images to train with, 4 to test with, 9 classes; network ibsr" in result.stdout
    assert_scores(scores(result), ["lovasz"])


def test_network_of_your_own(tmp_path, monkeypatch):
    """Scores under "out", as in torchvision, and of a lower resolution."""
    (tmp_path / "my_networks.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def __init__(self, num_classes):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Conv2d(3, num_classes, 3, stride=2, padding=1)\n"
        "    def forward(self, x):\n"
        "        return {'out': self.layer(x)}\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    out = tmp_path / "out"
    result = run("--model", "my_networks:Net", "--fine-tune", "ce+lovasz", "--out", out)
    assert_scores(scores(result), ["ce", "ce, then ce+lovasz"])
    assert sorted(torch.load(out / "ce-4.pt", weights_only=True)) == ["layer.bias", "layer.weight"]
    wrong = run("--weights", out / "ce-4.pt")
    assert wrong.returncode == 2 and "ce-4.pt" in wrong.stderr


def test_same_seed_same_numbers():
    first, second = (scores(run("--fine-tune", "ce+lovasz")) for _ in range(2))
    assert first == second


# ---- errors ------------------------------------------------------------------------------------


def test_missing_folder_as_a_user_sees_it(tmp_path):
    gone = tmp_path / "gone"
    script = EXAMPLES / "train_unet.py"
    command = [sys.executable, script, "--data", "voc", "--root", gone]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert_refused(result, f"there is no folder {gone}")


@pytest.mark.parametrize("data", ["voc", "cityscapes", "ibsr"])
def test_root_is_needed(data):
    assert_refused(run("--data", data), "--root")


def test_missing_label_map(voc):
    lost = voc / "SegmentationClass" / "2007_train_3.png"
    lost.unlink()
    assert_refused(run("--data", "voc", "--root", voc), f"there is no {lost}")


def test_label_that_is_no_class(voc):
    rng = np.random.default_rng(8)
    names = voc / "JPEGImages" / "2007_train_0.jpg", voc / "SegmentationClass" / "2007_train_0.png"
    write_pair(rng, *names, np.full((30, 30), 21, np.uint8))
    assert_refused(run("--data", "voc", "--root", voc), "has the label 21, which is no class")


class Pickled(torch.nn.Linear):
    """A module is no state_dict, and not loaded either."""


def test_weights_that_are_none(tmp_path):
    file = tmp_path / "weights.pt"
    assert_refused(run("--weights", file), f"--weights {file}")
    for garbage in (b"garbage", b""):
        file.write_bytes(garbage)
        assert_refused(run("--weights", file), f"--weights {file}")
    for wrong in ([1, 2], {1: 2}, {"a": torch.zeros(1)}, torch.zeros(3), Pickled(1, 1)):
        torch.save(wrong, file)
        assert_refused(run("--weights", file), f"--weights {file}")


@pytest.mark.parametrize("option", ["--csv", "--pictures"])
def test_places_that_cannot_be_written(tmp_path, option):
    """At once, not after the training."""
    for place in (tmp_path, tmp_path / "gone" / "file"):
        result = run(option, place)
        assert_refused(result, f"{option} {place}")
        assert result.stdout == ""
    (tmp_path / "file").touch()
    assert_refused(run("--out", tmp_path / "file"), "--out")


def test_pictures_without_pillow(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("--pictures", tmp_path / "masks.png")
    assert_refused(result, "needs Pillow")
    assert result.stdout == ""


def test_unknown_network():
    assert_refused(run("--model", "vnet"), "there is no network 'vnet'")
    assert_refused(run("--model", "nowhere:build"), "nowhere")


# ---- parts -------------------------------------------------------------------------------------


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import unet.brain
    import unet.data
    import unet.folders
    import unet.model
    import unet.recipes
    import unet.shapes
    import unet.sheet

    return unet


def test_train_ids(parts, cityscapes):
    data = parts.folders.cityscapes(cityscapes)
    _, labels = data.train[0]()
    image = pytest.importorskip("PIL.Image")
    file = cityscapes / "gtFine" / "train" / "ulm" / "ulm_000000_000019_gtFine_labelIds.png"
    with image.open(file) as opened:
        values = np.array(opened)
    for value, train_id in {0: 255, 7: 0, 11: 2, 23: 10, 26: 13, 33: 18}.items():
        assert (labels.numpy()[values == value] == train_id).all()


def test_crops_show_the_class_they_were_drawn_for(parts):
    rng = np.random.default_rng(9)
    image, labels = torch.zeros(1, 30, 50), torch.zeros(30, 50, dtype=torch.int64)
    labels[28, 3] = 4
    for size in ((10, 10), (40, 7), (30, 50)):
        for _ in range(20):
            cut, shown = parts.data.crop(image, labels, size, 4, rng)
            assert shown.shape == size and cut.shape == (1, *size)
            assert (shown == 4).sum() == 1


def test_layers_of_the_supplement(parts):
    network = parts.model.IBSRNet(1, 9)
    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [m.kernel_size[0] for m in convolutions] == [7, 5, 3, 3, 3, 4, 1]
    assert [m.out_channels for m in convolutions] == [64, 128, 256, 512, 512, 1024, 9]
    assert [m.dilation[0] for m in convolutions] == [1, 1, 2, 2, 2, 4, 1]
    pools = [m for m in network.modules() if isinstance(m, torch.nn.MaxPool2d)]
    assert [(m.kernel_size, m.stride) for m in pools] == [(3, 2), (3, 2), (3, 1), (3, 1), (3, 1)]
    assert network.eval()(torch.zeros(1, 1, 18, 21)).shape == (1, 9, 18, 21)


def test_workers_may_be_sent_the_images(parts, ibsr):
    """As they are where processes are not forked: Python 3.14, macOS, Windows."""
    for data in (parts.shapes.load(4), parts.brain.ibsr(ibsr)):
        for read, sent in zip(data.train, pickle.loads(pickle.dumps(data)).train):
            assert all(map(torch.equal, read(), sent()))


def test_rates(parts):
    voc, ibsr = parts.recipes.RECIPES["voc"], parts.recipes.RECIPES["ibsr"]
    assert parts.recipes.rate_at(voc, 2.5e-4, 0, 20000) == 2.5e-4
    assert parts.recipes.rate_at(voc, 2.5e-4, 10000, 20000) == pytest.approx(2.5e-4 * 0.5**0.9)
    assert parts.recipes.rate_at(ibsr, 0.1, 99, 100) == pytest.approx(1e-3)


def test_nifti(parts, tmp_path):
    voxels = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)
    write_nifti(tmp_path / "a.nii.gz", voxels)
    assert (parts.brain.read_nifti(tmp_path / "a.nii.gz") == voxels).all()
    (tmp_path / "b.nii").write_bytes(b"nothing of the kind")
    with pytest.raises(parts.UserError, match="no NIfTI-1 file"):
        parts.brain.read_nifti(tmp_path / "b.nii")


@pytest.mark.parametrize("option", ["--device", "--loss-device"])
def test_devices_that_are_not_there(option):
    """At once, not where the fine-tuning would first use them."""
    assert_refused(run(option, "nowhere"), f"{option} nowhere cannot be used here")
    assert_refused(run(option, "meta"), f"{option} meta cannot be used here")
    if not torch.cuda.is_available():
        assert_refused(run(option, "cuda"), f"{option} cuda cannot be used here")


def test_sheet_of_label_maps(parts, tmp_path):
    """Panels in their places, in the colours that the legend below them has."""
    image = pytest.importorskip("PIL.Image")
    sheet = parts.sheet
    labels = np.arange(6).reshape(2, 3)
    names = [f"class {number}" for number in range(6)]
    rows = [sheet.Row(np.zeros((1, 2, 3)), [labels, 5 - labels], ["", "one", "two"])] * 2
    sheet.save(tmp_path / "sheet.png", ["image", "truth", "found"], rows, names)
    with image.open(tmp_path / "sheet.png") as opened:
        pixels = np.array(opened)
    colours, zoom = sheet.class_colours(6), sheet.PANEL // 3
    for column, shown in ((1, labels), (2, 5 - labels)):
        left = sheet.GAP + column * (3 * zoom + sheet.GAP)
        for row in range(2):
            top = sheet.LINE + row * (2 * zoom + sheet.LINE + sheet.GAP)
            panel = pixels[top : top + 2 * zoom, left : left + 3 * zoom]
            assert (panel == np.kron(colours[shown], np.ones((zoom, zoom, 1)))).all()
    legend = pixels[sheet.LINE + 2 * (2 * zoom + sheet.LINE + sheet.GAP) :].reshape(-1, 3)
    for number in range(6):
        assert (legend == colours[number]).all(1).sum() >= sheet.SIZE**2
    assert (colours[6:] == sheet.VOID).all()
    sheet.save(tmp_path / "noted.png", ["image", "truth", "found"], rows, names, "a note")
    with image.open(tmp_path / "noted.png") as opened:
        noted = np.array(opened)
    assert (noted[: len(pixels)] == pixels).all()
    assert len(noted) == len(pixels) + sheet.LINE
    assert (noted[len(pixels) :] < 128).any()


def test_parts_in_words(parts):
    """In ASCII: the font of the sheet has nothing else."""
    import train_unet

    assert train_unet.in_words("ce") == "cross-entropy"
    assert train_unet.in_words("ce, then ce+lovasz") == "then + Lovasz"
    assert all(name.isascii() for name in map(train_unet.in_words, train_unet.LOSSES))
