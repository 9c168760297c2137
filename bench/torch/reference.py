"""The Lovász losses in PyTorch operations, straight from the paper (Berman et al., CVPR 2018).

What a user without libsubmod runs: everything is differentiated by autograd, in whatever floating
type the scores have. In float64 it is the yardstick for values and gradients.
"""

import torch


def jaccard_weights(foreground_sorted):
    """Algorithm 1, lines 3 to 6: foreground indicators in the order of decreasing errors, along the
    last dimension; the gradient of the Jaccard extension in the same order."""
    positives = foreground_sorted.sum(-1, keepdim=True)
    intersection = positives - foreground_sorted.cumsum(-1)
    union = positives + (1 - foreground_sorted).cumsum(-1)
    jaccard = 1 - intersection / union
    return torch.cat([jaccard[..., :1], jaccard[..., 1:] - jaccard[..., :-1]], dim=-1)


def rank(errors, foreground):
    """Errors from the largest to the smallest along the last dimension, and their weights."""
    ranked, order = torch.sort(errors, dim=-1, descending=True)
    with torch.no_grad():
        weights = jaccard_weights(foreground.gather(-1, order))
    return ranked, weights


def extension(errors, foreground):
    """The extension at these errors, Eq. 8."""
    ranked, weights = rank(errors, foreground)
    return (ranked * weights).sum(-1)


def lovasz_softmax(logits, labels):
    """Eqs. 11 to 13 over the whole batch, averaged over the classes that are present."""
    probability = torch.softmax(logits, dim=1)
    losses = []
    for c in range(logits.shape[1]):
        foreground = (labels == c).to(logits.dtype).flatten()
        if foreground.any():
            errors = (foreground - probability[:, c].flatten()).abs()
            losses.append(extension(errors, foreground))
    return torch.stack(losses).mean()


def lovasz_softmax_batched(logits, labels):
    """The same with all classes as rows of one sort, which PyTorch can then spread over threads."""
    classes = logits.shape[1]
    probability = torch.softmax(logits, dim=1).transpose(0, 1).reshape(classes, -1)
    names = torch.arange(classes).unsqueeze(1)
    foreground = (labels.flatten().unsqueeze(0) == names).to(logits.dtype)
    present = foreground.any(dim=1)
    errors = (foreground - probability).abs()
    return extension(errors[present], foreground[present]).mean()


def lovasz_hinge(scores, labels):
    """Eq. 10; labels 0 or 1."""
    foreground = labels.to(scores.dtype).flatten()
    margins = 1 - scores.flatten() * (2 * foreground - 1)
    ranked, weights = rank(margins, foreground)
    return torch.dot(torch.relu(ranked), weights)
