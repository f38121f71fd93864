"""The lists of operators match the torch version that they name."""

import pytest
import torch

from simulated_cuda.operator_lists import TORCH
from tools import operator_lists


def test_committed_lists_equal_generated_lists():
    if not torch.__version__.startswith(f"{TORCH}."):
        pytest.skip(f"the lists are for torch {TORCH}")
    assert operator_lists.TARGET.read_text() == operator_lists.generate_module()


def test_element_wise_and_structured_operations_are_found():
    text = """
- func: add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  device_check: NoCheck   # TensorIterator
  structured_delegate: add.out
- func: mm(Tensor self, Tensor mat2) -> Tensor
  structured_delegate: mm.out
- func: view(Tensor(a) self, int[] size) -> Tensor(a)
  device_check: NoCheck
"""
    assert operator_lists.parse_operators(text) == (["add"], ["add", "mm"])
