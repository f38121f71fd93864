"""The course's networks."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ClassicNet(nn.Module):
    """The small CIFAR-10 network of PyTorch's beginner tutorial: a LeNet of 62,006 parameters.

    Two convolutions, each with ReLU and 2x2 max pooling, then three linear layers; the idea is
    LeNet-5 (LeCun et al., 1998).
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
