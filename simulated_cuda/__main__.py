"""The command `python -m simulated_cuda`, which runs a program with simulated GPUs."""

import argparse
import runpy
import sys
from pathlib import Path

import simulated_cuda

from . import missing_moves, settings

_DESCRIPTION = "Run a Python program with simulated GPUs, in this process and its child processes."
_EXAMPLES = """examples:
  python -m simulated_cuda train.py --epochs 1
  python -m simulated_cuda --gpus 2 --memory 16GiB train.py
  python -m simulated_cuda --gpus 2 -m torch.distributed.run --nproc-per-node 2 train.py
  python -m simulated_cuda --find-missing-moves src/mypackage -- tests -k train
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m simulated_cuda", description=_DESCRIPTION, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="number of GPUs")
    parser.add_argument(
        "--memory", type=_size, default=8 * settings.GIB, metavar="SIZE",
        help="memory of each GPU, such as 16GiB (default: 8GiB)",
    )  # fmt: skip
    parser.add_argument(
        "--find-missing-moves", action="store_true",
        help="remove each move, such as .to(device), from the given files and folders in turn, "
        "run the project's tests, and report the removals that no test detects; arguments "
        "for pytest follow after --",
    )  # fmt: skip
    parser.add_argument("-m", dest="module", action="store_true", help="run a module")
    parser.add_argument("program", help="the script, or the module after -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser


def _size(text: str) -> int:
    try:
        return settings.parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    # The arguments after "--" are for pytest. argparse would drop the "--".
    end = words.index("--") if "--find-missing-moves" in words and "--" in words else len(words)
    options = parser.parse_args(words[:end])
    requested = settings.Settings(options.gpus, options.memory)
    if options.find_missing_moves:
        paths = [Path(word) for word in (options.program, *options.arguments)]
        return missing_moves.main(paths, words[end + 1 :], requested)
    try:
        simulated_cuda.enable(requested.gpus, requested.memory)
    except (RuntimeError, ValueError) as error:
        parser.error(str(error))
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program!r}")
    sys.argv = [options.program, *options.arguments]
    with settings.inherit_in_child_processes(requested):
        if options.module:
            sys.path[0] = str(Path.cwd())
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(options.program).resolve().parent)
            runpy.run_path(options.program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
