"""The prox direction inside any optimiser of torch.optim, here Adam.

    python examples/optim_bench/torch_prox_direction.py [--steps N]

prox_lovasz_hinge is the Lovász hinge with another backward pass: lam (s - prox(s)) of the scores s
in place of the gradient. So the optimiser need not know about it. A linear model of generated
pixels is trained both ways, from the same start and with the same steps.
"""

import argparse

import torch

from submod.torch import lovasz_hinge, prox_lovasz_hinge

LAM = 1e-3  # of pixels' scores: the loss is a mean over an image, so its slopes are of 1 / pixels


def pixels(images, count, features, generator):
    """Features, and the labels that a hidden linear model with some noise gives them."""
    x = torch.randn(images, count, features, generator=generator)
    hidden = torch.randn(features, generator=generator)
    scores = x @ hidden + 2 * torch.randn(images, count, generator=generator)
    return x, (scores > 2).long()


def train(loss, x, labels, steps):
    """The Lovász hinge after training with a loss."""
    weights = torch.zeros(x.shape[-1], requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(x @ weights, labels).backward()
        optimizer.step()
    with torch.no_grad():
        return lovasz_hinge(x @ weights, labels).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, metavar="N")
    steps = parser.parse_args().steps
    x, labels = pixels(4, 200, 10, torch.Generator().manual_seed(1))
    by_gradient = train(lovasz_hinge, x, labels, steps)
    by_prox = train(lambda s, y: prox_lovasz_hinge(s, y, LAM), x, labels, steps)
    print(f"Lovász hinge after {steps} steps of Adam: {by_gradient:.4f} by gradients,", end=" ")
    print(f"{by_prox:.4f} by the prox direction")


if __name__ == "__main__":
    main()
