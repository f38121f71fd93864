"""`.to` of tensors and networks, with all forms of its arguments."""

import pytest
import torch
from torch import nn

MOVES = {
    "positional": lambda value: value.to("cuda"),
    "keyword": lambda value: value.to(device="cuda"),
    "torch.device": lambda value: value.to(device=torch.device("cuda")),
    "with dtype": lambda value: value.to(device="cuda", dtype=torch.float32),
    "dtype as keyword": lambda value: value.to("cuda", dtype=torch.float32),
    "non_blocking": lambda value: value.to(device="cuda", non_blocking=True),
    "memory format": lambda value: value.to(device="cuda", memory_format=torch.channels_last),
    "index": lambda value: value.to(0),
    "index as keyword": lambda value: value.to(device=0),
    "cuda": lambda value: value.cuda(),
    "cuda as keyword": lambda value: value.cuda(device="cuda:0"),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_network_and_tensor_move_to_gpu(gpu, move):
    net = move(nn.Conv2d(1, 1, 1))
    images = torch.ones(1, 1, 2, 2)
    if move is not MOVES["memory format"]:
        images = move(images)
    assert net.weight.device == torch.device("cuda", 0)
    assert net(images.to("cuda")).device == torch.device("cuda", 0)


def test_lazy_network_moves_to_gpu_before_its_weights_have_a_size(gpu):
    net = nn.LazyLinear(2).to(gpu)
    assert net(torch.ones(3, 4, device=gpu)).device == net.weight.device == gpu


def test_network_moves_to_second_gpu_by_keyword_or_example(two_gpus):
    second = torch.device("cuda", 1)
    assert nn.Linear(2, 2).to(device="cuda:1").weight.device == second
    assert nn.Linear(2, 2).to(tensor=torch.zeros(1, device=second)).weight.device == second


@pytest.mark.parametrize("dtype", [bool, int, float, complex])
def test_python_type_is_a_dtype(gpu, dtype):
    expected = torch.ones(2).to(dtype)
    tensor = torch.ones(2, device="cuda")
    for result in (
        tensor.to(dtype), tensor.to(dtype=dtype), torch.ones(2).to("cuda", dtype),
        torch.ones(2, device="cuda", dtype=dtype),
    ):  # fmt: skip
        assert result.device == torch.device("cuda", 0)
        assert result.dtype == expected.dtype
        assert result.tolist() == expected.tolist()
    if dtype is float:
        assert torch.arange(3, dtype=dtype, device="cuda").dtype == torch.float64
