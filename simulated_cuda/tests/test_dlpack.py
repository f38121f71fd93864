"""Simulated GPU tensors have no DLPack capsules, but PyTorch itself can exchange them."""

import numpy as np
import pytest
import torch
from torch.utils import dlpack


@pytest.mark.parametrize(
    "export",
    [
        lambda x: dlpack.to_dlpack(x),
        lambda x: torch.to_dlpack(x),
        lambda x: torch._C._to_dlpack(x),
        lambda x: torch._C._to_dlpack_versioned(x),
        lambda x: x.__dlpack__(),
        lambda x: np.from_dlpack(x),
    ],
)
def test_capsule_of_gpu_tensor_is_refused(gpu, export):
    with pytest.raises(BufferError, match=r"^Not simulated: a DLPack capsule .* cuda:0\."):
        export(torch.ones(2, device=gpu))


def test_from_dlpack_shares_memory_of_gpu_tensor(gpu):
    x = torch.zeros(2, device=gpu)
    y = torch.from_dlpack(x)
    y += 1
    assert (y.device, x.tolist()) == (gpu, [1, 1])
    assert torch.from_dlpack(x, device="cpu").device.type == "cpu"
    copy = dlpack.from_dlpack(x, copy=True)
    copy += 1
    assert (copy.device, x.tolist()) == (gpu, [1, 1])


def test_other_library_and_cpu_tensors_are_exchanged(gpu):
    assert torch.from_dlpack(np.ones(2)).device.type == "cpu"
    assert np.from_dlpack(torch.ones(2)).tolist() == [1, 1]
    assert torch.from_dlpack(dlpack.to_dlpack(torch.ones(2))).tolist() == [1, 1]
