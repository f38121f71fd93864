"""DataLoader with the simulated GPU: workers, their limits, and pinned memory."""

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

DATA = TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))


@pytest.fixture(scope="module", autouse=True)
def short_wait_for_workers():
    """Shorten the 5 seconds that a loader waits for a worker to exit after an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.5)
        yield


class GpuDataset(Dataset):
    """Creates its items on the GPU, which only the main process can do."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(2, device="cuda")


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_on_the_cpu_and_pinned_if_requested(gpu, workers):
    assert not next(iter(DataLoader(DATA)))[0].is_pinned()
    for images, labels in DataLoader(DATA, 5, num_workers=workers, pin_memory=True):
        assert not images.is_cuda
        assert images.is_pinned() and labels.is_pinned()
        moved = images.to(gpu, non_blocking=True)
        assert moved.is_cuda and torch.equal(moved.cpu(), images)


def test_forked_worker_cannot_use_gpu_that_main_process_initialized(gpu):
    torch.ones(1, device=gpu)
    with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):
        list(DataLoader(GpuDataset(), num_workers=1, multiprocessing_context="fork"))
    assert next(iter(DataLoader(GpuDataset()))).is_cuda


def test_worker_cannot_read_gpu_tensor(gpu):
    loader = DataLoader(
        TensorDataset(torch.ones(4, 2, device=gpu)), num_workers=1, multiprocessing_context="fork"
    )
    with pytest.raises(Exception, match="CUDA error: initialization error"):
        list(loader)


def test_dataset_on_gpu_yields_batches_on_gpu(gpu):
    (batch,) = next(iter(DataLoader(TensorDataset(torch.ones(4, 2, device=gpu)), 2)))
    assert batch.is_cuda


def test_shuffling_requires_cpu_generator(gpu):
    loader = DataLoader(DATA, shuffle=True, generator=torch.Generator(device=gpu))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found"):
        next(iter(loader))
