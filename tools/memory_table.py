"""Print the memory used in training, predicted and measured: `python -m tools.memory_table`.

The prediction is computed from tensor shapes, for five networks and three optimizers. The
measurement uses `torch.cuda.memory_allocated` on a GPU, or on a simulated GPU if there is none.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import simulated_cuda
from helpers.memory import allocated_size, warm_up

PARTS = ("weights", "activations", "gradients", "states")
OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], int]] = {
    "SGD": (lambda parameters: torch.optim.SGD(parameters, lr=0.1), 0),
    "momentum": (lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9), 1),
    "Adam": (torch.optim.Adam, 2),
}


class Tokens(nn.Module):
    """An embedding, layer normalization, a linear layer, and the mean over the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 32)
        self.layers = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU())
        self.out = nn.Linear(32, 10)

    def forward(self, X: Tensor) -> Tensor:
        """Map token ids `(N, T)` to scores `(N, 10)`."""
        return self.out(self.layers(self.embedding(X)).mean(dim=1))


class Attention(nn.Module):
    """Single-head attention, built from basic operations, and the mean over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys, self.values = (nn.Linear(24, 24) for _ in range(3))
        self.out = nn.Linear(24, 10)

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, T, 24)` to scores `(N, 10)`."""
        scores = self.queries(X) @ self.keys(X).transpose(1, 2) / 24**0.5
        return self.out((scores.softmax(dim=2) @ self.values(X)).mean(dim=1))


@dataclass(frozen=True)
class Case:
    """A network, its input, and the sizes in bytes of the tensors that autograd saves."""

    make_net: Callable[[], nn.Module]
    make_input: Callable[[], Tensor]
    saved_bytes: tuple[int, ...]


N, T = 8, 20
CASES = {
    "two linear layers": Case(
        lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)),
        lambda: torch.ones(N, 784),
        (N * 256 * 4,),  # output of ReLU
    ),
    "convolution, pooling": Case(
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(16 * 16 * 16, 10),
        ),
        lambda: torch.ones(N, 3, 32, 32),
        # Output of ReLU; output of the pooling, and the indices of the maxima (int64).
        (N * 16 * 32 * 32 * 4, N * 16 * 16 * 16 * 4, N * 16 * 16 * 16 * 8),
    ),
    "batch normalization": Case(
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(8, 10),
        ),
        lambda: torch.ones(N, 3, 32, 32),
        # Output of the convolution; mean and standard deviation of each channel; output of ReLU;
        # input of the linear layer.
        (N * 8 * 32 * 32 * 4, 8 * 4, 8 * 4, N * 8 * 32 * 32 * 4, N * 8 * 4),
    ),
    "embedding": Case(
        Tokens,
        lambda: torch.ones(N, T, dtype=torch.int64),
        # Input, mean and standard deviation of LayerNorm; inputs of Linear, GELU and the last
        # Linear.
        (N * T * 32 * 4, N * T * 4, N * T * 4, N * T * 32 * 4, N * T * 32 * 4, N * 32 * 4),
    ),
    "attention": Case(
        Attention,
        lambda: torch.ones(N, T, 24),
        # Queries, keys, values; the softmax's result; input of the last linear layer.
        (N * T * 24 * 4, N * T * 24 * 4, N * T * 24 * 4, N * T * T * 4, N * 24 * 4),
    ),
}  # fmt: skip


def predict_memory(case: Case, states: int) -> dict[str, int]:
    """Return the predicted bytes of each part, computed from tensor shapes."""
    net = case.make_net()
    parameters = sum(allocated_size(parameter.nbytes) for parameter in net.parameters())
    buffers = sum(allocated_size(buffer.nbytes) for buffer in net.buffers())
    # The log-probabilities and the total class weight, both saved by autograd, and the loss.
    loss = (N * 10 * 4, 4, 4)
    return {
        "weights": parameters + buffers,
        "activations": sum(allocated_size(size) for size in (*case.saved_bytes, *loss)),
        "gradients": parameters,
        "states": states * parameters,
    }


def measure_memory(
    case: Case, make_optimizer: Callable[..., torch.optim.Optimizer]
) -> dict[str, int]:
    """Return the bytes of each part, as reported by the GPU's allocator."""
    X = case.make_input().cuda()
    y = torch.zeros(N, dtype=torch.int64, device="cuda")
    start = torch.cuda.memory_allocated()
    net = case.make_net().cuda()
    with_weights = torch.cuda.memory_allocated()
    optimizer = make_optimizer(net.parameters())
    loss = F.cross_entropy(net(X), y)
    with_activations = torch.cuda.memory_allocated()
    loss.backward()
    del loss
    with_gradients = torch.cuda.memory_allocated()
    optimizer.step()
    return {
        "weights": with_weights - start,
        "activations": with_activations - with_weights,
        "gradients": with_gradients - with_weights,
        "states": torch.cuda.memory_allocated() - with_gradients,
    }


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"{'network':22}{'optimizer':12}" + "".join(f"{part:>26}" for part in PARTS)
    for name, case in CASES.items():
        for optimizer, (make_optimizer, states) in OPTIMIZERS.items():
            expected, actual = predict_memory(case, states), measure_memory(case, make_optimizer)
            cells = "".join(f"{expected[part]:13,}{actual[part]:13,}" for part in PARTS)
            yield f"{name:22}{optimizer:12}{cells}"


if __name__ == "__main__":
    has_gpu = torch.cuda.is_available()
    with nullcontext() if has_gpu else simulated_cuda.simulated(every_allocation=True):
        warm_up(torch.device("cuda"))
        print("bytes, predicted and measured on", torch.cuda.get_device_name())
        print("\n".join(table()))
