"""Answers to lab 01, exercise 1: `move_all`."""

import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_1)


@answers.right
def with_map(tensors, device):
    return list(map(torch.Tensor.to, tensors, [device] * len(tensors)))


@answers.right
def on_a_copy_of_the_list(tensors, device):
    moved = tensors.copy()
    for i, tensor in enumerate(moved):
        if tensor.device != torch.device(device):
            moved[i] = tensor.to(device)
    return moved


@answers.wrong("result-dropped")
def drops_the_result_of_to(tensors, device):
    for tensor in tensors:
        tensor.to(device)
    return list(tensors)


@answers.wrong("result-dropped")
def always_moves_to_the_gpu(tensors, device):
    return [tensor.cuda() for tensor in tensors]


@answers.wrong("input-changed")
def modifies_the_callers_list(tensors, device):
    for i in range(len(tensors)):
        tensors[i] = tensors[i].to(device)
    return tensors


@answers.wrong("not-a-list")
def skips_the_last_tensor(tensors, device):
    return [tensors[i].to(device) for i in range(len(tensors) - 1)]


@answers.wrong("dtype-changed")
def takes_the_dtype_of_another_tensor(tensors, device):
    like = torch.zeros(1, device=device)
    return [tensor.to(like) for tensor in tensors]


@answers.wrong("needless-copy")
def copies_tensors_already_on_the_device(tensors, device):
    return [tensor.to(device, copy=True) for tensor in tensors]


@answers.wrong("wrong-numbers")
def fills_every_tensor_with_a_number(tensors, device):
    return [torch.full_like(tensor, 3, device=device) for tensor in tensors]


@answers.wrong("not-written")
def leaves_the_stub(tensors, device):
    raise NotImplementedError("exercise 1: write move_all")


test_answers = answers.make_test()
