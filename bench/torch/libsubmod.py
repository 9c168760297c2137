"""libsubmod from Python, by ctypes: what the benchmarks need of tensor.h, loss.h and function.h.

Arrays are NumPy arrays or PyTorch CPU tensors; the library works on their memory, nothing is
copied. Whatever is wrong with a call becomes a SubmodError with the library's own words.

    lib = Library("build/libsubmod.so")
    work = lib.work()
    loss, info = lib.lovasz_softmax(logits, labels, gradient=gradient, work=work)
"""

import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_ssize_t
from ctypes import c_uint64, c_void_p
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

EXACT, HISTOGRAM = 0, 1
PRESENT, ALL, LIST = 0, 1, 2
LOGITS, PROBABILITIES = 0, 1

LABEL_TYPES = {"uint8": 0, "int32": 1, "int64": 2}
SCORE_TYPES = {"float32": 0, "float16": 1, "bfloat16": 2}


class Labels(ctypes.Structure):
    """submod_labels"""

    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("batch", c_size_t),
        ("pixels", c_size_t),
        ("batch_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
    ]


class Scores(ctypes.Structure):
    """submod_scores"""

    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("batch", c_size_t),
        ("classes", c_size_t),
        ("pixels", c_size_t),
        ("batch_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
    ]


class Gradient(ctypes.Structure):
    """submod_gradient"""

    _fields_ = [
        ("data", c_void_p),
        ("batch_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
        ("scale", c_double),
        ("accumulate", c_int),
    ]


class LossSettings(ctypes.Structure):
    """submod_loss_settings"""

    _fields_ = [
        ("engine", c_int),
        ("delta", c_double),
        ("bins", c_size_t),
        ("per_image", c_int),
        ("classes", c_int),
        ("class_list", POINTER(c_int32)),
        ("class_count", c_size_t),
        ("class_weight", POINTER(c_double)),
        ("has_ignore", c_int),
        ("ignore_label", c_int64),
    ]


class LossInfo(ctypes.Structure):
    """submod_loss_info"""

    _fields_ = [
        ("delta", c_double),
        ("bins", c_size_t),
        ("pixels", c_uint64),
        ("sorted", c_uint64),
        ("terms", c_size_t),
        ("workspace", c_size_t),
    ]

    def as_dict(self):
        return {name: getattr(self, name) for name, _ in self._fields_}


class SubmodError(RuntimeError):
    pass


def _layout(array):
    """Address, shape, strides in elements and type name of a NumPy array or a CPU tensor."""
    if hasattr(array, "data_ptr"):
        if array.device.type != "cpu":
            raise ValueError("libsubmod works on CPU memory")
        name = str(array.dtype).removeprefix("torch.")
        return array.data_ptr(), tuple(array.shape), tuple(array.stride()), name
    strides = tuple(s // array.itemsize for s in array.strides)
    return array.ctypes.data, array.shape, strides, array.dtype.name


def _pixels(shape, strides, first):
    """The dimensions from `first` on as one: how many pixels, and the step between them."""
    count, step = 1, 1
    for size, stride in zip(reversed(shape[first:]), reversed(strides[first:])):
        if size == 1:
            continue
        if count == 1:
            step = stride
        elif stride != count * step:
            raise ValueError(f"pixels of shape {shape[first:]} are not evenly spaced in memory")
        count *= size
    return count, step


def _type(kind, types, name):
    if name not in types:
        raise TypeError(f"{kind} of type {name}; known: {', '.join(types)}")
    return types[name]


def labels_view(array):
    """(batch, pixels..)"""
    data, shape, strides, name = _layout(array)
    pixels, step = _pixels(shape, strides, 1)
    return Labels(data, _type("labels", LABEL_TYPES, name), shape[0], pixels, strides[0], step)


def multilabel_view(array):
    """(batch, classes, pixels..)"""
    view = labels_view(array[:, 0])
    view.class_stride = _layout(array)[2][1]
    return view


def scores_view(array):
    """(batch, classes, pixels..)"""
    data, shape, strides, name = _layout(array)
    pixels, step = _pixels(shape, strides, 2)
    kind = _type("scores", SCORE_TYPES, name)
    return Scores(data, kind, shape[0], shape[1], pixels, strides[0], strides[1], step)


def gradient_view(array, scores, scale=1.0, accumulate=False):
    """float32 of the shape of the scores."""
    view = scores_view(array)
    if view.type != SCORE_TYPES["float32"]:
        raise TypeError("a gradient is float32")
    wanted, got = ((s.batch, s.classes, s.pixels) for s in (scores, view))
    if wanted != got:
        raise ValueError(f"gradient of shape {got} for scores of shape {wanted}")
    strides = (view.batch_stride, view.class_stride, view.pixel_stride)
    return Gradient(view.data, *strides, scale, accumulate)


def find_library(path=None):
    """The given path, else $SUBMOD_LIBRARY, else build/libsubmod.so."""
    found = Path(path or os.environ.get("SUBMOD_LIBRARY") or ROOT / "build" / "libsubmod.so")
    if not found.exists():
        raise FileNotFoundError(f"{found} is not there; scripts/bench.sh builds it")
    return found


class Library:
    def __init__(self, path=None):
        self.path = find_library(path)
        self.c = c = ctypes.CDLL(str(self.path))
        c.submod_version_string.restype = c_char_p
        c.submod_last_error.restype = c_char_p
        c.submod_loss_defaults.restype = LossSettings
        c.submod_work_create.argtypes = [POINTER(c_void_p)]
        c.submod_work_free.argtypes = [c_void_p]
        c.submod_work_free.restype = None
        c.submod_work_bytes.argtypes = [c_void_p]
        c.submod_work_bytes.restype = c_size_t
        outputs = [POINTER(c_double), POINTER(Gradient), POINTER(LossInfo), POINTER(LossSettings)]
        tail = [*outputs, c_void_p]
        scores, labels = POINTER(Scores), POINTER(Labels)
        c.submod_lovasz_softmax.argtypes = [scores, c_int, labels, *tail]
        c.submod_lovasz_sigmoid.argtypes = [scores, c_int, labels, *tail]
        c.submod_lovasz_hinge.argtypes = [scores, labels, *tail]
        c.submod_fn_jaccard.argtypes = [c_size_t, c_void_p, POINTER(c_void_p)]
        c.submod_fn_free.argtypes = [c_void_p]
        c.submod_fn_free.restype = None
        c.submod_fn_chain.argtypes = [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]

    def check(self, status):
        if status != 0:
            raise SubmodError(self.c.submod_last_error().decode() or f"status {status}")

    def version(self):
        return self.c.submod_version_string().decode()

    def set_num_threads(self, threads):
        self.check(self.c.submod_set_num_threads(threads))

    def work(self):
        return Work(self)

    def settings(self, **changes):
        """The defaults with some fields changed, by their names in loss.h."""
        settings = self.c.submod_loss_defaults()
        for name, value in changes.items():
            if name not in dict(LossSettings._fields_):
                raise TypeError(f"submod_loss_settings has no {name}")
            setattr(settings, name, value)
        return settings

    def _loss(self, function, front, scores, gradient, settings, work):
        """One call; front are the arguments before the outputs."""
        loss, info = c_double(), LossInfo()
        target = None if gradient is None else byref(gradient_view(gradient, scores))
        handle = None if work is None else work.handle
        options = byref(settings or self.settings())
        self.check(function(*front, byref(loss), target, byref(info), options, handle))
        return loss.value, info

    def lovasz_softmax(self, scores, labels, gradient=None, settings=None, work=None, input=LOGITS):
        """(loss, info); the gradient is written to the array given."""
        view = scores_view(scores)
        front = (byref(view), input, byref(labels_view(labels)))
        return self._loss(self.c.submod_lovasz_softmax, front, view, gradient, settings, work)

    def lovasz_sigmoid(self, scores, labels, gradient=None, settings=None, work=None, input=LOGITS):
        """Labels of the shape of the scores, dense."""
        view = scores_view(scores)
        front = (byref(view), input, byref(multilabel_view(labels)))
        return self._loss(self.c.submod_lovasz_sigmoid, front, view, gradient, settings, work)

    def lovasz_hinge(self, scores, labels, gradient=None, settings=None, work=None):
        view = scores_view(scores)
        front = (byref(view), byref(labels_view(labels)))
        return self._loss(self.c.submod_lovasz_hinge, front, view, gradient, settings, work)

    def jaccard_chain(self, foreground, order, gains):
        """gains[i] = what order[i] adds to the Jaccard loss after order[0 .. i-1].
        Contiguous NumPy arrays: uint8, int32, float64."""
        if (foreground.dtype.name, order.dtype.name, gains.dtype.name) != (
            "uint8",
            "int32",
            "float64",
        ):
            raise TypeError("jaccard_chain takes uint8, int32 and float64")
        if gains.size < order.size:
            raise ValueError("gains is shorter than order")
        fn = c_void_p()
        self.check(self.c.submod_fn_jaccard(foreground.size, foreground.ctypes.data, byref(fn)))
        try:
            chain = self.c.submod_fn_chain
            self.check(chain(fn, order.ctypes.data, order.size, gains.ctypes.data, None))
        finally:
            self.c.submod_fn_free(fn)


class Work:
    """A submod_work, freed with its owner."""

    def __init__(self, library):
        self.library = library
        self.handle = c_void_p()
        library.check(library.c.submod_work_create(byref(self.handle)))

    def bytes(self):
        return self.library.c.submod_work_bytes(self.handle)

    def __del__(self):
        if self.handle:
            self.library.c.submod_work_free(self.handle)
            self.handle = None
