"""Lab 10, exercise 2: a bias and ReLU in one kernel."""

import torch

answers = "bias_relu(X, bias)"
points = 2
success = "One launch, and each element is read and written once."
section = "Fuse a bias and GELU"


def cases(draw):
    rows, columns = draw.randint(3, 5), draw.randint(41, 62) | 1
    X, bias = (draw.normal(*shape, device=draw.device) for shape in ((rows, columns), (columns,)))
    yield {"X": X, "bias": bias, "device": draw.device, "bytes": 12 * rows * columns}


def right(case):
    return torch.relu(case.X.values + case.bias.values)
