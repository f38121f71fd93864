"""Answers to lab 06, exercise 3: `predict`."""

from copy import deepcopy

import torch

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_3)


@answers.right
@torch.no_grad()
def twice_and_halved(net, images):
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


@answers.right
def in_one_large_batch(net, images):
    training = net.training
    net.eval()
    with torch.inference_mode():
        logits = net(torch.cat([images, images.flip(-1)]))
    net.train(training)
    return logits.view(2, len(images), -1).mean(0)


@answers.right
def with_a_copy_of_the_network(net, images):
    return twice_and_halved(deepcopy(net), images)


@answers.wrong("training-mode")
def forgets_the_mode(net, images):
    with torch.no_grad():
        return (net(images) + net(images.flip(3))) / 2


@answers.wrong("tracks-gradients")
def forgets_no_grad(net, images):
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


@answers.wrong("gradients-left-off")
def freezes_the_network(net, images):
    net.requires_grad_(False)
    return twice_and_halved(net, images)


@answers.wrong("net-moved")
def predicts_on_the_cpu(net, images):
    return twice_and_halved(net.cpu(), images.cpu())


def _mean(net, *views):
    net.eval()
    with torch.no_grad():
        return sum(net(view) for view in views) / len(views)


@answers.wrong("different-logits")
def flips_the_second_view_vertically(net, images):
    return _mean(net, images, images.flip(2))


@answers.wrong("different-logits")
def flips_the_second_view_at_random(net, images):
    return _mean(net, images, images.flip(3) if torch.rand(()) < 0.5 else images)


@answers.wrong("not-logits")
def returns_classes(net, images):
    return _mean(net, images, images.flip(3)).argmax(1)


@answers.wrong("input-changed")
def mirrors_in_place(net, images):
    first = _mean(net, images)
    images.copy_(images.flip(3))
    return (first + _mean(net, images)) / 2


@answers.wrong("gradients-left-off")
def turns_gradients_off_permanently(net, images):
    torch.set_grad_enabled(False)
    net.eval()
    return (net(images) + net(images.flip(3))) / 2


test_answers = answers.make_test()
