"""libsubmod: Lovász losses, and optimisation of piecewise-linear submodular surrogates.

Set functions      Function
                   f.lovasz, f.prox, f.prox_path, f.level_sets, f.minimize, f.check
Optimisers         optim: descend, fista, bundle, the nu problem
Losses             lovasz_softmax, lovasz_sigmoid, lovasz_hinge, DatasetJaccard
Measures           Tversky, and any function of the counts of wrong pixels: measure= in the losses;
                   check_measure, CustomMeasure
Baselines          cross_entropy, hinge, rahman_wang, soft_dice, soft_jaccard
Soft labels        jaccard_metric_loss, dice_metric_loss
Metrics            miou, MeanIoU, Equibatch
                   metrics: IoU, Dice, iIoU, boundary IoU, ...
Decisions          decide, decide_classes, expected_score, expected_iou, expected_dice
GPU                gpu_available
PyTorch            submod.torch, which has to be imported by name and needs PyTorch
"""

from . import metrics, optim
from ._baselines import cross_entropy, hinge, rahman_wang, soft_dice, soft_jaccard
from ._dataset import DatasetJaccard
from ._decisions import (
    Decision,
    decide,
    decide_classes,
    expected_dice,
    expected_iou,
    expected_score,
)
from ._errors import (
    AccuracyWarning,
    CallbackError,
    CommunicationError,
    FileError,
    InvalidArgumentError,
    NonFiniteError,
    NumericError,
    OutOfMemoryError,
    SubmodError,
    SubmodularityWarning,
    UnsupportedError,
)
from ._function import Check, Counterexample, Function
from ._library import (
    GpuAvailability,
    get_num_threads,
    gpu_available,
    isa,
    set_num_threads,
    version,
)
from ._losses import lovasz_hinge, lovasz_sigmoid, lovasz_softmax, prox_lovasz_hinge
from ._maximize import MaximizeResult
from ._measure_check import MeasureCheck, MeasureFailure, check_measure
from ._measures import CustomMeasure, Tversky
from ._metric_losses import dice_metric_loss, jaccard_metric_loss
from ._metrics import Equibatch, MeanIoU, MeanIoUValues, miou
from ._prox import (
    Blocks,
    Certificate,
    CertificateCheck,
    LevelSets,
    MinimizeResult,
    ProxPath,
    ProxResult,
    ProxVjp,
    prox_max_affine,
)
from ._prox_two_counts import prox_two_counts_histogram, prox_two_counts_points

__version__ = version()

__all__ = [
    "AccuracyWarning",
    "Blocks",
    "CallbackError",
    "Certificate",
    "CertificateCheck",
    "Check",
    "CommunicationError",
    "Counterexample",
    "CustomMeasure",
    "DatasetJaccard",
    "Decision",
    "Equibatch",
    "FileError",
    "Function",
    "GpuAvailability",
    "InvalidArgumentError",
    "LevelSets",
    "MaximizeResult",
    "MeanIoU",
    "MeanIoUValues",
    "MeasureCheck",
    "MeasureFailure",
    "MinimizeResult",
    "NonFiniteError",
    "NumericError",
    "OutOfMemoryError",
    "ProxPath",
    "ProxResult",
    "ProxVjp",
    "SubmodError",
    "SubmodularityWarning",
    "Tversky",
    "UnsupportedError",
    "check_measure",
    "cross_entropy",
    "decide",
    "decide_classes",
    "dice_metric_loss",
    "expected_dice",
    "expected_iou",
    "expected_score",
    "get_num_threads",
    "gpu_available",
    "hinge",
    "isa",
    "jaccard_metric_loss",
    "lovasz_hinge",
    "lovasz_sigmoid",
    "lovasz_softmax",
    "metrics",
    "miou",
    "optim",
    "prox_lovasz_hinge",
    "prox_max_affine",
    "prox_two_counts_histogram",
    "prox_two_counts_points",
    "rahman_wang",
    "set_num_threads",
    "soft_dice",
    "soft_jaccard",
    "version",
]
