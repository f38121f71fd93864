"""Fixtures that turn the simulated GPU on for one test."""

import pytest
import torch

import simulated_cuda


@pytest.fixture
def gpu():
    """One simulated GPU for one test."""
    with simulated_cuda.simulated():
        yield torch.device("cuda", 0)
    torch.set_default_device(None)


@pytest.fixture
def two_gpus():
    """Two simulated GPUs for one test."""
    with simulated_cuda.simulated(devices=2):
        yield
    torch.set_default_device(None)


@pytest.fixture
def simulation_off():
    """Turn the simulated GPU off, for tests that turn it on themselves."""
    simulated_cuda.disable()
    yield
    simulated_cuda.disable()
    torch.set_default_device(None)
