"""Answers to lab 03, exercise 4: `replace_head`."""

import torch
from torch import nn

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers

answers = Answers(lab_03.exercise_4)


def change_head(net, classes):
    """Replace the head and return the parameters of the old one."""
    old = list(net.head.parameters())
    net.head = nn.Linear(net.head.in_features, classes).to(old[0].device)
    return old


def drop(optimizer, parameters):
    group = optimizer.param_groups[0]
    group["params"] = [p for p in group["params"] if not any(p is old for old in parameters)]
    for parameter in parameters:
        del optimizer.state[parameter]
    return group


@answers.right
def extends_the_group(net, optimizer, classes):
    drop(optimizer, change_head(net, classes))["params"] += net.head.parameters()


@answers.right
def adds_a_group_with_the_same_settings(net, optimizer, classes):
    group = drop(optimizer, change_head(net, classes))
    optimizer.add_param_group({**group, "params": net.head.parameters()})


@answers.right
def builds_the_groups_again(net, optimizer, classes):
    old = change_head(net, classes)
    (settings,) = optimizer.param_groups
    optimizer.param_groups = []
    optimizer.add_param_group({**settings, "params": list(net.parameters())})
    [optimizer.state.pop(parameter) for parameter in old]


@answers.wrong("head-not-trained")
def changes_only_the_network(net, optimizer, classes):
    change_head(net, classes)


@answers.wrong("old-head-kept")
def changes_the_shape_of_the_old_head(net, optimizer, classes):
    for parameter in net.head.parameters():
        parameter.data = torch.ones(classes, *parameter.shape[1:], device=parameter.device)


@answers.wrong("old-head-kept")
def only_adds_the_new_parameters(net, optimizer, classes):
    change_head(net, classes)
    optimizer.param_groups[0]["params"] += net.head.parameters()


@answers.wrong("other-rate")
def adds_a_group_with_the_defaults(net, optimizer, classes):
    drop(optimizer, change_head(net, classes))
    optimizer.add_param_group({"params": net.head.parameters()})


@answers.wrong("state-lost")
def clears_the_state(net, optimizer, classes):
    extends_the_group(net, optimizer, classes)
    optimizer.state.clear()


@answers.wrong("net-not-moved")
def creates_the_head_on_the_cpu(net, optimizer, classes):
    extends_the_group(net, optimizer, classes)
    net.head.cpu()


@answers.wrong("wrong-head")
def replaces_nothing(net, optimizer, classes):
    nn.Linear(4, classes)


@answers.wrong("raised")
def replaces_the_state_by_a_plain_dict(net, optimizer, classes):
    extends_the_group(net, optimizer, classes)
    optimizer.state = dict(optimizer.state)


@answers.wrong("head-not-trained")
def trains_only_the_new_head(net, optimizer, classes):
    group = drop(optimizer, change_head(net, classes))
    group["params"] = list(net.head.parameters())


test_answers = answers.make_test()
