"""Training on several processes with the Lovász-Softmax loss of the batch of all of them.

    torchrun --standalone --nproc-per-node 2 examples/train_ddp.py
    torchrun --standalone --nproc-per-node 2 examples/train_ddp.py --loss rank
    torchrun --standalone --nproc-per-node 8 examples/train_ddp.py --device cuda --data voc \\
        --root VOCdevkit/VOC2012 --batch 16 --equibatch

--loss global   group=WORLD, ddp=True: the loss of the images of all ranks, as one process has it
--loss rank     each rank takes the loss of its own images, and DistributedDataParallel the mean of
                the gradients: another loss, that of smaller batches

Both add cross-entropy, the mean over the pixels of all ranks. --batch is that of all ranks; with
--equibatch it has each class in turn, whichever rank its image goes to. Mean IoU is of all
validation images, cut over the ranks. Data and networks are those of train_unet.py. On CPUs batch
normalisation sees the images of one rank: there is no SyncBatchNorm for them. Without torchrun it
is one process.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as in train_unet.py

import torch
import torch.distributed as dist
import torch.nn.functional as F
import train_unet
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from unet import UserError, model, train
from unet.data import IGNORE, Segmentation, batches, classes_of
from unet.recipes import RECIPES, Recipe, quick, rate_at

import submod.torch


def options(arguments: list[str] | None) -> argparse.Namespace:
    words, more = (__doc__ or "").split("\n", 1)
    parser = argparse.ArgumentParser(
        description=words, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--loss", choices=("global", "rank"), default="global")
    train_unet.add_data(parser)
    add("--steps", type=int, default=400, metavar="N")
    add("--batch", type=int, metavar="N", help="images of a step, on all ranks together")
    add("--rate", type=float, help="base learning rate")
    add("--equibatch", action="store_true", help="each class in turn")
    add("--show-every", type=int, default=50, metavar="N", help="steps between lines")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--seed", type=int, default=0)
    add("--quick", action="store_true", help="a few steps on a few small images: for tests")
    return parser.parse_args(arguments)


class Ranks:
    """The processes that torchrun has started, or this one."""

    def __init__(self, device: str) -> None:
        self.group: dist.ProcessGroup | None = None
        self.rank, self.size, self.device = 0, 1, torch.device(device)
        if "RANK" in os.environ:
            dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
            self.group = dist.group.WORLD
            self.rank, self.size = dist.get_rank(), dist.get_world_size()
        if device == "cuda":
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(self.device)

    def mean(self, value: Tensor) -> float:
        total = value.detach().clone()
        if self.group is not None:
            dist.all_reduce(total)
        return float(total) / self.size

    def say(self, words: str) -> None:
        if self.rank == 0:
            print(words, flush=True)


def wrap(network: nn.Module, ranks: Ranks) -> nn.Module:
    network = network.to(ranks.device)
    if ranks.group is None:
        return network
    if ranks.device.type == "cuda":
        network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
    return DistributedDataParallel(network)


def cross_entropy(scores: Tensor, labels: Tensor, ranks: Ranks) -> Tensor:
    """Such that the mean over the ranks, of it and of its gradients, is that over all pixels."""
    pixels = (labels != IGNORE).sum()
    if ranks.group is not None:
        dist.all_reduce(pixels)
    total = F.cross_entropy(scores, labels, ignore_index=IGNORE, reduction="sum")
    return ranks.size * total / pixels.clamp(min=1)


class Losses:
    """The loss of the global batch, and that of this rank's images."""

    def __init__(self, ranks: Ranks) -> None:
        given: dict[str, Any] = {"ignore_index": IGNORE, "engine": "histogram"}
        self.of_batch = submod.torch.LovaszSoftmax(**given, group=ranks.group, ddp=True)
        self.of_rank = submod.torch.LovaszSoftmax(**given)

    def both(self, scores: Tensor, labels: Tensor, ranks: Ranks) -> tuple[float, float]:
        """The first, and the mean over the ranks of the second."""
        scores = scores.detach()
        return float(self.of_batch(scores, labels)), ranks.mean(self.of_rank(scores, labels))


@torch.no_grad()
def evaluate(network: nn.Module, data: Segmentation, recipe: Recipe, ranks: Ranks) -> float:
    """Mean IoU of all validation images, of which each rank sees its share."""
    metric = submod.torch.MeanIoU(len(data.classes), ignore_index=IGNORE, leave_out=data.leave_out)
    network.eval()
    for read in data.val[ranks.rank :: ranks.size]:
        predicted, labels = train.predict(network, read(), recipe, str(ranks.device))
        metric.update(predicted[None], labels[None])
    network.train()
    return float(metric.sync().compute())


def run(chosen: argparse.Namespace, ranks: Ranks) -> None:
    recipe = quick(RECIPES[chosen.data]) if chosen.quick else RECIPES[chosen.data]
    steps = min(chosen.steps, 4) if chosen.quick else chosen.steps
    recipe = replace(recipe, batch=chosen.batch or recipe.batch, rate=chosen.rate or recipe.rate)
    if recipe.batch < ranks.size or steps < 1:
        raise UserError(f"--batch {recipe.batch} of {ranks.size} ranks, --steps {steps}: too few")
    torch.manual_seed(chosen.seed)  # the same weights on all ranks
    data = train_unet.load(chosen)
    network = model.make(recipe.model, data.channels, len(data.classes), recipe.width)
    wrapped = wrap(network, ranks)
    optimizer = train.make_optimizer(recipe, wrapped, recipe.rate)
    losses, image_classes = Losses(ranks), classes_of(data) if chosen.equibatch else None
    stream = batches(data, recipe, steps, image_classes, chosen.seed, 0, ranks.rank, ranks.size)
    of_what = "the batch of all" if chosen.loss == "global" else "each rank's images"
    ranks.say(f"{ranks.size} ranks, {recipe.batch} images a step, the loss of {of_what}")
    for step, (images, labels) in enumerate(stream):
        images, labels = images.to(ranks.device), labels.to(ranks.device)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(recipe, recipe.rate, step, steps)
        optimizer.zero_grad()
        scores = wrapped(images)
        lovasz = losses.of_batch if chosen.loss == "global" else losses.of_rank
        (cross_entropy(scores, labels, ranks) + lovasz(scores, labels)).backward()
        optimizer.step()
        if step % chosen.show_every == 0 or step + 1 == steps:
            of_batch, of_ranks = losses.both(scores, labels, ranks)
            ranks.say(f"step {step + 1}: loss of the batch {of_batch:.4f}, of ranks {of_ranks:.4f}")
    found = evaluate(network, data, recipe, ranks)
    ranks.say(f"mean IoU of {len(data.val)} images: {100 * found:.2f} %")


def main(arguments: list[str] | None = None) -> int:
    chosen = options(arguments)
    ranks = Ranks(chosen.device)
    try:
        run(chosen, ranks)
    except UserError as error:
        if ranks.rank == 0:
            print(f"train_ddp: {error}", file=sys.stderr)
        return 2
    finally:
        if ranks.group is not None:
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
