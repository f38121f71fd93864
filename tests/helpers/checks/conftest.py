"""Report how many collected answers were judged, after the tests."""

import importlib
import re


def pytest_terminal_summary(terminalreporter):
    # Use the names of the passed tests, since the tests may have run in other processes.
    passed = " ".join(report.nodeid for report in terminalreporter.stats.get("passed", ()))
    labs = sorted(set(re.findall(r"tests/helpers/checks/test_(lab_\d+)_answers", passed)))
    if not labs:
        return
    terminalreporter.section("collected answers")
    for lab in labs:
        answers = importlib.import_module(f"tests.helpers.checks.{lab}_answers").answers
        counts = [(number, *answers.count(number)) for number in answers.checks.lab.exercises]
        details = ", ".join(f"{number}: {wrong} + {right}" for number, wrong, right in counts)
        wrong, right = (sum(count[i] for count in counts) for i in (1, 2))
        terminalreporter.write_line(
            f"{lab}: {wrong} wrong and {right} right answers (per exercise: {details})"
        )
