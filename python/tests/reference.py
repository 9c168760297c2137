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


# Measures by the counts of wrong pixels, a of P in the foreground and b of N in the background.


def jaccard_by_counts(a, b, P, N):
    return (a + b) / (P + b) if a + b > 0 else 0.0


def hamming_by_counts(a, b, P, N):
    return (a + b) / (P + N) if a + b > 0 else 0.0


def tversky_by_counts(alpha, beta):
    """1 - TP / (TP + beta FN + alpha FP), with 0/0 = 1."""

    def loss(a, b, P, N):
        hit, rest = P - a, beta * a + alpha * b
        return 1 - hit / (hit + rest) if rest > 0 else 0.0

    return loss


def extension_by_counts(errors, foreground, measure, weight):
    """The Lovász extension of A -> measure(the weights of A's foreground and background, ..)."""
    P, N = weight[foreground].sum(), weight[~foreground].sum()
    wrong, before, value = [0.0, 0.0], 0.0, 0.0
    for i in np.argsort(-errors, kind="stable"):
        wrong[0 if foreground[i] else 1] += weight[i]
        # Sums in another order may end a hair above the whole.
        after = measure(min(wrong[0], P), min(wrong[1], N), P, N)
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


def image_weights(pixel_weights, labels, own, per_image):
    """Of each group: one number per pixel."""
    shape = labels.shape[:1] + labels.shape[2:] if own else labels.shape
    weight = np.ones(shape) if pixel_weights is None else np.broadcast_to(pixel_weights, shape)
    weight = weight.astype(np.float64).reshape(shape[0], -1)
    return list(weight) if per_image else [weight.reshape(-1)]


def class_losses(
    probabilities,
    labels,
    classes="present",
    per_image=False,
    ignore_index=None,
    class_weight=None,
    measure=None,
    pixel_weights=None,
):
    """Lovász-Softmax, or Lovász-Sigmoid when the labels have the shape of the probabilities: the
    loss of each group. Of Jaccard by its definition by sets, where there is nothing else to do."""
    number = probabilities.shape[1]
    own = labels.ndim == probabilities.ndim
    weight = np.ones(number) if class_weight is None else np.asarray(class_weight)
    chosen = range(number) if isinstance(classes, str) else classes
    counted = image_weights(pixel_weights, labels, own, per_image)
    losses = []
    for (p, y), w in zip(groups(probabilities, labels, per_image), counted):
        total = total_weight = 0.0
        for c in chosen:
            truth = y[c] if own else y[0]
            kept = w > 0
            if ignore_index is not None:
                kept &= truth != ignore_index
            foreground = (truth == (1 if own else c))[kept]
            if classes == "present" and not foreground.any():
                continue
            errors = np.abs(foreground - p[c][kept])
            if measure is None and pixel_weights is None:
                value = extension(errors, foreground)
            else:
                of_counts = measure or jaccard_by_counts
                value = extension_by_counts(errors, foreground, of_counts, w[kept])
            total += weight[c] * value
            total_weight += weight[c]
        losses.append(total / total_weight if total_weight else 0.0)
    return np.array(losses)


def class_loss(probabilities, labels, *arguments, **options):
    return class_losses(probabilities, labels, *arguments, **options).mean()


def hinge_losses(
    scores, labels, per_image=True, ignore_index=None, measure=None, pixel_weights=None
):
    counted = image_weights(pixel_weights, labels, False, per_image)
    losses = []
    for (s, y), w in zip(groups(scores[:, None], labels, per_image), counted):
        s, y = s[0], y[0]
        kept = w > 0
        if ignore_index is not None:
            kept &= y != ignore_index
        sign = np.where(y[kept] == 1, 1.0, -1.0)
        margins = np.maximum(0, 1 - s[kept] * sign)
        if measure is None and pixel_weights is None:
            losses.append(extension(margins, y[kept] == 1))
        else:
            of_counts = measure or jaccard_by_counts
            losses.append(extension_by_counts(margins, y[kept] == 1, of_counts, w[kept]))
    return np.array(losses)


def hinge_loss(scores, labels, *arguments, **options):
    return hinge_losses(scores, labels, *arguments, **options).mean()
