"""Checks the parameters of a run against the notebooks before anything starts.

papermill only warns of a name that a notebook does not have, and guesses a value's type from its
look: `1e3` becomes a float where a whole number is meant, `true` a text.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable

from nbformat import NotebookNode

from helpers.instructor.course_folder import CourseError

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

# Stands for a default that is computed, so that nothing is known about its type.
UNKNOWN = object()


def defaults_of(notebook: NotebookNode) -> dict[str, object]:
    """Names and default values in the cell tagged `parameters`; empty where there is none.

    A default that is not a plain value (a call, say) is given as `UNKNOWN`.
    """
    defaults: dict[str, object] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            try:
                statements = ast.parse(cell.source).body
            except SyntaxError as error:
                raise CourseError(
                    f"The parameters cell is not valid Python ({error}); it may hold nothing "
                    f"but assignments:\n{cell.source}"
                ) from None
            for statement in statements:
                defaults.update(_assignment(statement))
    return defaults


def _assignment(statement: ast.stmt) -> list[tuple[str, object]]:
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, value = [statement.target], statement.value
    else:
        return []
    try:
        default = ast.literal_eval(value)
    except ValueError:
        default = UNKNOWN
    return [(target.id, default) for target in targets if isinstance(target, ast.Name)]


def fit_parameters(
    given: Iterable[tuple[str, str]], defaults: dict[str, dict[str, object]]
) -> dict[str, dict[str, object]]:
    """The parameters that each notebook gets, as values of the type of its default.

    Args:
        given: names and values as they stand on the command line.
        defaults: for each notebook its parameters and their defaults, from `defaults_of`.

    Returns:
        for each notebook those of the given parameters that it has.

    Raises:
        CourseError: no notebook has a name (the nearest right one is named), a name is given
            twice, or a value cannot be of the type that the default has.
    """
    fitted: dict[str, dict[str, object]] = {name: {} for name in defaults}
    known = sorted({parameter for table in defaults.values() for parameter in table})
    given = list(given)
    for place, (parameter, text) in enumerate(given):
        if parameter in [earlier for earlier, _ in given[:place]]:
            raise CourseError(f"Parameter {parameter!r} is given twice.")
        if parameter not in known:
            raise CourseError(_unknown(parameter, known))
        for notebook, table in defaults.items():
            if parameter in table:
                fitted[notebook][parameter] = _convert(parameter, text, table[parameter], notebook)
    return fitted


def _unknown(parameter: str, known: list[str]) -> str:
    message = f"No notebook of this run has a parameter {parameter!r}."
    if near := difflib.get_close_matches(parameter, known, n=1):
        message += f" Did you mean {near[0]!r}?"
    return message + f" Known here: {', '.join(known) or 'none'}."


def _convert(parameter: str, text: str, default: object, notebook: str) -> object:
    """`text` as a value of the type of `default`."""
    wanted, read = _reading(default)
    try:
        return read(text)
    except (ValueError, SyntaxError):
        raise CourseError(
            f"Parameter {parameter!r} of {notebook} takes {wanted} "
            f"(its default is {default!r}), which {text!r} is not."
        ) from None


def _reading(default: object) -> tuple[str, Callable[[str], object]]:
    # bool before int: in Python a truth value is a whole number too.
    if isinstance(default, bool):
        return "true or false", _truth
    if isinstance(default, int):
        return "a whole number", _whole_number
    if isinstance(default, float):
        return "a number", float
    if isinstance(default, str):
        return "a text", str
    if isinstance(default, list | tuple | dict | set):
        kind = type(default)
        return f"a {kind.__name__} in Python's notation", lambda text: _literal(text, kind)
    return "any value", _any_value


def _truth(text: str) -> bool:
    try:
        return _TRUTH[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    # int(inf) would be an OverflowError.
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


def _literal(text: str, kind: type) -> object:
    value = ast.literal_eval(text)
    if not isinstance(value, kind):
        raise ValueError(text)
    # papermill writes lists into a notebook, but neither tuples nor sets.
    return list(value) if kind in (tuple, set) else value


def _any_value(text: str) -> object:
    """None, a truth value or a number where it is written as in Python; a text otherwise."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
