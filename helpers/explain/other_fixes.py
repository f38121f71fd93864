"""Build fixes for other device errors: NumPy, generators, files, and device names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import torch

from helpers.explain.edits import (
    Advice,
    Edit,
    add_keyword,
    add_method,
    make_fix,
    replace_method,
    replace_node,
)
from helpers.explain.messages import Message
from helpers.explain.operands import Operand, operands
from helpers.explain.source import Site
from helpers.explain.values import as_device, device_code, value_of, with_index
from helpers.language import translate

_CPU = torch.device("cpu")


def copy_to_cpu(site: Site, message: Message) -> Advice | None:
    """Return a fix that copies to the CPU the tensors that NumPy or `pin_memory` needs there."""
    known, unknown = operands(site)
    gpu_operands = [o for o in known if o.device.type != "cpu"]
    device = as_device(message.devices[0]) if message.devices else None
    if not gpu_operands and len(unknown) == 1 and device is not None:
        gpu_operands = [replace(unknown[0], device=device)]
    if not gpu_operands:
        return None
    function = getattr(site.node, "func", None)
    method = function.attr if isinstance(function, ast.Attribute) else ""
    if method in ("numpy", "pin_memory", "apply_", "map_"):
        receiver = function.value
        place = Operand(
            site.source.segment(receiver), gpu_operands[0].device, receiver, gpu_operands[0].value
        )
        detach = ".detach()" if method == "numpy" and any(map(_requires_grad, gpu_operands)) else ""
        edits = add_method(site.source, receiver, f"{detach}.cpu()")
        return Advice(make_fix(site.source, edits, site.statement), (place,))
    edits: list[Edit] = []
    for operand in {o.node: o for o in reversed(gpu_operands)}.values():
        method = ".detach().cpu()" if _requires_grad(operand) else ".cpu()"
        if isinstance(operand.holder, list | tuple):
            items = f"[item{method} for item in {site.source.segment(operand.node)}]"
            edits.append(replace_node(site.source, operand.node, items))
        else:
            edits += add_method(site.source, operand.node, method)
    return Advice(make_fix(site.source, edits, site.statement), tuple(gpu_operands))


def copy_integers_to_cpu(site: Site, message: Message) -> Advice | None:
    """Return a fix that copies to the CPU only the integers that torch reads there."""
    integers = [
        o
        for o in operands(site)[0]
        if o.device.type != "cpu"
        and isinstance(o.value, torch.Tensor)
        and not o.value.is_floating_point()
    ]
    if not integers:
        return copy_to_cpu(site, message)
    edits = add_method(site.source, integers[-1].node, ".cpu()")
    return Advice(make_fix(site.source, edits, site.statement), (integers[-1],))


def _requires_grad(operand: Operand) -> bool:
    """Return whether a tensor, or an input of a network's result, requires gradients."""
    return any(
        isinstance(o.value, torch.Tensor) and o.value.requires_grad
        for o in (operand, *operand.inputs)
    )


def create_generator(site: Site, message: Message) -> Advice | None:
    """Return a fix that creates the generator on the device of the random numbers."""
    known, _ = operands(site)
    generator = next((o for o in known if isinstance(o.value, torch.Generator)), None)
    if generator is None:
        return None
    target, code = _CPU, "'cpu'"
    if generator.device.type == "cpu":
        keywords = getattr(site.node, "keywords", ())
        keyword = next((keyword.value for keyword in keywords if keyword.arg == "device"), None)
        device = as_device(value_of(keyword, site.names)) if keyword is not None else None
        tensors = [o for o in known if o.device.type != "cpu"]
        target = device or (tensors[0].device if tensors else with_index(torch.device("cuda")))
        code = site.source.segment(keyword) if device else device_code(site, target)
    places = (generator, Operand("", target, site.node))
    definition = site.definition_of(generator.text)
    for call in ast.walk(definition.value) if definition else ():
        if isinstance(call, ast.Call) and value_of(call.func, site.names) is torch.Generator:
            edits = add_keyword(site.source, call, "device", code)
            if call.args:
                edits = [replace_node(site.source, call.args[0], code)]
            where = translate("line {number}", number=call.lineno)
            return Advice(make_fix(site.source, edits, definition, (), where), places)
    return Advice(None, places)


def add_map_location(site: Site, message: Message) -> Advice | None:
    """Return a fix that passes `map_location` to the call that loads a file from a missing GPU."""
    for call in _calls(site):
        name = ast.unparse(call.func).split(".")[-1]
        if name in ("load", "load_state_dict_from_url") and call.args:
            device = "'cpu'"
            if "is_available() is False" not in message.text:
                device = device_code(site, with_index(torch.device("cuda")))
            has_map_location = any(keyword.arg == "map_location" for keyword in call.keywords)
            file = Operand(
                site.source.segment(call.args[0]), _CPU, call.args[0], moved=has_map_location
            )
            edits = add_keyword(site.source, call, "map_location", device)
            return Advice(make_fix(site.source, edits, site.statement), (file,))
    return None


def replace_missing_device(site: Site, message: Message) -> Advice | None:
    """Return a fix that replaces a device that does not exist or that a method rejects."""
    call = next(_calls(site), None)
    if call is None:
        return None
    count = torch.cuda.device_count()
    code = device_code(site, torch.device("cuda:0") if count else _CPU)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    argument = next((keyword.value for keyword in call.keywords if keyword.arg == "device"), None)
    if argument is None and call.args and method in ("to", "cuda", "device", "set_device"):
        argument = call.args[0]
    edits = [replace_node(site.source, argument, code)] if argument is not None else []
    if method == "cuda":
        device = as_device(value_of(argument, site.names))
        code = repr(str(device)) if device is not None and device.type == "cpu" else code
        edits = [replace_method(site.source, call, f".to({code})")]
    places = tuple(o for o in operands(site)[0] if not o.created)[:1] if method else ()
    available = ", ".join(["cpu", *(f"cuda:{i}" for i in range(min(count, 4)))])
    why = translate(
        "The devices that torch can use on this machine: {available}.", available=available
    )
    return Advice(make_fix(site.source, edits, site.statement), places, why)


def _calls(site: Site) -> Iterator[ast.Call]:
    nodes = [site.node, *(ast.walk(site.statement) if site.statement else ())]
    return (node for node in nodes if isinstance(node, ast.Call))
