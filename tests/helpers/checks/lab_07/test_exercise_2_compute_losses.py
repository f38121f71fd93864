"""Answers to lab 07, exercise 2: `compute_losses`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_2)


@answers.right
def under_no_grad(net, batches):
    was_training = net.training
    net.eval()
    losses = []
    with torch.no_grad():
        for X, y in batches:
            losses.append(F.cross_entropy(net(X), y).item())
    net.train(was_training)
    return losses


@answers.right
def computes_in_lower_precision(net, batches):
    with torch.autocast(batches[0][0].device.type, dtype=torch.bfloat16):
        return under_no_grad(net, batches)


def evaluate(net, batches, number=lambda loss: loss.item()):
    was_training = net.training
    net.eval()
    losses = [number(F.cross_entropy(net(X), y)) for X, y in batches]
    net.train(was_training)
    return losses


@answers.wrong("builds-graph")
def takes_items_with_a_graph(net, batches):
    return evaluate(net, batches)


@answers.wrong("not-a-list")
def leaves_the_function_unchanged(net, batches):
    losses = []
    for X, y in batches:
        losses.append(F.cross_entropy(net(X), y))
    return losses


@answers.wrong("training-mode")
def leaves_dropout_on(net, batches):
    with torch.no_grad():
        return [F.cross_entropy(net(X), y).item() for X, y in batches]


@answers.wrong("different-losses")
def rounds_the_losses(net, batches):
    return [round(loss, 2) for loss in under_no_grad(net, batches)]


@answers.wrong("mode-not-restored")
def stays_in_evaluation_mode(net, batches):
    net.eval()
    with torch.no_grad():
        return [F.cross_entropy(net(X), y).item() for X, y in batches]


@answers.wrong("gradients-left-off")
def freezes_the_network(net, batches):
    net.requires_grad_(False)
    return evaluate(net, batches)


test_answers = answers.make_test()
