"""The C calls themselves, for benchmarks: gradient and workspace are the caller's, which the
functions of the Python package do not offer. Declarations and views are the package's.

    lib = Library("build/libsubmod.so")
    work = lib.work()
    loss, info = lib.lovasz_softmax(logits, labels, gradient, lib.settings(engine="exact"), work)

Scores, labels and gradients are PyTorch CPU tensors; nothing is copied.
"""

import os
import sys
from ctypes import byref, c_double
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def import_submod(path=None):
    """The package of this source tree, with the library given, else $SUBMOD_LIBRARY, else that of
    build/. Whoever wants to share PyTorch's OpenMP threads imports PyTorch first."""
    found = Path(path or os.environ.get("SUBMOD_LIBRARY") or ROOT / "build" / "libsubmod.so")
    if not found.exists():
        raise FileNotFoundError(f"{found} is not there; scripts/bench.sh builds it")
    os.environ["SUBMOD_LIBRARY"] = str(found.resolve())
    sys.path.insert(0, str(ROOT / "python"))
    import submod

    return submod


class Library:
    def __init__(self, path=None):
        self.submod = import_submod(path)
        from submod import _bindings, _library, _options, _views

        self._bindings, self._library = _bindings, _library
        self._options, self._views = _options, _views

    def work(self):
        """A submod_work, freed with its last reference."""
        return self._library.Handle("work_create", free="work_free")

    def settings(self, **options):
        """submod_loss_settings in the words of the package; classes="all" is among them."""
        return self._options.loss_options(**options).settings(0)

    def _memory(self, tensor):
        kind = str(tensor.dtype).removeprefix("torch.")
        return self._views.Memory(tensor.data_ptr(), tensor.shape, tensor.stride(), kind)

    def _loss(self, name, scores, labels, gradient, settings, work):
        loss, info = c_double(), self._bindings.LossInfo()
        views = {
            "scores": self._views.scores_view(self._memory(scores)),
            "labels": self._views.labels_view(self._memory(labels), False),
            "gradient": self._views.gradient_view(self._memory(gradient)),
        }
        if None in views.values() or gradient.shape != scores.shape:
            raise ValueError("pixels are not evenly spaced, or the gradient has another shape")
        outputs = {"loss": byref(loss), "info": info}
        self._library.call(name, **views, **outputs, settings=settings, work=work)
        return loss.value, info

    def lovasz_softmax(self, scores, labels, gradient, settings, work):
        """(loss, info) from logits; the gradient is written to the array given."""
        return self._loss("lovasz_softmax", scores, labels, gradient, settings, work)

    def lovasz_hinge(self, scores, labels, gradient, settings, work):
        return self._loss("lovasz_hinge", scores, labels, gradient, settings, work)

    def prox(self, function, x, lam, method, work):
        """(u, info) for a submod.Function and contiguous float64 x."""
        settings, info = self._library.function("prox_defaults")(), self._bindings.ProxInfo()
        settings.method = self.submod._prox.PROX_METHODS[method]
        u = np.empty_like(x)
        inputs = {"fn": function._handle, "x": x, "lam": lam}
        self._library.call("prox", **inputs, u=u, settings=settings, info=info, work=work)
        return u, info

    def minimize(self, function, base, work):
        """(in, info) of the smallest minimiser; without a base info is None."""
        info = self._bindings.SfmInfo() if base else None
        s = np.empty(function.n) if base else None
        smallest = np.empty(function.n, np.uint8)
        outputs = {"smallest": smallest, "largest": None, "s": s, "info": info}
        self._library.call("sfm", fn=function._handle, **outputs, settings=None, work=work)
        return smallest, info
