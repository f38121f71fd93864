"""Answers to lab 07, exercise 5: `train`."""

import torch
from torch.nn import functional as F

from helpers.checks import lab_07
from tests.helpers.checks.answers import Answers

answers = Answers(lab_07.exercise_5)


def repeat(step, optimizer, count=20):
    for _ in range(count):
        optimizer.zero_grad()
        step()
        optimizer.step()


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=0.003)


@answers.right
def by_lower_precision(net, X, y):
    def step():
        with torch.autocast(X.device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(net(X), y)
        loss.backward()

    repeat(step, adam(net))


@answers.right
def by_fewer_states(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=0.2)
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd)


@answers.wrong("too-much")
def trains_without_changes(net, X, y):
    repeat(lambda: F.cross_entropy(net(X), y).backward(), adam(net))


@answers.wrong("not-learned")
def learns_too_slowly(net, X, y):
    sgd = torch.optim.SGD(net.parameters(), lr=0.0001)
    repeat(lambda: F.cross_entropy(net(X), y).backward(), sgd)


@answers.wrong("different-type")
def stays_in_bfloat16(net, X, y):
    net.to(torch.bfloat16)
    repeat(lambda: F.cross_entropy(net(X.bfloat16()).float(), y).backward(), adam(net), 2)


def by_accumulation(net, X, y):
    def step():
        for part, labels in zip(X.chunk(4), y.chunk(4), strict=True):
            (F.cross_entropy(net(part), labels) / 4).backward()

    repeat(step, adam(net))


@answers.wrong("net-moved")
def trains_on_the_cpu(net, X, y):
    by_accumulation(net.cpu(), X.cpu(), y.cpu())


test_answers = answers.make_test()
