"""Checks the parameters of a run against the notebooks before anything starts.

papermill only warns of a name that a notebook does not have, and guesses a value's type from its
look: `1e3` becomes a float where a whole number is meant, `true` a text.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence

from nbformat import NotebookNode

from course.course_folder import CourseError

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


def choices_of(notebook: NotebookNode) -> dict[str, list[object]]:
    """The values that a parameter may have, where its cell says: `x: Literal["a", "b"] = "a"`."""
    choices: dict[str, list[object]] = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            for statement in ast.walk(ast.parse(cell.source)):
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    choices.update(_literal_choices(statement.target.id, statement.annotation))
    return choices


def _literal_choices(name: str, annotation: ast.expr) -> dict[str, list[object]]:
    if not isinstance(annotation, ast.Subscript):
        return {}
    if ast.unparse(annotation.value).rpartition(".")[2] != "Literal":
        return {}
    inside = annotation.slice
    elements = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    return {name: [ast.literal_eval(element) for element in elements]}


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
    given: Iterable[tuple[str, object]],
    defaults: Mapping[str, Mapping[str, object]],
    choices: Mapping[str, Mapping[str, Sequence[object]]] | None = None,
) -> dict[str, dict[str, object]]:
    """The parameters that each notebook gets, as values of the type of its default.

    Args:
        given: names and values, texts as they stand on the command line or values from a plan.
        defaults: for each notebook its parameters and their defaults, from `defaults_of`.
        choices: for each notebook the values that a parameter may have, from `choices_of`.

    Returns:
        for each notebook those of the given parameters that it has.

    Raises:
        CourseError: no notebook has a name (the nearest right one is named), a name is given
            twice, a value cannot be of the type that the default has, or is none of the choices.
    """
    fitted: dict[str, dict[str, object]] = {name: {} for name in defaults}
    known = sorted({parameter for table in defaults.values() for parameter in table})
    given = list(given)
    for place, (parameter, value) in enumerate(given):
        if parameter in [earlier for earlier, _ in given[:place]]:
            raise CourseError(f"Parameter {parameter!r} is given twice.")
        if parameter not in known:
            raise CourseError(_unknown(parameter, known))
        for notebook, table in defaults.items():
            if parameter not in table:
                continue
            fitting = _convert(parameter, value, table[parameter], notebook)
            allowed = (choices or {}).get(notebook, {}).get(parameter)
            if allowed is not None and fitting not in allowed:
                raise CourseError(
                    f"Parameter {parameter!r} of {notebook} is one of "
                    f"{', '.join(map(repr, allowed))}; {fitting!r} is not."
                    + _nearest(fitting, allowed)
                )
            fitted[notebook][parameter] = fitting
    return fitted


def _unknown(parameter: str, known: list[str]) -> str:
    message = f"No notebook of this run has a parameter {parameter!r}.{_nearest(parameter, known)}"
    return message + f" Known here: {', '.join(known) or 'none'}."


def _nearest(word: object, known: Iterable[object]) -> str:
    """The question whether a known name was meant, empty where none is near."""
    texts = {name.lower(): name for name in known if isinstance(name, str)}
    near = difflib.get_close_matches(str(word).lower(), texts, n=1)
    return f" Did you mean {texts[near[0]]!r}?" if near else ""


def _convert(parameter: str, value: object, default: object, notebook: str) -> object:
    """`value` in the type of `default`; a text is read, anything else has to be of that type."""
    wanted, read = _reading(default)
    try:
        return read(value) if isinstance(value, str) else _same_kind(value, default)
    except (ValueError, SyntaxError):
        hint = ""
        if isinstance(default, str) and not isinstance(value, str):
            hint = " Put it into quotes if it is meant as a text."
        raise CourseError(
            f"Parameter {parameter!r} of {notebook} takes {wanted} "
            f"(its default is {default!r}), which {value!r} is not.{hint}"
        ) from None


def _same_kind(value: object, default: object) -> object:
    """A value that a plan gives, if it is of the default's type; a whole number is a number."""
    if default is None or default is UNKNOWN:
        return value
    if isinstance(value, bool) is not isinstance(default, bool):
        raise ValueError(value)
    if isinstance(default, float) and isinstance(value, int):
        return float(value)
    if isinstance(default, int) and isinstance(value, float) and value.is_integer():
        return int(value)
    kind = list if isinstance(default, tuple | set) else type(default)
    if not isinstance(value, kind):
        raise ValueError(value)
    return value


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
