"""Run the benchmarks and write their results: `python -m benchmarks [NAME ...] [--cifar10 PATH]`.

A benchmark is a module of this folder with a function `measure(cifar10_root) -> dict`. Its result
is written to helpers/recorded/NAME.json, which is part of the package.
"""

import argparse
import importlib
import json
import os
from pathlib import Path

from helpers.records import RECORDS

HERE = Path(__file__).parent


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(names)} (default: all)"
    )
    parser.add_argument(
        "--cifar10",
        type=Path,
        default=os.environ.get("CIFAR10_ROOT"),
        help="real CIFAR-10 in any layout that the course reads (default: $CIFAR10_ROOT)",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(
            f"unknown benchmark {', '.join(sorted(unknown))}; choose from {', '.join(names)}"
        )
    if arguments.cifar10 is None:
        parser.error(
            "the benchmarks need real CIFAR-10: pass its path with --cifar10 or CIFAR10_ROOT"
        )
    for name in arguments.names or names:
        print(f"{name} ...", flush=True)
        result = importlib.import_module(f"benchmarks.{name}").measure(Path(arguments.cifar10))
        text = json.dumps(result, indent=2) + "\n"
        RECORDS.mkdir(exist_ok=True)
        (RECORDS / f"{name}.json").write_text(text)
        print(text, flush=True)


if __name__ == "__main__":
    main()
