"""Compare the simulated GPU with PyTorch's compiled CUDA checks, operator by operator.

    python -m tools.sweep_operators --report disagreements.md

Runs PyTorch's sample inputs of every operator (OpInfo) with one tensor on a different device from
the rest, once on the stand-in runtime of `record_stand_in` and once on the simulated GPU. Needs
Linux, a CUDA build of torch, gcc, nm, and the package `expecttest`. Takes about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

SAMPLES = 2
KINDS = ("stand-in", "simulated")
# Time limit of a child process. The next child starts after the operator that was running.
_SECONDS = 1200
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# The stand-in has no cuBLAS, cuDNN or similar libraries. Samples that need them are not compared.
_NO_LIBRARY = re.compile("CUBLAS|CUDNN|CUSOLVER|CUSPARSE|CUFFT|MAGMA|nvrtc|driver|cudnn|no kernel")


def mixes(num_tensors: int) -> Iterator[tuple[str, ...]]:
    """Yield the devices of `num_tensors` tensors, with one tensor on a different device."""
    for device, other_device in (("cpu", "cuda"), ("cuda", "cpu")):
        for number in range(num_tensors):
            yield tuple(device if n == number else other_device for n in range(num_tensors))
        if num_tensors == 2:
            return


def outcomes(operator, move: Callable[[torch.Tensor, str], torch.Tensor]) -> dict[str, str]:
    """Return the outcome of each sample and mix: devices, or the error's first line."""
    results = {}
    dtype = torch.float32 if torch.float32 in operator.dtypes else next(iter(operator.dtypes))
    torch.manual_seed(0)
    samples = islice(operator.sample_inputs("cpu", dtype), SAMPLES)
    for number, sample in enumerate(samples):
        leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        indices = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        if len(indices) < 2 or any(leaves[n].layout != torch.strided for n in indices):
            continue
        for mix in mixes(len(indices)):
            placed_leaves = list(leaves)
            for position, device in zip(indices, mix, strict=True):
                placed_leaves[position] = move(leaves[position], device)
            first, args, kwargs = tree_unflatten(placed_leaves, spec)
            results[f"{number}: {', '.join(mix)}"] = _outcome(operator, first, args, kwargs)
    return results


def _outcome(operator, first, args, kwargs) -> str:
    try:
        result = operator(first, *args, **kwargs)
    except Exception as error:  # any error is an outcome
        lines = str(error).strip().splitlines() or [""]
        # Remove the list of backends, which depends on the PyTorch build.
        line = _ADDRESS.sub("0x", lines[0]).partition("' backend.")[0]
        return f"{type(error).__name__}: {line}"
    tensors = (leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor))
    return "works: " + ", ".join(str(tensor.device) for tensor in tensors)


def run_child(kind: str, after: str, only: str) -> None:
    """Print the outcomes of the operators after `after` as lines of JSON."""
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    if kind == "simulated":
        import simulated_cuda

        simulated_cuda.enable()
        mode = torch.no_grad()
    else:
        from tools.record_stand_in import ComputeOnCPU

        mode = ComputeOnCPU()
    is_after_start = not after
    for operator in op_db:
        name = operator.full_name
        if not re.search(only, name) or "jiterator" in name:
            continue
        if is_after_start:
            print(json.dumps([name, None]), flush=True)
            with mode, torch.no_grad():
                try:
                    results = outcomes(operator, lambda tensor, device: tensor.detach().to(device))
                except Exception as error:  # a sample that cannot be created
                    results = {"": f"{type(error).__name__}: {error}"}
            print(json.dumps([name, results]), flush=True)
        is_after_start = is_after_start or name == after
    sys.stdout.flush()
    # The stand-in's device threads never end.
    os._exit(0)


def collect(kind: str, environment: dict[str, str], only: str) -> dict[str, dict[str, str]]:
    """Run all operators in child processes; one that crashes its process has no outcomes."""
    results: dict[str, dict[str, str]] = {}
    last_name, is_finished = "", False
    while not is_finished:
        command = [
            sys.executable, "-m", "tools.sweep_operators", "--child", kind, "--after", last_name,
            "--only", only,
        ]  # fmt: skip
        started_after = last_name
        with subprocess.Popen(
            ["timeout", str(_SECONDS), *command], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            for line in child.stdout:
                if not line.startswith("["):
                    continue
                last_name, outcomes_of_operator = json.loads(line)
                results[last_name] = outcomes_of_operator or {}
        is_finished = child.returncode == 0
        if not is_finished:
            if last_name == started_after:
                raise SystemExit(f"No operator was run. Find the reason with: {' '.join(command)}")
            print(f"{kind}: {last_name} crashed the process", file=sys.stderr)
    return results


def compare(real: dict, simulated: dict) -> tuple[Counter[str], list[str]]:
    """Count agreements and kinds of disagreement, and describe each disagreement in one line."""
    counts: Counter[str] = Counter()
    lines = []
    for name, expected in real.items():
        for mix, outcome in expected.items():
            actual = simulated.get(name, {}).get(mix)
            if actual is None or _NO_LIBRARY.search(outcome):
                counts["not compared"] += 1
                continue
            kind = _classify(outcome, actual)
            counts[kind] += 1
            if kind != "same":
                lines.append(f"| {name} | {mix} | {kind} | {outcome[:160]} | {actual[:160]} |")
    return counts, lines


def _classify(expected: str, actual: str) -> str:
    if expected == actual:
        return "same"
    works = expected.startswith("works"), actual.startswith("works")
    return {
        (True, True): "other device",
        (True, False): "wrongly rejected",
        (False, True): "wrongly accepted",
        (False, False): "other message",
    }[works]


def main() -> int:
    """Run the operators on both devices, print the counts, and write the disagreements."""
    parser = argparse.ArgumentParser("python -m tools.sweep_operators", description=__doc__)
    parser.add_argument("--report", type=Path, help="write the disagreements to this file")
    parser.add_argument(
        "--only", default="", metavar="REGEX", help="run only operators whose names match"
    )
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--after", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child, options.after, options.only)
    from tools.record_stand_in import build

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        real = collect("stand-in", {**environment, **build(Path(folder))}, options.only)
    simulated = collect("simulated", environment, options.only)
    counts, lines = compare(real, simulated)
    print(f"torch {torch.__version__}: {len(real)} operators, {dict(sorted(counts.items()))}")
    if options.report:
        header = [
            "| operator | sample: devices | disagreement | CUDA | simulated |",
            "|" + "---|" * 5,
        ]
        options.report.write_text("\n".join([*header, *lines]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
