"""Validates the parameters of a run before any notebook starts.

papermill only warns about unknown names, and it guesses the type of a value from its text: `1e3`
becomes a float even if the default is an integer, and `true` becomes a string.
"""

import ast
import contextlib
import difflib
from collections.abc import Iterable, Mapping

from nbformat import NotebookNode

from course.course_folder import CourseError

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_TYPE_NAMES = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}

# Marks a default that is not a literal, so its type is unknown.
UNKNOWN = object()


def read_parameters(notebook: NotebookNode) -> dict[str, object]:
    """Return the parameters' defaults by name, from the cell tagged `parameters`.

    Raises:
        CourseError: the cell is not valid Python.
    """
    defaults: dict[str, object] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code" or "parameters" not in cell.metadata.get("tags", []):
            continue
        try:
            statements = ast.parse(cell.source).body
        except SyntaxError as error:
            raise CourseError(
                f"The parameters cell is not valid Python ({error}). It must contain assignments "
                f"only:\n{cell.source}"
            ) from None
        for statement in statements:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                default = UNKNOWN
                with contextlib.suppress(ValueError):
                    default = ast.literal_eval(statement.value)
                for target in getattr(statement, "targets", None) or [statement.target]:
                    if isinstance(target, ast.Name):
                        defaults[target.id] = default
    return defaults


def convert_parameters(
    values: Mapping[str, object], defaults_by_notebook: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Return the given values for each notebook, converted to the types of its defaults.

    Values are texts from the command line, or values from a plan. A notebook gets only the
    parameters that it defines.

    Raises:
        CourseError: no notebook has a parameter of that name (the message suggests a similar
            one), or a value does not match the default's type.
    """
    names = sorted({name for defaults in defaults_by_notebook.values() for name in defaults})
    converted: dict[str, dict[str, object]] = {notebook: {} for notebook in defaults_by_notebook}
    for name, value in values.items():
        if name not in names:
            raise CourseError(
                f"No notebook of this run has a parameter {name!r}.{did_you_mean(name, names)} "
                f"Parameters: {', '.join(names) or 'none'}."
            )
        for notebook, defaults in defaults_by_notebook.items():
            if name in defaults:
                converted[notebook][name] = _convert_value(name, value, defaults[name], notebook)
    return converted


def did_you_mean(word: object, names: Iterable[object]) -> str:
    """Return a "Did you mean" question with the most similar name, or an empty string."""
    texts = {name.lower(): name for name in names if isinstance(name, str)}
    matches = difflib.get_close_matches(str(word).lower(), texts, n=1)
    return f" Did you mean {texts[matches[0]]!r}?" if matches else ""


def _convert_value(name: str, value: object, default: object, notebook: str) -> object:
    try:
        return _convert_to_type_of(value, default)
    except (ValueError, OverflowError):
        kind = type(default)
        type_name = _TYPE_NAMES.get(kind) or f"a {kind.__name__} as a Python literal"
        needs_quotes = isinstance(default, str) and not isinstance(value, str)
        raise CourseError(
            f"Parameter {name!r} of {notebook} must be {type_name} (its default is "
            f"{default!r}), not {value!r}."
            f"{' Put the value in quotes to pass it as a string.' if needs_quotes else ''}"
        ) from None


def _convert_to_type_of(value: object, default: object) -> object:
    """Convert `value` to the type of `default`; text is parsed unless the default is a string."""
    if isinstance(value, str) and isinstance(default, bool):
        value = _BOOLEANS.get(value.lower(), value)
    elif isinstance(value, str) and not isinstance(default, str):
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(value)
    if default is None or default is UNKNOWN:
        return value
    # bool is a subclass of int, but do not accept one for the other.
    if isinstance(value, bool) is not isinstance(default, bool):
        raise ValueError(value)
    if type(default) in (int, float):
        number = float(value) if isinstance(value, int | float | str) else None
        if number is None or (isinstance(default, int) and not number.is_integer()):
            raise ValueError(value)
        return (
            number if isinstance(default, float) else value if type(value) is int else int(number)
        )
    # Plans and papermill support lists, but not tuples or sets.
    if isinstance(default, tuple | set) and isinstance(value, list | tuple | set):
        return list(value)
    if not isinstance(value, type(default)):
        raise ValueError(value)
    return value
