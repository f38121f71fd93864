"""The device that works in the background and replaces a GPU in checks of who waits for it."""

from time import perf_counter

import pytest
import torch

import simulated_cuda
from helpers.checks.queues import Device, nothing_to_wait_for, replaces_the_gpu

WORK = 0.05


@pytest.fixture(autouse=True)
def gpu():
    with simulated_cuda.simulated(devices=1):
        yield


def test_launch_returns_before_the_work_is_done():
    with Device() as device:
        began = perf_counter()
        device.launch(WORK)
        assert perf_counter() - began < WORK


@pytest.mark.parametrize(
    "wait",
    [
        lambda: torch.cuda.synchronize(),
        lambda: torch.cuda.synchronize("cuda:0"),
        lambda: torch.accelerator.synchronize(),
        lambda: torch.cuda.current_stream().synchronize(),
    ],
    ids=["cuda", "cuda:0", "accelerator", "stream"],
)
def test_every_synchronization_waits_for_the_device(wait):
    with Device() as device, replaces_the_gpu(device):
        began = perf_counter()
        device.launch(WORK)
        wait()
        assert perf_counter() - began >= WORK
        assert len(device.took) == 1


def test_events_measure_the_work_between_them():
    with Device() as device, replaces_the_gpu(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        device.launch(WORK)
        start.record()
        device.launch(WORK)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) >= 1000 * WORK
        assert start.elapsed_time(end) == pytest.approx(1000 * device.took[1], rel=0.2, abs=200)


def test_unfinished_event_has_no_time():
    with Device() as device, replaces_the_gpu(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        device.launch(WORK)
        end.record()
        with pytest.raises(RuntimeError, match="not ready"):
            start.elapsed_time(end)


def test_end_of_the_block_does_not_wait_for_the_work():
    began = perf_counter()
    with Device() as device:
        device.launch(60)
    assert perf_counter() - began < 30


def test_torch_functions_are_restored():
    before = torch.cuda.synchronize, torch.accelerator.synchronize, torch.cuda.Event
    with Device() as device, replaces_the_gpu(device):
        assert torch.cuda.synchronize is not before[0]
    assert (torch.cuda.synchronize, torch.accelerator.synchronize, torch.cuda.Event) == before


def test_waiting_fails_without_a_gpu():
    with nothing_to_wait_for(), pytest.raises(RuntimeError, match="no GPU"):
        torch.accelerator.synchronize()
