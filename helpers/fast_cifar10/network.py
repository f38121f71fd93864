"""The network of lesson 06: a fixed whitening layer, three groups of two convolutions, a head.

The design is that of Keller Jordan's airbench (2024, arXiv 2404.00498), which builds on hlb-CIFAR10
(tysam-code, 2023) and cifar10-fast (David Page, 2019).
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.fast_cifar10.recipes import Settings
from helpers.fast_cifar10.winograd import SIZES, conv3x3


class FastNet(nn.Module):
    """Maps float images `(N, 3, S, S)`, S of at least 24, to logits `(N, 10)`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        kernel, activation = settings.kernel, settings.activation
        first = 2 * (settings.directions or 3 * kernel * kernel)
        # Each direction with both signs: otherwise the activation would discard the negative half.
        self.whiten = nn.Conv2d(3, first, kernel, settings.stride, padding=(kernel - 1) // 2)
        self.whiten.weight.requires_grad_(not settings.whiten)
        sizes = (first, *settings.widths)
        groups = (Group(*pair, settings) for pair in pairwise(sizes))
        self.groups = nn.Sequential(*groups)
        self.activation = activation
        self.head = nn.Linear(sizes[-1], 10, bias=False)
        self.reset()

    def reset(self) -> None:
        """Initialize all weights again, in place, so that a compiled network stays compiled."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d):
                module.reset_parameters()
        nn.init.zeros_(self.whiten.bias)
        for group in self.groups:
            group.start_as_identity()
        nn.init.normal_(self.head.weight)

    def forward(self, images: Tensor, first_biases: bool = False) -> Tensor:
        """Return the logits, divided by the width of the last group so that they start small.

        `images` are normalized as in training. Without `first_biases`, the gradient of the biases
        of the whitening layer is not computed.
        """
        whiten = self.whiten
        bias = whiten.bias if first_biases else whiten.bias.detach()
        x = F.conv2d(images, whiten.weight, bias, whiten.stride, whiten.padding)
        x = getattr(F, self.activation)(x)
        x = self.groups(x).amax((2, 3))  # the maximum of each channel
        return self.head(x) / x.shape[1]


class Group(nn.Module):
    """Convolution, 2x2 max pooling, convolution, with BatchNorm and activation after each."""

    def __init__(self, inputs: int, outputs: int, settings: Settings) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm1 = _norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = _norm(outputs)
        self.activation, self.dirac = settings.activation, settings.dirac
        # In 16 bits, the sums and differences of Winograd's method lose too much precision.
        self.winograd = settings.winograd and settings.precision == "float32"

    def start_as_identity(self) -> None:
        """With `dirac`, initialize the convolutions as the identity: channel i to channel i.

        Zagoruyko and Komodakis, DiracNets, 2017.
        """
        if self.dirac:
            for conv in (self.conv1, self.conv2):
                nn.init.dirac_(conv.weight.data[: conv.in_channels])

    def forward(self, x: Tensor) -> Tensor:
        """Map `(N, inputs, S, S)` to `(N, outputs, S // 2, S // 2)`."""
        activation = getattr(F, self.activation)
        x = activation(self.norm1(F.max_pool2d(self._convolve(self.conv1, x), 2)))
        return activation(self.norm2(self._convolve(self.conv2, x)))

    def _convolve(self, conv: nn.Conv2d, x: Tensor) -> Tensor:
        is_faster = self.winograd and x.shape[2] in SIZES
        return conv3x3(x, conv.weight) if is_faster else conv(x)


def _norm(channels: int) -> nn.BatchNorm2d:
    # High momentum: in a run of seconds, the statistics of older steps are out of date.
    norm = nn.BatchNorm2d(channels, momentum=0.4)
    norm.weight.requires_grad_(False)  # the next convolution can scale, too
    return norm


def whitening_filters(images: Tensor, kernel: int, floor: float = 5e-4) -> Tensor:
    """Return filters `(3 k k, 3, k, k)` that decorrelate the values of a patch; k is `kernel`.

    They are the eigenvectors of the covariance matrix of the patches of `images`, `(N, 3, H, W)`,
    normalized as in training. Each is divided by the square root of its eigenvalue, so that all
    outputs have the same variance (Page, 2019; tysam-code, 2023). The direction with the largest
    variance comes first. `floor` is added to the eigenvalues, so that the weakest directions are
    not amplified.
    """
    patches = images.float().unfold(2, kernel, 1).unfold(3, kernel, 1)
    patches = patches.permute(0, 2, 3, 1, 4, 5).reshape(-1, 3 * kernel * kernel)
    # On the CPU in float64: the matrix is small, and the weakest directions need the precision.
    covariance = (patches.T @ patches / len(patches)).cpu().double()
    values, vectors = torch.linalg.eigh(covariance)
    filters = vectors.T / (values[:, None].clamp(min=0) + floor).sqrt()
    return filters.flip(0).reshape(-1, 3, kernel, kernel).to(images)
