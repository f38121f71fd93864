"""The simulated memory follows the rules of c10/cuda/CUDACachingAllocator.cpp."""

import signal
from random import Random

import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as dispatches

import simulated_cuda
from simulated_cuda import memory

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def exact_gpu():
    """A simulated GPU of 100 MiB that counts every allocation."""
    modes = dispatches()
    with simulated_cuda.simulated(memory=100 * MIB, every_allocation=True):
        yield torch.device("cuda", 0)
    assert dispatches() == modes


def empty(nbytes: int) -> torch.Tensor:
    return torch.empty(nbytes, dtype=torch.uint8, device="cuda")


def segments() -> list[tuple[str, int]]:
    snapshot = torch.cuda.memory_snapshot()
    return [(segment["segment_type"], segment["total_size"]) for segment in snapshot]


@pytest.mark.parametrize(
    ("nbytes", "block", "segment"),
    [
        (0, 0, ("none", 0)),
        (1, 512, ("small", 2 * MIB)),
        (513, 1024, ("small", 2 * MIB)),
        (MIB, MIB, ("small", 2 * MIB)),
        (MIB + 1, MIB + 512, ("large", 20 * MIB)),
        (10 * MIB - 512, 10 * MIB - 512, ("large", 20 * MIB)),
        (10 * MIB, 10 * MIB, ("large", 10 * MIB)),
        # The rest of a large segment becomes a separate block only if it exceeds 1 MiB.
        (11 * MIB - 513, 11 * MIB - 512, ("large", 12 * MIB)),
        (11 * MIB + 1, 12 * MIB, ("large", 12 * MIB)),
    ],
)
def test_sizes_are_rounded_to_blocks_and_segments(exact_gpu, nbytes, block, segment):
    x = empty(nbytes)
    statistics = torch.cuda.memory_stats()
    assert segments() == ([segment] if nbytes else [])
    assert statistics["requested_bytes.all.current"] == x.nbytes == nbytes
    assert torch.cuda.memory_allocated() == block
    assert statistics["inactive_split_bytes.all.current"] == segment[1] - block


def test_smallest_sufficient_block_is_used(exact_gpu):
    separators, holes = [], {}
    for size in (300 * KIB, 100 * KIB, 200 * KIB):
        holes[size] = empty(size)
        separators.append(empty(512))
    blocks = torch.cuda.memory_snapshot()[0]["blocks"]
    addresses = {block["size"]: block["address"] for block in blocks}
    holes.clear()
    x = empty(150 * KIB)
    used = [b for b in torch.cuda.memory_snapshot()[0]["blocks"] if b["size"] == 150 * KIB]
    assert x.nbytes == 150 * KIB
    assert used[0]["address"] == addresses[200 * KIB]


def test_neighbors_are_merged_when_they_are_freed(exact_gpu):
    tensors = [empty(400 * KIB) for _ in range(4)]
    assert len(torch.cuda.memory_snapshot()[0]["blocks"]) == 5
    for index in (0, 2, 1, 3):
        tensors[index] = None
    (segment,) = torch.cuda.memory_snapshot()
    assert [block["size"] for block in segment["blocks"]] == [2 * MIB]
    assert torch.cuda.memory_stats()["inactive_split_bytes.all.current"] == 0


def test_empty_cache_releases_only_unused_segments(exact_gpu):
    first, second = empty(15 * MIB), empty(5 * MIB)
    del first
    torch.cuda.empty_cache()
    assert segments() == [("large", 20 * MIB)]
    assert torch.cuda.memory_reserved() - torch.cuda.memory_allocated() == 20 * MIB - second.nbytes


def test_large_tensor_does_not_fit_in_fragmented_memory(exact_gpu):
    tensors = [empty(5 * MIB) for _ in range(20)]
    del tensors[::2]
    assert torch.cuda.memory_allocated() == 50 * MIB
    with pytest.raises(torch.OutOfMemoryError, match=r"50\.00 MiB is reserved .* unallocated"):
        empty(30 * MIB)
    assert empty(5 * MIB).nbytes == 5 * MIB


def test_unused_segments_are_released_before_out_of_memory_is_raised(exact_gpu):
    first = empty(60 * MIB)
    del first
    second = empty(80 * MIB)
    assert segments() == [("large", second.nbytes)]
    statistics = torch.cuda.memory_stats()
    assert (statistics["num_alloc_retries"], statistics["num_ooms"]) == (1, 0)


def test_error_states_the_size_of_the_segment(exact_gpu):
    x = empty(90 * MIB)
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 20\.00 MiB"):
        empty(5 * MIB)
    assert x.nbytes == 90 * MIB


def test_tensors_inside_an_operation_are_counted(exact_gpu):
    scores = torch.zeros(128, 1000, device=exact_gpu, requires_grad=True)
    labels = torch.zeros(128, dtype=torch.int64, device=exact_gpu)
    before = torch.cuda.memory_allocated()
    loss = F.cross_entropy(scores, labels)
    # Autograd keeps the logarithms of the probabilities and the sum of the class weights.
    assert torch.cuda.memory_allocated() - before == scores.nbytes + 512 + 512
    assert loss.device == exact_gpu


def test_peak_includes_gradients_that_no_variable_holds(exact_gpu):
    x = torch.ones(MIB, device=exact_gpu)
    first = torch.full((), 2.0, device=exact_gpu, requires_grad=True)
    y = (x * first).exp()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    y.backward(x)
    # The gradient of `exp`, the gradient of the product, and their sum over x.
    assert torch.cuda.max_memory_allocated() - before >= 2 * x.nbytes
    assert torch.cuda.memory_allocated() - before <= 512


def test_peak_of_a_softmax_is_that_of_a_published_measurement(exact_gpu):
    """Five times the input: https://github.com/pytorch/pytorch/issues/72450, for 2.8 GiB."""
    x = torch.rand(1024, 1024, device=exact_gpu, requires_grad=True)
    y = torch.softmax(x, -1)
    y.mean().backward()
    assert torch.cuda.memory_allocated() // MIB == 3 * 4
    assert torch.cuda.max_memory_allocated() == 5 * 4 * MIB + 2 * 512


def test_backward_raises_out_of_memory(exact_gpu):
    w = torch.ones(6 * MIB, device=exact_gpu, requires_grad=True)
    loss = (w * w * w).sum()
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        loss.backward()


def test_statistics_do_not_depend_on_when_blocks_are_processed(monkeypatch):
    def statistics_with(threshold):
        monkeypatch.setattr(memory, "_MAX_PENDING", threshold)
        with simulated_cuda.simulated(memory=100 * MIB):
            tensors = [empty(nbytes) for nbytes in (100, 3 * MIB, MIB, 11 * MIB)]
            del tensors[1], tensors[0]
            tensors += [empty(nbytes) for nbytes in (2 * MIB, 700)]
            with pytest.raises(torch.cuda.OutOfMemoryError):
                empty(90 * MIB)
            del tensors[2]
            statistics = {k: v for k, v in torch.cuda.memory_stats().items() if "split" not in k}
            return statistics, torch.cuda.memory_snapshot()

    assert statistics_with(0) == statistics_with(4096)


def test_interrupt_during_an_update_of_the_statistics_is_raised_after_it(gpu, monkeypatch):
    def place(*arguments):
        signal.raise_signal(signal.SIGINT)
        original(*arguments)

    original = memory.DeviceMemory._place
    tensors = [torch.ones(2, device=gpu) for _ in range(20)]  # the first one is placed at once
    monkeypatch.setattr(memory.DeviceMemory, "_place", place)
    with pytest.raises(KeyboardInterrupt):
        torch.cuda.memory_allocated()
    assert torch.cuda.memory_allocated() == 512 * len(tensors)


def test_blocks_that_are_freed_and_requested_in_a_row_are_the_same_as_one_at_a_time(monkeypatch):
    def history(random: Random) -> tuple[list, list]:
        device, storages = memory.DeviceMemory(0, 1 << 30), []
        for _ in range(2000):
            if storages and random.random() < 0.5:
                storages.pop(-min(len(storages), random.choice([1, 2, 2, 5])))
            else:
                nbytes = random.choice([1, 512, 600, 1024, MIB, 3 * MIB])
                storages.append(torch.UntypedStorage(nbytes, device="meta"))
                device.allocate(storages[-1])
        device.collect()
        figures = [device.statistics[name] for name in memory.METRICS]
        return device.snapshot(), [(x.current, x.peak, x.freed, x.allocated) for x in figures]

    fast = [history(Random(seed)) for seed in range(20)]
    monkeypatch.setattr(memory, "_MAX_PENDING", 0)
    assert fast == [history(Random(seed)) for seed in range(20)]
