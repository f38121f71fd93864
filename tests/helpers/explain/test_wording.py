"""Every wording of torch's for a device error is known, and no other error is taken for one."""

import pytest
import torch

from helpers.explain.wording import mentions_devices, recognise
from tests.simulated_cuda.record.cases import all_cases
from tests.simulated_cuda.record.record import load

MIXES = [
    # torch 2.14, and with other words in brackets since 1.5
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
    "cpu!",
    "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other "
    "tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
    "Expected all tensors to be on the same device, but found at least two devices, cpu and "
    "cuda:0! (when checking argument for argument mat1 in method wrapper_addmm)",
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
    # torch 1.7
    "Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, but expected them to be "
    "on GPU (while checking arguments for addmm)",
    "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU (while checking "
    "arguments for addmm)",
    # torch 1.3 to 1.5
    "expected device cuda:0 but got device cpu",
    "Expected object of device type cuda but got device type cpu for argument #1 'self' in call to "
    "_th_mm",
    # torch 1.0 to 1.2
    "Expected object of backend CUDA but got backend CPU for argument #2 'mat2'",
    "Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for argument "
    "#2 'weight'",
]
OTHERS = {
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first.": "numpy",
    "can't convert CUDA tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
    "first.": "numpy",
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
    "Invalid device, must be cuda device": "method",
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
NONE = [
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


@pytest.mark.parametrize("text", MIXES)
def test_a_mix_of_devices_is_recognised_in_each_wording(text):
    assert recognise(RuntimeError(text)).kind == "mix"


def recorded_texts():
    """What each failing case of the record said, in every version of torch that was asked."""
    record = load()
    for case in all_cases():
        for version, entry in record.get(case.name, {}).items():
            if case.outcome == entry.outcome == "raises":
                yield pytest.param(entry.text, id=f"{case.name}, torch {version}")


@pytest.mark.parametrize("text", recorded_texts())
def test_what_the_record_says_is_taken_for_a_device_error(text):
    error = RuntimeError(text)
    assert recognise(error) or mentions_devices(error)


@pytest.mark.parametrize(("text", "kind"), OTHERS.items())
def test_the_other_device_errors_are_told_apart(text, kind):
    assert recognise(RuntimeError(text)).kind == kind


@pytest.mark.parametrize("text", NONE)
def test_an_error_about_something_else_is_none(text):
    assert recognise(RuntimeError(text)) is None


def test_the_devices_are_read_from_the_text():
    assert recognise(RuntimeError(MIXES[0])).devices == ("cuda:0", "cpu")


def test_a_difference_of_number_types_is_noticed_beside_the_devices():
    text = (
        "Input type (torch.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same"
    )
    assert recognise(RuntimeError(text)).other_type


def test_an_interrupt_is_no_device_error():
    assert recognise(KeyboardInterrupt("CUDA error: out of memory")) is None


def test_out_of_memory_is_known_by_its_type():
    assert recognise(torch.OutOfMemoryError("no room")).kind == "memory"
