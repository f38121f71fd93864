"""Answers to lab 03, exercise 2: `move_both`."""

import copy

import torch

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers

answers = Answers(lab_03.exercise_2)


@answers.right
def reloads_its_own_state(net, optimizer, device):
    net.to(device)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.right
def moves_all_but_the_counters(net, optimizer, device):
    for parameter in net.parameters():
        parameter.data = parameter.data.to(device)
    for buffer in net.buffers():
        buffer.data = buffer.data.to(device)
    for parameter, entry in optimizer.state.items():
        for key in entry.keys() - {"step"}:
            entry[key] = entry[key].to(parameter.device)


@answers.wrong("state-not-moved")
def moves_the_network_only(net, optimizer, device):
    net.to(device)


@answers.wrong("state-lost")
def discards_the_optimizer_state(net, optimizer, device):
    net.to(device)
    optimizer.state.clear()


@answers.wrong("numbers-changed")
def fills_the_state_with_zeros(net, optimizer, device):
    net.to(device)
    for entry in optimizer.state.values():
        for key, value in entry.items():
            entry[key] = torch.zeros_like(value, device=device)


@answers.wrong("net-not-moved")
def moves_a_copy(net, optimizer, device):
    net = copy.deepcopy(net).to(device)
    optimizer.load_state_dict(optimizer.state_dict())


@answers.wrong("numbers-changed")
def resets_the_weights(net, optimizer, device):
    net.to(device)
    net[0].reset_parameters()
    optimizer.load_state_dict(optimizer.state_dict())


test_answers = answers.make_test()
