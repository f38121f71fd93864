"""The command `python -m simulated_cuda`, which runs a program with simulated GPUs."""

import argparse
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import simulated_cuda

from . import missing_moves, settings
from .cards import find_card

_DESCRIPTION = "Run a Python program with simulated GPUs, in this process and its child processes."
_EXAMPLES = """examples:
  python -m simulated_cuda --gpu T4 --steps 5 --timeline trace.json train.py
  python -m simulated_cuda --gpus 2 --memory 16GiB train.py
  python -m simulated_cuda --gpus 2 -m torch.distributed.run --nproc-per-node 2 train.py
  python -m simulated_cuda --find-missing-moves src/mypackage -- tests -k train
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m simulated_cuda", description=_DESCRIPTION, epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    options = {
        "--gpus": (int, "N", "number of GPUs"),
        "--memory": (_reporting(settings.parse_size), "SIZE",
                     "memory of each GPU, such as 16GiB (default: 8GiB, or that of the card)"),
        "--gpu": (_reporting(find_card), "CARD",
                  "model this card, such as T4 or H100, and print the modelled cost of a training "
                  "step"),
        "--timeline": (Path, "FILE.json",
                       "with --gpu: write the last steps as a trace for Perfetto, and as a "
                       "picture, FILE.svg"),
        "--launch-us": (float, "N",
                        "with --gpu: microseconds that the CPU takes to launch an operation"),
        "--steps": (int, "N", "with --gpu: stop the program after N steps of its optimizer"),
    }  # fmt: skip
    for name, (convert, metavar, text) in options.items():
        parser.add_argument(name, type=convert, metavar=metavar, help=text)
    parser.add_argument(
        "--find-missing-moves", action="store_true",
        help="remove each move, such as .to(device), from the given files and folders in turn, "
        "run the project's tests, and report the removals that no test detects; arguments "
        "for pytest follow after --",
    )  # fmt: skip
    parser.add_argument("-m", dest="module", action="store_true", help="run a module")
    parser.add_argument("program", help="the script, or the module after -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    parser.set_defaults(gpus=1)
    return parser


def _reporting(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the same conversion, with messages that argparse prints."""

    def checked(text: str) -> Any:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


@contextmanager
def _reported(options: argparse.Namespace) -> Iterator[None]:
    """Print the modelled cost of a step of the program that runs inside a `with` block."""
    if options.gpu is None:
        yield
        return
    from .estimates import summary
    from .steps import Steps

    machine = simulated_cuda._installation().machine
    if options.launch_us is not None:
        machine.clock.launch_seconds = 1e-6 * options.launch_us
    steps = Steps(machine, options.steps)
    try:
        yield
    finally:
        estimate, what = steps.finish()
        if estimate is None:
            print("The program ran nothing on the modelled GPU.", file=sys.stderr)
        else:
            print(summary(estimate, what), file=sys.stderr)
            if options.timeline is not None:
                spans = [span for part in steps.kept for span in part.spans] or estimate.spans
                timeline = replace(estimate.timeline(), spans=spans)
                files = " and ".join(map(str, timeline.save(options.timeline)))
                print(f"  timeline  {files} (modelled)", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    # The arguments after "--" are for pytest. argparse would drop the "--".
    end = words.index("--") if "--find-missing-moves" in words and "--" in words else len(words)
    options = parser.parse_args(words[:end])
    if options.gpu is None and (options.timeline or options.launch_us or options.steps):
        parser.error("--timeline, --launch-us and --steps need a card, such as --gpu T4")
    memory = options.memory or (options.gpu.memory_bytes if options.gpu else 8 * settings.GIB)
    requested = settings.Settings(options.gpus, memory, options.gpu and options.gpu.name)
    if options.find_missing_moves:
        paths = [Path(word) for word in (options.program, *options.arguments)]
        return missing_moves.main(paths, words[end + 1 :], requested)
    try:
        simulated_cuda.enable(requested.gpus, requested.memory, gpu=options.gpu)
    except (RuntimeError, ValueError) as error:
        parser.error(str(error))
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program!r}")
    sys.argv = [options.program, *options.arguments]
    with settings.inherit_in_child_processes(requested), _reported(options):
        if options.module:
            sys.path[0] = str(Path.cwd())
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(options.program).resolve().parent)
            runpy.run_path(options.program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
