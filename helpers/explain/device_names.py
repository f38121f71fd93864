"""Devices as the student writes them: "cuda", 0, their variable `device`, `x.device`."""

from __future__ import annotations

from typing import Any

import torch

from helpers.explain.source import Site


def as_device(value: Any, index: Any = None) -> torch.device | None:
    """Read a device from what the student passed for one: "cuda", 0, a device or a tensor."""
    if isinstance(value, torch.Tensor):
        return value.device
    if isinstance(value, bool) or not isinstance(value, str | int | torch.device):
        return None
    try:
        device = torch.device(value, index) if isinstance(index, int) else torch.device(value)
    except RuntimeError:
        return None
    return with_index(device)


def with_index(device: torch.device) -> torch.device:
    """Name the GPU that plain `cuda` means, as a tensor's own device does."""
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    return torch.device(device.type, 0)


def device_text(site: Site, target: torch.device, tensors: tuple[str, ...] = ()) -> str:
    """Say `target` in the student's words: their `device`, else `x.device`, else `'cuda:0'`.

    `tensors` are names of the function's own whose device that is.
    """
    shared = site.names.maps[-1]
    own = [name for scope in site.names.maps[:-1] if scope is not shared for name in scope]
    text = _device_called(site, own, target)
    if not text and tensors:
        text = f"{tensors[0]}.device"
    return text or _device_called(site, list(shared), target) or repr(str(target))


def _device_called(site: Site, names: list[str], target: torch.device) -> str:
    for name in sorted(names, key=lambda name: name != "device"):
        value = site.names[name]
        fits = isinstance(value, torch.device) or name.lower() in ("device", "dev")
        if fits and not name.startswith("_") and as_device(value) == target:
            return name
    return ""


def own_tensors(site: Site, target: torch.device, names: list[str]) -> tuple[str, ...]:
    """Choose those of the function's names that hold a tensor on `target`."""
    if not site.in_function:
        return ()
    found = [(name, site.names.get(name)) for name in names]
    return tuple(n for n, v in found if isinstance(v, torch.Tensor) and v.device == target)
