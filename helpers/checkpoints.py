"""Training checkpoints: written atomically, and validated before a run resumes from them."""

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn


def save(path: Path, state: dict[str, Any]) -> None:
    """Write `state` to `path` atomically: the file is the old checkpoint or the new one.

    Raises:
        OSError: the file cannot be written; the old checkpoint is kept.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load(path: Path, device: torch.device, expected: dict[str, Any]) -> dict[str, Any]:
    """Load a checkpoint onto `device`, without executing code from the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a checkpoint of this course, is damaged, or its fingerprint is
            not the `expected` one; the message names each difference.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no checkpoint {path.name} to resume from.")
    try:
        # weights_only: a pickle could run code, and a checkpoint may be untrusted.
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # torch.load raises many types of errors for a damaged file
        raise ValueError(
            f"{path.name} cannot be read as a checkpoint ({type(error).__name__}): it is damaged "
            "or is not a checkpoint. Delete it, or start without resume."
        ) from error
    if not isinstance(state, dict) or "fingerprint" not in state:
        raise ValueError(
            f"{path.name} is not a checkpoint of a training run (perhaps it holds only a network's "
            "weights?). Pass another file, or start without resume."
        )
    saved = state["fingerprint"]
    differences = [
        f"{key} was {saved.get(key)!r} and is now {value!r}"
        if key != "network"
        else "the network has different parameters"
        for key, value in expected.items()
        if saved.get(key) != value
    ]
    if differences:
        raise ValueError(
            f"{path.name} belongs to another training run: {'; '.join(differences)}. "
            "Use the same settings, or start without resume."
        )
    return state


def fingerprint(net: nn.Module, optimizer: torch.optim.Optimizer, loader: Any) -> dict[str, Any]:
    """Return the settings that must match for a resumed run to give the same result."""
    ignored = ("params", "fused", "foreach")
    sampler = getattr(loader, "sampler", None)
    return {
        "network": {name: tuple(value.shape) for name, value in net.state_dict().items()},
        "optimizer": type(optimizer).__name__,
        "settings": [
            {key: v for key, v in group.items() if key not in ignored and not callable(v)}
            for group in optimizer.param_groups
        ],
        "batch_size": getattr(loader, "batch_size", None),
        "images": getattr(sampler, "count", None),
        "seed": getattr(sampler, "seed", None),
    }


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the state of the random number generators that dropout and augmentation use."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_random_state(state: dict[str, torch.Tensor], device: torch.device) -> None:
    """Restore the states that `random_state` returned; the GPU's only if `device` is a GPU."""
    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
