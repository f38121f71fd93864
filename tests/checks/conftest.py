"""Tells how many answers were tried, below the tests that try them."""

import sys


def pytest_terminal_summary(terminalreporter):
    module = sys.modules.get("tests.checks.test_answers")
    if not hasattr(module, "LABS"):
        return
    terminalreporter.section("collected answers")
    for lab, answers in module.LABS.items():
        counts = [(number, *answers.count(number)) for number in answers.checks.lab.exercises]
        each = ", ".join(f"{number}: {wrong} + {right}" for number, wrong, right in counts)
        wrong, right = (sum(count[i] for count in counts) for i in (1, 2))
        terminalreporter.write_line(
            f"{lab}: {wrong} wrong answers, {right} right ones (by exercise, wrong + right: {each})"
        )
