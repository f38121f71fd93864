"""The answers of the class of 70 to lab 01, read from class_of_70.toml."""

import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_name("class_of_70.toml").read_text(encoding="utf-8"))

# Exercise, answer and hint (None if the answer is right) of students without bad intentions.
STUDENTS: dict[str, tuple[int, str, str | None]] = {
    name: (row["exercise"], row["answer"], row.get("hint"))
    for name, row in _TABLES["students"].items()
}
# The exercise, and the source that replaces its answer. "{right}" is replaced by the right answer.
HOSTILE: dict[str, tuple[int, str]] = {
    name: (row["exercise"], row["answer"]) for name, row in _TABLES["hostile"].items()
}
# Attacks that try to get points for wrong answers in any lab. The source defines `answer`, which is
# used as every function and class that the lab requests.
ATTACKS: dict[str, str] = {
    name: _TABLES["forged_messages"] * row.get("forged", False) + row["answer"]
    for name, row in _TABLES["attacks"].items()
}


# Answers that still get their points, because they also define the right function.
HARMLESS = {name for name, row in _TABLES["hostile"].items() if row.get("harmless")}
