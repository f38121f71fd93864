"""DataLoader on the simulated device: workers, pinned memory, and what a worker must not do."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

DATA = TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))


class OnTheGpu(Dataset):
    """Makes its items on the device, which only the main process may do."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(2, device="cuda")


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_on_the_cpu_and_pinned_when_asked(gpu, workers):
    for images, labels in DataLoader(DATA, 5, num_workers=workers, pin_memory=True):
        assert not images.is_cuda
        assert images.is_pinned() and labels.is_pinned()
        moved = images.to(gpu, non_blocking=True)
        assert moved.is_cuda and torch.equal(moved.cpu(), images)


def test_without_pin_memory_nothing_is_pinned(gpu):
    assert not next(iter(DataLoader(DATA)))[0].is_pinned()


def test_workers_may_have_used_the_gpu_in_the_main_process_only(gpu):
    torch.ones(1, device=gpu)
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(DataLoader(OnTheGpu(), num_workers=1, multiprocessing_context="fork"))
    assert next(iter(DataLoader(OnTheGpu()))).is_cuda


def test_a_worker_cannot_read_what_is_on_the_gpu(gpu):
    loader = DataLoader(
        TensorDataset(torch.ones(4, 2, device=gpu)), num_workers=1, multiprocessing_context="fork"
    )
    with pytest.raises(Exception, match="CUDA error: initialization error"):
        list(loader)


def test_a_data_set_on_the_gpu_gives_batches_on_the_gpu(gpu):
    (batch,) = next(iter(DataLoader(TensorDataset(torch.ones(4, 2, device=gpu)), 2)))
    assert batch.is_cuda


def test_shuffling_needs_a_generator_on_the_cpu(gpu):
    loader = DataLoader(DATA, shuffle=True, generator=torch.Generator(device=gpu))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found"):
        next(iter(loader))
