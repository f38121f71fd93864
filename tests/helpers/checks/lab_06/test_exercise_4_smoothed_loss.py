"""Answers to lab 06, exercise 4: `smoothed_loss`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_4)


@answers.right
def by_gather(logits, labels, smoothing):
    nll = -logits.log_softmax(1)
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.mean()


@answers.right
def by_torch(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing)


@answers.wrong("different-loss")
def spreads_over_the_others(logits, labels, smoothing):
    classes = logits.shape[1]
    targets = F.one_hot(labels, classes) * (1 - smoothing - smoothing / (classes - 1))
    targets = targets + smoothing / (classes - 1)
    return F.cross_entropy(logits, targets)


@answers.wrong("overflows")
def divides_exponentials(logits, labels, smoothing):
    nll = logits.exp().sum(1, keepdim=True).log() - logits
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.mean()


@answers.wrong("no-gradient")
def makes_a_new_tensor(logits, labels, smoothing):
    return torch.tensor(by_gather(logits, labels, smoothing).item())


@answers.wrong("no-gradient")
def detaches_a_part(logits, labels, smoothing):
    nll = -logits.log_softmax(1)
    right = nll.gather(1, labels[:, None]).mean()
    return (1 - smoothing) * right + smoothing * nll.detach().mean()


@answers.wrong("raised")
def counts_the_classes_in_the_labels(logits, labels, smoothing):
    targets = F.one_hot(labels) * (1 - smoothing) + smoothing / logits.shape[1]
    return F.cross_entropy(logits, targets)


@answers.wrong("not-one-loss")
def returns_one_loss_per_image(logits, labels, smoothing):
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")


test_answers = answers.make_test()
