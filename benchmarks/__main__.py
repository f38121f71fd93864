"""Run the benchmarks and write their results: `python -m benchmarks [NAME ...] [--cifar10 PATH]`.

A benchmark is a module of this folder with a DESCRIPTION and a function `measure(cifar10_root)`,
which returns results by device. They are written to helpers/recorded/NAME.json, which is part of
the package.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks._recording import run_benchmark
from helpers.records import RECORDS

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    choices = f"one or more of {', '.join(NAMES)} (default: all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=choices)
    parser.add_argument(
        "--cifar10", type=Path, default=os.environ.get("CIFAR10_ROOT"),
        required="CIFAR10_ROOT" not in os.environ,
        help="real CIFAR-10 in any layout that the course reads (default: $CIFAR10_ROOT)",
    )  # fmt: skip
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(NAMES)):
        parser.error(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    for name in arguments.names or NAMES:
        print(f"{name} ...", flush=True)
        text = json.dumps(run_benchmark(name, arguments.cifar10), indent=2) + "\n"
        (RECORDS / f"{name}.json").write_text(text)
        print(text, flush=True)


if __name__ == "__main__":
    main()
