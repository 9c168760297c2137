"""Agreement with segmentation-models-pytorch and kornia where they mean the same; compat."""

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402

import submod.torch as lovasz  # noqa: E402
from submod.torch import compat  # noqa: E402

GENERATOR = torch.Generator().manual_seed(9)


def case(classes=4, shape=(3, 10, 12)):
    scores = torch.randn((shape[0], classes, *shape[1:]), generator=GENERATOR)
    return scores, torch.randint(classes, shape, generator=GENERATOR)


def assert_same(ours, theirs, scores, labels):
    results = []
    for function in (ours, theirs):
        leaf = scores.clone().requires_grad_(True)
        loss = function(leaf, labels)
        loss.backward()
        results.append((loss.item(), leaf.grad))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-5)
    assert torch.allclose(results[0][1], results[1][1], atol=1e-6)


@pytest.mark.filterwarnings("ignore")
class TestSegmentationModels:
    @pytest.fixture(scope="class")
    def losses(self):
        name = "segmentation_models_pytorch"
        return pytest.importorskip(name, reason=f"{name} is not installed").losses

    @pytest.mark.parametrize("per_image", [True, False])
    @pytest.mark.parametrize("ignore", [None, 3])
    def test_multiclass(self, losses, per_image, ignore):
        scores, labels = case()
        theirs = losses.LovaszLoss("multiclass", per_image=per_image, ignore_index=ignore)
        ours = lovasz.LovaszSoftmax(per_image=per_image, ignore_index=ignore)
        assert_same(ours, theirs, scores, labels)

    @pytest.mark.parametrize("per_image", [True, False])
    def test_binary(self, losses, per_image):
        scores, labels = case(2)
        theirs = losses.LovaszLoss("binary", per_image=per_image)
        assert_same(lovasz.LovaszHinge(per_image=per_image), theirs, scores[:, 0], labels)


@pytest.mark.filterwarnings("ignore")
class TestKornia:
    @pytest.fixture(scope="class")
    def losses(self):
        return pytest.importorskip("kornia", reason="kornia is not installed").losses

    def test_multiclass(self, losses):
        """kornia averages over all classes of each image."""
        ours = lovasz.LovaszSoftmax("all", per_image=True)
        assert_same(ours, losses.lovasz_softmax_loss, *case())

    def test_binary(self, losses):
        scores, labels = case(2)
        assert_same(lovasz.LovaszHinge(), losses.lovasz_hinge_loss, scores[:, :1], labels)


class TestCompat:
    @pytest.mark.parametrize("per_image", [True, False])
    @pytest.mark.parametrize("classes", ["present", "all", [1, 2]])
    @pytest.mark.parametrize("ignore", [None, 255])
    def test_softmax(self, per_image, classes, ignore):
        scores, labels = case()
        if ignore is not None:
            labels[:, 2:5] = ignore
        options = {"classes": classes, "per_image": per_image}
        assert_same(
            lambda s, y: compat.lovasz_softmax(s.softmax(1), y, ignore=ignore, **options),
            lambda s, y: reference.softmax(s, y, ignore_index=ignore, **options),
            scores,
            labels,
        )

    @pytest.mark.parametrize("per_image", [True, False])
    def test_hinge(self, per_image):
        scores, labels = case(2)
        labels[:, 0] = 7
        assert_same(
            lambda s, y: compat.lovasz_hinge(s, y, per_image, ignore=7),
            lambda s, y: reference.hinge(s, y, per_image, ignore_index=7),
            scores[:, 0],
            labels,
        )

    def test_flat(self):
        scores, labels = case()
        flat = scores.permute(0, 2, 3, 1).reshape(-1, 4)
        p = flat.softmax(1)
        assert compat.lovasz_softmax_flat(p, labels.flatten()).item() == pytest.approx(
            reference.softmax(scores, labels).item(), abs=1e-6
        )
        truth = (labels == 1).flatten().long()
        assert compat.lovasz_hinge_flat(flat[:, 1], truth).item() == pytest.approx(
            reference.hinge(flat[None, :, 1], truth[None]).item(), abs=1e-6
        )

    def test_one_class_of_a_sigmoid(self):
        scores, labels = case()
        p = torch.sigmoid(scores[:, 1])
        labels[:, 0] = 255
        found = compat.lovasz_softmax(p, labels, classes=[1], ignore=255)
        truth = torch.where(labels == 255, 255, (labels == 1).long())
        expected = reference.sigmoid(scores[:, 1:2], truth[:, None], ignore_index=255)
        assert found.item() == pytest.approx(expected.item(), abs=1e-6)
        with pytest.raises(ValueError, match="class"):
            compat.lovasz_softmax(p, labels)
        assert compat.lovasz_softmax(p[:, None], labels, classes=[1], ignore=255) == found
        flat, kept = compat.flatten_probas(p, labels, ignore=255)
        assert flat.shape == (kept.numel(), 1)
        assert compat.lovasz_softmax_flat(flat, kept, classes=[1]) == found
        for classes in ("all", True, [0, 1]):
            with pytest.raises(ValueError, match="class"):
                compat.lovasz_softmax_flat(flat, kept, classes=classes)

    @pytest.mark.parametrize("per_image", [True, False])
    @pytest.mark.parametrize("height", [1, 10])
    def test_labels_with_a_channel(self, per_image, height):
        scores, labels = case(shape=(3, height, 12))
        p = scores.softmax(1)
        for probas, classes in ((p, "all"), (p[:, 1], [1]), (p[:, 1:2], [1])):
            found = compat.lovasz_softmax(probas, labels[:, None], classes, per_image)
            assert found == compat.lovasz_softmax(probas, labels, classes, per_image)
        truth = labels == 1
        for logits in (scores[:, 1], scores[:, 1:2]):
            found = compat.lovasz_hinge(logits, truth[:, None], per_image)
            assert found == compat.lovasz_hinge(scores[:, 1], truth, per_image)

    def test_stricter_than_the_original(self):
        scores, labels = case()
        with pytest.raises(ValueError, match="labels"):
            compat.lovasz_softmax(scores.softmax(1), labels + 1)
        with pytest.raises(ValueError, match="scores"):
            compat.lovasz_softmax(scores, labels)

    def test_classes(self):
        """True and False as in the first version; listed ones count whether there or not."""
        scores, labels = case()
        labels[labels == 2] = 1
        p = scores.softmax(1)
        values = {c: reference.softmax(scores, labels, classes=c) for c in ("present", "all")}
        listed = reference.softmax(scores, labels, classes=[2, 0])
        for given, wanted in (
            (True, values["present"]),
            (False, values["all"]),
            ([2, 0], listed),
            ((2, 0), listed),
        ):
            for loss in (
                compat.lovasz_softmax(p, labels, given),
                compat.lovasz_softmax_flat(*compat.flatten_probas(p, labels), given),
            ):
                assert loss.item() == pytest.approx(wanted.item(), abs=1e-6)
        assert values["present"] != values["all"]

    def test_flattened(self):
        scores, labels = case()
        labels[0, 1] = 255
        flat, kept = compat.flatten_probas(scores, labels, ignore=255)
        pixels = [tuple(p) for p in (labels != 255).nonzero().tolist()]
        assert torch.equal(kept, torch.stack([labels[p] for p in pixels]))
        assert torch.equal(flat, torch.stack([scores[b, :, i, j] for b, i, j in pixels]))
        whole, all_labels = compat.flatten_probas(scores, labels)
        assert whole.shape == (labels.numel(), 4) and torch.equal(all_labels, labels.flatten())
        one, truth = compat.flatten_binary_scores(scores[:, 2], labels, ignore=255)
        assert torch.equal(one, flat[:, 2]) and torch.equal(truth, kept)
        every, _ = compat.flatten_binary_scores(scores[:, 2], labels)
        assert torch.equal(every, scores[:, 2].flatten())
        loss = compat.lovasz_hinge_flat(one, (truth == 1).long())
        assert loss == compat.lovasz_hinge(
            scores[:, 2], torch.where(labels == 255, 255, labels == 1), False, ignore=255
        )
        nothing = compat.flatten_probas(scores, torch.full_like(labels, 255), ignore=255)
        assert compat.lovasz_softmax_flat(*nothing) == 0

    def test_gradient_of_sorted(self):
        truth = torch.randint(2, (50,), generator=GENERATOR)
        intersection = truth.sum() - truth.cumsum(0)
        jaccard = 1 - intersection.double() / (truth.sum() + (1 - truth).cumsum(0))
        expected = torch.diff(jaccard, prepend=torch.zeros(1))
        assert torch.allclose(compat.lovasz_grad(truth).double(), expected, atol=1e-6)

    def test_entropies(self):
        scores, labels = case()
        cross = torch.nn.functional.cross_entropy
        assert compat.xloss(scores, labels) == cross(scores, labels)
        assert compat.xloss(scores, labels, ignore=0) == cross(scores, labels, ignore_index=0)
        truth = (labels == 1).long()
        binary = compat.binary_xloss(scores[:, 0], truth)
        assert compat.StableBCELoss()(scores[:, 0], truth) == binary
        p = torch.sigmoid(scores[:, 0])
        by_hand = -torch.where(truth == 1, p, 1 - p).log().mean()
        assert binary.item() == pytest.approx(by_hand.item(), abs=1e-6)
        kept = labels != 2
        assert compat.binary_xloss(
            scores[:, 0], torch.where(kept, truth, 9), ignore=9
        ).item() == pytest.approx(compat.binary_xloss(scores[:, 0][kept], truth[kept]).item())

    def test_iou(self):
        import submod

        prediction, truth = torch.randint(3, (2, 4, 6, 6), generator=GENERATOR)
        found = compat.iou(prediction, truth, 3)
        assert found.mean() / 100 == pytest.approx(submod.miou(prediction, truth, 3))
        binary = compat.iou_binary((prediction == 1).long(), (truth == 1).long(), per_image=False)
        assert binary == pytest.approx(found[1])
        truth[0] = 255
        kept = compat.iou(prediction, truth, 3, ignore=255, per_image=True)
        each = submod.miou(prediction, truth, 3, ignore_index=255, per_image=True)
        assert kept.mean() / 100 == pytest.approx(each)

    def test_mean(self):
        assert compat.mean([1, 2, 3]) == 2 and compat.mean([]) == 0
        assert compat.mean([1, float("nan")], ignore_nan=True) == 1
        assert compat.mean([], empty=5) == 5 and compat.isnan(compat.mean([1, float("nan")]))
        assert compat.mean(iter([torch.tensor(1.0), torch.tensor(3.0)])) == 2
        assert compat.isnan(torch.tensor([1, float("nan")])).tolist() == [False, True]
        with pytest.raises(ValueError):
            compat.mean([], empty="raise")
