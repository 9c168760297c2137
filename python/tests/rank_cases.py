"""What each rank does in the tests of test_torch_ranks.py.

    python rank_cases.py FOLDER SIZE..

forks, for each SIZE, so many processes after PyTorch has been loaded once; each joins a gloo group,
runs all cases, and leaves what it has found in FOLDER.
"""

import copy
import datetime
import itertools
import os
import pickle
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
import torch._dynamo  # once for all ranks
import torch.distributed as dist

import submod
import submod.torch as lovasz
from submod.torch import _anywhere

CLASSES, SIDE = 4, 12
# Where the batch of IMAGES images is cut; with three and four ranks one has nothing.
IMAGES = 5
CUTS = {1: (0, 5), 2: (0, 3, 5), 3: (0, 0, 4, 5), 4: (0, 1, 1, 2, 5)}


def batch(seed=0, images=IMAGES):
    """Logits, labels of which 255 is to be ignored, and weights of pixels. Class 3 is in image 0
    alone, and image 1 has nothing but ignored pixels."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn((images, CLASSES, SIDE, SIDE), generator=generator)
    labels = torch.randint(CLASSES - 1, (images, SIDE, SIDE), generator=generator)
    labels[0, :2] = 3
    labels[0, 3:5] = 255
    labels[1] = 255
    weights = torch.rand((images, SIDE, SIDE), generator=generator) * 3
    weights[2, :4] = 0
    return logits, labels, weights


def binary(labels):
    return torch.where(labels == 255, labels, (labels > 1).long())


def pieces(tensors, rank, size):
    first, last = CUTS[size][rank : rank + 2]
    return [x[first:last] for x in tensors]


WEIGHT = [0.5, 1.0, 2.0, 0.25]
# By name: the loss and its settings.
SETTINGS = {
    "plain": ("softmax", {}),
    "all": ("softmax", {"classes": "all", "delta": 0.01}),
    "list": ("softmax", {"classes": [3, 0]}),
    "weights": ("softmax", {"class_weight": WEIGHT}),
    "normalized": ("softmax", {"class_weight": WEIGHT, "normalize": "classes"}),
    "pixels": ("softmax", {"pixel_weights": True}),
    "tversky": ("softmax", {"measure": submod.Tversky(0.3, 1.5)}),
    "images": ("softmax", {"per_image": True}),
    "images sum": ("softmax", {"per_image": True, "reduction": "sum"}),
    "images none": ("softmax", {"per_image": True, "reduction": "none", "pixel_weights": True}),
    "images normalized": (
        "softmax",
        {"per_image": True, "class_weight": WEIGHT, "normalize": "classes"},
    ),
    "none": ("softmax", {"reduction": "none"}),
    "sigmoid": ("sigmoid", {}),
    "sigmoid images": ("sigmoid", {"per_image": True, "class_weight": WEIGHT}),
    "hinge": ("hinge", {"per_image": False}),
    "hinge images": ("hinge", {"per_image": True}),
    "hinge pixels": ("hinge", {"per_image": False, "pixel_weights": True}),
}


def inputs(kind):
    """What a loss takes: logits, labels, weights of pixels."""
    logits, labels, weights = batch()
    if kind == "sigmoid":
        each = [(labels == c).long().masked_fill(labels == 255, 255) for c in range(CLASSES)]
        return logits, torch.stack(each, 1), weights
    if kind == "hinge":
        return logits[:, :1], binary(labels), weights
    return logits, labels, weights


def loss_and_gradient(kind, logits, labels, weights, **settings):
    """Of half of the loss, so that the gradient is multiplied by something."""
    leaf = logits.clone().requires_grad_(True)
    settings = dict(settings)
    if settings.pop("pixel_weights", False):
        settings["pixel_weights"] = weights
    found = getattr(lovasz, f"lovasz_{kind}")(leaf, labels, ignore_index=255, **settings)
    (0.5 * found).sum().backward()
    return found.detach(), leaf.grad


def mixed(a, b, P, N):
    """A measure of one's own, of arrays and tensors."""
    return (a + b) / (P + b + 1) + 0.1 * (a + b) / (P + N)


class forced:
    """The tensor operations of other devices, here."""

    def __enter__(self):
        _anywhere.FORCED = True

    def __exit__(self, *_):
        _anywhere.FORCED = False


def words_of(call):
    """Whatever it raises: type and words, and whether there is a cause."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error), error.__cause__ is not None
    return None


# ---- cases: name_RANK_SIZE -> what is compared -------------------------------------------------


def case_losses(rank, size, group):
    """By way, and by name: loss and gradient of the batch of all ranks."""
    found = {}
    for name, (kind, settings) in SETTINGS.items():
        mine = pieces(inputs(kind), rank, size)
        given = {"engine": "histogram", "group": group, **settings}
        found["library", name] = loss_and_gradient(kind, *mine, **given)
        with forced():
            found["forced", name] = loss_and_gradient(kind, *mine, **given)
    return found


def case_custom(rank, size, group):
    mine = pieces(inputs("softmax"), rank, size)
    given = {"engine": "histogram", "group": group, "measure": mixed}
    library = loss_and_gradient("softmax", *mine, **given)
    with forced():
        return library, loss_and_gradient("softmax", *mine, **given)


def case_ddp(rank, size, group):
    """The gradient is that of the others times the ranks, the loss is not."""
    mine = pieces(inputs("softmax"), rank, size)
    given = {"engine": "histogram", "group": group}
    found = loss_and_gradient("softmax", *mine, ddp=True, **given)
    with forced():
        return found, loss_and_gradient("softmax", *mine, ddp=True, **given)


def case_modules(rank, size, group):
    """And copies of them, by copying and by saving."""
    logits, labels, _ = pieces(inputs("softmax"), rank, size)
    module = lovasz.LovaszSoftmax(ignore_index=255, engine="histogram", group=group)
    copies = [module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    return [each(logits, labels) for each in copies], [each.group is group for each in copies]


def case_masked(rank, size, group):
    """-Inf on the last rank with images, NaN on it, and what nonfinite makes of both."""
    logits, labels, _ = batch()
    masked = logits.clone()
    masked[4, 1, labels[4] != 1] = -torch.inf
    nan = logits.clone()
    nan[4, 0, 0, 0] = torch.nan
    lost = logits.clone()
    lost[4, :, 2, 3] = -torch.inf
    found = {}
    for name, whole in {"masked": masked, "nan": nan, "lost": lost}.items():
        mine = pieces((whole, labels, labels), rank, size)
        for nonfinite in ("raise", "propagate"):
            given = {"engine": "histogram", "group": group, "nonfinite": nonfinite}

            def call(mine=mine, given=given, name=name):
                found[name, given["nonfinite"]] = loss_and_gradient("softmax", *mine, **given)

            raised = words_of(call)
            if raised:
                found[name, nonfinite] = raised
        with forced():
            found[name, "forced"] = loss_and_gradient(
                "softmax", *mine, engine="histogram", group=group
            )
    return found


def case_refused(rank, size, group):
    """By name: what each rank raises when the last one has something wrong; and the loss after."""
    logits, labels, weights = batch(images=max(2 * size, 3))
    mine = [x[2 * rank : 2 * rank + 2] for x in (logits, labels, weights)]
    last = rank == size - 1
    found = {}

    def attempt(name, logits, labels, weights=None, **settings):
        given = {"engine": "histogram", "group": group, "ignore_index": 255, **settings}

        def call():
            lovasz.lovasz_softmax(logits, labels, pixel_weights=weights, **given)

        found[name] = words_of(call)

    def wrong(value, right):
        return value if last else right

    x, y, w = mine
    bad = y.clone()
    bad[0, 0, 0] = 9
    attempt("label", x, wrong(bad, y))
    attempt("shape", x, wrong(y[:, :3], y))
    attempt("type", x, wrong(y.numpy(), y))
    attempt("classes", wrong(x[:, :2], x), wrong(y.clamp(max=1), y))
    attempt("settings", x, y, delta=wrong(0.01, 0.1))
    attempt("fraction", x, wrong(y + 0.5, y.float()))
    attempt("pixel weight", x, y, wrong(-w, w))
    attempt("no pixel weights", x, y, wrong(None, w))
    attempt("class weight", x, y, class_weight=wrong([1.0], [1.0] * CLASSES))
    attempt("exact", x, y, engine=wrong("exact", "histogram"))

    def measure(a, b, P, N):
        if last:
            raise KeyError("mine")
        return mixed(a, b, P, N)

    for images in (False, True):
        attempt(f"measure {images}", x, y, measure=measure, per_image=images)
    nan = x.clone()
    nan[0, 0, 0, 0] = torch.nan
    attempt("measure nan", wrong(nan, x), y, measure=mixed)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        attempt("forward mode", wrong(dual, x), y)
    with forced():
        for images in (False, True):
            attempt(f"measure forced {images}", x, y, measure=measure, per_image=images)
        attempt("forced shape", x, wrong(y[:, :3], y))
        attempt("forced settings", x, y, delta=wrong(0.01, 0.1))
        attempt("forced class weight", x, y, class_weight=wrong([1.0], [1.0] * CLASSES))
        given = {"engine": "histogram", "group": group, "ignore_index": 255}
        for images in (False, True):
            for reduction in ("mean", "none"):
                leaf = x.clone().requires_grad_(True)
                loss = lovasz.lovasz_softmax(
                    leaf, wrong(bad, y), per_image=images, reduction=reduction, **given
                )
                loss.sum().backward()
                found["forced label", images, reduction] = loss.detach(), leaf.grad
    attempt("good", x, y)
    return found


def case_sizes(rank, size, group):
    """Images of another size on each rank; half precision."""
    logits, labels, _ = batch(images=max(size, 3))
    x, y = logits[rank : rank + 1, :, : 2 + rank], labels[rank : rank + 1, : 2 + rank]
    found = {}
    for kind in (torch.float32, torch.bfloat16, torch.float64):
        leaf = x.to(kind, copy=True).requires_grad_(True)
        loss = lovasz.lovasz_softmax(leaf, y, ignore_index=255, engine="histogram", group=group)
        loss.backward()
        found[kind] = loss.detach(), leaf.grad
    return found


def case_again(rank, size, group):
    """A second pass over the same graph, torch.func and vmap."""
    logits, labels, _ = pieces(inputs("softmax"), rank, size)
    given = {"ignore_index": 255, "engine": "histogram", "group": group}
    leaf = logits.clone().requires_grad_(True)
    loss = lovasz.lovasz_softmax(leaf, labels, **given)
    first = torch.autograd.grad(loss, leaf, retain_graph=True)[0].clone()
    second = torch.autograd.grad(2 * loss, leaf)[0]
    by_function = torch.func.grad(lambda x: lovasz.lovasz_softmax(x, labels, **given))(logits)
    several = torch.stack([logits, -logits])
    mapped = torch.func.vmap(lambda x: lovasz.lovasz_softmax(x, labels, **given))(several)
    return first, second, by_function, mapped


def case_dataset(rank, size, group):
    """Counts, losses and the last gradient as DistributedDataParallel divides it; then the words
    of what a rank refuses."""
    module, losses = lovasz.DatasetLovasz(CLASSES, decay=0.75, ignore_index=255), []
    for step in range(4):
        logits, labels, _ = pieces(batch(step), rank, size)
        leaf = logits.clone().requires_grad_(True)
        loss = module(leaf, labels)
        loss.backward()
        losses.append(loss.item())
    before = module.counts.clone()
    logits, labels, _ = batch()
    last = rank == size - 1
    raised = [
        words_of(lambda: module(logits * (torch.nan if last else 1), labels)),
        words_of(lambda: module(logits, labels + 4 if last else labels)),
        words_of(lambda: module(logits[:, :2] if last else logits, labels)),
    ]
    module.eval()
    alone = words_of(lambda: module(logits * (torch.nan if last else 1), labels))
    same = torch.equal(before, module.counts)
    return before, losses, leaf.grad / size, raised, alone, same


def case_outside(rank, size, group):
    """Of a group of rank 0 alone: counts, gradient and the gradient of that batch alone; and what
    a loss says to those that are not of it."""
    first = dist.new_group([0])
    module = lovasz.DatasetLovasz(CLASSES, process_group=first, ignore_index=255)
    logits, labels, _ = batch(rank)
    leaf, alone = (logits.clone().requires_grad_(True) for _ in range(2))
    module(leaf, labels).backward()
    lovasz.lovasz_softmax(alone, labels, ignore_index=255, engine="histogram").backward()
    given = {"ignore_index": 255, "engine": "histogram", "group": first}
    refused = words_of(lambda: lovasz.lovasz_softmax(logits, labels, **given))
    return module.counts, leaf.grad, alone.grad, refused


def case_metrics(rank, size, group):
    """Values of all ranks: twice, so that nothing is counted twice; the rank's own state after."""
    prediction, truth, _ = pieces((*batch()[:2], batch()[2]), rank, size)
    found = {}
    for kind in (lovasz.MeanIoU, lovasz.metrics.Confusion, lovasz.metrics.FineGrainedIoU):
        metric = kind(CLASSES, ignore_index=255)
        if len(truth):
            metric.update(prediction, truth)
        before = copy.deepcopy(metric).get_extra_state()["words"]
        first, second = metric.sync(), metric.sync(group)
        twice = first.sync()
        found[kind.__name__] = (
            flat(first.compute()),
            flat(second.compute()),
            flat(twice.compute()),
            torch.equal(before, metric.get_extra_state()["words"]),
            type(first) is kind,
            words_of(lambda synced=first: synced.update(*batch()[:2])),
        )
    last = rank == size - 1
    other = lovasz.MeanIoU(CLASSES + last)
    found["refused"] = words_of(other.sync)
    # Options that mean the same.
    first = lovasz.MeanIoU(CLASSES) if last else lovasz.MeanIoU(classes=CLASSES, ignore_index=None)
    found["same"] = words_of(first.sync)
    # What sync() gave, by way of a state: nothing is counted twice.
    metric = lovasz.MeanIoU(CLASSES, ignore_index=255)
    if len(truth):
        metric.update(prediction, truth)
    loaded = lovasz.MeanIoU(CLASSES, ignore_index=255)
    loaded.load_state_dict(metric.sync().state_dict())
    found["pixels"] = loaded.sync().values().pixels
    found["mixed"] = words_of((loaded if last else metric).sync)
    return found


def flat(values):
    """Tensors of named tuples of them."""
    if isinstance(values, tuple):
        return [each for value in values for each in flat(value)]
    return [values]


def case_equibatch(rank, size, group):
    sampler = submod.Equibatch([[0], [1, 2], [2], [0, 1]], 3, seed=7, rank=rank, ranks=size)
    return [sampler.draw() for _ in range(12)], sampler.window


def case_compile(rank, size, group):
    """One graph with a group: the loss, its normalised form, and DatasetLovasz."""
    if size != 2:
        return None
    mine = pieces(inputs("softmax"), rank, size)
    given = {"engine": "histogram", "group": group}
    found = {}

    def step(x, y, **more):
        return lovasz.lovasz_softmax(x, y, ignore_index=255, **given, **more)

    for name, more in {
        "plain": {},
        "normalized": {"class_weight": torch.tensor(WEIGHT), "normalize": "classes"},
    }.items():
        compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
        leaf, other = (mine[0].clone().requires_grad_(True) for _ in range(2))
        loss, expected = compiled(leaf, mine[1], **more), step(other, mine[1], **more)
        loss.backward()
        expected.backward()
        found[name] = loss.detach(), leaf.grad, expected.detach(), other.grad
    module = lovasz.DatasetLovasz(CLASSES, decay=0.75, ignore_index=255)
    plain = copy.deepcopy(module)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    leaf, other = (mine[0].clone().requires_grad_(True) for _ in range(2))
    loss, expected = compiled(leaf, mine[1]), plain(other, mine[1])
    (loss + expected).backward()
    found["dataset"] = loss.detach(), leaf.grad, expected.detach(), other.grad
    found["counts"] = torch.equal(module.counts, plain.counts), module.counts.sum().item()
    return found


def case_training(rank, size, group):
    """Losses and the last weights of a few steps: of one process, and of two."""
    return train(rank, size, group) if size <= 2 else None


def small_network():
    """The U-Net of the examples without batch normalisation, whose means are those of a rank."""
    examples = str(Path(__file__).resolve().parents[2] / "examples")
    sys.path.insert(0, examples)
    try:
        from unet import model
    finally:
        sys.path.remove(examples)
    torch.manual_seed(3)
    network = model.UNet(3, CLASSES, 4)
    for block in [*network.down, *network.merge]:
        for i in (1, 4):
            block[i] = torch.nn.Identity()
        for i in (0, 3):  # as wide as batch normalisation would make it
            torch.nn.init.kaiming_normal_(block[i].weight, nonlinearity="relu")
    return network


def train(rank, size, group, steps=10):
    """Of the batch of all ranks; with one rank that of one process."""
    network = small_network()
    wrapped = torch.nn.parallel.DistributedDataParallel(network) if size > 1 else network
    optimizer = torch.optim.SGD(network.parameters(), lr=3, momentum=0.9)
    loss_of = lovasz.LovaszSoftmax(ignore_index=255, engine="histogram", group=group, ddp=True)
    losses = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(50 + step)
        images = torch.randn((IMAGES, 3, 24, 24), generator=generator)
        labels = (images[:, 0] > 0.3).long() + 2 * (images[:, 1] > 0.8)
        images, labels = pieces((images, labels), rank, size)
        optimizer.zero_grad()
        loss = loss_of(wrapped(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().clone() for p in network.parameters()]


def case_killed(rank, size, group):
    """Last: the last rank dies, the others say so."""
    logits, labels, _ = pieces(inputs("softmax"), rank, size)
    if size == 1:
        return None
    dist.barrier()
    if rank == size - 1:
        return "dies"
    time.sleep(0.2)
    given = {"ignore_index": 255, "engine": "histogram", "group": group}
    return words_of(lambda: lovasz.lovasz_softmax(logits, labels, **given))


CASES = {name[5:]: case for name, case in list(globals().items()) if name.startswith("case_")}


# ---- processes ---------------------------------------------------------------------------------


def run_rank(folder, rank, size):
    # The cases before the last take seconds; a rank that hangs should say where.
    limit = datetime.timedelta(seconds=120)
    place = f"file://{folder}/meet{size}"
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size, timeout=limit)
    group, found, seconds = dist.group.WORLD, {}, {}
    for name, case in CASES.items():
        start = time.monotonic()
        found[name] = case(rank, size, group)
        seconds[name] = time.monotonic() - start
        torch.save({"found": found, "seconds": seconds}, f"{folder}/{size}-{rank}.pt")
    if found["killed"] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if size == 1:
        dist.destroy_process_group()


def run_size(folder, size):
    """Whether all ranks have come to their end, in forks of this process."""
    children = []
    for rank in range(size):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run_rank(folder, rank, size)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        children.append(child)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    expected = [0] * size if size == 1 else [*itertools.repeat(0, size - 1), -signal.SIGKILL]
    return ends == expected


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = [run_size(sys.argv[1], int(size)) for size in sys.argv[2:]]
    sys.exit(not all(results))
