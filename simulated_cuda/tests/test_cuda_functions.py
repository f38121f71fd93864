"""Functions and classes of `torch.cuda` and related namespaces."""

import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from simulated_cuda.messages import NotSimulatedError


def test_stream_context_selects_stream_and_device(two_gpus):
    stream = torch.cuda.Stream(device=1)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_each_thread_has_its_own_current_stream(gpu):
    streams = []
    with torch.cuda.stream(torch.cuda.Stream()):
        current = torch.cuda.current_stream()
        thread = threading.Thread(target=lambda: streams.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert streams == [torch.cuda.default_stream()]
    assert current is not streams[0]


def test_generic_streams_and_events_work_and_events_measure_time(two_gpus):
    assert torch.Stream(device="cuda:1").device == torch.device("cuda:1")
    assert isinstance(torch.cuda.Stream(), torch.Stream)
    assert torch.cuda.Stream.priority_range() == (0, -3)
    torch.Event("cuda", enable_timing=True).record()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    end.record()
    assert begin.elapsed_time(end) >= 0


def test_storage_is_created_on_and_moved_to_gpu(gpu):
    storage = torch.UntypedStorage(8, device="cuda")
    assert storage.device == gpu and storage.is_cuda
    assert torch.cuda.memory_allocated() == 512
    moved = torch.ones(2).untyped_storage().cuda()
    assert moved.device == gpu
    assert torch.empty(0, device=gpu).set_(moved, 0, (8,), (1,)).device == gpu
    assert moved.cpu().device.type == "cpu"


def test_cuda_default_tensor_type_creates_tensors_on_gpu(gpu):
    torch.set_default_tensor_type(torch.cuda.DoubleTensor)
    try:
        x = torch.ones(2)
        assert (x.device, x.dtype) == (gpu, torch.float64)
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    y = torch.ones(2)
    assert (y.device.type, y.dtype) == ("cpu", torch.float32)


def test_device_properties_have_their_attributes(gpu):
    names = (
        "name major total_memory multi_processor_count warp_size clock_rate memory_clock_rate uuid "
        "memory_bus_width L2_cache_size pci_bus_id is_integrated shared_memory_per_block "
        "shared_memory_per_multiprocessor"
    )
    properties = torch.cuda.get_device_properties(0)
    assert [name for name in names.split() if not hasattr(properties, name)] == []


@pytest.mark.parametrize("function", ["device_count", "memory_allocated", "synchronize"])
def test_functions_can_be_pickled(gpu, function):
    attribute = getattr(torch.cuda, function)
    assert pickle.loads(pickle.dumps(attribute)) is attribute


def test_profiler_records_cpu_activity_only(gpu):
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with pytest.warns(UserWarning, match="simulated and has no kernels to record"):
        profiler = profile(activities=activities)
        profiler.start()
    torch.ones(2, device=gpu) + 1
    profiler.stop()
    assert "aten::add" in [event.key for event in profiler.key_averages()]
    with pytest.raises(NotSimulatedError, match=r"Add ProfilerActivity\.CPU"):
        profile(activities=[ProfilerActivity.CUDA]).start()
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()


def test_ctc_loss_accepts_lengths_on_cpu(gpu):
    scores = torch.arange(60.0).view(6, 2, 5).sin().log_softmax(2)
    targets = torch.tensor([[1, 2], [3, 4]])
    lengths = torch.tensor([6, 6]), torch.tensor([2, 2])
    expected = F.ctc_loss(scores, targets, *lengths)
    loss = F.ctc_loss(scores.to(gpu), targets.to(gpu), *lengths)
    assert loss.is_cuda and loss.item() == expected.item()
    assert F.ctc_loss(scores.to(gpu), targets, *(x.to(gpu) for x in lengths)).is_cuda


def test_unknown_sync_debug_mode_is_refused(gpu):
    for value, expected in ((3, "0,1,2"), ("loud", "`default`, `warn`, `error`")):
        message = f"invalid value of debug_mode, expected one of {expected}"
        with pytest.raises(RuntimeError, match=message):
            torch.cuda.set_sync_debug_mode(value)
