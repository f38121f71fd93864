"""Every device error of torch is recognized, and no other error is mistaken for one."""

import pytest
import torch

from helpers.explain import explain
from helpers.explain.diagnosis import recognize

# Messages that the record of CUDA's behavior does not have.
MIXED_DEVICES = [
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
    "cpu!",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or "
    "input should be a MKLDNN tensor and weight is a dense tensor",
    "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
    "Expected tensor to have cuda:0 Device, but got tensor with cpu Device",
    "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'.",
    "Tensor on device cpu is not on the expected device meta!",
    "Placeholder storage has not been allocated on MPS device!",
    "Tensor for argument #2 'mat1' is on CPU, but expected it to be on GPU",
]
OTHER_DEVICE_ERRORS = {
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of": "memory",
    "CUDA error: out of memory": "memory",
    "MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB).": "memory",
    "Torch not compiled with CUDA enabled": "no-gpu",
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU": "no-gpu",
    "No CUDA GPUs are available": "no-gpu",
    "PyTorch is not linked with support for mps devices": "no-gpu",
    "CUDA error: invalid device ordinal\nGPU device may be out of range": "ordinal",
    "Invalid device, must be cuda device": "name",
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing,": "fork",
    "CUDA error: device-side assert triggered\nCUDA kernel errors might be": "assert",
    "CUDA error: an illegal memory access was encountered": "cuda",
}
TENSORS = "x = torch.ones(3, device=device)\ny = torch.ones(3)\nnet = nn.Linear(3, 2)\n"
OTHER_ERRORS = [
    "torch.ones(2, 3) @ torch.ones(2, 3)",
    "torch.ones(3, device=device) + torch.ones(4, device=device)",
    "undefined.to(device)",
    TENSORS + "print(x, y, undefined)",
    TENSORS + "net.load_state_dict({'weight': x, 'other': y})",
    TENSORS + "net(torch.ones(1, 3, dtype=torch.float64)), x, y",
    TENSORS + "opt = torch.optim.SGD(net.parameters(), lr=1)\n(x, y, opt.device)",
    TENSORS + "open(f'/no/such/folder/{x.device}/{y.device}')",
    TENSORS + "if x.device != y.device:\n    raise ValueError(f'x is on {x.device}, y is on cpu')",
    TENSORS + "from helpers.devices import choose_device\n(x, y, choose_device('cuda:99'))",
]


@pytest.mark.parametrize("text", MIXED_DEVICES)
def test_mixed_devices_are_recognized(text):
    assert recognize(RuntimeError(text))[0].name == "mix"


@pytest.mark.parametrize(("text", "kind"), OTHER_DEVICE_ERRORS.items())
def test_kinds_of_other_device_errors_are_recognized(text, kind):
    assert recognize(RuntimeError(text))[0].name == kind


@pytest.mark.parametrize("code", OTHER_ERRORS)
def test_error_about_something_else_has_no_box_even_near_two_devices(student, code):
    assert student.explain(code) is None


def test_devices_and_different_dtypes_are_read_from_the_text():
    assert recognize(RuntimeError(MIXED_DEVICES[0]))[1] == ("cuda:0", "cpu")
    text = MIXED_DEVICES[1].replace("cuda.Float", "cuda.Half")
    assert recognize(RuntimeError(text))[2]


def test_out_of_memory_is_recognized_by_its_type_and_an_interrupt_is_not():
    assert recognize(torch.OutOfMemoryError("no room"))[0].name == "memory"
    assert recognize(KeyboardInterrupt("CUDA error: out of memory")) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "Expected all tensors to be on the same device, but got target is on cpu, different "
            "from other tensors on cuda:0 (when checking argument in method "
            "wrapper_CUDA_nll_loss_forward)",
            ("target", "is on cpu: it is the labels"),
        ),
        (
            "Expected all tensors to be on the same device, but found at least two devices, cpu "
            "and cuda:0! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)",
            ("mat1", "is on cuda:0: it is the input of a linear layer"),
        ),
        (
            "Expected all tensors to be on the same device, but got other is on cpu, different "
            "from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_op)",
            ("other", "is on cpu: it is an argument of op"),
        ),
    ],
)
def test_pasted_message_is_explained_by_its_argument(text, place):
    assert explain(RuntimeError(text)).places == (place,)
