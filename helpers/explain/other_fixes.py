"""Fix device errors other than two devices in one line: NumPy, generators, files, missing GPUs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import torch

from helpers.explain.edits import (
    Advice,
    Edit,
    Fix,
    add_keyword,
    add_lines,
    add_method,
    can_assign,
    insert_before,
    make_fix,
    replace_method,
    replace_node,
    takes_a_line_before,
)
from helpers.explain.messages import Message
from helpers.explain.places import Operand, operands, unknown_operands
from helpers.explain.source import Site
from helpers.explain.values import as_device, device_code, value_of, with_index

_CPU = torch.device("cpu")
_CHOICE = "'cuda' if torch.cuda.is_available() else 'cpu'"


def copy_to_cpu(site: Site, message: Message) -> Advice | None:
    """Copy to the CPU what NumPy or pinned memory needs there."""
    found = [o for o in operands(site) if o.device.type != "cpu"]
    unknown = unknown_operands(site)
    named = as_device(message.devices[0]) if message.devices else None
    if not found and len(unknown) == 1 and named is not None:
        found = [replace(unknown[0], device=named)]
    if not found:
        return None
    call = site.node
    method = call.func.attr if isinstance(getattr(call, "func", None), ast.Attribute) else ""
    if method in ("numpy", "pin_memory", "apply_", "map_"):
        receiver = call.func.value
        place = Operand(site.source.segment(receiver), found[0].device, receiver, found[0].value)
        detach = ".detach()" if method == "numpy" and _has_gradient(receiver, found) else ""
        edits = add_method(receiver, f"{detach}.cpu()")
        return Advice(make_fix(site.source, edits, site.statement), (place,))
    edits: list[Edit] = []
    for node in dict.fromkeys(o.node for o in found):
        mine = [o for o in found if o.node is node]
        method = ".detach().cpu()" if any(_requires_grad(o) for o in mine) else ".cpu()"
        holder, name = mine[0].holder, site.source.segment(node)
        if isinstance(holder, list | tuple):
            only_tensors = all(isinstance(element, torch.Tensor) for element in holder)
            item = "item" if only_tensors else "torch.as_tensor(item)"
            edits.append(replace_node(node, f"[{item}{method} for item in {name}]"))
        elif isinstance(holder, dict):
            text = f"{{key: item{method} for key, item in {name}.items()}}"
            edits.append(replace_node(node, text))
        else:
            edits += add_method(node, method)
    return Advice(make_fix(site.source, edits, site.statement), tuple(found))


def copy_integers_to_cpu(site: Site, message: Message) -> Advice | None:
    """Copy to the CPU the integers that torch reads there; the data stays on the GPU."""
    integers = [
        o
        for o in operands(site)
        if o.device.type != "cpu"
        and isinstance(o.value, torch.Tensor)
        and not o.value.is_floating_point()
    ]
    if not integers:
        return copy_to_cpu(site, message)
    edits = add_method(integers[-1].node, ".cpu()")
    return Advice(make_fix(site.source, edits, site.statement), (integers[-1],))


def _requires_grad(operand: Operand) -> bool:
    return isinstance(operand.value, torch.Tensor) and operand.value.requires_grad


def _has_gradient(receiver: ast.AST, found: list[Operand]) -> bool:
    detached = any(
        isinstance(part, ast.Attribute) and part.attr in ("detach", "data", "argmax")
        for part in ast.walk(receiver)
    )
    return not detached and any(_requires_grad(o) for x in found for o in (x, *x.inputs))


def create_generator(site: Site, message: Message) -> Advice | None:
    """Create the generator on the device on which the line draws its numbers."""
    found = operands(site)
    generator = next((o for o in found if isinstance(o.value, torch.Generator)), None)
    if generator is None:
        return None
    target, code = _CPU, "'cpu'"
    if generator.device.type == "cpu":
        words = getattr(site.node, "keywords", ())
        word = next((word.value for word in words if word.arg == "device"), None)
        named = as_device(value_of(word, site.names)) if word is not None else None
        tensors = [o for o in found if o.device.type != "cpu"]
        target = named or (tensors[0].device if tensors else with_index(torch.device("cuda")))
        code = site.source.segment(word) if named else device_code(site, target)
    places = (generator, Operand("", target, site.node))
    definition = site.definition_of(generator.text)
    for call in ast.walk(definition.value) if definition else ():
        if isinstance(call, ast.Call) and value_of(call.func, site.names) is torch.Generator:
            edits = add_keyword(site.source, call, "device", code)
            if call.args:
                edits = [replace_node(call.args[0], code)]
            where = f"line {call.lineno}"
            return Advice(make_fix(site.source, edits, definition, (), where), places)
    return Advice(_new_generator(site, generator, code), places)


def _new_generator(site: Site, generator: Operand, code: str) -> Fix | None:
    """Create the generator again before the line, unless the line may run several times."""
    loops = (ast.For, ast.AsyncFor, ast.While)
    repeated = site.in_function or any(
        isinstance(outer, loops) for outer in site.source.parents(site.statement)
    )
    named = isinstance(generator.node, ast.Name) and can_assign(site, generator.node)
    if repeated or not named:
        return None
    seed = generator.value.initial_seed()
    return add_lines(site, f"{generator.text} = torch.Generator(device={code}).manual_seed({seed})")


def load_elsewhere(site: Site, message: Message) -> Advice | None:
    """Pass `map_location` to the call that loads a file saved on a missing GPU."""
    for call in _calls(site):
        name = ast.unparse(call.func).split(".")[-1]
        if name in ("load", "load_state_dict_from_url") and call.args:
            device = "'cpu'"
            if "is_available() is False" not in message.text:
                device = device_code(site, with_index(torch.device("cuda")))
            mapped = any(word.arg == "map_location" for word in call.keywords)
            file = Operand(site.source.segment(call.args[0]), _CPU, call.args[0], moved=mapped)
            edits = add_keyword(site.source, call, "map_location", device)
            return Advice(make_fix(site.source, edits, site.statement), (file,))
    return None


def _calls(site: Site) -> Iterator[ast.Call]:
    nodes = [site.node, *(ast.walk(site.statement) if site.statement else ())]
    return (node for node in nodes if isinstance(node, ast.Call))


def name_existing_device(site: Site, message: Message) -> Advice | None:
    """Replace a device that does not exist, or that a method does not take."""
    call = next(_calls(site), None)
    if call is None:
        return None
    count = torch.cuda.device_count()
    code = device_code(site, torch.device("cuda:0") if count else _CPU)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    named = next((word.value for word in call.keywords if word.arg == "device"), None)
    if named is None and call.args and method in ("to", "cuda", "device", "set_device"):
        named = call.args[0]
    edits: list[Edit] = [replace_node(named, code)] if named is not None else []
    if method == "cuda":
        device = as_device(value_of(named, site.names))
        code = repr(str(device)) if device is not None and device.type == "cpu" else code
        edits = [replace_method(call, f".to({code})")]
    places = tuple(o for o in operands(site) if not o.created)[:1] if method else ()
    available = ", ".join(["cpu", *(f"cuda:{i}" for i in range(min(count, 4)))])
    why = f"The devices that torch can use on this machine: {available}."
    return Advice(make_fix(site.source, edits, site.statement), places, why)


def choose_device(site: Site, message: Message) -> Advice | None:
    """Make the line use the GPU where there is one, and the CPU elsewhere."""
    if site.statement is None or value_of(ast.Name("torch"), site.names) is not torch:
        return None
    fix = _choose_in_definition(site) or _choose_before(site) or _check_before(site)
    return Advice(fix) if fix else None


def _choose_in_definition(site: Site) -> Fix | None:
    """Change the variable that names the GPU, unless it is an argument."""
    for name in ast.walk(site.statement):
        if not (isinstance(name, ast.Name) and _is_gpu(value_of(name, site.names))):
            continue
        if definition := site.definition_of(name.id):
            edits = [replace_node(definition.value, _CHOICE)]
            return make_fix(site.source, edits, definition, (), f"line {definition.lineno}")
        if name.id not in site.arguments and can_assign(site, name) and takes_a_line_before(site):
            return add_lines(site, f"{name.id} = {_CHOICE}")
    return None


def _choose_before(site: Site) -> Fix | None:
    """Replace "cuda" and `.cuda()` with `device`, which a new line before chooses."""
    edits: list[Edit] = []
    for node in ast.walk(site.statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "cuda":
                edits.append(replace_method(node, ".to(device)"))
        elif (
            isinstance(node, ast.Constant)
            and _is_gpu(node.value)
            and isinstance(site.source.parents(node)[0], ast.Call | ast.keyword)
        ):
            edits.append(replace_node(node, "device"))
    if not (edits and takes_a_line_before(site)):
        return None
    return make_fix(site.source, edits, site.statement, (f"device = {_CHOICE}",))


def _check_before(site: Site) -> Fix | None:
    """Run a statement such as `torch.cuda.synchronize()` only where there is a GPU."""
    statement = site.statement
    alone = isinstance(statement, ast.Expr) and statement.end_lineno == statement.lineno
    if not (alone and takes_a_line_before(site)):
        return None
    if "torch.cuda." not in site.source.segment(statement):
        return None
    before = ("if torch.cuda.is_available():",)
    return make_fix(site.source, [insert_before(statement, "    ")], statement, before)


def _is_gpu(value: object) -> bool:
    if isinstance(value, str) and not value.startswith(("cuda", "mps", "xpu")):
        return False
    device = as_device(value) if isinstance(value, str | torch.device) else None
    return device is not None and device.type not in ("cpu", "meta")
