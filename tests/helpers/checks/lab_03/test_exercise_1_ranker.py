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


# Each class has another value for one of the three names.
for hint, name, attribute, make in (
    ("plain-tensor", "ForgetsTheGain", "gain", lambda net, n: torch.ones(n, requires_grad=True)),
    ("hidden-layers", "KeepsTheList", "heads", lambda net, n: [*net.heads]),
    ("not-saved", "StoresTheMeanAsANumber", "mean", lambda net, n: 0.5),
    ("mean-is-learned", "LearnsTheMean", "mean", lambda net, n: nn.Parameter(net.mean.clone())),
    ("not-learned", "FreezesTheGain", "gain", lambda net, n: net.gain.requires_grad_(False)),
    ("gain-shape", "HasOneFactor", "gain", lambda net, n: nn.Parameter(torch.ones(1))),
    ("different-scores", "HasOneHeadOnly", "heads", lambda net, n: net.heads[:1]),
):

    class Changed(WithBufferParameterAndList):
        def __init__(self, features, classes, attribute=attribute, make=make):
            super().__init__(features, classes)
            value = make(self, features)
            delattr(self, attribute)
            setattr(self, attribute, value)

    Changed.__name__ = name
    answers.wrong(hint)(Changed)
test_answers = answers.make_test()
