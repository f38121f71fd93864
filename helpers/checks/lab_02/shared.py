"""Lab 02, device mismatch errors: what its exercises have in common."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.core import Hint, Lab

WORD_BY_WORD = "One error, word by word"
MOVES_NOTHING = "The move that moves nothing"
LAYERS = "Matrix products and layers"
LOSSES = "Losses"
LEAVING = "Leaving torch"
TABLE = "The table to keep"

INPUT_CHANGED = Hint(
    "input-changed",
    "After `{name}`, a tensor that was handed in holds other numbers than before.",
    "Some operations write into the tensor on their left. Which line writes into the caller's?",
    MOVES_NOTHING,
)

NET_MOVED = Hint(
    "net-moved",
    "After `{name}`, the network is on {found}. It was on {given}, and should have stayed there.",
    "A network moves in place, for everybody who uses it. What else can be moved instead?",
    LAYERS,
)

lab = Lab("02_device_mismatch_errors", seconds=20)


def moved_to(thing: Any, device: torch.device) -> Any:
    """A copy of a tensor or module on `device`."""
    return copy.deepcopy(thing).to(device)


def place_of(thing: Any) -> torch.device:
    """Where a tensor or module is."""
    return next(thing.parameters()).device if isinstance(thing, nn.Module) else thing.device


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two tensors or modules hold the same numbers, wherever they are."""
    if isinstance(one, nn.Module):
        pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
        return all(same_numbers(*pair) for pair in pairs)
    return torch.equal(one.cpu(), other.cpu())


def close(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same numbers, as far as two devices can agree on them."""
    # A GPU may round the inputs of a product (TF32).
    return torch.allclose(one.detach().cpu(), other.detach().cpu(), rtol=1e-2, atol=1e-2)
