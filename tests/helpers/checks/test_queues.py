"""A device that runs in the background and simulates a GPU in checks of synchronization."""

import pytest
import torch

import simulated_cuda
from helpers.checks.queues import AsyncDevice, no_gpu_to_synchronize, simulated_gpu


@pytest.fixture(autouse=True)
def gpu():
    with simulated_cuda.simulated(devices=1):
        yield


def test_launch_returns_before_the_work_is_done():
    device = AsyncDevice()
    device.launch(50)
    assert device.clock.seconds < 1
    assert not device.is_done()


@pytest.mark.parametrize(
    "wait",
    [
        lambda: torch.cuda.synchronize(),
        lambda: torch.cuda.synchronize("cuda:0"),
        lambda: torch.accelerator.synchronize(),
        lambda: torch.cuda.current_stream().synchronize(),
        lambda: torch.cuda.current_stream().record_event().synchronize(),
    ],
    ids=["cuda", "cuda:0", "accelerator", "stream", "event"],
)
def test_every_synchronization_waits_for_the_device(wait):
    device = AsyncDevice()
    with simulated_gpu(device):
        device.launch(50)
        device.launch(30)
        wait()
    assert device.clock.seconds == pytest.approx(80, abs=0.01)
    assert device.durations == [50, 30]
    assert device.is_done()


def test_work_continues_while_python_computes():
    device = AsyncDevice()
    device.launch(50)
    device.clock.compute(20)
    device.wait()
    assert device.clock.seconds == pytest.approx(50, abs=0.01)


@pytest.mark.parametrize("event", [lambda: torch.cuda.Event(), lambda: torch.Event("cuda")])
def test_events_measure_the_work_between_them(event):
    device = AsyncDevice()
    with simulated_gpu(device):
        start, end = event(), event()
        device.launch(50)
        start.record()
        device.launch(30)
        end.record()
        end.synchronize()
        assert start.elapsed_time(end) == pytest.approx(30_000, abs=1)


def test_unfinished_event_has_no_elapsed_time():
    device = AsyncDevice()
    with simulated_gpu(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        device.launch(50)
        end.record()
        with pytest.raises(RuntimeError, match="not ready"):
            start.elapsed_time(end)


def test_repeated_queries_take_time():
    device = AsyncDevice()
    with simulated_gpu(device):
        device.launch(0.1)
        while not torch.cuda.current_stream().query():
            assert device.clock.seconds < 0.2
    assert device.was_queried


def test_torch_functions_are_restored():
    before = torch.cuda.synchronize, torch.accelerator.synchronize, torch.cuda.Event, torch.Event
    with simulated_gpu(AsyncDevice()):
        assert torch.cuda.synchronize is not before[0]
    after = torch.cuda.synchronize, torch.accelerator.synchronize, torch.cuda.Event, torch.Event
    assert after == before


def test_synchronization_fails_without_a_gpu():
    with no_gpu_to_synchronize(), pytest.raises(RuntimeError, match="no GPU"):
        torch.accelerator.synchronize()
