"""Device memory statistics follow allocations and frees like those of the caching allocator."""

import gc

import pytest
import torch
from torch import nn

import simulated_cuda

MIB = 1 << 20


@pytest.fixture
def small_gpu():
    gc.collect()
    with simulated_cuda.simulated(memory=10 * MIB):
        yield


def test_training_does_not_leak_memory(gpu):
    def train():
        net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).to(gpu)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(8, 64, device=gpu)).sum().backward()
            optimizer.step()

    train()
    gc.collect()
    before = torch.cuda.memory_allocated()
    for _ in range(5):
        train()
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_activations_use_memory_until_graph_is_freed(gpu):
    w = torch.ones(256, 256, device=gpu, requires_grad=True)
    before = torch.cuda.memory_allocated()
    loss = w.exp().sin().sum()
    with_graph = torch.cuda.memory_allocated()
    del loss
    # Autograd keeps the input of `sin`, but not its output. The loss takes one block of 512 bytes.
    assert with_graph - before == w.nbytes + 512
    assert torch.cuda.memory_allocated() == before


def test_peak_is_kept_until_reset_and_freed_memory_stays_reserved_until_emptied(gpu):
    x = torch.ones(MIB, device=gpu)
    del x
    assert torch.cuda.max_memory_allocated() == 4 * MIB
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated() == 0
    assert torch.cuda.memory_reserved() >= 4 * MIB
    free, total = torch.cuda.mem_get_info()
    assert total - free == torch.cuda.memory_reserved()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


def test_each_device_has_its_own_memory_and_pytorchs_summary(two_gpus):
    x = torch.ones(MIB, device="cuda:1")
    assert torch.cuda.memory_allocated(0) == 0
    assert torch.cuda.memory_allocated(1) == torch.accelerator.memory_allocated(1) == x.nbytes
    assert torch.cuda.device_memory_used(1) >= x.nbytes
    summary = torch.cuda.memory_summary(1)
    assert "PyTorch CUDA memory summary, device ID 1" in summary
    assert f"{x.nbytes >> 10} KiB" in summary


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.empty(20 * MIB, dtype=torch.uint8, device="cuda"),
        lambda: torch.zeros(20 * MIB, dtype=torch.uint8).to("cuda"),
        lambda: torch.zeros(20 * MIB, dtype=torch.uint8).cuda(),
        lambda: torch.ones(2000, 1, device="cuda") @ torch.ones(1, 2000, device="cuda"),
        lambda: torch.ones(MIB, device="cuda").repeat(3),
        lambda: nn.Linear(2000, 2000).to("cuda"),
        lambda: nn.Linear(2000, 2000, device="cuda"),
    ],
)
def test_full_device_raises_cuda_out_of_memory(small_gpu, program):
    with pytest.raises(torch.cuda.OutOfMemoryError, match=r"^CUDA out of memory. Tried to alloc"):
        program()


def test_freed_memory_can_be_reused(small_gpu):
    def count_fitting_tensors():
        tensors = []
        try:
            while True:
                tensors.append(torch.empty(MIB, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            return len(tensors)

    assert count_fitting_tensors() == 10
    assert count_fitting_tensors() == 10
    assert torch.cuda.memory_stats()["num_ooms"] == 2


@pytest.mark.parametrize(
    ("create", "nbytes"),
    [
        (lambda: torch.zeros(1 << 50, dtype=torch.uint8, device="cuda"), "1048576.00 GiB"),
        (lambda: torch.arange(0, 1 << 50, device="cuda"), "8388608.00 GiB"),
        (lambda: torch.linspace(0, 1, steps=1 << 50, device="cuda"), "4194304.00 GiB"),
    ],
)
def test_tensor_larger_than_machine_is_refused_without_allocation(gpu, create, nbytes):
    with pytest.raises(torch.OutOfMemoryError, match=f"Tried to allocate {nbytes}"):
        create()


def test_memory_fraction_limits_allocations(gpu):
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    torch.empty(3000 * MIB, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    with pytest.raises(torch.OutOfMemoryError, match=r"is free\. 4\.00 GiB allowed; Of the alloc"):
        torch.empty(5000 * MIB, dtype=torch.uint8, device="cuda")


def test_resizing_a_storage_or_a_tensor_frees_and_allocates_memory(gpu):
    x = torch.zeros(MIB, device=gpu)
    x.untyped_storage().resize_(0)
    assert torch.cuda.memory_allocated() == 0
    x.untyped_storage().resize_(4 * MIB)
    assert torch.cuda.memory_allocated() == 4 * MIB
    x.resize_(2 * MIB)
    assert torch.cuda.memory_allocated() == 8 * MIB
    assert x.device == gpu
