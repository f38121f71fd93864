"""Checkpoints store the device, and need `map_location` on a machine without CUDA."""

import io
import zipfile

import pytest
import torch
from torch import nn

import simulated_cuda


def save_to_buffer(value, **options) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("zipped", [True, False])
def test_checkpoint_stores_device(gpu, zipped):
    file = save_to_buffer(torch.ones(3, device=gpu), _use_new_zipfile_serialization=zipped)
    content = file.getvalue()
    if zipped:
        with zipfile.ZipFile(file) as archive:
            content = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    assert b"cuda:0" in content


def test_gpu_checkpoint_needs_map_location_without_cuda(simulation_off):
    with simulated_cuda.simulated():
        checkpoint = save_to_buffer(nn.Linear(2, 1).to("cuda").state_dict())
    with pytest.raises(RuntimeError, match=r"^Attempting to deserialize object on a CUDA device"):
        torch.load(checkpoint)
    checkpoint.seek(0)
    state = torch.load(checkpoint, map_location="cpu")
    assert {value.device.type for value in state.values()} == {"cpu"}


def test_cpu_checkpoint_is_identical_with_and_without_simulation(simulation_off):
    def content():
        return save_to_buffer({"w": torch.arange(3.0)}).getvalue()

    before = content()
    with simulated_cuda.simulated():
        assert content() == before


def test_map_location_moves_checkpoint_to_another_gpu(two_gpus):
    file = save_to_buffer(torch.ones(3, device="cuda:0"))
    assert str(torch.load(file, map_location="cuda:1").device) == "cuda:1"
    file.seek(0)
    assert str(torch.load(file, map_location={"cuda:0": "cuda:1"}).device) == "cuda:1"


def test_loaded_tensors_use_device_memory(gpu):
    file = save_to_buffer(torch.ones(1 << 20, device=gpu))
    before = torch.cuda.memory_allocated()
    x = torch.load(file)
    assert torch.cuda.memory_allocated() - before == x.nbytes
