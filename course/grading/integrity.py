"""Detects and undoes what a student's code replaced in the libraries that judge it.

This is a snapshot of functions and classes before and after a call. Code that finds this snapshot
itself, or restores what it replaced, is not detected here; see `internals`.
"""

from __future__ import annotations

import builtins
import collections
import importlib
import inspect
import json
import math
import random
import secrets
import sys
from types import FunctionType, ModuleType
from typing import Any

_OWN = ("helpers", "simulated_cuda")
# torch wraps this one itself when part of it is first imported.
_CHANGED_BY_TORCH = {"manual_seed"}
_NAMES_OF_METHODS = {"__call__", "__init__", "__eq__", "__enter__", "__exit__", "__str__"}


class Snapshot:
    """The functions, classes and constants of the judging libraries at one moment.

    Args:
        checks: those of `helpers.checks` and its classes only; otherwise all others.
    """

    def __init__(self, *, checks: bool = False) -> None:
        import numpy
        import torch

        owners: list[Any] = [
            module
            for name, module in list(sys.modules.items())
            if isinstance(module, ModuleType)
            and name.split(".")[0] in _OWN
            and name.startswith("helpers.checks") == checks
        ]
        if checks:
            owners += [
                value
                for module in owners
                for value in vars(module).values()
                if isinstance(value, type) and value.__module__.startswith("helpers.checks")
            ]
        else:
            owners += [
                builtins, math, random, random.Random, secrets, inspect, importlib, collections,
                json, json.encoder, json.JSONEncoder, numpy,
                torch, torch.Tensor, torch._C.TensorBase, torch.nn.functional, torch.nn.Module,
                torch.testing, torch.cuda, torch.linalg, torch.autograd, torch.overrides,
            ]  # fmt: skip
        self._kept = [
            (owner, name, value, value.__code__ if isinstance(value, FunctionType) else None)
            for owner in dict.fromkeys(owners)
            for name, value in list(vars(owner).items())
            if name not in _CHANGED_BY_TORCH and _is_code(name, value)
        ]

    def restore(self) -> list[str]:
        """Put back what was replaced, and return its names."""
        replaced = []
        for owner, name, value, code in self._kept:
            if vars(owner).get(name) is not value:
                try:
                    setattr(owner, name, value)
                except (AttributeError, TypeError):  # a type written in C, which cannot be changed
                    continue
                replaced.append(f"{owner.__name__}.{name}")
            elif code is not None and value.__code__ is not code:
                value.__code__ = code
                replaced.append(f"{owner.__name__}.{name}")
        return replaced


def _is_code(name: str, value: Any) -> bool:
    if name.startswith("__") and name not in _NAMES_OF_METHODS:
        return callable(value) and not isinstance(value, type)
    return callable(value) or isinstance(value, property | staticmethod | classmethod)


def fresh_checks(lab_module: str) -> ModuleType:
    """Import the checks again from their files, whatever was done to those in memory."""
    for name in [n for n in sys.modules if n.startswith("helpers.checks")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    return importlib.import_module(lab_module)
