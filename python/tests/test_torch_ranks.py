"""Losses of a batch that is spread over the ranks of a gloo group, against one process with all of
it. rank_cases.py has what each rank does."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import rank_cases as cases  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _ranks  # noqa: E402
from submod.torch._memory import loss_call  # noqa: E402

SIZES = (1, 2, 3, 4)
SECONDS = 400  # so that nothing hangs; it takes a tenth of that


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As the ranks have: PyTorch's own operations round otherwise on more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all ranks of all sizes have left what they found."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    place = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-B", "-W", "ignore", cases.__file__, str(place), *map(str, SIZES)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (place / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status = process.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            status = "hangs"
    assert status == 0, f"{status}: {(place / 'log').read_text()[-8000:]}"
    return place


def load(folder, size):
    files = [folder / f"{size}-{rank}.pt" for rank in range(size)]
    return [torch.load(file, weights_only=False)["found"] for file in files]


@pytest.fixture(scope="module", params=SIZES)
def ranks(folder, request):
    """What each rank has found, by case."""
    return load(folder, request.param)


@pytest.fixture(scope="module", params=SIZES[1:])
def several(folder, request):
    """The same, where there are others."""
    return load(folder, request.param)


def of(ranks, case):
    return [found[case] for found in ranks]


def assert_as_one(found, expected, exact=False):
    """found: (loss, gradient) of each rank. Losses that are not reduced are those of a rank."""
    loss, gradient = expected
    losses = [each[0] for each in found]
    if loss.ndim and loss.numel() > 1:
        losses = [torch.cat(losses)]
    whole = torch.cat([each[1] for each in found])
    if exact:
        for each in losses:
            torch.testing.assert_close(each, loss, rtol=1e-6, atol=0)
        # Weights are the same; the softmax, the sums of its derivative and their scale round.
        torch.testing.assert_close(whole, gradient, rtol=1e-5, atol=1e-9)
    else:
        assert all(torch.equal(each, loss) for each in losses)
        assert torch.equal(whole, gradient)


@pytest.mark.parametrize("name", cases.SETTINGS)
@pytest.mark.parametrize("engine", [*cases.ENGINES, "forced"])
def test_as_one_process(ranks, engine, name):
    """The bits of one process, for any split: of the histogram engine in the library and by tensor
    operations; the exact one to rounding."""
    kind, settings = cases.SETTINGS[name]
    given = {"engine": "histogram" if engine == "forced" else engine, **settings}
    if engine == "forced":
        with cases.forced():
            expected = cases.loss_and_gradient(kind, *cases.inputs(kind), **given)
    else:
        expected = cases.loss_and_gradient(kind, *cases.inputs(kind), **given)
    assert expected[0].abs().sum() > 0 and expected[1].abs().sum() > 0
    found = [each[engine, name] for each in of(ranks, "losses")]
    assert_as_one(found, expected, exact=engine == "exact")


def test_another_loss_than_that_of_a_rank(folder):
    """Which would be a mean over parts."""
    both = of(load(folder, 2), "losses")
    whole = cases.inputs("softmax")
    parts = [
        cases.loss_and_gradient("softmax", *cases.pieces(whole, rank, 2), engine="histogram")[0]
        for rank in range(2)
    ]
    assert abs(sum(parts) / 2 - both[0]["histogram", "plain"][0]) > 1e-3


def test_custom_measure(ranks):
    whole = cases.inputs("softmax")
    given = {"engine": "histogram", "measure": cases.mixed}
    with cases.forced():
        expected = cases.loss_and_gradient("softmax", *whole, **given)
    assert_as_one([each[1] for each in of(ranks, "custom")], expected)
    expected = cases.loss_and_gradient("softmax", *whole, **given)
    assert_as_one([each[0] for each in of(ranks, "custom")], expected)


def test_factor_for_ddp(ranks):
    for way in range(2):
        found = [each[way] for each in of(ranks, "ddp")]
        plain = [each["forced" if way else "histogram", "plain"] for each in of(ranks, "losses")]
        for (loss, gradient), (without, of_loss) in zip(found, plain):
            assert torch.equal(loss, without)
            # The factor comes before the softmax's derivative, which takes differences.
            rounding = 2e-6 * gradient.abs().max().item() if gradient.numel() else 0
            torch.testing.assert_close(gradient, len(ranks) * of_loss, rtol=0, atol=rounding)


def test_modules(ranks):
    logits, labels, _ = cases.inputs("softmax")
    expected = lovasz.lovasz_softmax(logits, labels, ignore_index=255, engine="histogram")
    for losses, groups in of(ranks, "modules"):
        assert all(loss == expected for loss in losses) and all(groups)


def test_masked_classes(ranks):
    """-Inf on one rank: the others have no mask, and take part in the second try."""
    logits, labels, _ = cases.batch()
    logits[4, 1, labels[4] != 1] = -torch.inf
    expected = cases.loss_and_gradient("softmax", logits, labels, None, engine="histogram")
    assert expected[0].isfinite() and not expected[1].isnan().any()
    for how in ("raise", "propagate"):
        assert_as_one([each["masked", how] for each in of(ranks, "masked")], expected)
    with cases.forced():
        expected = cases.loss_and_gradient("softmax", logits, labels, None, engine="histogram")
    assert_as_one([each["masked", "forced"] for each in of(ranks, "masked")], expected)


@pytest.mark.parametrize("name, words", [("nan", "nan"), ("lost", "are -Inf")])
def test_not_finite_on_one_rank(ranks, name, words):
    found, last = of(ranks, "masked"), len(ranks) - 1
    for rank, each in enumerate(found):
        kind, said, _ = each[name, "raise"]
        assert kind == "NonFiniteError" and words in said
        assert last == 0 or said.startswith(f"rank {last}: ")
        assert each[name, "raise"][:2] == found[0][name, "raise"][:2], rank
        for how in ("propagate", "forced"):
            loss, gradient = each[name, how]
            assert loss.isnan() and gradient.isnan().all()


# By case: what all ranks raise, and words of it. The last rank has something wrong.
REFUSED = {
    "label": ("InvalidArgumentError", "labels[0][0] = 9"),
    "shape": ("ValueError", "labels of shape"),
    "type": ("TypeError", "a NumPy array"),
    "classes": ("InvalidArgumentError", "of 2 classes"),
    "settings": ("InvalidArgumentError", "delta=0.01"),
    "fraction": ("ValueError", "not all are whole numbers"),
    "pixel weight": ("InvalidArgumentError", "weight"),
    "no pixel weights": ("InvalidArgumentError", "without pixel_weights"),
    "class weight": ("ValueError", "class_weight of shape"),
    "exact": ("InvalidArgumentError", "labels[0][0] = 9"),
    **{
        f"measure {engine} {images}": ("RuntimeError", "KeyError: 'mine'")
        for engine in (*cases.ENGINES, "forced")
        for images in (False, True)
    },
    "measure nan": ("NonFiniteError", "scores[0][0][0] is nan"),
    "forward mode": ("RuntimeError", "forward-mode"),
    "forced shape": ("ValueError", "labels of shape"),
    "forced settings": ("InvalidArgumentError", "delta=0.01"),
    "forced class weight": ("ValueError", "class_weight of shape"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_reaches_all_ranks(several, name):
    """Nobody waits for a rank that raises: all raise the same, and go on together afterwards."""
    found = [each[name] for each in of(several, "refused")]
    kind, words = REFUSED[name]
    last = len(several) - 1
    for raised in found:
        assert raised[:2] == found[0][:2]
        assert raised[0] == kind and words in raised[1] and f"rank {last}" in raised[1]
    assert all(each["good"] is None for each in of(several, "refused"))


@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_devices_make_it_nan(ranks, per_image, reduction):
    """On all ranks, and nobody waits for a device."""
    for each in of(ranks, "refused"):
        loss, gradient = each["forced label", per_image, reduction]
        assert loss.isnan().all() and gradient.isnan().all()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
def test_sizes_of_images(ranks, kind):
    """Each rank has its own: as one list of pixels."""
    logits, labels, _ = cases.batch(images=max(len(ranks), 3))
    lists, truth = [], []
    for rank in range(len(ranks)):
        lists.append(logits[rank, :, : 2 + rank].flatten(1).T)
        truth.append(labels[rank, : 2 + rank].flatten())
    leaf = torch.cat(lists).to(kind).requires_grad_(True)
    loss = lovasz.lovasz_softmax(leaf, torch.cat(truth), ignore_index=255, engine="histogram")
    loss.backward()
    found = [each[kind] for each in of(ranks, "sizes")]
    assert all(torch.equal(each[0], loss) for each in found)
    gradient = torch.cat([each[1][0].flatten(1).T for each in found])
    assert torch.equal(gradient, leaf.grad)


def test_second_pass_and_transforms(ranks):
    logits, labels, _ = cases.inputs("softmax")
    given = {"ignore_index": 255, "engine": "histogram"}
    leaf = logits.clone().requires_grad_(True)
    lovasz.lovasz_softmax(leaf, labels, **given).backward()
    values = [lovasz.lovasz_softmax(x, labels, **given) for x in (logits, -logits)]
    found = of(ranks, "again")
    first, second, by_function = (torch.cat([each[i] for each in found]) for i in range(3))
    assert torch.equal(first, leaf.grad) and torch.equal(by_function, leaf.grad)
    assert torch.equal(second, 2 * leaf.grad)
    assert all(torch.equal(each[3], torch.stack(values)) for each in found)


@pytest.mark.parametrize("per_image", [False, True])
def test_prox(ranks, per_image):
    """Of a whole batch on a grid of some 2^-13, which lam and the mean make small."""
    logits, labels, _ = cases.inputs("hinge")
    for reduction in ("mean", "sum"):
        leaf = logits.clone().requires_grad_(True)
        given = {"ignore_index": 255, "reduction": reduction}
        loss = lovasz.prox_lovasz_hinge(leaf, labels, 0.05, per_image, **given)
        loss.backward()
        found = [each[0][per_image, reduction] for each in of(ranks, "prox")]
        factor = len(ranks) if reduction == "sum" else 1  # ddp=True
        whole = torch.cat([each[1] for each in found]) / factor
        torch.testing.assert_close(whole, leaf.grad, rtol=1e-5, atol=1e-7 if per_image else 1e-5)
        for each in found:
            torch.testing.assert_close(each[0], loss, rtol=1e-6, atol=0)


def test_prox_has_the_same_bits(folder, several):
    """For any number of ranks."""
    ((alone, _, _),) = of(load(folder, 1), "prox")
    found = [each[0][False, "mean"] for each in of(several, "prox")]
    assert torch.equal(torch.cat([each[1] for each in found]), alone[False, "mean"][1])


def test_prox_refuses_on_all_ranks(several):
    for which, words in ((1, "lam = 0.5"), (2, "it must be finite and > 0")):
        raised = {each[which][:2] for each in of(several, "prox")}
        assert len(raised) == 1 and words in raised.pop()[1]


def test_dataset(ranks):
    counts, losses, gradient, *_ = cases.case_dataset(0, 1, None)
    for each in of(ranks, "dataset"):
        assert torch.equal(each[0], counts) and each[1] == losses
    whole = torch.cat([each[2] for each in of(ranks, "dataset")])
    torch.testing.assert_close(whole, gradient, rtol=1e-6, atol=1e-9)


def test_dataset_refuses_on_all_ranks(several):
    """In the same words, and nothing is counted. In evaluation nobody waits in any case."""
    found, last = of(several, "dataset"), len(several) - 1
    kinds = ("NonFiniteError", "InvalidArgumentError", "ValueError")
    words = ("nan", "labels[", "logits of 2 classes")
    for rank, (_, _, _, raised, alone, unchanged) in enumerate(found):
        for i, each in enumerate(raised):
            assert each[:2] == found[0][3][i][:2]
            assert each[0] == kinds[i] and each[1].startswith(f"rank {last}: ")
            assert words[i] in each[1]
            assert each[2] == (rank == last)  # who knows more says it
        assert unchanged and (alone is not None) == (rank == last)


def test_rank_outside_the_group(ranks):
    for rank, (counts, gradient, alone, refused) in enumerate(of(ranks, "outside")):
        assert counts[0].sum() == (cases.batch(rank)[1] != 255).sum()
        torch.testing.assert_close(gradient, alone, rtol=1e-3, atol=1e-6)
        assert (refused is None) == (rank == 0)
        assert rank == 0 or (refused[0] == "ValueError" and "not of the group" in refused[1])


def test_metrics(ranks):
    """One value on all ranks, however often it is asked for; a metric itself stays as it is."""
    prediction, truth, _ = cases.batch()
    for name in ("MeanIoU", "Confusion", "FineGrainedIoU"):
        metric = getattr(lovasz.metrics, name)(cases.CLASSES, ignore_index=255)
        metric.update(prediction, truth)
        expected = cases.flat(metric.compute())
        for each in of(ranks, "metrics"):
            first, second, twice, unchanged, kind, refused = each[name]
            for a, b, c, d in zip(expected, first, second, twice):
                torch.testing.assert_close(b, a, rtol=1e-12, atol=0, equal_nan=True)
                assert torch.equal(b.nan_to_num(7), c.nan_to_num(7))
                assert torch.equal(b.nan_to_num(7), d.nan_to_num(7))
            assert unchanged and kind and "counts of all ranks" in refused[1]
    if len(ranks) > 1:
        raised = {each["refused"][:2] for each in of(ranks, "metrics")}
        assert len(raised) == 1 and "MeanIoU(classes=5" in raised.pop()[1]
        raised = {each["mixed"][:2] for each in of(ranks, "metrics")}
        assert len(raised) == 1 and "with what sync() gave" in raised.pop()[1]
    for each in of(ranks, "metrics"):
        assert each["same"] is None and each["pixels"] == (truth != 255).sum()


def test_metrics_alone():
    """Here, too, sync() gives a copy."""
    metric = lovasz.MeanIoU(cases.CLASSES, ignore_index=255)
    metric.update(*cases.batch()[:2])
    synced = metric.sync()
    assert torch.equal(synced.compute(), metric.compute())
    with pytest.raises(RuntimeError, match="counts of all ranks"):
        synced.merge(metric)
    synced.reset()
    synced.update(*cases.batch(1)[:2])
    assert synced.compute() != metric.compute()


def test_equibatch(ranks):
    """Together the ranks draw what one process draws."""
    size = len(ranks)
    sampler = submod.Equibatch([[0], [1, 2], [2], [0, 1]], 3, seed=7)
    expected = [sampler.draw() for _ in range(12 * size)]
    found = [each[0] for each in of(ranks, "equibatch")]
    assert [found[i % size][i // size] for i in range(12 * size)] == expected
    assert all(each[1] == 3 for each in of(ranks, "equibatch"))


@pytest.mark.parametrize("rank, ranks", [(2, 2), (0, 0)])
def test_equibatch_refuses_ranks(rank, ranks):
    with pytest.raises(ValueError, match="rank"):
        submod.Equibatch([[0]], 1, rank=rank, ranks=ranks)


def test_compile(folder):
    """fullgraph=True: without a group, compiled and not, all have the same bits."""
    for found in of(load(folder, 2), "compile"):
        for name in ("plain", "normalized", "dataset"):
            loss, gradient, expected, plain = found[name]
            assert torch.equal(loss, expected) and torch.equal(gradient, plain)
            assert gradient.abs().sum() > 0
        unchanged, total = found["counts"]
        assert unchanged and total > 0


def test_training_by_ddp(folder):
    """Two ranks follow one process with the whole batch, step by step. The loss has the same bits
    of the same scores; convolutions add up the gradients of the weights in another order, of which
    rounding is left: 2^-24 relative, times the sums' some thousand terms and the steps."""
    ((expected, weights),) = of(load(folder, 1), "training")
    assert expected[-1] < expected[0] - 0.01
    for found in of(load(folder, 2), "training"):
        assert found[0] == pytest.approx(expected, rel=1e-4)
        for a, b in zip(found[1], weights):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_killed_rank(several):
    *others, last = of(several, "killed")
    assert last == "dies"
    for kind, words, has_cause in others:
        assert kind == "CommunicationError" and "has failed" in words and has_cause


# ---- what needs no ranks -----------------------------------------------------------------------


def test_group_is_a_group():
    logits, labels, _ = cases.batch()
    with pytest.raises(TypeError, match="ProcessGroup is needed"):
        lovasz.lovasz_softmax(logits, labels, ignore_index=255, group="world")
    with pytest.raises(TypeError, match="ProcessGroup is needed"):
        lovasz.LovaszSoftmax(group=0)
    with pytest.raises(TypeError, match="ddp"):
        lovasz.LovaszSoftmax(ddp="yes")


def test_ddp_alone():
    """A script that runs as one process, too."""
    whole = cases.inputs("softmax")
    plain, factor = (cases.loss_and_gradient("softmax", *whole, ddp=ddp) for ddp in (False, True))
    assert torch.equal(plain[0], factor[0]) and torch.equal(plain[1], factor[1])


class OneDevice:
    """A group whose backend reads the memory of one device, as NCCL does."""

    _device_types = (torch.device("meta"),)

    def rank(self):
        return 0

    def size(self):
        return 2


def test_tensors_go_where_the_backend_reads_them():
    ranks = _ranks.Ranks(OneDevice())
    assert ranks._placed(torch.zeros(3)).device.type == "meta"


@pytest.mark.parametrize(
    "error, kind",
    [(KeyError("x"), RuntimeError), (submod.NonFiniteError("n"), submod.NonFiniteError)],
)
def test_exceptions_of_other_ranks(monkeypatch, error, kind):
    """Those that the library does not know become RuntimeErrors, with their names."""
    ranks = _ranks.Ranks(OneDevice())
    monkeypatch.setattr(ranks, "_numbers", lambda mine: [[0, *mine[1:]], mine])
    monkeypatch.setattr(ranks, "gather_bytes", lambda data: [b"", data])

    def attempt():
        raise error

    with pytest.raises(kind, match="rank 1: "):
        ranks.together(attempt)


@pytest.mark.parametrize("error", [submod.CommunicationError("lost"), KeyboardInterrupt("now")])
def test_what_is_raised_below_the_library(monkeypatch, error):
    """In a function of its table: it comes out as it is."""
    ranks = _ranks.Ranks(OneDevice())

    def gather(_):
        raise error

    monkeypatch.setattr(ranks, "gather", gather)
    logits, labels = torch.zeros(1, 1, 4), torch.zeros(1, 4, dtype=torch.uint8)
    c = loss_call("binary", logits, labels, None, LossOptions(engine="histogram"), False)
    with pytest.raises(type(error), match=str(error)):
        ranks.call("lovasz_hinge", **c.arguments)
