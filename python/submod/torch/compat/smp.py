"""segmentation-models-pytorch's Lovász loss.

    from submod.torch.compat.smp import LovaszLoss  # was: segmentation_models_pytorch.losses

There, and not here: float64 raises, and in mode "multiclass" float16, bfloat16 and logits (N, C, L)
do, in the others bool labels; multiclass without any pixel that counts, in the batch or in an image
of per_image, is an empty tensor instead of 0. Here, and not there: a label that is
neither a class nor ignored raises, as it does in submod.torch; there it is background.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.modules.loss import _Loss

from .. import functional
from ._classes import NONFINITE, hinge, label_map, one_of

__all__ = ["LovaszLoss"]


class LovaszLoss(_Loss):
    """mode: "binary" and "multilabel" are the Lovász hinge of all numbers of y_pred, with labels of
    as many 0 or 1; "multiclass" is Lovász-Softmax over the classes that are present, y_pred
    (N, C, ..), y_true (N, ..) or (N, 1, ..).
    per_image: a loss per image, averaged; else one of the whole batch.
    ignore_index: the label of pixels that have no part.
    from_logits: without effect, as there: y_pred are logits."""

    def __init__(
        self,
        mode: str,
        per_image: bool = False,
        ignore_index: int | None = None,
        from_logits: bool = True,
    ) -> None:
        super().__init__()
        self.mode = one_of(mode, "mode", "binary", "multiclass", "multilabel")
        self.per_image = per_image
        self.ignore_index = ignore_index

    def forward(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """The loss, a tensor of one number."""
        if self.mode != "multiclass":
            return hinge(y_pred, y_true, self.per_image, self.ignore_index, "mean")
        return functional.lovasz_softmax(
            y_pred,
            label_map(y_true, y_pred),
            per_image=self.per_image,
            ignore_index=self.ignore_index,
            nonfinite=NONFINITE,
        )
