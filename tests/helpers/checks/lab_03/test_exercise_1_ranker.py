"""Answers to lab 03, exercise 1: `Ranker`."""

import torch
from torch import nn

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers

answers = Answers(lab_03.exercise_1)


@answers.right
class WithBufferParameterAndList(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.register_buffer("mean", torch.full((features,), 0.5))
        self.gain = nn.Parameter(torch.ones(features))
        self.heads = nn.ModuleList([nn.Linear(features, classes) for _ in range(2)])

    def forward(self, X):
        return sum(head((X - self.mean) * self.gain) for head in self.heads)


@answers.right
class WithNamedHeads(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        self.mean = nn.Buffer(torch.ones(features) / 2)
        self.head_0, self.head_1 = self.heads
        del self.heads
        self.heads = [self.head_0, self.head_1]


@answers.wrong("not-a-module")
def returns_a_function(features, classes):
    return lambda X: X


@answers.wrong("plain-tensor")
class ForgetsTheGain(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        del self.gain
        self.gain = torch.ones(features, requires_grad=True)


@answers.wrong("hidden-layers")
class KeepsTheList(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        heads = list(self.heads)
        del self.heads
        self.heads = heads


@answers.wrong("not-saved")
class StoresTheMeanAsANumber(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        del self.mean
        self.mean = 0.5


@answers.wrong("mean-is-learned")
class LearnsTheMean(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        del self.mean
        self.mean = nn.Parameter(torch.full((features,), 0.5))


@answers.wrong("not-learned")
class FreezesTheGain(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        self.gain.requires_grad_(False)


@answers.wrong("different-scores")
class HasOneHeadOnly(WithBufferParameterAndList):
    def __init__(self, features, classes):
        super().__init__(features, classes)
        del self.heads[1]


test_answers = answers.make_test()
