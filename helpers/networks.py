"""The course's networks."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ClassicNet(nn.Module):
    """The small CIFAR-10 network from PyTorch's beginner tutorial: a LeNet with 62,006 parameters.

    Two convolutions, each with ReLU and 2x2 max pooling, then three linear layers, after LeNet-5
    (LeCun et al., 1998).
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Map float images `(N, 3, 32, 32)` to logits `(N, 10)`."""
        x = self.pool(F.relu(self.conv1(images)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class ScaledClassicNet(nn.Sequential):
    """A wider and deeper version of the classic network; `width=1, depth=1` is the original.

    `width` multiplies the channels of every convolution and the size of every hidden layer. Each of
    the two blocks has `depth` convolutions; those after the first are 3 by 3 and keep the image
    size. Maps float images `(N, 3, 32, 32)` to logits `(N, 10)`.
    """

    def __init__(self, width: int = 1, depth: int = 1) -> None:
        layers: list[nn.Module] = []
        channels = 3
        for out in (6 * width, 16 * width):
            layers += [nn.Conv2d(channels, out, 5), nn.ReLU()]
            for _ in range(depth - 1):
                layers += [nn.Conv2d(out, out, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2, 2))
            channels = out
        layers += [nn.Flatten(), nn.Linear(channels * 5 * 5, 120 * width), nn.ReLU()]
        layers += [nn.Linear(120 * width, 84 * width), nn.ReLU(), nn.Linear(84 * width, 10)]
        super().__init__(*layers)
