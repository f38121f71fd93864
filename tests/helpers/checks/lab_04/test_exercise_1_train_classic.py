"""Answers to lab 04, exercise 1: `train_classic`."""

import copy

import torch
from torch import nn, optim

from helpers.checks import lab_04
from tests.helpers.checks.answers import Answers

answers = Answers(lab_04.exercise_1)


def train(net, batches, device, back=None, lr=0.01):
    optimizer = optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for inputs, targets in batches:
        optimizer.zero_grad()
        outputs = net(inputs.to(device)).to(back or device)
        nn.CrossEntropyLoss()(outputs, targets.to(back or device)).backward()
        optimizer.step()
    return net


def gpu_or_cpu():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@answers.right
def with_the_three_edits(net, batches):
    return train(net.to(gpu_or_cpu()), batches, gpu_or_cpu())


@answers.right
def with_an_if_statement_and_batches_moved_first(net, batches):
    if torch.cuda.device_count() == 0:
        return train(net, batches, "cpu")
    batches = [(inputs.cuda(), targets.cuda()) for inputs, targets in batches]
    return train(net.cuda(), batches, "cuda:0")


@answers.wrong("not-the-network")
def returns_the_weights(net, batches):
    return with_the_three_edits(net, batches).state_dict()


@answers.wrong("not-the-network")
def returns_a_wrapper(net, batches):
    return nn.DataParallel(with_the_three_edits(net, batches))


@answers.wrong("different-training")
def trains_in_float64(net, batches):
    return with_the_three_edits(net.double(), [(images.double(), y) for images, y in batches])


@answers.wrong("on-the-cpu")
def leaves_the_script_unchanged(net, batches):
    return train(net, batches, "cpu")


@answers.wrong("on-the-cpu")
def moves_at_the_end(net, batches):
    return train(net, batches, "cpu").to(gpu_or_cpu())


@answers.wrong("needs-a-gpu")
def hard_codes_cuda(net, batches):
    return train(net.to("cuda"), batches, "cuda")


@answers.wrong("needs-a-gpu")
def uses_a_second_gpu(net, batches):
    device = "cuda:1" if torch.cuda.is_available() else "cpu"
    return train(net.to(device), batches, device)


@answers.wrong("copied-back")
def compares_on_the_cpu(net, batches):
    return train(net.to(gpu_or_cpu()), batches, gpu_or_cpu(), back="cpu")


@answers.wrong("different-training")
def trains_a_copy(net, batches):
    return with_the_three_edits(copy.deepcopy(net), batches)


@answers.wrong("evaluation-mode")
def trains_in_evaluation_mode(net, batches):
    return with_the_three_edits(net.eval(), batches)


test_answers = answers.make_test()
