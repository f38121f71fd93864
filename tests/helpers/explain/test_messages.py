"""Every device error of torch is recognized, and no other error is mistaken for one."""

import pytest
import torch

from helpers.explain.messages import recognize, recognize_unknown
from simulated_cuda.tests.recorded_cases import all_cases, load

MIXED_DEVICES = [
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
    "cpu!",
    "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other "
    "tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or "
    "input should be a MKLDNN tensor and weight is a dense tensor",
    "Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the same",
    "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
    "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden "
    "tensor at cpu",
    "Expected tensor to have cuda:0 Device, but got tensor with cpu Device (while checking "
    "arguments for take_along_dim())",
    "grid_sampler(): expected input and grid to be on same device, but input is on cuda:0 and grid "
    "is on cpu",
    "invalid gradient at index 0 - expected device cuda:0 but got cpu",
    "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. "
    "Please ensure that the gradient and the tensor are on the same device",
    "Tensor on device cpu is not on the expected device meta!",
    "Placeholder storage has not been allocated on MPS device!",
    "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking "
    "arguments for addmm)",
]
OTHER_DEVICE_ERRORS = {
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first.": "numpy",
    "Expected a 'cuda' device type for generator but found 'cpu'": "generator",
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with map_location": "load",
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.75 GiB of "
    "which 1.06 GiB is free.": "memory",
    "CUDA error: out of memory": "memory",
    "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB).": "memory",
    "Torch not compiled with CUDA enabled": "no-gpu",
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU": "no-gpu",
    "No CUDA GPUs are available": "no-gpu",
    "PyTorch is not linked with support for mps devices": "no-gpu",
    "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
    "\nDevice-side assertion tracking was not enabled by user.": "ordinal",
    "Expected one of cpu, cuda, ipu, xpu device type at start of device string: gpu": "name",
    "Invalid device string: 'cuda:x'": "name",
    "Invalid device, must be cuda device": "name",
    "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned": "pin",
    "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor": (
        "must-be-cpu"
    ),
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
    "use the 'spawn' start method": "fork",
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously "
    "reported at some other API call": "assert",
    "CUDA error: an illegal memory access was encountered": "cuda",
}
NOT_DEVICE_ERRORS = [
    "mat1 and mat2 shapes cannot be multiplied (4x3 and 2x3)",
    "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    "Expected input batch_size (3) to match target batch_size (4).",
    "expected scalar type Float but found Double",
    "Input type (double) and bias type (float) should be the same",
    "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the "
    "same",
    "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
    "Int; but got torch.cuda.FloatTensor instead (while checking arguments for embedding)",
    "\"addmm_impl_cpu_\" not implemented for 'Half'",
    "Trying to backward through the graph a second time",
    "name 'device' is not defined",
    "Error(s) in loading state_dict for Linear",
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory",
]


@pytest.mark.parametrize("text", MIXED_DEVICES)
def test_mixed_devices_are_recognized(text):
    assert recognize(RuntimeError(text)).kind.name == "mix"


def recorded_messages():
    """Yield the recorded message of each failing case for every torch version."""
    record = load()
    for case in all_cases():
        for version, entry in record.get(case.name, {}).items():
            if case.outcome == entry.outcome == "raises":
                yield pytest.param(entry.text, id=f"{case.name}, torch {version}")


@pytest.mark.parametrize("text", list(recorded_messages()))
def test_recorded_messages_are_recognized(text):
    error = RuntimeError(text)
    assert recognize(error) or recognize_unknown(error)


@pytest.mark.parametrize(("text", "kind"), OTHER_DEVICE_ERRORS.items())
def test_kinds_of_other_device_errors_are_recognized(text, kind):
    assert recognize(RuntimeError(text)).kind.name == kind


@pytest.mark.parametrize("text", NOT_DEVICE_ERRORS)
def test_errors_about_something_else_are_not_recognized(text):
    assert recognize(RuntimeError(text)) is None


def test_the_devices_are_read_from_the_text():
    assert recognize(RuntimeError(MIXED_DEVICES[0])).devices == ("cuda:0", "cpu")


def test_different_dtypes_are_recognized_along_with_the_devices():
    text = (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same"
    )
    assert recognize(RuntimeError(text)).dtypes_differ


def test_an_interrupt_is_not_a_device_error():
    assert recognize(KeyboardInterrupt("CUDA error: out of memory")) is None


def test_out_of_memory_is_recognized_by_its_type():
    assert recognize(torch.OutOfMemoryError("no room")).kind.name == "memory"
