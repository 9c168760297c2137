"""DatasetLovasz: batches add up, and ranks add up to the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import submod.torch as lovasz  # noqa: E402
import torch_reference as reference  # noqa: E402


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
    module.eval()
    assert module(*data[0]).item() == loss.item()
    assert module.counts.sum() == 4 * whole[1].numel()
    module.reset()
    assert module(*data[0]).item() == 0 and "bins" in repr(module)


def test_batches_that_come_before_backward():
    """Two losses in one sum, and a reset in between: each backward has the counts of its forward."""
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
    with pytest.raises(RuntimeError, match="float64"):
        lovasz.DatasetLovasz(4).half()(*batches(1)[0])


def run_ranks(ranks, steps, folder):
    """Each rank takes its share of every batch of 4 images; counts and losses to folder."""
    script = f"""
import sys, torch, torch.distributed as dist
import submod.torch as lovasz
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="file://{folder}/meet{ranks}", rank=rank,
                        world_size={ranks})
generator = torch.Generator().manual_seed(4)
module, losses = lovasz.DatasetLovasz(3, decay=0.75), []
for _ in range({steps}):
    logits = torch.randn((4, 3, 16, 16), generator=generator)
    labels = torch.randint(3, (4, 16, 16), generator=generator)
    mine = slice(rank * 4 // {ranks}, (rank + 1) * 4 // {ranks})
    leaf = logits[mine].clone().requires_grad_(True)
    loss = module(leaf, labels[mine])
    loss.backward()
    losses.append(loss.item())
torch.save((module.counts, losses, leaf.grad / {ranks}), f"{folder}/{ranks}-{{rank}}.pt")
dist.destroy_process_group()
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(rank)], env=environment)
        for rank in range(ranks)
    ]
    try:
        assert [p.wait(timeout=120) for p in processes] == [0] * ranks
    finally:
        for process in processes:
            process.kill()
    return [
        torch.load(Path(folder) / f"{ranks}-{rank}.pt", weights_only=True) for rank in range(ranks)
    ]


def test_two_ranks_as_one(tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    (one,) = run_ranks(1, 5, tmp_path)
    two = run_ranks(2, 5, tmp_path)
    for counts, losses, _ in two:
        assert torch.equal(counts, one[0]) and losses == one[1]
    # What DistributedDataParallel makes of the ranks' gradients is the gradient of one rank.
    assert torch.allclose(torch.cat([gradient for _, _, gradient in two]), one[2], atol=1e-9)
