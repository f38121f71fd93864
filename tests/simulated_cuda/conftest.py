"""What several of these tests need: the simulator on, and off again whatever a test does."""

import pytest
import torch

import simulated_cuda


@pytest.fixture
def gpu():
    """One simulated device for one test."""
    with simulated_cuda.simulated():
        yield torch.device("cuda", 0)
    torch.set_default_device(None)


@pytest.fixture
def two_gpus():
    """Two simulated devices for one test."""
    with simulated_cuda.simulated(devices=2):
        yield
    torch.set_default_device(None)


@pytest.fixture
def off():
    """For tests that switch the simulator on by themselves."""
    simulated_cuda.disable()
    yield
    simulated_cuda.disable()
    torch.set_default_device(None)
