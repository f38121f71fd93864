"""`course doctor`: find problems on a machine, with the command that fixes each one.

Uses the standard library only and imports torch in a separate process, so that it also works where
torch is missing, broken, or crashes the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from course.doctor import diagnostics
from course.doctor.diagnostics import Finding, Level

_PROBE = Path(__file__).with_name("probe.py")


def doctor(root: Path | None = None) -> list[Finding]:
    """Run all checks and return their findings; a check that raises is reported as a finding.

    Args:
        root: folder of the course, for its pinned versions; None outside of a course.
    """
    probe = _probe_torch()
    all_checks = [
        diagnostics.python,
        lambda: diagnostics.packages(root),
        lambda: diagnostics.torch(probe),
        lambda: diagnostics.gpu(probe),
        diagnostics.kernel,
        lambda: diagnostics.data(probe),
        lambda: diagnostics.disk(root),
        lambda: diagnostics.pins(root),
    ]
    findings = []
    for check in all_checks:
        try:
            findings += check()
        except Exception as error:
            # The other checks still run: one of them may find the cause.
            findings.append(
                Finding(
                    "doctor",
                    Level.NOTE,
                    f"A check raised an error: {error!r}. The other checks ran.",
                )
            )
    return findings


def format_findings(findings: list[Finding]) -> str:
    """Format the findings as lines for a terminal."""
    labels = {Level.OK: "ok      ", Level.NOTE: "note    ", Level.PROBLEM: "PROBLEM "}
    lines = []
    for finding in findings:
        lines.append(f"{labels[finding.level]} {finding.name}: {finding.text}")
        if finding.fix:
            lines.append(f"{'':9} to fix it: {finding.fix}")
    problems = sum(finding.level == Level.PROBLEM for finding in findings)
    lines.append(
        f"{problems} problem{'s' if problems != 1 else ''}." if problems else "No problems."
    )
    return "\n".join(lines)


def as_json(findings: list[Finding]) -> str:
    """Format the findings as JSON: the number of `problems`, and the list of `findings`."""
    problems = sum(finding.level == Level.PROBLEM for finding in findings)
    report = {"problems": problems, "findings": [asdict(finding) for finding in findings]}
    return json.dumps(report, indent=1)


def _probe_torch() -> dict[str, object]:
    """Return the JSON that `probe.py` prints; if it fails, `error` is the message."""
    command = [sys.executable, str(_PROBE)]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return {"error": "importing it takes more than five minutes"}
    except OSError as error:
        return {"error": f"Python cannot be started ({error})"}
    for line in reversed(completed.stdout.splitlines()):
        try:
            report = json.loads(line)
        except ValueError:
            continue
        if isinstance(report, dict):
            return report
    message = (completed.stderr.strip().splitlines() or ["no message"])[-1]
    return {"error": f"importing it ends the process with status {completed.returncode}: {message}"}
