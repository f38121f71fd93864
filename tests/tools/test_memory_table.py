"""The bytes that `predict_memory` computes from shapes equal those that the allocator counts."""

import pytest

import simulated_cuda
from tools.memory_table import CASES, OPTIMIZERS, measure_memory, predict_memory


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with simulated_cuda.simulated(every_allocation=True, over_real=True):
        yield


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", CASES)
def test_predicted_bytes_equal_measured_bytes(name, optimizer):
    make_optimizer, states = OPTIMIZERS[optimizer]
    assert measure_memory(CASES[name], make_optimizer) == predict_memory(CASES[name], states)
