"""Segmentation by cross-entropy, then fine-tuning with Lovász-Softmax: what does mIoU gain?

    python examples/train_unet.py                            synthetic shapes, minutes on two cores
    python examples/train_unet.py --data voc --root VOCdevkit/VOC2012 \\
        --model MODULE:FUNCTION --weights FILE --device cuda
    python examples/train_unet.py --data cityscapes --root cityscapes --model ... --weights ...
    python examples/train_unet.py --data ibsr --root IBSR --fold 0 --device cuda

voc, cityscapes and ibsr bring the recipes of the paper: optimiser, learning rates, crops, equibatch
(examples/unet/recipes.py). The paper's networks for the first two, DeepLab-v2 and ENet with their
weights, come from elsewhere; ibsr is the network of the supplement. Options change single numbers.
Needs submod and PyTorch; Pillow to read and write pictures. Nothing is resumed: a run starts anew.
"""

from __future__ import annotations

import argparse
import copy
import os
import pickle
import sys
import time
from dataclasses import replace
from pathlib import Path
from textwrap import shorten

# Threads that spin while they wait are in each other's way as soon as somebody else uses the
# machine: with two cores and two neighbours a step took ten times as long. Read by PyTorch's
# OpenMP when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from unet import UserError, brain, folders, model, shapes, sheet, show, train
from unet.data import IGNORE, Example, Segmentation, batches, classes_of
from unet.recipes import IN_WORDS, LOSSES, RECIPES, Recipe, quick

import submod

QUICK_IMAGES = 4
THEN = "ce, then "  # before the loss of a part that starts from cross-entropy's weights


def options(arguments: list[str] | None) -> argparse.Namespace:
    words, more = (__doc__ or "").split("\n", 1)
    parser = argparse.ArgumentParser(
        description=words, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add_data(parser)
    add("--model", metavar="NAME", help="unet, ibsr or MODULE:FUNCTION, called with num_classes")
    add("--weights", type=Path, metavar="FILE", help="a state_dict to start from")
    add("--steps", type=int, metavar="N", help="of cross-entropy first")
    add("--fine-steps", type=int, metavar="N", help="of each fine-tuning")
    add("--fine-tune", nargs="+", choices=LOSSES, metavar="LOSS", help="among " + " ".join(LOSSES))
    add("--batch", type=int, metavar="N")
    add("--rate", type=float, help="base learning rate of the first part")
    add("--fine-rate", type=float, help="base learning rate of each fine-tuning")
    add("--optimizer", choices=("sgd", "adam"))
    add("--equibatch", action=argparse.BooleanOptionalAction, help="each class in turn")
    add("--evaluate-every", type=int, metavar="N", help="steps between points of --csv")
    add("--device", default="cpu", help="of the network")
    add("--loss-device", default="cpu", help="of the Lovász loss; cuda needs a library built so")
    add("--workers", type=int, default=0, metavar="N", help="processes that read images")
    add("--seed", type=int, default=0)
    add("--out", type=Path, metavar="DIR", help="snapshots of the weights go there")
    add("--csv", type=Path, metavar="FILE", help="learning curves")
    add("--pictures", type=Path, metavar="FILE", help="a PNG of some images and their label maps")
    add("--quick", action="store_true", help="a few steps on a few small images: for tests")
    return parser.parse_args(arguments)


def add_data(parser: argparse.ArgumentParser) -> None:
    """The options that load() looks at; and --seed and --quick."""
    add = parser.add_argument
    add("--data", choices=list(RECIPES), default="shapes")
    add("--root", type=Path, metavar="DIR", help="where the data are")
    add("--train-list", default="train", metavar="NAME", help="voc: list of training images")
    add("--label-folder", default="SegmentationClass", metavar="NAME", help="voc: label maps")
    add("--fold", type=int, choices=range(3), default=0, help="ibsr: which third is tested")
    add("--images", type=int, default=800, metavar="N", help="shapes: how many images")


def make_recipe(chosen: argparse.Namespace) -> Recipe:
    recipe = RECIPES[chosen.data]
    if chosen.quick:
        recipe = quick(recipe)
    names = "model steps fine_steps fine_tune batch rate fine_rate optimizer equibatch"
    given = {name: getattr(chosen, name) for name in (*names.split(), "evaluate_every")}
    given = {name: value for name, value in given.items() if value is not None}
    if "fine_steps" in given:
        given["fine_epochs"] = 0
    recipe = replace(recipe, **given)
    if min(recipe.steps, recipe.fine_steps, recipe.evaluate_every) < 0 or recipe.batch < 1:
        raise UserError("steps must be >= 0 and a batch >= 1")
    if recipe.steps == recipe.fine_steps == recipe.fine_epochs == 0:
        raise UserError("no steps to train: --steps, --fine-steps")
    return recipe


def load(chosen: argparse.Namespace) -> Segmentation:
    if chosen.data in ("voc", "cityscapes", "ibsr") and chosen.root is None:
        raise UserError(f"--data {chosen.data} needs --root DIR")
    if chosen.data == "voc":
        data = folders.voc(chosen.root, chosen.train_list, chosen.label_folder)
    elif chosen.data == "cityscapes":
        data = folders.cityscapes(chosen.root)
    elif chosen.data == "ibsr":
        data = brain.ibsr(chosen.root, chosen.fold)
    else:
        if chosen.images < 4:
            raise UserError("--images must be >= 4")
        data = shapes.load(4 * QUICK_IMAGES if chosen.quick else chosen.images, chosen.seed)
    if chosen.quick:
        data = replace(data, val=data.val[:QUICK_IMAGES])
    return data


def make_network(chosen: argparse.Namespace, recipe: Recipe, data: Segmentation) -> torch.nn.Module:
    network = model.make(recipe.model, data.channels, len(data.classes), recipe.width)
    if chosen.weights:
        try:
            state = torch.load(chosen.weights, map_location="cpu", weights_only=True)
            getattr(network, "network", network).load_state_dict(state)
        except Exception as error:  # a file that holds something else may raise anything
            words = shorten(str(error), 300)
            if not words or isinstance(error, pickle.UnpicklingError):  # which tells how to run it
                words = "it is no state_dict, as torch.save(network.state_dict(), FILE) writes it"
            raise UserError(f"--weights {chosen.weights}: {words}") from None
    return network.to(chosen.device)


def need_places(chosen: argparse.Namespace) -> None:
    """For all that is written after hours of training."""
    if chosen.csv:
        show.need_place("--csv", chosen.csv)
    if chosen.pictures:
        show.need_place("--pictures", chosen.pictures)
        show.need_pillow()
    if chosen.out:
        try:
            chosen.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--out {chosen.out}: {error}") from None


class Session:
    """One run of the script: a first part with cross-entropy, then one part per loss."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen, self.recipe = chosen, make_recipe(chosen)
        train.need_devices(chosen.device, chosen.loss_device)
        need_places(chosen)
        torch.manual_seed(chosen.seed)
        self.data = load(chosen)
        self.network = make_network(chosen, self.recipe, self.data)
        self.image_classes = classes_of(self.data) if self.recipe.equibatch else None
        self.parts: list[train.Part] = []
        self.results: dict[str, train.Score] = {}
        self.trained: dict[str, torch.nn.Module] = {}

    def part(self, name: str, loss: str, steps: int, rate: float, seed: int) -> torch.nn.Module:
        """Trains a copy of the network, prints its scores, and returns it."""
        chosen, network = self.chosen, copy.deepcopy(self.network)
        function = train.make_loss(loss, len(self.data.classes), chosen.loss_device)
        part = train.Part(name, function, steps, rate)
        stream = batches(self.data, self.recipe, steps, self.image_classes, seed, chosen.workers)

        def snapshot(step: int) -> None:
            if chosen.out:
                inner = getattr(network, "network", network)
                torch.save(inner.state_dict(), chosen.out / f"{name.replace(' ', '-')}-{step}.pt")

        begin = time.monotonic()
        score = train.run(part, network, self.data, stream, self.recipe, chosen.device, snapshot)
        self.parts.append(part)
        self.results[name], self.trained[name] = score, network
        print(
            f"{name:<18}{steps:>7}{100 * score.image:>13.2f}{100 * score.dataset:>15.2f}"
            f"{time.monotonic() - begin:>9.0f}",
            flush=True,
        )
        return network

    def run(self) -> None:
        data, recipe, chosen = self.data, self.recipe, self.chosen
        print(
            f"{chosen.data}: {len(data.train)} images to train with, {len(data.val)} to test with, "
            f"{len(data.classes)} classes; network {recipe.model}, "
            f"{sum(p.numel() for p in self.network.parameters()):,} parameters"
        )
        print(f"{'':<18}{'steps':>7}{'image-mIoU %':>13}{'dataset-mIoU %':>15}{'seconds':>9}")
        if recipe.steps:
            self.network = self.part("ce", "ce", recipe.steps, recipe.rate, chosen.seed)
        steps = recipe.fine_steps
        if recipe.fine_epochs:
            steps = -(-recipe.fine_epochs * len(data.train) // recipe.batch)
        for loss in recipe.fine_tune if steps else ():
            name = f"{THEN if recipe.steps else ''}{loss}"
            self.part(name, loss, steps, recipe.fine_rate, chosen.seed + 1)
        show.print_classes(data.classes, self.results)
        if chosen.csv:
            show.write_curves(chosen.csv, self.parts)
        if chosen.pictures:
            self.draw(chosen.pictures)

    def draw(self, file: Path) -> None:
        """Typical images: sorted by what the last network gains over the first one that was trained
        for as long, the one in the middle, and those with a tenth of the images below and above."""
        names = list(self.trained)
        rival = names[1] if len(names) > 2 else names[0]
        first = self.data.val[0]()[1].shape
        examples = [example for example in (read() for read in self.data.val[:200])
                    if example[1].shape == first]  # fmt: skip
        gains = [self.score(names[-1], e)[1] - self.score(rival, e)[1] for e in examples]
        order = sorted(range(len(gains)), key=gains.__getitem__)
        rows = []
        for share, words in ((0.1, "10th percentile"), (0.5, "median"), (0.9, "90th percentile")):
            chosen = order[round(share * (len(order) - 1))]
            image, labels = examples[chosen]
            scores = [self.score(name, examples[chosen]) for name in names]
            texts = [f"{words} of the gain: {100 * gains[chosen]:+.1f} points", ""]
            texts += [f"mIoU {100 * miou:.1f} %" for _, miou in scores]
            maps = [labels.numpy(), *(predicted.numpy() for predicted, _ in scores)]
            rows.append(sheet.Row(image.numpy(), maps, texts))
        titles = [in_words(name) for name in names]
        note = f"Gain: mIoU of '{titles[-1]}' less that of '{in_words(rival)}'."
        note += " +: added to cross-entropy."
        sheet.save(file, ["image", "truth", *titles], rows, self.data.classes, note)
        print(f"{file}: where '{names[-1]}' gains over '{rival}' as in 10, 50, 90 % of the images")

    def score(self, name: str, example: Example) -> tuple[torch.Tensor, float]:
        """The label map of a trained network, and its mean IoU over the classes that the truth or
        the map shows."""
        network = self.trained[name].eval()
        predicted, labels = train.predict(network, example, self.recipe, self.chosen.device)
        measure = submod.MeanIoU(len(self.data.classes), ignore_index=IGNORE, absent="skip",
                                 leave_out=self.data.leave_out)  # fmt: skip
        measure.add(predicted[None].numpy(), labels[None].numpy())
        return predicted, measure.compute().image


def in_words(name: str) -> str:
    """Of a part, for a picture."""
    loss = name.removeprefix(THEN)
    return IN_WORDS[loss] if loss == name else f"then {IN_WORDS[loss]}"


def main(arguments: list[str] | None = None) -> int:
    try:
        Session(options(arguments)).run()
    except UserError as error:
        print(f"train_unet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
