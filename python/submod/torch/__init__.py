"""Lovász losses for PyTorch, and those that they are compared with.

    import submod.torch as lovasz
    loss = lovasz.lovasz_softmax(logits, labels, ignore_index=255)

Functions    lovasz_softmax, lovasz_sigmoid, lovasz_hinge, prox_lovasz_hinge
Modules      LovaszSoftmax, LovaszSigmoid, LovaszHinge, ProxLovaszHinge, DatasetLovasz
Baselines    rahman_wang, soft_dice, soft_jaccard, RahmanWang, SoftDice, SoftJaccard
Soft labels  jaccard_metric_loss, dice_metric_loss, JaccardMetricLoss, DiceMetricLoss
Any function lovasz, prox: of every submod.Function, differentiable
Metrics      MeanIoU; metrics has it and the others of submod.metrics
compat       the names and arguments of the file that accompanies the paper, and those of
             segmentation-models-pytorch, kornia and mmsegmentation

Tensors are used in place, in any memory format whose pixels are evenly spaced (channels_last too).
float32, float16 and bfloat16 are read as they are; the gradient is computed in float32 and has the
type of the logits. float64 is computed in float64, by PyTorch's operations, in the Lovász losses
with engine="exact" and a measure that is built in: for torch.autograd.gradcheck and the like, as it
is slower. Elsewhere float64 is rounded to float32. Loss and gradient are computed in one call, in
forward. There is no second derivative.

Several processes: the Lovász losses take group=, for the loss of the batch of all ranks; see
lovasz_softmax. DatasetLovasz and the metrics add up over ranks as well.

Every device: CUDA tensors are used in place, on PyTorch's current stream, by the library's kernels
if submod.gpu_available(). Where there is no kernel (CUDA without them, ROCm, MPS, XPU) the Lovász
losses and DatasetLovasz are computed on the device by PyTorch's operations. The baselines, lovasz
and prox copy tensors to CPU memory. Logits, labels and weights of pixels are on one device.
"""

try:
    import torch as _torch
except ImportError as error:
    raise ImportError("submod.torch needs PyTorch (pip install torch)") from error

if tuple(int(part) for part in _torch.__version__.split(".")[:2]) < (2, 4):
    raise ImportError(f"submod.torch needs PyTorch 2.4 or newer, this is {_torch.__version__}")

from . import compat, metrics
from .dataset import DatasetLovasz
from .functional import (
    lovasz_hinge,
    lovasz_sigmoid,
    lovasz_softmax,
    prox_lovasz_hinge,
    rahman_wang,
    soft_dice,
    soft_jaccard,
)
from .functions import lovasz, prox
from .metrics import MeanIoU
from .modules import (
    LovaszHinge,
    LovaszSigmoid,
    LovaszSoftmax,
    ProxLovaszHinge,
    RahmanWang,
    SoftDice,
    SoftJaccard,
)
from .soft_labels import DiceMetricLoss, JaccardMetricLoss, dice_metric_loss, jaccard_metric_loss

__all__ = [
    "DatasetLovasz",
    "DiceMetricLoss",
    "JaccardMetricLoss",
    "LovaszHinge",
    "LovaszSigmoid",
    "LovaszSoftmax",
    "MeanIoU",
    "ProxLovaszHinge",
    "RahmanWang",
    "SoftDice",
    "SoftJaccard",
    "compat",
    "dice_metric_loss",
    "jaccard_metric_loss",
    "lovasz",
    "lovasz_hinge",
    "lovasz_sigmoid",
    "lovasz_softmax",
    "metrics",
    "prox",
    "prox_lovasz_hinge",
    "rahman_wang",
    "soft_dice",
    "soft_jaccard",
]
