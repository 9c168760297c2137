"""The losses in PyTorch operations, differentiated by autograd: what users without us write."""

import torch


def extension(errors, foreground):
    """Lovász extension of the Jaccard loss at errors (pixels,)."""
    ranked, order = torch.sort(errors, descending=True)
    truth = foreground[order].to(errors.dtype)
    intersection = truth.sum() - truth.cumsum(0)
    union = truth.sum() + (1 - truth).cumsum(0)
    jaccard = 1 - intersection / union
    weights = torch.cat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
    return ranked @ weights.detach()


def _groups(scores, labels, per_image):
    """One (pixels, classes) and (pixels,) or (pixels, classes) per group."""
    own = labels.ndim == scores.ndim
    flat = scores.flatten(2).transpose(1, 2)
    truth = labels.flatten(2).transpose(1, 2) if own else labels.flatten(1)
    if per_image:
        return list(zip(flat, truth))
    return [(flat.flatten(0, 1), truth.flatten(0, 1))]


def class_loss(
    probability, labels, classes="present", per_image=False, ignore_index=None, class_weight=None
):
    own = labels.ndim == probability.ndim
    number = probability.shape[1]
    weight = [1.0] * number if class_weight is None else [float(w) for w in class_weight]
    losses = []
    for p, y in _groups(probability, labels, per_image):
        total, total_weight = p.sum() * 0, 0.0
        for c in range(number) if isinstance(classes, str) else classes:
            truth = y[:, c] if own else y
            kept = torch.ones_like(truth, dtype=torch.bool)
            if ignore_index is not None:
                kept = truth != ignore_index
            foreground = truth[kept] == (1 if own else c)
            if not kept.any() or (classes == "present" and not foreground.any()):
                continue
            errors = (foreground.to(p.dtype) - p[kept, c]).abs()
            total = total + weight[c] * extension(errors, foreground)
            total_weight += weight[c]
        losses.append(total / total_weight if total_weight else total)
    return torch.stack(losses).mean()


def softmax(logits, labels, **options):
    return class_loss(torch.softmax(logits, 1), labels, **options)


def sigmoid(logits, labels, **options):
    return class_loss(torch.sigmoid(logits), labels, **options)


def hinge(logits, labels, per_image=True, ignore_index=None):
    losses = []
    for s, y in _groups(logits.unsqueeze(1), labels, per_image):
        kept = torch.ones_like(y, dtype=torch.bool) if ignore_index is None else y != ignore_index
        s, y = s[kept, 0], y[kept]
        margins = torch.relu(1 - s * (2.0 * y.to(s.dtype) - 1))
        losses.append(extension(margins, y == 1) if len(s) else s.sum())
    return torch.stack(losses).mean()


def with_ignored(labels, options, generator):
    """A third of the labels ignored, if the options ignore any."""
    if "ignore_index" in options:
        mask = torch.rand(labels.shape, generator=generator) < 0.3
        labels = labels.masked_fill(mask, options["ignore_index"])
    return labels


def loss_and_gradient(function, scores, labels, factor=1, **options):
    """The loss, and the gradient of factor times the loss."""
    leaf = scores.detach().clone(memory_format=torch.preserve_format).requires_grad_(True)
    loss = function(leaf, labels, **options)
    (loss if factor == 1 else factor * loss).backward()
    return loss.detach(), leaf.grad
