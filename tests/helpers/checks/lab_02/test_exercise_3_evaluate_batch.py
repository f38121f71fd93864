"""Answers to lab 02, exercise 3: `evaluate_batch`."""

import torch
from torch import nn
from torch.nn import functional as F

from helpers.checks import lab_02
from tests.helpers.checks.answers import Answers

answers = Answers(lab_02.exercise_3)


@answers.right
def all_to_the_network(net, loss, images, labels):
    device = next(net.parameters()).device
    images, labels, loss = images.to(device), labels.to(device), loss.to(device)
    scores = net(images)
    return loss(scores, labels).item(), int((scores.argmax(1) == labels).sum())


@answers.right
def scores_to_the_labels(net, loss, images, labels):
    with torch.no_grad():
        scores = net(images.to(net[1].weight.device)).cpu()
    right = sum(scores.max(dim=1).indices == labels.cpu()).item()
    return float(loss.cpu()(scores, labels.cpu())), right


@answers.right
def with_its_own_loss(net, loss, images, labels):
    with torch.inference_mode():
        device = next(net.parameters()).device
        scores, labels = net(images.to(device)), labels.to(device)
        mean = F.cross_entropy(scores, labels, weight=loss.weight.to(device))
        return mean.item(), torch.eq(scores.softmax(dim=-1).argmax(dim=-1), labels).sum().tolist()


@answers.wrong("device-error")
def forgets_the_weights(net, loss, images, labels):
    device = next(net.parameters()).device
    return loss(net(images.to(device)), labels.to(device)).item(), 1


@answers.wrong("net-moved")
def moves_the_network_to_the_images(net, loss, images, labels):
    return all_to_the_network(net.to(images.device), loss, images, labels)


@answers.wrong("weights-dropped")
def makes_a_new_loss(net, loss, images, labels):
    return all_to_the_network(net, nn.CrossEntropyLoss(), images, labels)


@answers.wrong("wrong-loss")
def adds_up_the_losses(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean * len(labels), right


@answers.wrong("wrong-count")
def counts_one_too_many(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean, right + 1


@answers.wrong("not-two-numbers")
def returns_the_accuracy(net, loss, images, labels):
    mean, right = all_to_the_network(net, loss, images, labels)
    return mean, right / len(labels)


@answers.wrong("input-changed")
def sets_the_images_to_zero(net, loss, images, labels):
    result = all_to_the_network(net, loss, images, labels)
    images.zero_()
    return result


test_answers = answers.make_test()
