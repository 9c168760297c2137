"""Metrics of segmentations: functions for arrays at hand, objects for batches that come one by one.

    submod.metrics.miou(prediction, truth, 19)
    metric = submod.metrics.BoundaryIoU(19, ignore_index=255)
    for prediction, truth in batches:
        metric.update(prediction, truth)
    print(metric.compute().mean)

Counts add up over processes and machines: merge(), and save() and load() for files.

Pixels             category_iou; Confusion: IoU, Dice and accuracy
Instances          instance_iou; InstanceIoU
Contours           boundary_iou; BoundaryIoU
Images one by one  fine_grained_miou; FineGrainedIoU
Means of the IoU   miou, MeanIoU

Label maps are (batch, ..) of whole numbers. The functions give the mean over classes, or a number
per class with average=False. CITYSCAPES: names, categories and sizes of its label ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._confusion import Confusion, ConfusionValues, Floats, Rates, labels_of
from ._door import flag
from ._metrics import MeanIoU, MeanIoUValues, miou
from ._scoring import (
    BoundaryIoU,
    BoundaryValues,
    FineGrainedIoU,
    FineGrainedValues,
    InstanceIoU,
    InstanceValues,
)

__all__ = [
    "CITYSCAPES",
    "BoundaryIoU",
    "BoundaryValues",
    "Confusion",
    "ConfusionValues",
    "FineGrainedIoU",
    "FineGrainedValues",
    "InstanceIoU",
    "InstanceValues",
    "LabelIds",
    "MeanIoU",
    "MeanIoUValues",
    "Rates",
    "boundary_iou",
    "category_iou",
    "fine_grained_miou",
    "instance_iou",
    "miou",
]


# ---- counts of pixels ----


def category_iou(
    prediction: Any,
    truth: Any,
    categories: Sequence[Any],
    *,
    ignore_index: int | None = None,
    absent: str = "one",
    average: bool = True,
) -> float | dict[Any, float]:
    """IoU of groups of classes: categories[c] names the one of class c. Their mean, or a dict of
    all of them."""
    names, group = labels_of(categories)
    counts = Confusion(len(group), ignore_index=ignore_index)
    counts.update(prediction, truth)
    values = counts.regroup(group, absent=absent).compute()
    if flag(average, "average"):
        mean: float = values.mean.iou
        return mean
    return dict(zip(names, values.classes.iou.tolist()))


# ---- the others ----


def instance_iou(
    prediction: Any,
    truth: Any,
    ids: Any,
    classes: int,
    *,
    first_id: int = 1,
    average_size: Any = None,
    ignore_index: int | None = None,
    average: bool = True,
) -> float | Floats:
    """iIoU; see InstanceIoU."""
    stream = InstanceIoU(
        classes, first_id=first_id, average_size=average_size, ignore_index=ignore_index
    )
    stream.update(prediction, truth, ids)
    values = stream.compute()
    return values.mean if flag(average, "average") else values.iou


def boundary_iou(
    prediction: Any,
    truth: Any,
    classes: int = 2,
    *,
    ratio: float = 0.02,
    distance: int | None = None,
    average: bool = True,
    **options: Any,
) -> float | Floats:
    """Boundary IoU; see BoundaryIoU. Of two masks (height, width): class 1 of
    boundary_iou(a[None], b[None], average=False)."""
    stream = BoundaryIoU(classes, ratio=ratio, distance=distance, **options)
    stream.update(prediction, truth)
    values = stream.compute()
    return values.mean if flag(average, "average") else values.iou


def fine_grained_miou(
    prediction: Any,
    truth: Any,
    classes: int,
    *,
    ignore_index: int | None = None,
    absent: str = "truth",
    class_list: Iterable[int] | None = None,
    leave_out: int | None = None,
) -> FineGrainedValues:
    """mIoU^D, mIoU^I, mIoU^C and their means over the worst; see FineGrainedIoU."""
    stream = FineGrainedIoU(
        classes,
        ignore_index=ignore_index,
        absent=absent,
        class_list=class_list,
        leave_out=leave_out,
    )
    stream.update(prediction, truth)
    return stream.compute()


# ---- Cityscapes ----


class LabelIds(NamedTuple):
    """What the label ids of a dataset mean; entry i is that of label id i. Groups are as
    Confusion.regroup and InstanceIoU.compute take them, with one more for predictions of no
    class that is evaluated."""

    names: tuple[str, ...]
    categories: tuple[str, ...]  # by group
    train_ids: tuple[int, ...]  # -1 for what is not evaluated
    predicted_ids: tuple[int, ...]  # the same, 19 for it
    truth_category: tuple[int, ...]
    predicted_category: tuple[int, ...]  # what is not evaluated is in none: 7
    instance_category: tuple[int, ...]  # the same for iIoU, where it is a vehicle if it is one
    average_size: tuple[float, ...]  # of instances; 0 for classes without
    first_instance: int  # the lowest id of an instance


def _cityscapes() -> LabelIds:
    groups = {
        "void": "unlabeled, ego vehicle, rectification border, out of roi, static, dynamic, ground",
        "flat": "road, sidewalk, parking, rail track",
        "construction": "building, wall, fence, guard rail, bridge, tunnel",
        "object": "pole, polegroup, traffic light, traffic sign",
        "nature": "vegetation, terrain",
        "sky": "sky",
        "human": "person, rider",
        "vehicle": "car, truck, bus, caravan, trailer, train, motorcycle, bicycle",
    }
    unused = "parking, rail track, guard rail, bridge, tunnel, polegroup, caravan, trailer"
    sizes = {
        "person": 3462.4756337644,
        "rider": 3930.4788056518,
        "car": 12794.0202738185,
        "truck": 27855.1264367816,
        "bus": 35732.1511111111,
        "caravan": 36771.8241758242,
        "trailer": 16926.9763313609,
        "train": 67583.7075812274,
        "motorcycle": 6298.7200839748,
        "bicycle": 4672.3249222261,
    }
    names = [name for text in groups.values() for name in text.split(", ")]
    category = [g - 1 for g, text in enumerate(groups.values()) for _ in text.split(", ")]
    skipped = set(unused.split(", "))
    used = [g >= 0 and name not in skipped for name, g in zip(names, category)]
    order = [i for i, is_used in enumerate(used) if is_used]
    train = [order.index(i) if is_used else -1 for i, is_used in enumerate(used)]
    return LabelIds(
        names=tuple(names),
        categories=tuple(groups)[1:],
        train_ids=tuple(train),
        predicted_ids=tuple(19 if t < 0 else t for t in train),
        truth_category=tuple(g if is_used else -1 for g, is_used in zip(category, used)),
        predicted_category=tuple(g if is_used else 7 for g, is_used in zip(category, used)),
        instance_category=tuple(7 if g < 0 else g for g in category),
        average_size=tuple(sizes.get(name, 0.0) for name in names),
        first_instance=1001,
    )


CITYSCAPES = _cityscapes()
