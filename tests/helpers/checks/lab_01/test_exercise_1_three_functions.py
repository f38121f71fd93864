"""Answers to lab 01, exercise 1: `move_all`, `add_ramp` and `to_numpy`."""

import inspect

import numpy as np
import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers


def right_move_all(tensors, device):
    return [tensor.to(device) for tensor in tensors]


def right_add_ramp(X):
    return X + torch.arange(X.shape[1], dtype=X.dtype, device=X.device)


def right_to_numpy(tensor):
    return tensor.detach().cpu().clone().numpy()


def with_right_ones(answer):
    """Return the three functions; the name of its first parameter says which one the answer is."""
    three = {"tensors": right_move_all, "X": right_add_ramp, "tensor": right_to_numpy}
    return (three | {next(iter(inspect.signature(answer).parameters)): answer}).values()


answers = Answers(lab_01.exercise_1, with_right_ones)


@answers.right
def with_map(tensors, device):
    return list(map(torch.Tensor.to, tensors, [device] * len(tensors)))


@answers.wrong("result-elsewhere")
def drops_the_result_of_to(tensors, device):
    for tensor in tensors:
        tensor.to(device)
    return list(tensors)


@answers.wrong("result-elsewhere")
def always_moves_to_the_gpu(tensors, device):
    return [tensor.cuda() for tensor in tensors]


@answers.wrong("input-changed")
def modifies_the_callers_list(tensors, device):
    for i in range(len(tensors)):
        tensors[i] = tensors[i].to(device)
    return tensors


@answers.wrong("wrong-type")
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


@answers.right
def with_a_device_context(X):
    with torch.device(X.device):
        return X + torch.arange(X.size(-1))


@answers.wrong("device-error")
def hard_codes_the_first_gpu(X):
    return X + torch.arange(X.shape[1], device="cuda:0")


@answers.wrong("copied")
def creates_on_the_cpu_and_moves(X):
    return X + torch.arange(X.shape[1]).to(X.device)


@answers.wrong("copied")
def copies_a_list(X):
    return X + X.new_tensor([*range(X.shape[1])])


@answers.wrong("wrong-ramp")
def starts_with_one(X):
    return X + torch.arange(1, X.shape[1] + 1, device=X.device)


@answers.wrong("wrong-shape")
def transposes_the_input(X):
    return X.t() + torch.arange(X.shape[0], device=X.device)


@answers.wrong("dtype-changed")
def creates_a_float32_ramp(X):
    return X + torch.arange(X.shape[1], dtype=torch.float32, device=X.device)


@answers.right
def copies_at_the_end(tensor):
    return tensor.detach().cpu().numpy().copy()


@answers.right
def clones_without_gradients(tensor):
    with torch.no_grad():
        return tensor.clone().cpu().numpy()


@answers.wrong("device-error")
def calls_numpy_directly(tensor):
    return tensor.numpy().copy()


@answers.wrong("raised")
def forgets_detach(tensor):
    return tensor.cpu().numpy().copy()


@answers.wrong("shared-memory")
def shares_the_memory(tensor):
    return tensor.detach().cpu().numpy()


@answers.wrong("input-changed")
def detaches_in_place(tensor):
    return tensor.detach_().cpu().numpy().copy()


@answers.wrong("wrong-type")
def returns_a_cpu_tensor(tensor):
    return tensor.detach().cpu().clone()


@answers.wrong("dtype-changed")
def returns_another_dtype(tensor):
    return np.array(tensor.tolist(), dtype=np.float16)


test_answers = answers.make_test()
