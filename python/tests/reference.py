"""The losses written out slowly in double precision, to compare with; nothing of the library."""

import numpy as np


def jaccard(wrong, foreground):
    """Jaccard loss of a set of mispredicted pixels, 1 - I/U with 0/0 = 1: both are masks."""
    predicted = foreground ^ wrong
    union = (predicted | foreground).sum()
    return 1 - (predicted & foreground).sum() / union if union else 0.0


def extension(errors, foreground):
    """The Lovász extension of the Jaccard loss, from its definition by sets."""
    wrong, before, value = np.zeros(len(errors), bool), 0.0, 0.0
    for i in np.argsort(-errors, kind="stable"):
        wrong[i] = True
        after = jaccard(wrong, foreground)
        value += errors[i] * (after - before)
        before = after
    return value


def softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sigmoid(scores):
    return 1 / (1 + np.exp(-scores))


def groups(scores, labels, per_image):
    """(classes, pixels) and the labels of each group; labels (batch, pixels..) or like scores."""
    batch, classes = scores.shape[:2]
    own = labels.ndim == scores.ndim
    flat = scores.reshape(batch, classes, -1)
    truth = labels.reshape(batch, classes, -1) if own else labels.reshape(batch, 1, -1)
    if per_image:
        return list(zip(flat, truth))
    return [tuple(a.transpose(1, 0, 2).reshape(a.shape[1], -1) for a in (flat, truth))]


def class_loss(
    probabilities, labels, classes="present", per_image=False, ignore_index=None, class_weight=None
):
    """Lovász-Softmax, or Lovász-Sigmoid when the labels have the shape of the probabilities."""
    number = probabilities.shape[1]
    own = labels.ndim == probabilities.ndim
    weight = np.ones(number) if class_weight is None else np.asarray(class_weight)
    chosen = range(number) if isinstance(classes, str) else classes
    losses = []
    for p, y in groups(probabilities, labels, per_image):
        total = total_weight = 0.0
        for c in chosen:
            truth = y[c] if own else y[0]
            kept = np.ones(truth.shape, bool) if ignore_index is None else truth != ignore_index
            foreground = (truth == (1 if own else c))[kept]
            if classes == "present" and not foreground.any():
                continue
            total += weight[c] * extension(np.abs(foreground - p[c][kept]), foreground)
            total_weight += weight[c]
        losses.append(total / total_weight if total_weight else 0.0)
    return np.mean(losses)


def hinge_loss(scores, labels, per_image=True, ignore_index=None):
    losses = []
    for s, y in groups(scores[:, None], labels, per_image):
        s, y = s[0], y[0]
        kept = np.ones(y.shape, bool) if ignore_index is None else y != ignore_index
        sign = np.where(y[kept] == 1, 1.0, -1.0)
        margins = np.maximum(0, 1 - s[kept] * sign)
        losses.append(extension(margins, y[kept] == 1))
    return np.mean(losses)
