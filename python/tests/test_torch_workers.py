"""Workers of a DataLoader call the library, forked or spawned, while the parent does so too."""

import multiprocessing
import zlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import submod  # noqa: E402
from submod.torch import functional  # noqa: E402

IMAGES, CLASSES, SIDE = 4, 5, 128  # an image has work for two threads


def image(number):
    rng = np.random.default_rng(number)
    scores = rng.normal(size=(1, CLASSES, SIDE, SIDE)).astype(np.float32)
    return scores, rng.integers(CLASSES, size=(1, SIDE, SIDE))


class Losses(torch.utils.data.Dataset):
    """What training could compute in its workers: losses and metrics of each image."""

    def __len__(self):
        return IMAGES

    def __getitem__(self, number):
        scores, labels = image(number)
        leaf = torch.from_numpy(scores).requires_grad_()
        loss = functional.lovasz_softmax(leaf, torch.from_numpy(labels))
        loss.backward()
        return (
            submod.lovasz_softmax(scores, labels),
            loss.item(),
            zlib.crc32(leaf.grad.numpy().tobytes()),
            submod.miou(scores.argmax(1), labels, CLASSES),
        )


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_workers_of_a_data_loader(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    threads = submod.get_num_threads()
    submod.set_num_threads(2)
    try:
        data = Losses()
        expected = [data[number] for number in range(IMAGES)]  # the parent has a team of threads
        loader = torch.utils.data.DataLoader(
            data,
            batch_size=None,
            num_workers=2,
            multiprocessing_context=method,
            timeout=120,
        )
        found = []
        for number, row in enumerate(loader):
            found.append(tuple(row))
            assert data[number] == expected[number]  # meanwhile
    finally:
        submod.set_num_threads(threads)
    assert found == expected
