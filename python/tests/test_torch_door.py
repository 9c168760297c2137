"""What is refused where it comes in, and whether the words say what to do: PyTorch's face."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_door import OF_CLASSES, SETTINGS  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import _anywhere, compat  # noqa: E402

LOGITS = torch.zeros(2, 3, 4, 5)
LABELS = torch.ones(2, 4, 5, dtype=torch.int64)
ONE_HOT = torch.nn.functional.one_hot(LABELS, 3).movedim(-1, 1)
of_themselves = pytest.mark.filterwarnings("ignore")  # PyTorch's compilers warn about themselves

# Each with the names of its tensors, and good ones.
TAKERS = {
    "softmax": (lovasz.lovasz_softmax, "logits", LOGITS, LABELS),
    "sigmoid": (lovasz.lovasz_sigmoid, "logits", LOGITS, ONE_HOT),
    "hinge": (lovasz.lovasz_hinge, "logits", LOGITS[:, 0], LABELS),
    "prox": (lambda x, y: lovasz.prox_lovasz_hinge(x, y, 1.0), "logits", LOGITS[:, 0], LABELS),
    "module": (lovasz.LovaszSoftmax(), "logits", LOGITS, LABELS),
    "dataset": (lovasz.DatasetLovasz(3), "logits", LOGITS, LABELS),
    "compat.softmax": (compat.lovasz_softmax, "probas", LOGITS, LABELS),
    "compat.hinge": (compat.lovasz_hinge, "logits", LOGITS[:, 0], LABELS),
    "compat.flatten": (compat.flatten_probas, "probas", LOGITS, LABELS),
    "compat.flatten_binary": (compat.flatten_binary_scores, "scores", LOGITS, LABELS),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_no_tensors(taker):
    function, name, logits, labels = TAKERS[taker]
    function(logits, labels)
    array = rf"{name}: a tensor is needed.*NumPy array; torch.from_numpy\({name}\)"
    with pytest.raises(TypeError, match=array):
        function(logits.numpy(), labels)
    with pytest.raises(TypeError, match=r"labels: a tensor .*torch.from_numpy\(labels\)"):
        function(logits, labels.numpy())
    with pytest.raises(TypeError, match=rf"{name}: .*'out', 'aux'.*{name}\['out'\]"):
        function({"out": logits, "aux": logits}, labels)
    with pytest.raises(TypeError, match=f"{name}: .*a list; give one of its items"):
        function([logits, logits], labels)
    with pytest.raises(TypeError, match="labels: a tensor is needed, this is a tuple"):
        function(logits, tuple(labels))
    with pytest.raises(TypeError, match="labels: a tensor is needed, this is None"):
        function(logits, None)
    with pytest.raises(TypeError, match=rf"{name}: a dense .*sparse_coo; {name}.to_dense\(\)"):
        function(logits.to_sparse(), labels)


def torch_cases(cases):
    return [case for case in cases if "return_grad" not in case[0]]


@pytest.mark.parametrize("options, words", torch_cases(SETTINGS + OF_CLASSES))
def test_settings(options, words):
    """By the functions, and by the modules when they are made."""
    for make in (
        lambda: lovasz.lovasz_softmax(LOGITS, LABELS, **options),
        lambda: lovasz.lovasz_sigmoid(LOGITS, ONE_HOT, **options),
        lambda: lovasz.LovaszSoftmax(**options),
        lambda: lovasz.LovaszSigmoid(**options),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            make()


@pytest.mark.parametrize("options, words", SETTINGS)
def test_settings_of_the_hinge(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        lovasz.lovasz_hinge(LOGITS[:, 0], LABELS, **options)
    with pytest.raises((TypeError, ValueError), match=words):
        lovasz.LovaszHinge(**options)


@pytest.mark.parametrize("options, words", [*SETTINGS[:4], ({"lam": "1"}, "lam = '1'; a number")])
def test_settings_of_the_prox(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        lovasz.prox_lovasz_hinge(LOGITS[:, 0], LABELS, **{"lam": 1.0, **options})
    with pytest.raises((TypeError, ValueError), match=words):
        lovasz.ProxLovaszHinge(**{"lam": 1.0, **options})


OF_DATASETS = [
    ({"num_classes": "3"}, "num_classes = '3'; a whole number is needed"),
    ({"decay": None}, "decay = None; a number is needed"),
    ({"stochastic": "no"}, "stochastic = 'no'; True or False is needed"),
]


@pytest.mark.parametrize(
    "options, words", OF_DATASETS + torch_cases([SETTINGS[2], SETTINGS[-1], *OF_CLASSES])
)
def test_settings_of_the_dataset(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        lovasz.DatasetLovasz(**{"num_classes": 3, **options})


def test_one_hot_labels():
    for function in (lovasz.lovasz_softmax, lovasz.LovaszSoftmax(), lovasz.soft_dice):
        expected = function(LOGITS, ONE_HOT.argmax(1))
        for given in (ONE_HOT, ONE_HOT.float(), ONE_HOT.movedim(1, -1).bool()):
            assert function(LOGITS, given) == expected > 0
            compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
            assert compiled(LOGITS, given) == expected
        for wrong in (ONE_HOT * 0, ONE_HOT * 2, ONE_HOT + 1, ONE_HOT * 0.5):
            with pytest.raises(ValueError, match="a single 1 and else zeros"):
                function(LOGITS, wrong)
            with pytest.raises(ValueError, match="-2"):  # what a device is told
                torch._dynamo.reset()
                compiled = torch.compile(lovasz.lovasz_softmax, backend="aot_eager")
                compiled(LOGITS, wrong, ignore_index=-1)
    with pytest.raises(ValueError, match=r"one-hot labels, labels.argmax\(1\)"):
        lovasz.DatasetLovasz(3)(LOGITS, ONE_HOT)
    cube = torch.zeros((2, 3, 3))
    with pytest.raises(ValueError, match=r"one-hot labels, labels.argmax\(1\)"):
        lovasz.lovasz_softmax(cube, cube.long())  # which dimension is it?


def test_one_class():
    """The softmax of it is 1: a loss of 0 would say nothing."""
    logits, zeros = LOGITS[:, :1], 0 * LABELS
    for make in (
        lambda: lovasz.lovasz_softmax(logits, zeros),
        lambda: lovasz.LovaszSoftmax()(logits, LABELS),
        lambda: lovasz.LovaszSoftmax(class_weight=[1.0]),
        lambda: lovasz.DatasetLovasz(1),
    ):
        with pytest.raises(submod.InvalidArgumentError, match="hinge or the sigmoid"):
            make()
    assert lovasz.LovaszSoftmax(from_logits=False)(logits + 0.5, zeros) == 0.5
    assert lovasz.LovaszSigmoid(class_weight=[2.0])(logits, LABELS) == 0.5
    loss = lovasz.DatasetLovasz(1, from_logits=False)(logits + 0.5, zeros)
    assert loss.item() == pytest.approx(0.5, abs=1e-3)


@of_themselves
def test_compiled_modules():
    """What is checked does not break the graph."""
    settings = {"ignore_index": np.int64(0), "class_weight": [1.0, 2.0, 0.5], "classes": [2, 1]}
    modules = [
        (lovasz.LovaszSoftmax(**settings), LOGITS, LABELS),
        (lovasz.LovaszSigmoid(**settings), LOGITS, ONE_HOT),
        (lovasz.LovaszHinge(per_image=False, engine="histogram"), LOGITS[:, 0], LABELS),
        (lovasz.ProxLovaszHinge(2), LOGITS[:, 0], LABELS),
    ]
    for module, logits, labels in modules:
        torch._dynamo.reset()
        compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
        assert compiled(logits, labels) == module(logits, labels) > 0


def test_repr():
    """All settings."""
    assert repr(lovasz.LovaszSigmoid([1, 0], class_weight=torch.tensor([2.0, 1]))) == (
        "LovaszSigmoid(classes=[1, 0], per_image=False, ignore_index=None, "
        "class_weight=[2.0, 1.0], engine='exact', delta=0.0001220703125, from_logits=True, "
        "measure='jaccard', reduction='mean', nonfinite='raise', normalize='weights', group=None, "
        "ddp=False)"
    )
    assert repr(lovasz.LovaszSoftmax("all", True, 255, None, "histogram", 0.5, False)) == (
        "LovaszSoftmax(classes='all', per_image=True, ignore_index=255, class_weight=None, "
        "engine='histogram', delta=0.5, from_logits=False, measure='jaccard', reduction='mean', "
        "nonfinite='raise', normalize='weights', group=None, ddp=False)"
    )
    assert repr(lovasz.LovaszHinge(engine="histogram", delta=0.25)) == (
        "LovaszHinge(per_image=True, ignore_index=None, engine='histogram', delta=0.25, "
        "measure='jaccard', reduction='mean', nonfinite='raise', group=None, ddp=False)"
    )
    assert repr(lovasz.ProxLovaszHinge(0.5, False, 9)) == (
        "ProxLovaszHinge(lam=0.5, per_image=False, ignore_index=9, measure='jaccard', "
        "reduction='mean', nonfinite='raise')"
    )
    assert repr(lovasz.DatasetLovasz(3, 0.25, 0.9, "all", 255, [1, 2, 3], False)) == (
        "DatasetLovasz(num_classes=3, bins=2, delta=0.25, decay=0.9, stochastic=False, "
        "classes='all', ignore_index=255, class_weight=[1.0, 2.0, 3.0], from_logits=True, "
        "measure='jaccard')"
    )
    assert "class_weight=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ...]" in repr(
        lovasz.LovaszSoftmax(class_weight=[1.0] * 150)
    )


@pytest.mark.parametrize("ignore_index", [None, -1, 0])
def test_labels_that_would_wrap_around(ignore_index):
    """No value of an unsigned type becomes another label; on devices the loss is NaN."""
    options = {"ignore_index": ignore_index}
    takers = {
        "loss": lambda labels: lovasz.lovasz_softmax(LOGITS, labels, **options),
        "float64": lambda labels: lovasz.lovasz_softmax(LOGITS.double(), labels, **options),
        "hinge": lambda labels: lovasz.lovasz_hinge(LOGITS[:, 0], labels, **options),
        "prox": lambda labels: lovasz.prox_lovasz_hinge(LOGITS[:, 0], labels, 1.0, **options),
        "baseline": lambda labels: lovasz.soft_jaccard(LOGITS, labels, **options),
        "dataset": lambda labels: lovasz.DatasetLovasz(3, **options)(LOGITS, labels),
        "metric": lambda labels: lovasz.MeanIoU(3, **options).update(LABELS, labels),
    }
    for kind in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        most = torch.iinfo(kind).max
        for value in {most, min(most, 2**63), min(most, 2**64 - 2)}:
            labels = np.ones(LABELS.shape, str(kind)[len("torch.") :])
            labels[0, 0, 0] = value
            for name, take in takers.items():
                error = TypeError if name == "metric" and value >= 2**63 else ValueError
                with pytest.raises(error) as caught:
                    take(torch.from_numpy(labels))
                beyond = "whole numbers that fit into int64" in str(caught.value)
                assert beyond == (value >= 2**63), (name, kind, value)


@pytest.mark.parametrize("ignore_index", [None, -1, 0])
def test_labels_that_would_wrap_around_on_devices(monkeypatch, ignore_index):
    monkeypatch.setattr(_anywhere, "FORCED", True)
    labels = LABELS.to(torch.uint64)
    assert lovasz.lovasz_softmax(LOGITS, labels, ignore_index=ignore_index) > 0
    for value in (2**63, 2**64 - 1):
        labels[0, 0, 0] = value
        assert lovasz.lovasz_softmax(LOGITS, labels, ignore_index=ignore_index).isnan()


@pytest.mark.parametrize("wrong", [0.5, np.nan, np.inf, 2.0**63, 1e300])
def test_labels_that_are_no_whole_numbers(wrong):
    """Tensors raise ValueError and NumPy arrays TypeError, as before."""
    labels = LABELS.double()
    labels[0, 0, 0] = wrong
    words = "whole numbers that fit into int64"
    with pytest.raises(ValueError, match=words):
        lovasz.lovasz_softmax(LOGITS, labels)
    with pytest.raises(TypeError, match=words):
        submod.lovasz_softmax(LOGITS.numpy(), labels.numpy())


def test_complex_numbers():
    ones = torch.ones(2, 4, 5, dtype=torch.complex64)
    with pytest.raises(TypeError, match=r"labels of type torch\.complex64; whole numbers"):
        lovasz.lovasz_softmax(LOGITS, ones)
    for weight in ([1j, 1, 1], ones[0, 0, :3], ones[0, 0, :3].numpy(), np.array(["1", "1", "1"])):
        with pytest.raises(TypeError, match="a number per class is needed"):
            lovasz.lovasz_softmax(LOGITS, LABELS, class_weight=weight)
