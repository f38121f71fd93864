"""Answers to lab 09, exercise 2: `average_gradients`."""

import torch

from helpers.checks import lab_09
from tests.helpers.checks.answers import Answers

answers = Answers(lab_09.exercise_2)


def copies_of(replicas):
    for copies in zip(*(net.parameters() for net in replicas), strict=True):
        if copies[0].grad is not None:
            yield copies


def weighted_mean(copies, sizes):
    pairs = zip(copies, sizes, strict=True)
    return sum(copy.grad.cpu() * size for copy, size in pairs) / sum(sizes)


@answers.right
def on_the_cpu(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.right
def in_place(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes)
        for copy in copies:
            copy.grad.copy_(mean)


@answers.wrong("shared-gradient")
def shares_tensors_on_one_device(replicas, sizes):
    for copies in copies_of(replicas):
        mean = weighted_mean(copies, sizes).to(copies[0].device)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong("unweighted-mean")
def ignores_the_sizes(replicas, sizes):
    for copies in copies_of(replicas):
        mean = sum(copy.grad.cpu() for copy in copies) / len(copies)
        for copy in copies:
            copy.grad = mean.to(copy.device)


@answers.wrong("different-gradient")
def replaces_none_with_zeros(replicas, sizes):
    on_the_cpu(replicas, sizes)
    for net in replicas:
        for parameter in net.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)


@answers.wrong("different-gradient")
def clears_the_others(replicas, sizes):
    in_place(replicas, sizes)
    replicas[1].zero_grad()


@answers.wrong("input-changed")
def changes_the_sizes(replicas, sizes):
    total = sum(sizes)
    for rank, size in enumerate(sizes):
        sizes[rank] = size / total
    on_the_cpu(replicas, sizes)


test_answers = answers.make_test()
