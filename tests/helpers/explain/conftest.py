"""Runs a student's code as a notebook does: its text known to Python under a name of its own."""

import itertools
import linecache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.explain import explain


class StudentCode:
    """Code that fails. `device` is "meta": a device that every machine has beside the CPU."""

    numbers = itertools.count()

    def names(self):
        return {"torch": torch, "nn": nn, "F": F, "np": np, "device": "meta", "__name__": "student"}

    def error_of(self, text, names=None):
        """Run `text`; return what it raised, or None."""
        filename = f"<student's cell {next(self.numbers)}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        try:
            exec(compile(text, filename, "exec"), self.names() if names is None else names)
        except Exception as error:
            return error
        return None

    def explain(self, text, names=None):
        """Return the explanation of the error that `text` ends in."""
        error = self.error_of(text, names)
        assert error is not None, "the code does not fail"
        return explain(error)

    def mend(self, text):
        """Return `text` with the cure put in."""
        explanation = self.explain(text)
        assert explanation is not None, "the error is not explained"
        assert explanation.cure is not None, f"there is no cure in {explanation}"
        return explanation.cure.applied_to(text)


@pytest.fixture
def student():
    return StudentCode()


@pytest.fixture(autouse=True)
def one_thread():
    """The tensors here are tiny: threads cost more than they bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
