"""Autograd: gradients are made by PyTorch's engine unseen, so they get their place when looked at.

A gradient is where its tensor is: for `.grad`, for hooks, for a user's own `backward`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import _get_current_function_mode_stack

from .moving import freeze
from .places import CPU, UNKNOWN, backward, index_of, move_storage, place_of, put_all, storage_of

Tensor = torch.Tensor
_grad = Tensor.grad.__get__


def handlers() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The handlers for gradients, for `.data`, and for starting a backward pass."""
    return {
        _grad: get_gradient,
        Tensor.grad.__set__: set_gradient,
        Tensor.data.__set__: set_data,
        Tensor.backward: start,
        torch.autograd.backward: start,
        torch.autograd.grad: gradients_of,
        Tensor.register_hook: register_hook,
    }


def get_gradient(mode, func, args, kwargs):
    """`tensor.grad`: where the tensor is, unless somebody moved one of the two."""
    gradient = func(*args)
    if gradient is not None:
        settle(mode, gradient, index_of(args[0]))
    return gradient


def settle(mode, gradient: Tensor, where: int) -> None:
    """Note where a gradient is that autograd made; what somebody put somewhere stays there."""
    place = place_of(gradient)
    if place.sure and (not place.guessed or place.index == where):
        return
    try:
        storage = storage_of(gradient)
    except (NotImplementedError, RuntimeError):
        put_all(gradient, where, mode.memories, guess=True)
        return
    if where >= 0:
        move_storage(storage, where, mode.memories, guess=True)
    else:
        storage.place = UNKNOWN


def set_gradient(mode, func, args, kwargs):
    """`tensor.grad = gradient`, which must be where the tensor is."""
    owner, gradient = args
    if isinstance(gradient, Tensor) and gradient is not owner:
        here, there = index_of(owner), index_of(gradient)
        if here != there:
            if min(here, there) == CPU:
                kinds = ("cpu" if there == CPU else "cuda", "cpu" if here == CPU else "cuda")
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{kinds[0]}' to a tensor "
                    f"with device type '{kinds[1]}'. Please ensure that the gradient and the "
                    "tensor are on the same device"
                )
            raise RuntimeError(
                # PyTorch prints the numbers as characters.
                f"attempting to assign a gradient located on device with index '{chr(there)}' to "
                f"a tensor located on device with index '{chr(here)}'. Please ensure that the "
                "gradient and the tensor are on the same device"
            )
    return func(*args)


def set_data(mode, func, args, kwargs):
    """`tensor.data = other`: the tensor moves to where `other` is, its gradient does not."""
    owner, other = args
    gradient = _grad(owner)
    if gradient is not None and index_of(owner) != index_of(other):
        if index_of(owner) == CPU:
            freeze(gradient)
        else:
            get_gradient(mode, _grad, (owner,), {})
    return func(*args)


def start(mode, func, args, kwargs):
    """`loss.backward(gradient)` and `torch.autograd.backward(tensors, grad_tensors)`."""
    names = ("gradient", "grad_tensors")
    seeds = args[1] if len(args) > 1 else next((kwargs[n] for n in names if n in kwargs), None)
    _check_seeds(mode, args[0] if args else kwargs.get("tensors"), seeds)
    return func(*args, **kwargs)


def gradients_of(mode, func, args, kwargs):
    """`torch.autograd.grad(outputs, inputs, grad_outputs)`."""
    outputs = args[0] if args else kwargs["outputs"]
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    _check_seeds(mode, outputs, args[2] if len(args) > 2 else kwargs.get("grad_outputs"))
    results = func(*args, **kwargs)
    for source, result in zip(_as_tuple(inputs), _as_tuple(results), strict=False):
        if isinstance(source, Tensor) and isinstance(result, Tensor):
            settle(mode, result, index_of(source))
    return results


def _check_seeds(mode, outputs: object, seeds: object) -> None:
    for number, (output, seed) in enumerate(
        zip(_as_tuple(outputs), _as_tuple(seeds), strict=False)
    ):
        if isinstance(output, Tensor) and isinstance(seed, Tensor):
            here, there = index_of(output), index_of(seed)
            if here != there:
                name = mode.machine.name
                raise RuntimeError(
                    f"invalid gradient at index {number} - expected device {name(here)} "
                    f"but got {name(there)}"
                )


def _as_tuple(values: object) -> tuple:
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def register_hook(mode, func, args, kwargs):
    """`tensor.register_hook(hook)`: the hook sees a gradient that is where the tensor is."""
    tensor, hook = args
    where = index_of(tensor)

    def hook_with_place(gradient: Tensor) -> Any:
        settle(mode, gradient, where)
        return hook(gradient)

    return func(tensor, hook_with_place)


def with_places(mode, run_engine: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch's function that starts the engine, with the mode on for hooks and the like."""

    def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        backward.depth += 1
        try:
            if mode in _get_current_function_mode_stack():
                return run_engine(outputs, *args, **kwargs)
            with mode:
                return run_engine(outputs, *args, **kwargs)
        finally:
            backward.depth -= 1

    return run


def saving_with_places(mode, initialize: Callable[..., Any]) -> Callable[..., Any]:
    """The beginning of `saved_tensors_hooks`: the hook that saves sees where a tensor is."""

    def __init__(hooks: Any, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]):
        def pack(tensor: Tensor) -> Any:
            if mode.running >= 0:
                put_all(tensor, mode.running, mode.memories)
            if mode in _get_current_function_mode_stack():
                return pack_hook(tensor)
            with mode:
                return pack_hook(tensor)

        initialize(hooks, pack, unpack_hook)

    return __init__


def applying_with_places(mode, apply: Callable[..., Any]) -> Callable[..., Any]:
    """`Function.apply`, remembering where its outputs are for when their gradients come."""

    # As the class has it: a class method, in some versions of PyTorch one written in C.
    method = getattr_static(torch.autograd.Function, "apply")

    def apply_and_remember(cls: type, *args: Any, **kwargs: Any) -> Any:
        results = method.__get__(None, cls)(*args, **kwargs)
        outputs = _as_tuple(results)
        for output in outputs:
            if isinstance(output, Tensor) and isinstance(output.grad_fn, BackwardCFunction):
                output.grad_fn.places_of_outputs = [
                    index_of(x) if isinstance(x, Tensor) else CPU for x in outputs
                ]
                break
        return results

    return classmethod(apply_and_remember)


def backward_with_places(mode, apply: Callable[..., Any]) -> Callable[..., Any]:
    """A user's own `backward`, which gets each gradient where the output is that it belongs to."""

    def apply_with_places(node: Any, *gradients: Any) -> Any:
        for gradient, where in zip(gradients, getattr(node, "places_of_outputs", ()), strict=False):
            if isinstance(gradient, Tensor):
                settle(mode, gradient, where)
        return apply(node, *gradients)

    return apply_with_places


def module_hooks_with_places(mode, begin: Callable[..., Any]) -> Callable[..., Any]:
    """The methods that prepare a module's backward hooks, remembering where its tensors are."""

    def begin_and_remember(hooks: Any, values: Any) -> Any:
        places = [index_of(value) for value in _as_tuple(values) if isinstance(value, Tensor)]
        hooks.place = max(places, default=CPU)
        return begin(hooks, values)

    return begin_and_remember


def hook_arguments_with_places(mode, pack: Callable[..., Any]) -> Callable[..., Any]:
    """The method that hands gradients to a module's backward hooks, noting where they are."""

    def packed(hooks: Any, indices: Any, values: Any, size: int) -> Any:
        for value in values:
            if isinstance(value, Tensor) and backward.depth:
                settle(mode, value, getattr(hooks, "place", CPU))
        return pack(hooks, indices, values, size)

    return packed
