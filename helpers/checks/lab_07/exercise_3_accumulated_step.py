"""Lab 07, exercise 3: `accumulated_step`."""

import copy
import weakref

from torch import Tensor, nn, optim
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from helpers.checks.lab_07.shared import lab, same_gradients
from helpers.checks.trial import Answer, Trial


class _Part:
    """A marker for one forward pass; it exists while autograd keeps an activation of that pass."""


class _CountingNet(nn.Module):
    """A network that records batch sizes, modes, and how many examples' activations are kept."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        self.batches: list[int] = []
        self.modes: set[bool] = set()
        self.kept = self.max_kept = 0

    def forward(self, X: Tensor) -> Tensor:
        """Map `(N, 6)` to `(N, 4)`."""
        self.batches.append(len(X))
        self.modes.add(self.training)
        part = _Part()
        self._keep(len(X))
        weakref.finalize(part, self._keep, -len(X))
        with saved_tensors_hooks(lambda tensor: (part, tensor.detach()), _unpack):
            return self.net(X)

    def _keep(self, count: int) -> None:
        self.kept += count
        self.max_kept = max(self.max_kept, self.kept)


def _unpack(packed: tuple[_Part, Tensor]) -> Tensor:
    return packed[1]


class _CountingSGD(optim.SGD):
    """An optimizer that counts its steps."""

    steps = 0

    def step(self, closure=None):
        """Take one step."""
        self.steps += 1
        return super().step(closure)


@lab.exercise(
    3,
    points=3,
    success_message="The step equals that of the whole batch, and only one part is in memory at a "
    "time.",
)
def exercise_3(trial: Trial, accumulated_step: Answer) -> None:
    """`accumulated_step(net, optimizer, X, y, size)`: one step with the whole batch's gradient."""
    for count, size in ((12, 3), (16, 16), (10, 4), (7, 3)):
        inner = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)).to(trial.device)
        reference = copy.deepcopy(inner)
        net = _CountingNet(inner)
        optimizer = _CountingSGD(net.parameters(), lr=0.5)
        X = trial.normal(count, 6, device=trial.device)
        y = trial.integers(0, 4, (count,), trial.device)
        for parameter in net.parameters():  # left over from an earlier step
            parameter.grad = trial.normal(*parameter.shape, device=trial.device)
        before = [parameter.detach().clone() for parameter in net.parameters()]
        F.cross_entropy(reference(X), y).backward()
        trial.call(accumulated_step, net, optimizer, X, y, size)

        largest = max(net.batches, default=0)
        trial.expect(largest <= size, "too-large", size=size, found=largest)
        trial.expect(net.max_kept <= size, "all-activations-kept", size=size, found=net.max_kept)
        trial.expect(optimizer.steps != 0, "no-step")
        trial.expect(optimizer.steps == 1, "many-steps", found=optimizer.steps)
        stayed_in_training = net.training and False not in net.modes
        trial.expect(stayed_in_training, "evaluation-mode", name="accumulated_step")
        examples = sum(net.batches)
        trial.expect(examples == count, "not-all", count=count, found=examples)
        gradients = [
            (old - new.detach()) / 0.5 for old, new in zip(before, net.parameters(), strict=True)
        ]
        for parameter, gradient in zip(inner.parameters(), gradients, strict=True):
            parameter.grad = gradient
        if not same_gradients(inner, reference):
            _raise_hint(trial, gradients, reference, -(-count // size), even=count % size == 0)


def _raise_hint(
    trial: Trial, found_gradients: list[Tensor], reference: nn.Module, parts: int, *, even: bool
) -> None:
    gradients = [parameter.grad for parameter in reference.parameters()]
    ratios = [
        (a.flatten() @ b.flatten() / (b.flatten() @ b.flatten())).item()
        for a, b in zip(found_gradients, gradients, strict=True)
    ]
    scale = sum(ratios) / len(ratios)
    proportional = all(abs(ratio - scale) < 0.02 * abs(scale) for ratio in ratios)
    trial.expect(not (proportional and even), "wrong-scale", scale=f"{scale:.2f}", parts=parts)
    trial.expect(even, "uneven")
    raise trial.wrong("different-gradient")
