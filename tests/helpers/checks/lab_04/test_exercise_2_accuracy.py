"""Answers to lab 04, exercise 2: `accuracy`."""

from functools import partial

import torch

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_2)


@answers.right
def counts_on_the_device(net, batches, evaluate=True, restore=True, gradients=False, fetch=False):
    training, device = net.training, next(net.parameters()).device
    net.train(training and not evaluate)
    correct, images = torch.zeros((), device=device), 0
    with torch.set_grad_enabled(gradients):
        for inputs, targets in batches:
            matches = (net(inputs.to(device)).argmax(1) == targets.to(device)).sum()
            correct += matches.item() if fetch else matches
            images += len(targets)
    net.train(training if restore else False)
    return correct.item() / images


@answers.right
@torch.no_grad()
def joins_all_batches(net, batches):
    training, device = net.training, next(net.parameters()).device
    try:
        images, labels = (torch.cat(tensors).to(device) for tensors in zip(*batches, strict=True))
        return float((net.eval()(images).argmax(-1) == labels).float().mean())
    finally:
        net.train(training)


@answers.wrong("not-a-number")
def returns_a_tensor(net, batches):
    return torch.tensor(counts_on_the_device(net, batches))


@answers.wrong("net-moved")
def moves_the_network_to_the_images(net, batches):
    return counts_on_the_device(net.cpu(), batches)


@answers.wrong("gradients-left-off")
def turns_gradients_off_permanently(net, batches):
    torch.set_grad_enabled(False)
    return counts_on_the_device(net, batches)


@answers.wrong("gradients-left-off")
def freezes_the_network(net, batches):
    net.requires_grad_(False)
    return counts_on_the_device(net, batches)


@answers.right
@torch.no_grad()
def copies_once(net, batches, count=True):
    training, device = net.training, next(net.parameters()).device
    net.eval()
    masks = [net(images.to(device)).argmax(1) == labels.to(device) for images, labels in batches]
    net.train(training)
    copied = torch.stack([mask.sum() for mask in masks]) if count else torch.cat(masks)
    return copied.cpu().sum().item() / sum(map(len, masks))


@answers.wrong("counted-elsewhere")
def counts_on_the_cpu(net, batches):
    return copies_once(net, batches, count=False)


@answers.wrong("mean-of-means")
def returns_the_mean_of_batch_means(net, batches):
    return sum(counts_on_the_device(net, [batch]) for batch in batches) / len(batches)


@answers.wrong("wrong-fraction")
def returns_percent(net, batches):
    return 100 * counts_on_the_device(net, batches)


for hint, name, option in (
    ("training-mode", "forgets_eval", {"evaluate": False}),
    ("mode-not-restored", "stays_in_evaluation_mode", {"restore": False}),
    ("tracks-gradients", "forgets_no_grad", {"gradients": True}),
    ("many-fetches", "fetches_each_batch", {"fetch": True}),
):
    answer = partial(counts_on_the_device, **option)
    answer.__name__ = name
    answers.wrong(hint)(answer)
test_answers = answers.make_test()
