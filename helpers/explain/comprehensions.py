"""What the variables of a comprehension were, which Python since 3.12 has forgotten by then.

Up to 3.11 a comprehension has a frame of its own, with its variables. Now it is a part of the
function around it, and an error leaves the names as they were before, maybe other things.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from helpers.explain.names import MISSING, value_of
from helpers.explain.source import Site

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


def with_variables(site: Site) -> Site:
    """Give `site` the variables of the comprehensions around its expression.

    The first element of what is looped over stands for the one that failed.
    """
    if site.source is None or site.node is None or len(site.names.maps) > 2:
        return site
    names: ChainMap[str, object] = site.names
    around = [n for n in site.source.parents(site.node) if isinstance(n, _COMPREHENSIONS)]
    for comprehension in reversed(around):
        for loop in comprehension.generators:
            found = _unpacked(loop.target, _first(loop.iter, names))
            names = ChainMap(found, *names.maps)
    return replace(site, names=names) if around else site


def _first(node: ast.expr, names: Mapping[str, object]) -> Any:
    """Return the first element of what `node` stands for, or MISSING."""
    match node:
        case ast.List(elts=[element, *_]) | ast.Tuple(elts=[element, *_]):
            return value_of(element, names)
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return (0, _first(inner, names))
        case ast.Call(func=ast.Name(id="zip"), args=several):
            return tuple(_first(inner, names) for inner in several)
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values" as part), args=[]):
            table = value_of(inner, names)
            if isinstance(table, dict) and table:
                first = next(iter(dict.items(table)))
                return first if part == "items" else first[1]
            return MISSING
    value = value_of(node, names)
    if isinstance(value, DataLoader):
        # Its batches are where its tensors are: the loader collects, and does not move.
        return value.dataset.tensors if isinstance(value.dataset, TensorDataset) else MISSING
    if isinstance(value, nn.Sequential | nn.ModuleList):
        value = list(value._modules.values())
    return value[0] if isinstance(value, list | tuple) and value else MISSING


def _unpacked(target: ast.expr, value: Any) -> dict[str, object]:
    """Share `value` out among the names of `target`, as an assignment does."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    found: dict[str, object] = {}
    for number, part in enumerate(getattr(target, "elts", ())):
        known = isinstance(value, list | tuple) and number < len(value)
        found |= _unpacked(part, value[number] if known else MISSING)
    return found
