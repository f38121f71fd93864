"""`visible_devices` changes the number of CUDA devices inside a block."""

import pytest
import torch

import simulated_cuda
from simulated_cuda import visible_devices


def visible() -> tuple[bool, int]:
    assert torch.cuda.is_available() == torch.accelerator.is_available()
    assert torch.cuda.device_count() == torch.accelerator.device_count()
    return torch.cuda.is_available(), torch.cuda.device_count()


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_exactly_this_number_of_simulated_devices_is_visible(two_gpus, count):
    with visible_devices(count):
        assert visible() == (count > 0, count)
        assert (torch.accelerator.current_accelerator() is None) == (count == 0)
        for index in range(count):
            assert torch.rand(1, device=f"cuda:{index}").get_device() == index
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            torch.ones(1, device=f"cuda:{count}")
    assert visible() == (True, 2)


def test_tensors_stay_on_a_hidden_device(two_gpus):
    x = torch.ones(2, device="cuda:1")
    torch.cuda.set_device(1)
    with visible_devices(1):
        assert (x + torch.rand_like(x)).device == torch.device("cuda:1")
        assert torch.ones(1, device="cuda").device == torch.device("cuda:0")
    assert x.device == torch.device("cuda:1")
    assert torch.cuda.current_device() == 1
    assert torch.cuda.memory_allocated(1) == 512


def test_blocks_can_be_nested_and_restore_the_number_after_an_error(two_gpus):
    with visible_devices(0), pytest.raises(ZeroDivisionError), visible_devices(3):
        assert visible() == (True, 3)
        _ = 1 / 0
    assert visible() == (True, 2)


@pytest.mark.parametrize("count", [0, 3])
def test_devices_are_simulated_if_no_simulation_is_active(simulation_off, count):
    before = visible()
    with visible_devices(count):
        assert visible() == (count > 0, count)
    assert not simulated_cuda.is_enabled()
    assert visible() == before


def test_real_devices_are_used_if_there_are_exactly_as_many(simulation_off, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with visible_devices(2):
        assert not simulated_cuda.is_enabled()
