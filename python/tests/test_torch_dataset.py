"""DatasetLovasz: batches add up, and ranks add up to the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402


def batches(count=4, classes=4):
    generator = torch.Generator().manual_seed(2)
    return [
        (
            torch.randn((2, classes, 8, 8), generator=generator),
            torch.randint(classes, (2, 8, 8), generator=generator),
        )
        for _ in range(count)
    ]


def test_loss_of_all_batches():
    data = batches()
    module = lovasz.DatasetLovasz(4, delta=1e-4)
    for logits, labels in data:
        loss = module(logits, labels)
    whole = [torch.cat(parts) for parts in zip(*data)]
    assert loss.item() == pytest.approx(reference.softmax(*whole).item(), abs=1e-4)
    assert module.counts.sum() == 4 * whole[1].numel()
    assert module.value() == pytest.approx(loss.item(), abs=1e-6)
    module.reset()
    assert module.value() == 0 and "bins" in repr(module)


def test_evaluation():
    """The loss of all batches and this one, which leaves no trace."""
    (first, labels), (second, more) = batches(2)
    module = lovasz.DatasetLovasz(4, delta=2.0**-20, decay=0.5)
    module(first, labels)
    kept = module.counts.clone()
    module.eval()
    leaf = second.clone().requires_grad_(True)
    loss = module(leaf, more)
    loss.backward()
    whole = torch.cat([first, second]).requires_grad_(True)
    expected = reference.softmax(whole, torch.cat([labels, more]))
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    assert torch.allclose(leaf.grad, 2 * whole.grad[2:], rtol=1e-2, atol=1e-5)
    assert torch.equal(module.counts, kept)
    fresh = lovasz.DatasetLovasz(4, delta=2.0**-20).eval()
    exact = lovasz.lovasz_softmax(second, more)
    assert fresh(second, more).item() == pytest.approx(exact.item(), abs=1e-5)


@pytest.mark.parametrize("change", ["half", "bfloat16", "to", "float"])
def test_counts_stay_whole(change):
    """What networks do to their modules leaves the counts alone: 2049 is no float16."""
    logits, labels = torch.randn(1, 4, 2049), torch.zeros(1, 2049, dtype=torch.long)
    module = lovasz.DatasetLovasz(4)
    whole = torch.nn.Sequential(module)
    module(logits, labels)
    kept, value = module.counts.clone(), module.value()
    assert (whole.to(torch.float16) if change == "to" else getattr(whole, change)()) is whole
    assert module.counts.dtype == torch.float64 and torch.equal(module.counts, kept)
    assert module.value() == value and "counts" in module.state_dict()
    module(logits.half(), labels)
    assert module.counts[0].sum() == 2 * 2049
    assert module.to("meta").counts.is_meta


def test_batches_that_come_before_backward():
    """Two losses in one sum, a reset in between: each backward has the counts of its forward."""
    (first, labels), (second, more) = batches(2)
    alone = first.clone().requires_grad_(True)
    lovasz.DatasetLovasz(4)(alone, labels).backward()
    module = lovasz.DatasetLovasz(4)
    first.requires_grad_(True)
    loss = module(first, labels)
    (loss + 0 * module(second.requires_grad_(True), more)).backward()
    assert torch.equal(first.grad, alone.grad)
    late = module(second, more)
    module.reset()
    late.backward()
    assert second.grad.abs().sum() > 0


def test_gradient():
    """The plain derivative is that of the loss of all; the stochastic one is scaled to a batch."""
    data = batches(2)
    whole, labels = (torch.cat(parts) for parts in zip(*data))
    whole.requires_grad_(True)
    reference.softmax(whole, labels).backward()
    for stochastic, factor in ((False, 1), (True, 2)):
        module = lovasz.DatasetLovasz(4, delta=2.0**-20, stochastic=stochastic)
        module(*data[0])
        last = data[1][0].clone().requires_grad_(True)
        module(last, data[1][1]).backward()
        assert torch.allclose(last.grad, factor * whole.grad[2:], rtol=1e-2, atol=1e-5)
    single = lovasz.DatasetLovasz(4, delta=2.0**-20)
    first = data[0][0].clone().requires_grad_(True)
    single(first, data[0][1]).backward()
    exact = data[0][0].clone().requires_grad_(True)
    lovasz.lovasz_softmax(exact, data[0][1]).backward()
    assert torch.allclose(first.grad, exact.grad, rtol=1e-2, atol=1e-5)


def test_decay_and_state():
    data = batches()
    module = lovasz.DatasetLovasz(4, decay=0.5, classes=[0, 2], class_weight=[1.0, 1.0, 3.0, 1.0])
    for logits, labels in data:
        module(logits, labels)
    pixels = data[0][1].numel()
    assert module.counts[0].sum() == pixels * (1 + 0.5 + 0.25 + 0.125)
    copy = lovasz.DatasetLovasz(4, decay=0.5, classes=[0, 2], class_weight=[1.0, 1.0, 3.0, 1.0])
    copy.load_state_dict(module.state_dict())
    assert copy.eval()(*data[0]) == module.eval()(*data[0])


def test_errors():
    with pytest.raises(ValueError, match="delta"):
        lovasz.DatasetLovasz(4, delta=0)
    with pytest.raises(ValueError, match="decay"):
        lovasz.DatasetLovasz(4, decay=2)
    with pytest.raises(ValueError, match="classes"):
        lovasz.DatasetLovasz(5)(*batches(1)[0])
    with pytest.raises(ValueError, match="num_classes = 0"):
        lovasz.DatasetLovasz(0)
    for classes in ("some", [4], [-1]):
        with pytest.raises(ValueError, match="class"):
            lovasz.DatasetLovasz(4, classes=classes)
    for weight in ([1.0, 2.0], [1.0, 1.0, 1.0, -1.0]):
        with pytest.raises(ValueError, match="class_weight"):
            lovasz.DatasetLovasz(4, class_weight=weight)


def test_nccl_wants_device_memory(monkeypatch):
    """Two ranks with the same batch, as NCCL would add them up; the device is CPU memory."""
    moved = []

    def all_reduce(message, group):
        assert message is moved[-1]
        message *= 2

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda group: 2)
    monkeypatch.setattr(torch.distributed, "get_backend", lambda group: "nccl")
    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: moved.append(self.clone()) or moved[-1])
    module = lovasz.DatasetLovasz(4)
    logits, labels = batches(1)[0]
    module(logits, labels)
    assert len(moved) == 1 and module.counts[0].sum() == 2 * labels.numel()


def test_refused_batch_is_not_counted():
    module = lovasz.DatasetLovasz(4)
    logits, labels = batches(1)[0]
    with pytest.raises(submod.NonFiniteError, match="nan"):
        module(logits * float("nan"), labels)
    assert module.counts.sum() == 0


def test_batch_without_a_loss_is_not_counted():
    """Labels of an inference cannot be saved for backward, which comes out after the counting."""
    module = lovasz.DatasetLovasz(4)
    logits, labels = batches(1)[0]
    with torch.inference_mode():
        labels = labels.clone()
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        module(logits.requires_grad_(True), labels)
    assert module.counts.sum() == 0


@pytest.mark.parametrize("last", ["forward", "reset"])
def test_state_after_inference(last):
    module, state = lovasz.DatasetLovasz(4), lovasz.DatasetLovasz(4).state_dict()
    with torch.inference_mode():
        module(*batches(1)[0])
        if last == "reset":
            module.reset()
    module.load_state_dict(state)
    module(*batches(1)[0])


@pytest.mark.filterwarnings("ignore")
def test_compile():
    """One graph, counts and all, over several steps."""
    torch._dynamo.reset()
    plain, module = lovasz.DatasetLovasz(4, decay=0.5), lovasz.DatasetLovasz(4, decay=0.5)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for logits, labels in batches(3):
        leaf, other = (logits.clone().requires_grad_(True) for _ in range(2))
        loss, expected = compiled(leaf, labels), plain(other, labels)
        (loss + expected).backward()
        assert loss == expected and torch.equal(leaf.grad, other.grad)
        assert torch.equal(module.counts, plain.counts)


# One process for each of two ranks, which take their shares of batches of 4 images.
SCRIPT = """
import sys, torch, torch.distributed as dist
import submod, submod.torch as lovasz
import test_torch_dataset as tests
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
found = {name: getattr(tests, "rank_" + name)(rank) for name in ("trains", "refuses", "outside")}
torch.save(found, f"{folder}/{rank}.pt")
dist.destroy_process_group()
"""


def rank_trains(rank, ranks=2):
    """Counts, losses and the last gradient as DistributedDataParallel divides it."""
    generator = torch.Generator().manual_seed(4)
    module, losses = lovasz.DatasetLovasz(3, decay=0.75), []
    mine = slice(rank * 4 // ranks, (rank + 1) * 4 // ranks)
    for _ in range(5):
        logits = torch.randn((4, 3, 16, 16), generator=generator)
        labels = torch.randint(3, (4, 16, 16), generator=generator)
        leaf = logits[mine].clone().requires_grad_(True)
        loss = module(leaf, labels[mine])
        loss.backward()
        losses.append(loss.item())
    return module.counts, losses, leaf.grad / ranks


def rank_refuses(rank):
    """Its exceptions, what was counted by then, and the counts of a last, good batch."""
    module, words = lovasz.DatasetLovasz(4), []
    logits, labels = batches(1)[0]
    bad = logits * float("nan")

    def attempt(logits, labels):
        try:
            module(logits, labels)
        except (submod.SubmodError, ValueError, RuntimeError) as error:
            words.append(f"{type(error).__name__}: {error}")

    attempt(bad if rank == 0 else logits, labels)
    attempt(logits, labels + 4 if rank == 1 else labels)
    attempt(logits[:, :2] if rank == 1 else logits, labels)
    counted = module.counts.sum().item()
    module.eval()
    attempt(bad if rank == 0 else logits, labels)
    module.train()
    module(logits, labels)
    return words, counted, module.counts


def rank_outside(rank):
    """Rank 1 is not of the group: counts, gradient and the gradient of that batch alone."""
    module = lovasz.DatasetLovasz(4, process_group=torch.distributed.new_group([0]))
    logits, labels = batches(2)[rank]
    leaf, alone = (logits.clone().requires_grad_(True) for _ in range(2))
    module(leaf, labels).backward()
    lovasz.lovasz_softmax(alone, labels, engine="histogram").backward()
    return module.counts, leaf.grad, alone.grad


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each of the two has found."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    folder = tmp_path_factory.mktemp("ranks")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    processes = [
        subprocess.Popen([sys.executable, "-B", "-c", SCRIPT, str(rank), folder], env=environment)
        for rank in range(2)
    ]
    try:
        assert [p.wait(timeout=240) for p in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


def test_two_ranks_as_one(ranks):
    one = rank_trains(0, ranks=1)
    for found in ranks:
        counts, losses, _ = found["trains"]
        assert torch.equal(counts, one[0]) and losses == one[1]
    gradient = torch.cat([found["trains"][2] for found in ranks])
    assert torch.allclose(gradient, one[2], atol=1e-9)


def test_refusal_reaches_all_ranks(ranks):
    """Nobody waits for a rank that raises: NaN, a label that is no class, a wrong shape. Then all
    go on together. In evaluation nobody waits in any case."""
    (first, empty, counts), (second, none, same) = (found["refuses"] for found in ranks)
    assert empty == none == 0 and counts[0].sum() == 2 * 2 * 8 * 8 and torch.equal(counts, same)
    others = "RuntimeError: submod.torch: 1 of 2 ranks have refused their batches"
    assert first[0].startswith("NonFiniteError") and second[0].startswith(others)
    assert first[1].startswith(others) and "labels[" in second[1]
    assert first[2].startswith(others) and second[2].startswith("ValueError: logits of 2 classes")
    assert len(first) == 4 and first[3].startswith("NonFiniteError") and len(second) == 3


def test_rank_outside_the_group(ranks):
    """It counts its own batches, and so does the group."""
    for found in ranks:
        counts, gradient, alone = found["outside"]
        assert counts[0].sum() == 2 * 8 * 8
        assert torch.allclose(gradient, alone, rtol=1e-3, atol=1e-6)
