"""`helpers.memory`: sizes of tensors on a GPU, and memory during the operations of a step."""

import pytest
import torch
from torch import nn

import simulated_cuda
from helpers.memory import allocated_size, record_memory, saved_bytes_by_layer, warm_up


@pytest.fixture
def gpu():
    with simulated_cuda.simulated(every_allocation=True, over_real=True):
        yield torch.device("cuda", 0)


def test_memory_climbs_in_forward_and_falls_in_backward(gpu):
    net = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(4)]).to(gpu)
    X = torch.ones(4096, 256, device=gpu)
    losses = []
    samples = record_memory(
        {
            "forward": lambda: losses.append(net(X).sum()),
            "backward": lambda: losses.pop().backward(),
        }
    )
    forward = [sample.allocated for sample in samples if sample.phase == "forward"]
    backward = [sample.allocated for sample in samples if sample.phase == "backward"]
    assert forward == sorted(forward[:-1]) + forward[-1:]
    assert forward[-2] - forward[0] >= 7 * X.nbytes
    assert max(backward) > max(forward)
    assert backward[-1] < forward[0] + 2 * X.nbytes
    count = len(samples)
    torch.zeros(3, device=gpu)
    assert len(samples) == count  # nothing is recorded after the phases


def test_saved_bytes_count_the_tensors_that_autograd_keeps(gpu):
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3)).to(gpu)
    saved_bytes, result = saved_bytes_by_layer(net, torch.ones(16, 8, device=gpu))
    # The first layer's input is not counted; the ReLU's output is also the LayerNorm's input.
    assert saved_bytes == {
        "1: ReLU": 16 * 8 * 4,
        "2: LayerNorm": 2 * 16 * 4,
        "3: Linear": 16 * 8 * 4,
    }
    assert result.shape == (16, 3)
    assert not any(layer._forward_pre_hooks for layer in net)


def test_sizes_are_rounded_up_to_blocks(gpu):
    assert [allocated_size(nbytes) for nbytes in (0, 1, 512, 513)] == [0, 512, 512, 1024]
    before = torch.cuda.memory_allocated()
    warm_up(gpu)
    assert torch.cuda.memory_allocated() == before
