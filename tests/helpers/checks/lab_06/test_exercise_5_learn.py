"""Answers to lab 06, exercise 5: `learn`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_06
from tests.helpers.checks.answers import Answers

answers = Answers(lab_06.exercise_5)


def _learn(net, images, labels, epochs, *, optimizer=None, batch=12, shuffled=True, decay=True):
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=0.01)
    steps = epochs * -(-len(images) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - decay * s / steps)
    for _ in range(epochs):
        order = torch.randperm if shuffled else torch.arange
        for chosen in order(len(images), device=images.device).split(batch):
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            schedule.step()


def _sgd(net, lr, momentum=0.9):
    return torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)


@answers.right
def with_momentum(net, images, labels, epochs):
    _learn(net, images, labels, epochs, optimizer=_sgd(net, 0.03), batch=8)


@answers.right
def accumulates_two_micro_batches(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            for micro_batch in chosen.chunk(2):
                (F.cross_entropy(net(images[micro_batch]), labels[micro_batch]) / 2).backward()
            optimizer.step()
            optimizer.zero_grad()


@answers.wrong("sorted")
def forgets_to_shuffle(net, images, labels, epochs):
    optimizer = _sgd(net, 0.004, momentum=0)
    _learn(net, images, labels, epochs, optimizer=optimizer, batch=60, shuffled=False)


@answers.wrong("too-many-passes")
def uses_ten_times_the_epochs(net, images, labels, epochs):
    _learn(net, images, labels, 10 * epochs, batch=60)


@answers.wrong("too-low")
def forgets_the_step(net, images, labels, epochs):
    for chosen in torch.randperm(len(images), device=images.device).split(12):
        F.cross_entropy(net(images[chosen]), labels[chosen]).backward()


@answers.wrong("old-gradients")
def clears_gradients_once_per_epoch(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()


@answers.wrong("old-gradients")
def steps_twice_with_each_gradient(net, images, labels, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), device=images.device).split(12):
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen]), labels[chosen]).backward()
            optimizer.step()
            optimizer.step()


@answers.wrong("input-changed")
def normalizes_the_callers_images(net, images, labels, epochs):
    images.sub_(images.mean()).div_(images.std())
    _learn(net, images, labels, epochs)


test_answers = answers.make_test()
