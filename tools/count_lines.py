"""Print the lines of Python per package and their limits: `python -m tools.count_lines`.

The exit status is 1 if a package is longer than its limit. Blank lines and comments count.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# A row's files start with one of its prefixes, and are not in a row above it.
LIMITS = {
    "tests": (("tests/", "simulated_cuda/tests/", "conftest.py"), 18000),
    "helpers/checks": (("helpers/checks/",), 5000),
    "helpers, rest": (("helpers/",), 7000),
    "course/grading": (("course/grading/",), 2800),
    "course: runs, reports": (("course/execution/", "course/batch/", "course/reports/"), 2200),
    "course, rest": (("course/",), 2700),
    "simulated_cuda": (("simulated_cuda/",), 7000),
    "tools, benchmarks, scripts": (("tools/", "benchmarks/", "scripts/"), 3000),
}
LIMIT_WITHOUT_TESTS = 29700


def count_lines() -> dict[str, int]:
    """Return the number of lines in each row's tracked Python files."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "*.py"]
    files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    counts = dict.fromkeys(LIMITS, 0)
    for file in filter(None, files):
        row = next((r for r, (prefixes, _) in LIMITS.items() if file.startswith(prefixes)), None)
        if row and (ROOT / file).exists():
            counts[row] += (ROOT / file).read_bytes().count(b"\n")
    return counts


def main() -> int:
    """Print the table; return 1 if a limit is exceeded."""
    counts = count_lines()
    rows = [(name, count, LIMITS[name][1]) for name, count in counts.items()]
    tests = rows.pop(0)
    rows.append(("sum without tests", sum(counts.values()) - tests[1], LIMIT_WITHOUT_TESTS))
    rows.append(tests)
    for name, count, limit in rows:
        print(f"{name:35}{count:8,} of {limit:6,}{'  TOO LONG' if count > limit else ''}")
    return int(any(count > limit for _, count, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
