"""How to train: ours for a laptop, and the paper's (Berman, Rannen Triki, Blaschko, CVPR 2018)."""

from __future__ import annotations

from dataclasses import dataclass, replace

LOSSES = ("ce", "ce+lovasz", "lovasz", "dataset")
# In pictures, whose font has ASCII alone; + is added to cross-entropy.
IN_WORDS = {
    "ce": "cross-entropy",
    "ce+lovasz": "+ Lovasz",
    "lovasz": "Lovasz",
    "dataset": "+ dataset Lovasz",
}


@dataclass(frozen=True)
class Recipe:
    """First `steps` steps of cross-entropy; then, from the weights these leave, `fine_steps` steps
    for each loss of `fine_tune`, with the same batches, so that nothing but the loss differs."""

    steps: int
    fine_steps: int
    batch: int
    rate: float
    fine_rate: float
    optimizer: str  # "sgd": momentum 0.9; "adam"
    fine_epochs: int = 0  # in place of fine_steps if > 0
    schedule: str = "poly"  # rate (1 - k/steps)^0.9; "exponential": down to rate/100
    weight_decay: float = 0.0
    size: tuple[int, int] | None = None  # images are resized to (height, width) first
    crop: tuple[int, int] | None = None  # and cropped to (height, width), padded if too small
    scale: tuple[float, float] | None = None  # by a random factor between these before that
    flip: bool = False  # left and right, at random
    equibatch: bool = False  # Sec. 3.1: each class in turn chooses an image and a crop
    fine_tune: tuple[str, ...] = ("ce", "ce+lovasz")
    model: str = "unet"
    width: int = 8  # channels of the first level of the U-Net
    evaluate_every: int = 0  # steps; 0: at the end of each part only
    snapshot_every: int = 0  # steps; 0: at the end of each part only


RECIPES = {
    # For the data that come without a download: minutes on two cores.
    "shapes": Recipe(
        steps=800, fine_steps=300, batch=8, rate=3e-3, fine_rate=1e-3, optimizer="adam", flip=True
    ),
    # Sec. 4.3 and DeepLab's own scales; the network starts from weights trained elsewhere. The
    # paper also has fine_steps=30000.
    "voc": Recipe(
        steps=0, fine_steps=20000, batch=10, rate=2.5e-4, fine_rate=2.5e-4, optimizer="sgd",
        weight_decay=5e-4, crop=(321, 321), scale=(0.5, 1.5), flip=True, equibatch=True,
        fine_tune=("ce", "lovasz"), snapshot_every=5000,
    ),
    # Sec. 4.4: ENet, fine-tuned from weights that cross-entropy had brought to convergence; Adam at
    # the rates of Sec. 4.3, no augmentation. The paper reports the snapshot after 9000 steps, not
    # how long the run was; its cross-entropy is weighted by class, ours is not.
    "cityscapes": Recipe(
        steps=0, fine_steps=10000, batch=10, rate=2.5e-4, fine_rate=2.5e-4, optimizer="adam",
        size=(512, 1024), fine_tune=("ce", "lovasz"), snapshot_every=1000,
    ),
    # Supplement, IBSR: 35 epochs of SGD, 1e-1 to 1e-3. It does not give the size of the batches,
    # momentum and weight decay: these are those of Sec. 4.3.
    "ibsr": Recipe(
        steps=0, fine_steps=0, fine_epochs=35, batch=10, rate=1e-1, fine_rate=1e-1,
        optimizer="sgd", schedule="exponential", weight_decay=5e-4, fine_tune=("ce", "lovasz"),
        model="ibsr",
    ),
}  # fmt: skip


def quick(recipe: Recipe) -> Recipe:
    """Everything that the recipe does, but hardly any of it: for tests."""
    return replace(
        recipe, steps=min(recipe.steps, 4), fine_steps=3, fine_epochs=0, batch=2, width=4,
        size=recipe.size and (32, 64), crop=recipe.crop and (48, 48),
        evaluate_every=2, snapshot_every=0,
    )  # fmt: skip


def rate_at(recipe: Recipe, base: float, step: int, steps: int) -> float:
    """The learning rate of step 0 .. steps-1."""
    if recipe.schedule == "exponential":
        return base * 0.01 ** (step / max(steps - 1, 1))
    return base * (1 - step / steps) ** 0.9
