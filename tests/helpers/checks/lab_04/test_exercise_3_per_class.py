"""Answers to lab 04, exercise 3: `per_class`."""

import torch

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_3)


def count(net, batches, gradients=False, fetch=False):
    device = next(net.parameters()).device
    counts = torch.zeros(100, dtype=torch.int64, device=device)
    with torch.set_grad_enabled(gradients):
        for inputs, targets in batches:
            pairs = 10 * targets.to(device) + net(inputs.to(device)).argmax(1)
            pairs = pairs.cpu().to(device) if fetch else pairs
            counts.index_add_(0, pairs, torch.ones_like(pairs))
    return counts.reshape(10, 10)


@answers.right
def by_counting_pairs(net, batches, **options):
    counts = count(net, batches, **options)
    return (counts.diagonal() / counts.sum(1)).tolist()


@answers.right
@torch.inference_mode()
def by_comparing_with_every_class(net, batches):
    device = next(net.parameters()).device
    labels = torch.cat([y for _, y in batches]).to(device)
    predicted = torch.cat([net(X.to(device)).argmax(1) for X, _ in batches])
    right = [((predicted == c) & (labels == c)).sum() / (labels == c).sum() for c in range(10)]
    return torch.stack(right).tolist()


@answers.wrong("not-ten-numbers")
def returns_a_tensor_of_ten(net, batches):
    return torch.tensor(by_counting_pairs(net, batches))


@answers.wrong("raised")
def divides_by_zero(net, batches):
    counts = count(net, batches)
    pairs = zip(counts.diagonal().tolist(), counts.sum(1).tolist(), strict=True)
    return [right / total for right, total in pairs]


@answers.wrong("empty-class")
def returns_zero_for_an_empty_class(net, batches):
    counts = count(net, batches)
    return (counts.diagonal() / counts.sum(1).clamp(min=1)).tolist()


@answers.wrong("wrong-fraction")
def divides_by_the_predictions(net, batches):
    counts = count(net, batches)
    return (counts.diagonal() / counts.sum(0)).tolist()


@answers.wrong("tracks-gradients")
def tracks_gradients(net, batches):
    return by_counting_pairs(net, batches, gradients=True)


@answers.wrong("net-moved")
def moves_the_network_to_the_images(net, batches):
    return by_counting_pairs(net.cpu(), batches)


@answers.wrong("training-mode")
def evaluates_in_training_mode(net, batches):
    return by_counting_pairs(net.train(), batches)


@answers.wrong("mode-not-restored")
def returns_to_training_mode(net, batches):
    fractions = by_counting_pairs(net, batches)
    net.train()
    return fractions


@answers.wrong("gradients-left-off")
def freezes_the_network(net, batches):
    net.requires_grad_(False)
    return by_counting_pairs(net, batches)


@answers.wrong("many-fetches")
def fetches_each_batch(net, batches):
    return by_counting_pairs(net, batches, fetch=True)


test_answers = answers.make_test()
