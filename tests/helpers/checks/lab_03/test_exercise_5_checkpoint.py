"""Answers to lab 03, exercise 5: `save_checkpoint` and `load_checkpoint`."""

import torch

from helpers.checks import lab_03
from tests.helpers.checks.answers import Answers


def save(path, net, optimizer, epoch):
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(state, path)


def load(path, net, optimizer):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


# A function of four arguments saves, the others load.
answers = Answers(
    lab_03.exercise_5,
    arguments=lambda f: (f, load) if f.__code__.co_argcount == 4 else (save, f),
)
answers.right(load)


@answers.right
def to_the_networks_device(path, net, optimizer):
    state = torch.load(path, map_location=next(net.parameters()).device)
    optimizer.load_state_dict(state["optimizer"])
    net.load_state_dict(state["net"])
    return state["epoch"]


@answers.wrong("whole-objects")
def saves_whole_objects(path, net, optimizer, epoch):
    torch.save({"net": net, "optimizer": optimizer, "epoch": epoch}, path)


@answers.wrong("mode-not-restored")
def switches_to_evaluation_mode_to_save(path, net, optimizer, epoch):
    save(path, net.eval(), optimizer, epoch)


@answers.wrong("net-moved")
def saves_from_the_cpu(path, net, optimizer, epoch):
    save(path, net.cpu(), optimizer, epoch)


@answers.wrong("net-not-restored")
def saves_the_parameters_only(path, net, optimizer, epoch):
    state = {"net": dict(net.named_parameters()), "optimizer": optimizer.state_dict()}
    torch.save(state | {"epoch": epoch}, path)


@answers.wrong("needs-its-gpu")
def omits_map_location(path, net, optimizer):
    state = torch.load(path)
    net.load_state_dict(state["net"])


@answers.wrong("net-not-restored")
def reads_the_epoch_only(path, net, optimizer):
    return torch.load(path, map_location="cpu")["epoch"]


@answers.wrong("optimizer-not-restored")
def keeps_the_learning_rates_of_the_new_optimizer(path, net, optimizer):
    rates = [group["lr"] for group in optimizer.param_groups]
    epoch = load(path, net, optimizer)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    return epoch


@answers.wrong("state-not-moved")
def moves_the_state_to_the_cpu(path, net, optimizer):
    epoch = load(path, net, optimizer)
    for entry in optimizer.state.values():
        entry |= {key: value.cpu() for key, value in entry.items()}
    return epoch


@answers.wrong("wrong-epoch")
def returns_nothing(path, net, optimizer):
    load(path, net, optimizer)


test_answers = answers.make_test()
