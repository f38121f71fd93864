"""`course doctor`: find problems on a machine, with the command that fixes each of them.

Uses the standard library only and imports torch in a separate process, so that it also works where
torch is missing, broken, or crashes the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from course.doctor import checkups
from course.doctor.checkups import NOTE, OK, PROBLEM, Finding

_PROBE = Path(__file__).with_name("probe.py")


def doctor(root: Path | None = None) -> list[Finding]:
    """Run all checkups and return their findings; a checkup that raises is reported as a finding.

    Args:
        root: folder of the course, for its pinned versions; None outside of a course.
    """
    probe = _ask_torch()
    all_checkups = [
        checkups.python,
        lambda: checkups.packages(root),
        lambda: checkups.torch(probe),
        lambda: checkups.gpu(probe),
        checkups.kernel,
        lambda: checkups.data(probe),
        lambda: checkups.disk(root),
        lambda: checkups.pins(root),
    ]
    findings = []
    for checkup in all_checkups:
        try:
            findings += checkup()
        except Exception as error:
            # The other checkups still run: one of them may find the cause.
            findings.append(Finding("doctor", NOTE, f"A checkup failed: {error!r}."))
    return findings


def show(findings: list[Finding]) -> str:
    """Format the findings as lines for a terminal."""
    marks = {OK: "ok      ", NOTE: "note    ", PROBLEM: "PROBLEM "}
    lines = []
    for finding in findings:
        lines.append(f"{marks[finding.level]} {finding.about}: {finding.text}")
        if finding.fix:
            lines.append(f"{'':9} to fix it: {finding.fix}")
    problems = sum(finding.level == PROBLEM for finding in findings)
    lines.append(
        f"{problems} problem{'s' if problems != 1 else ''}." if problems else "No problems."
    )
    return "\n".join(lines)


def as_json(findings: list[Finding]) -> str:
    """Format the findings as JSON: the number of `problems`, and the list of `findings`."""
    problems = sum(finding.level == PROBLEM for finding in findings)
    report = {"problems": problems, "findings": [asdict(finding) for finding in findings]}
    return json.dumps(report, indent=1)


def _ask_torch() -> dict[str, object]:
    """Return the JSON that `probe.py` prints; if it fails, `trouble` has the error."""
    command = [sys.executable, str(_PROBE)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"trouble": "importing it takes more than five minutes"}
    except OSError as error:
        return {"trouble": f"Python cannot be started ({error})"}
    for line in reversed(done.stdout.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict):
            return answer
    message = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"trouble": f"importing it ends the process with status {done.returncode}: {message}"}
