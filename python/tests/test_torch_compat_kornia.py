"""submod.torch.compat.kornia beside kornia, and what kornia's own tests of these losses check."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from compat_cases import GENERATOR, SHAPES, assert_same, case, result, weights  # noqa: E402

from submod.torch.compat import kornia as ours  # noqa: E402

# Wide enough to be told from float32 by what they are rounded to.
ROUNDED = (
    ours.lovasz_hinge_loss(
        torch.full((1, 1, 1, 1), 1e-12, dtype=torch.float64), torch.zeros(1, 1, 1)
    ).item()
    == 1.0
)


@pytest.fixture(scope="module")
def theirs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("kornia", reason="kornia is not installed").losses


class TestEqual:
    """Every case with every class there, and with one missing."""

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("classes", [2, 3, 5, 8])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_softmax(self, theirs, shape, classes, weighted):
        for missing in (None, 0, 1):
            for scale in (0.1, 1, 3):
                logits, labels = case(classes, shape, missing=missing)
                weight = weights(classes) if weighted else None
                pair = [loss.LovaszSoftmaxLoss(weight) for loss in (ours, theirs)]
                assert_same(*pair, scale * logits, labels)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_hinge(self, theirs, shape):
        for labels in (case(2, shape)[1] for _ in range(20)):
            logits, _ = case(1, shape)
            pair = ours.LovaszHingeLoss(), theirs.LovaszHingeLoss()
            assert_same(*pair, logits, labels)
            assert_same(*pair, logits, labels.float())
        for nothing in (torch.zeros(shape), torch.ones(shape)):
            assert_same(ours.lovasz_hinge_loss, theirs.lovasz_hinge_loss, logits, nothing)

    def test_weights_of_any_kind(self, theirs):
        """A weighted mean has no answer for those: of sum 0, negative, of one class only."""
        logits, labels = case(3, SHAPES[0])
        for weight in ([0.0, 0, 0], [-1.0, 2, -1], [1.0, 0, 0], [5.0, 5, 5]):
            weight = torch.tensor(weight)
            assert_same(
                lambda x, y: ours.lovasz_softmax_loss(x, y, weight),  # noqa: B023
                lambda x, y: theirs.lovasz_softmax_loss(x, y, weight),  # noqa: B023
                logits,
                labels,
            )

    def test_weight_is_a_parameter(self, theirs):
        logits, labels = case(4, SHAPES[0])
        found = []
        for losses in (ours, theirs):
            module = losses.LovaszSoftmaxLoss(torch.nn.Parameter(torch.arange(1.0, 5)))
            module(logits, labels).backward()
            found.append(module.weight.grad)
            assert [name for name, _ in module.named_parameters()] == ["weight"]
        torch.testing.assert_close(*found)

    def test_weight_is_a_buffer_that_is_not_saved(self):
        module = ours.LovaszSoftmaxLoss(torch.ones(2))
        assert module.state_dict() == {} and dict(module.named_buffers()).keys() == {"weight"}

    @pytest.mark.parametrize("weighted", [False, True])
    def test_one_image_of_logits(self, theirs, weighted):
        logits, labels = case(3, SHAPES[1])
        weight = weights(3) if weighted else None
        pair = [loss.LovaszSoftmaxLoss(weight) for loss in (ours, theirs)]
        assert_same(*pair, logits[:1], labels)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
    @pytest.mark.parametrize("weight_type", [None, torch.float32, torch.float64])
    def test_types(self, theirs, dtype, weight_type):
        logits, labels = case(3, SHAPES[0])
        logits = logits.to(dtype)
        weight = None if weight_type is None else weights(3).to(weight_type)
        found, expected = (
            loss.lovasz_softmax_loss(logits, labels, weight) for loss in (ours, theirs)
        )
        torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)
        hinges = (loss.lovasz_hinge_loss(logits[:, :1], labels > 0) for loss in (ours, theirs))
        torch.testing.assert_close(*hinges, rtol=1e-2, atol=1e-2)

    def test_whole_numbers_as_logits(self, theirs):
        logits, labels = torch.tensor([[[[2, -1, 0]]]]), torch.tensor([[[1, 1, 0]]])
        found, expected = (loss.lovasz_hinge_loss(logits, labels) for loss in (ours, theirs))
        torch.testing.assert_close(found, expected)


class TestWhereTheirsHasNone:
    def test_no_images(self, theirs):
        logits, labels = torch.zeros(0, 3, 2, 2), torch.zeros(0, 2, 2).long()
        weight = torch.ones(3)
        with pytest.raises(RuntimeError):
            theirs.lovasz_softmax_loss(logits, labels, weight)
        assert ours.lovasz_softmax_loss(logits, labels, weight) == 0
        assert ours.lovasz_softmax_loss(logits, labels) == 0
        assert ours.lovasz_hinge_loss(logits[:, :1], labels) == 0

    @pytest.mark.parametrize("weight", [None, torch.ones(3)])
    def test_labels_that_are_no_class(self, theirs, weight):
        logits, labels = case(3, SHAPES[0])
        for wrong in (3, -100):
            labels[0, 0, 0] = wrong
            with pytest.raises(RuntimeError):
                theirs.lovasz_softmax_loss(logits, labels, weight)
            with pytest.raises(ValueError, match=f"labels.*{wrong}"):
                ours.lovasz_softmax_loss(logits, labels, weight)
        with pytest.raises(ValueError, match="labels"):
            ours.lovasz_hinge_loss(logits[:, :1], labels)

    def test_weight_of_another_shape(self):
        logits, labels = case(3, SHAPES[0])
        for weight in (torch.ones(2), torch.ones(3, 1), torch.ones(())):
            with pytest.raises(ValueError, match="weight of shape"):
                ours.lovasz_softmax_loss(logits, labels, weight)
        with pytest.raises(TypeError, match="weight"):
            ours.lovasz_softmax_loss(logits, labels, [1, 1, 1])
        with pytest.raises(ValueError, match="device"):
            ours.lovasz_softmax_loss(logits, labels, torch.ones(3, device="meta"))


class TestWhatTheirTestsCheck:
    """Rebuilt: the smoke tests, refusals, extremes, weights, types, derivatives and modules."""

    TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

    @pytest.mark.parametrize("dtype", TYPES)
    def test_one_pixel(self, dtype):
        softmax = ours.LovaszSoftmaxLoss()(torch.rand(2, 3, 1, 1, dtype=dtype), torch.ones(2, 1, 1))
        hinge = ours.LovaszHingeLoss()(torch.rand(2, 1, 1, 1, dtype=dtype), torch.zeros(2, 1, 1))
        for loss in (softmax, hinge):
            assert loss.shape == () and loss.dtype == dtype and loss > 0

    def test_wrong_shapes(self, theirs):
        from kornia.core.exceptions import ShapeError

        r = torch.rand
        for pred, target in ((r(1), r(1)), (r(1, 1, 1, 1), r(1))):
            for module in (ours.LovaszSoftmaxLoss(), ours.LovaszHingeLoss()):
                with pytest.raises(ShapeError, match=r"Shape dimension mismatch|Expected shape"):
                    module(pred, target)
        with pytest.raises(
            ValueError, match=r"Invalid pred shape, we expect BxNxHxW, with N > 1\."
        ):
            ours.LovaszSoftmaxLoss()(r(1, 1, 1, 1), r(1, 1, 1))
        with pytest.raises(ShapeError):
            ours.LovaszHingeLoss()(r(2, 5, 3, 2), torch.zeros(2, 3, 2))
        for module, classes in ((ours.LovaszSoftmaxLoss(), 2), (ours.LovaszHingeLoss(), 1)):
            with pytest.raises(ValueError, match=r"pred and target shapes must be the same. Got:"):
                module(r(1, classes, 1, 1), r(1, 1, 2))
            with pytest.raises(ValueError, match=r"pred and target shapes must be the same. Got:"):
                module(r(3, classes, 1, 1), r(2, 1, 1))
            with pytest.raises(
                ValueError, match=r"pred and target must be in the same device. Got"
            ):
                module(r(1, classes, 1, 1), r(1, 1, 1, device="meta"))

    def test_wrong_shapes_without_kornia(self, monkeypatch):
        monkeypatch.delitem(__import__("sys").modules, "kornia.core.exceptions", raising=False)
        with pytest.raises(ValueError, match="Expected shape"):
            ours.lovasz_hinge_loss(torch.rand(1), torch.rand(1))

    @pytest.mark.parametrize("dtype", TYPES)
    def test_extremes(self, dtype):
        sure = torch.zeros(2, 2, 1, 2, dtype=dtype)
        sure[:, 1] = 100
        ones = torch.ones(2, 1, 2, dtype=torch.int64)
        assert ours.LovaszSoftmaxLoss()(sure, ones).abs() < 1e-3
        assert ours.LovaszHingeLoss()(torch.ones(2, 1, 1, 2, dtype=dtype), ones) == 0
        only_background = torch.tensor([1, 0], dtype=dtype)
        loss = ours.LovaszSoftmaxLoss(weight=only_background)(sure.flip(1), ones)
        assert loss.dtype == dtype and abs(loss.item() - 0.5) < 1e-3

    def test_default_type_has_no_part(self):
        logits, labels = case(1, SHAPES[0])
        before = ours.lovasz_hinge_loss(logits, labels)
        torch.set_default_dtype(torch.float64)
        try:
            after = ours.lovasz_hinge_loss(logits, labels)
        finally:
            torch.set_default_dtype(torch.float32)
        assert after.dtype == torch.float32 and after == before

    @pytest.mark.skipif(ROUNDED, reason="float64 is rounded to float32 by this library")
    def test_float64(self, theirs):
        logits = torch.randn(2, 1, 16, 24, dtype=torch.float64, generator=GENERATOR)
        labels = torch.randint(2, (2, 16, 24), generator=GENERATOR)
        found = result(ours.lovasz_hinge_loss, logits, labels)
        expected = result(theirs.lovasz_hinge_loss, logits, labels)
        for x, y in zip(found, expected):
            torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-15)

    @pytest.mark.skipif(ROUNDED, reason="float64 is rounded to float32 by this library")
    def test_derivatives(self):
        logits = torch.rand(2, 4, 3, 2, dtype=torch.float64, generator=GENERATOR)
        logits.requires_grad_()
        labels = torch.randint(4, (2, 3, 2), generator=GENERATOR)
        weight = torch.rand(4, dtype=torch.float64, generator=GENERATOR).requires_grad_()
        assert torch.autograd.gradcheck(ours.lovasz_softmax_loss, (logits, labels))
        assert torch.autograd.gradcheck(ours.lovasz_softmax_loss, (logits, labels, weight))
        truth = torch.zeros(2, 3, 2, dtype=torch.float64)
        assert torch.autograd.gradcheck(ours.lovasz_hinge_loss, (logits[:, :1], truth))

    def test_modules(self):
        logits, labels = case(5, SHAPES[0])
        weight = weights(5)
        softmax = ours.lovasz_softmax_loss
        assert ours.LovaszSoftmaxLoss()(logits, labels) == softmax(logits, labels)
        assert ours.LovaszSoftmaxLoss(weight)(logits, labels) == softmax(logits, labels, weight)
        truth = (labels == 1).long()
        hinge = ours.lovasz_hinge_loss(logits[:, :1], truth)
        assert ours.LovaszHingeLoss()(logits[:, :1], truth) == hinge

    @pytest.mark.parametrize("weighted", [False, True])
    def test_compiled(self, weighted):
        """By the tracer, which is what finds out that a function cannot be compiled."""
        logits, labels = case(6, SHAPES[0])
        weight = weights(6) if weighted else None
        for loss, inputs in (
            (ours.lovasz_softmax_loss, (logits, labels, weight)),
            (ours.lovasz_hinge_loss, (logits[:, :1], labels > 2)),
        ):
            compiled = torch.compile(loss, backend="aot_eager")
            assert compiled(*inputs).item() == pytest.approx(loss(*inputs).item(), abs=1e-6)
