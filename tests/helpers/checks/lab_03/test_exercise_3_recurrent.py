"""Answers to lab 03, exercise 3: `Recurrent`."""

import torch
from torch import nn

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers

answers = Answers(lab_03.exercise_3)


@answers.right
class CreatesOnTheDeviceOfTheInput(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.inner = nn.Linear(inputs + hidden, hidden)

    def create(self, sequence):
        count, steps, _ = sequence.shape
        state = torch.zeros(count, self.hidden, device=sequence.device)
        return state, torch.arange(steps, device=sequence.device)

    def forward(self, sequence):
        state, order = self.create(sequence)
        sequence = sequence + order.reshape(-1, 1) / len(order)
        for step in range(len(order)):
            state = torch.tanh(self.inner(torch.cat([sequence[:, step], state], dim=1)))
        return state


@answers.right
class CreatesOnTheDeviceOfTheWeight(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        with self.inner.weight.device:
            return torch.zeros(len(sequence), self.hidden), torch.arange(sequence.shape[1])


@answers.wrong("not-a-module")
def returns_a_function(inputs, hidden):
    return lambda sequence: sequence


@answers.wrong("device-error")
class LeavesTheClassUnchanged(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        return torch.zeros(len(sequence), self.hidden), torch.arange(sequence.shape[1])


@answers.wrong("one-device-only")
class ChoosesTheGpuIfAvailable(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            return torch.zeros(len(sequence), self.hidden), torch.arange(sequence.shape[1])


@answers.wrong("copied")
class CreatesOnTheCpuAndMoves(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        state, order = torch.zeros(len(sequence), self.hidden), torch.arange(sequence.shape[1])
        return state.to(sequence.device), order.to(sequence.device)


@answers.wrong("copied")
class AssignsTheOrder(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        state, order = super().create(sequence)
        order[:] = torch.arange(len(order))
        return state, order


@answers.wrong("copied")
class CopiesAList(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        state, order = super().create(sequence)
        return state, torch.tensor([*range(len(order))], device=sequence.device)


@answers.wrong("result-elsewhere")
class MovesTheResultToTheCpu(CreatesOnTheDeviceOfTheInput):
    def forward(self, sequence):
        return super().forward(sequence).cpu()


@answers.wrong("input-changed")
class AddsTheOrderInPlace(CreatesOnTheDeviceOfTheInput):
    def create(self, sequence):
        state, order = super().create(sequence)
        sequence += order.reshape(-1, 1) / len(order)
        return state, torch.zeros_like(order)


@answers.wrong("different-scores")
class ContinuesFromTheLastCall(CreatesOnTheDeviceOfTheInput):
    state = torch.zeros(0)

    def create(self, sequence):
        state, order = super().create(sequence)
        return self.state if self.state.shape == state.shape else state, order

    def forward(self, sequence):
        self.state = super().forward(sequence).detach()
        return self.state


test_answers = answers.make_test()
