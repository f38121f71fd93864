"""Checkpoints store the device, and need `map_location` on a machine without CUDA."""

import io
import pickle
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


@pytest.fixture
def checkpoint():
    with simulated_cuda.simulated():
        return save_to_buffer(nn.Linear(2, 1).to("cuda").state_dict())


@pytest.mark.parametrize("zipped", [True, False])
def test_checkpoint_stores_device(gpu, zipped):
    file = save_to_buffer(torch.ones(3, device=gpu), _use_new_zipfile_serialization=zipped)
    content = file.getvalue()
    if zipped:
        with zipfile.ZipFile(file) as archive:
            content = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    assert b"cuda:0" in content


def test_gpu_checkpoint_needs_map_location_without_cuda(checkpoint):
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


def test_training_resumes_from_checkpoint_on_gpu(gpu):
    def make():
        torch.manual_seed(0)
        net = nn.Linear(2, 1).to(gpu)
        return net, torch.optim.Adam(net.parameters())

    def step(net, optimizer):
        optimizer.zero_grad()
        net(torch.ones(4, 2, device=gpu)).sum().backward()
        optimizer.step()

    net, optimizer = make()
    step(net, optimizer)
    file = save_to_buffer({"net": net.state_dict(), "optimizer": optimizer.state_dict()})
    step(net, optimizer)
    resumed, resumed_optimizer = make()
    state = torch.load(file)
    resumed.load_state_dict(state["net"])
    resumed_optimizer.load_state_dict(state["optimizer"])
    step(resumed, resumed_optimizer)
    assert torch.equal(resumed.weight, net.weight)


def test_pickled_and_saved_modules_keep_their_device(gpu):
    net = nn.BatchNorm1d(2).to(gpu)
    for copy in (
        pickle.loads(pickle.dumps(net)),
        torch.load(save_to_buffer(net), weights_only=False),
    ):
        assert {str(value.device) for value in copy.state_dict().values()} == {"cuda:0"}


def test_views_share_memory_after_loading(gpu):
    x = torch.zeros(4, device=gpu)
    state = torch.load(save_to_buffer({"all": x, "half": x[:2]}))
    state["half"] += 1
    assert state["all"].tolist() == [1, 1, 0, 0]
