"""Answers to lab 03, exercise 1: `find_devices`."""

import torch

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers

answers = Answers(lab_03.exercise_1)


@answers.right
def with_comprehensions(net, optimizer):
    state_values = [value for entry in optimizer.state.values() for value in entry.values()]
    return {
        "parameters": {parameter.device for parameter in net.parameters()},
        "buffers": {buffer.device for buffer in net.buffers()},
        "state": {value.device for value in state_values if isinstance(value, torch.Tensor)},
    }


@answers.right
def by_state_dicts(net, optimizer):
    learned = {name for name, _ in net.named_parameters()}
    net_state = net.state_dict()
    state_values = optimizer.state_dict()["state"].values()
    values = [value for entry in state_values for value in entry.values()]
    return {
        "parameters": frozenset(net_state[name].device for name in learned),
        "buffers": frozenset(net_state[name].device for name in net_state if name not in learned),
        "state": frozenset(value.device for value in values if hasattr(value, "device")),
    }


@answers.wrong("missing")
def checks_only_the_first_parameter(net, optimizer):
    return {**with_comprehensions(net, optimizer), "parameters": {next(net.parameters()).device}}


@answers.wrong("missing")
def forgets_the_buffers(net, optimizer):
    return {**with_comprehensions(net, optimizer), "buffers": set()}


@answers.wrong("missing")
def checks_only_weights(net, optimizer):
    devices = {module.weight.device for module in net.modules() if hasattr(module, "weight")}
    return {**with_comprehensions(net, optimizer), "parameters": devices}


@answers.wrong("missing")
def checks_only_the_running_statistics(net, optimizer):
    devices = {buffer.device for name, buffer in net.named_buffers() if "running" in name}
    return {**with_comprehensions(net, optimizer), "buffers": devices}


@answers.wrong("missing")
def checks_only_one_value_per_parameter(net, optimizer):
    devices = {next(iter(entry.values())).device for entry in optimizer.state.values()}
    return {**with_comprehensions(net, optimizer), "state": devices}


@answers.wrong("too-many")
def adds_the_cpu_to_the_buffers(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    everywhere = {torch.device("cpu"), *devices["parameters"], *devices["buffers"]}
    return {**devices, "buffers": everywhere}


@answers.wrong("not-three-sets")
def returns_names(net, optimizer):
    return {key: {*map(str, value)} for key, value in with_comprehensions(net, optimizer).items()}


@answers.wrong("not-three-sets")
def returns_lists(net, optimizer):
    devices = with_comprehensions(net, optimizer)
    return {kind: list(group) for kind, group in devices.items()}


test_answers = answers.make_test()
