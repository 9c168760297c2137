"""libsubmod: Lovász losses, and optimisation of piecewise-linear submodular surrogates.

Set functions      Function
Losses             lovasz_softmax, lovasz_sigmoid, lovasz_hinge, DatasetJaccard
Metrics            miou, MeanIoU, Equibatch
PyTorch            submod.torch, which has to be imported by name and needs PyTorch
"""

from ._dataset import DatasetJaccard
from ._errors import AccuracyWarning, CallbackError, InvalidArgumentError, NonFiniteError
from ._errors import NumericError, OutOfMemoryError, SubmodError, UnsupportedError
from ._function import Check, Counterexample, Function
from ._library import get_num_threads, set_num_threads, version
from ._losses import lovasz_hinge, lovasz_sigmoid, lovasz_softmax
from ._metrics import Equibatch, MeanIoU, MeanIoUValues, miou

__version__ = version()

__all__ = [
    "AccuracyWarning",
    "CallbackError",
    "Check",
    "Counterexample",
    "DatasetJaccard",
    "Equibatch",
    "Function",
    "InvalidArgumentError",
    "MeanIoU",
    "MeanIoUValues",
    "NonFiniteError",
    "NumericError",
    "OutOfMemoryError",
    "SubmodError",
    "UnsupportedError",
    "get_num_threads",
    "lovasz_hinge",
    "lovasz_sigmoid",
    "lovasz_softmax",
    "miou",
    "set_num_threads",
    "version",
]
