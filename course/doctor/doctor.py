"""`course doctor`: says what is wrong with a machine, and the command that mends it.

It stands on the standard library and asks torch in a process of its own, so that it has an answer
also where torch is missing, broken, or ends the process that imports it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from course.doctor import looks
from course.doctor.looks import NOTE, OK, PROBLEM, Finding

_PROBE = Path(__file__).with_name("probe.py")


def doctor(root: Path | None = None) -> list[Finding]:
    """Look at everything and return what was found; a look that fails is a finding itself.

    Args:
        root: the course's folder, whose pins are compared; None where there is none.
    """
    probe = _ask_torch()
    in_turn = [
        looks.python,
        lambda: looks.packages(root),
        lambda: looks.torch(probe),
        lambda: looks.gpu(probe),
        looks.kernel,
        lambda: looks.data(probe),
        lambda: looks.disk(root),
        lambda: looks.pins(root),
    ]
    findings = []
    for look in in_turn:
        try:
            findings += look()
        except Exception as error:
            # A doctor that falls ill helps nobody; the rest may be what the person needs.
            findings.append(Finding("doctor", NOTE, f"A look failed: {error!r}."))
    return findings


def show(findings: list[Finding]) -> str:
    """The findings as lines for a terminal."""
    marks = {OK: "ok      ", NOTE: "note    ", PROBLEM: "PROBLEM "}
    lines = []
    for finding in findings:
        lines.append(f"{marks[finding.level]} {finding.about}: {finding.text}")
        if finding.mend:
            lines.append(f"{'':9} to mend it: {finding.mend}")
    problems = sum(finding.level == PROBLEM for finding in findings)
    lines.append(f"{problems} problem{'s' if problems != 1 else ''}." if problems else "All well.")
    return "\n".join(lines)


def as_json(findings: list[Finding]) -> str:
    """The findings for another program: `problems`, and a list of `findings`."""
    problems = sum(finding.level == PROBLEM for finding in findings)
    table = {"problems": problems, "findings": [asdict(finding) for finding in findings]}
    return json.dumps(table, indent=1)


def _ask_torch() -> dict[str, object]:
    """What torch says of itself, from a process that may fail: `trouble` says how."""
    command = [sys.executable, str(_PROBE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"trouble": "importing it takes more than five minutes"}
    except OSError as error:
        return {"trouble": f"a Python to ask it cannot be started ({error})"}
    for line in reversed(done.stdout.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict):
            return answer
    said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    return {"trouble": f"importing it ends the process with status {done.returncode}: {said}"}
