"""Answers to lab 01, exercise 6: `to_numpy`."""

import numpy as np
import torch

from helpers.checks import lab_01
from tests.helpers.checks.answers import Answers

answers = Answers(lab_01.exercise_6)


@answers.right
def copies_at_the_end(X):
    return X.detach().cpu().numpy().copy()


@answers.right
def copies_with_force(X):
    return X.numpy(force=True).copy()


@answers.right
def clones_without_gradients(X):
    with torch.no_grad():
        return X.clone().cpu().numpy()


@answers.wrong("device-error")
def calls_numpy_directly(X):
    return X.numpy().copy()


@answers.wrong("raised")
def forgets_detach(X):
    return X.cpu().numpy().copy()


@answers.wrong("shared-memory")
def shares_the_memory(X):
    return X.detach().cpu().numpy()


@answers.wrong("tensor-changed")
def detaches_in_place(X):
    return X.detach_().cpu().numpy().copy()


@answers.wrong("not-an-array")
def returns_a_cpu_tensor(X):
    return X.detach().cpu().clone()


@answers.wrong("wrong-numbers")
def returns_another_dtype(X):
    return np.array(X.tolist(), dtype=np.float16)


test_answers = answers.make_test()
