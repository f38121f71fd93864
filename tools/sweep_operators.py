"""Compare the simulated GPU with PyTorch's compiled CUDA checks, operator by operator.

    python -m tools.sweep_operators --report disagreements.md

Runs PyTorch's sample inputs of every operator (OpInfo) with one tensor on a different device from
the rest, once on the stand-in runtime of `record_cuda` and once on the simulated GPU. Needs Linux,
a CUDA build of torch, gcc, nm, and the package `expecttest`. Takes about ten minutes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from itertools import islice, product
from pathlib import Path

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

import simulated_cuda
from tools.record_cuda import ComputeOnCPU, build_stand_in

# The stand-in has no cuBLAS, cuDNN or similar libraries. Samples that need them are not compared.
_NO_LIBRARY = re.compile("CUBLAS|CUDNN|CUSOLVER|CUSPARSE|CUFFT|MAGMA|nvrtc|driver|cudnn|no kernel")
# By whether CUDA and the simulated GPU accept the devices: both, CUDA only, the other only, none.
_KINDS = {3: "other device", 2: "wrongly rejected", 1: "wrongly accepted", 0: "other message"}


def outcomes(operator) -> dict[str, str]:
    """Return the result's devices, or the error, of each sample with one tensor moved away."""
    results = {}
    dtype = torch.float32 if torch.float32 in operator.dtypes else next(iter(operator.dtypes))
    torch.manual_seed(0)
    for number, sample in enumerate(islice(operator.sample_inputs("cpu", dtype), 2)):
        leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        indices = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        if len(indices) < 2 or any(leaves[n].layout != torch.strided for n in indices):
            continue
        for (one, others), odd in product((("cpu", "cuda"), ("cuda", "cpu")), indices):
            mix = {n: one if n == odd else others for n in indices}
            key = f"{number}: {', '.join(mix.values())}"
            if key in results:
                continue
            moved = [x.detach().to(mix[n]) if n in mix else x for n, x in enumerate(leaves)]
            first, args, kwargs = tree_unflatten(moved, spec)
            try:
                tensors = tree_leaves(operator(first, *args, **kwargs))
                devices = (str(x.device) for x in tensors if isinstance(x, torch.Tensor))
                outcome = "works: " + ", ".join(devices)
            except Exception as error:  # any error is an outcome
                line = next(iter(str(error).strip().splitlines()), "")
                # Remove the list of backends, which depends on the PyTorch build.
                line = re.sub(r"0x[0-9a-f]+", "0x", line).partition("' backend.")[0]
                outcome = f"{type(error).__name__}: {line}"
            results[key] = outcome
    return results


def run_child(kind: str, start: int) -> None:
    """Print the outcomes of the operators from number `start` on as lines of JSON."""
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

    if kind == "simulated":
        simulated_cuda.enable()
    mode = torch.no_grad() if kind == "simulated" else ComputeOnCPU()
    operators = {x.full_name: x for x in op_db if "jiterator" not in x.full_name}
    for name in list(operators)[start:]:
        print(json.dumps([name, {}]), flush=True)
        with mode, torch.no_grad():
            try:
                results = outcomes(operators[name])
            except Exception as error:  # a sample that cannot be created
                results = {"": f"{type(error).__name__}: {error}"}
        print(json.dumps([name, results]), flush=True)
    os._exit(0)  # the stand-in's device threads never end


def collect(kind: str, environment: dict[str, str]) -> dict[str, dict[str, str]]:
    """Run all operators in child processes; one that crashes its process has no outcomes."""
    results: dict[str, dict[str, str]] = {}
    while True:
        # After a crash or 20 minutes, the next child starts with the next operator.
        command = ["timeout", "1200", sys.executable, "-m", "tools.sweep_operators", "--child"]
        command += [kind, str(len(results))]
        child = subprocess.run(command, env=environment, text=True, check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
        lines = [json.loads(line) for line in child.stdout.splitlines() if line.startswith("[")]
        results |= dict(lines)
        if child.returncode == 0:
            return results
        if not lines:
            raise SystemExit(f"No operator was run. Find the reason with: {' '.join(command)}")
        print(f"{kind}: {lines[-1][0]} crashed the process", file=sys.stderr)


def main() -> None:
    """Run the operators on both devices, print the counts, and write the disagreements."""
    parser = argparse.ArgumentParser("python -m tools.sweep_operators", description=__doc__)
    parser.add_argument("--report", type=Path, help="write the disagreements to this file")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child[0], int(options.child[1]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        stand_in = {**environment, **build_stand_in(Path(folder))}
        real = collect("stand-in", stand_in)
    simulated = collect("simulated", environment)
    counts: Counter[str] = Counter()
    report = ["| operator | sample: devices | disagreement | CUDA | simulated |", "|" + "---|" * 5]
    for name, mix, outcome in ((n, m, o) for n, found in real.items() for m, o in found.items()):
        actual = simulated.get(name, {}).get(mix)
        if actual is None or _NO_LIBRARY.search(outcome):
            kind = "not compared"
        elif outcome == actual:
            kind = "same"
        else:
            kind = _KINDS[2 * outcome.startswith("works") + actual.startswith("works")]
            report.append(f"| {name} | {mix} | {kind} | {outcome[:160]} | {actual[:160]} |")
        counts[kind] += 1
    print(f"torch {torch.__version__}: {len(real)} operators, {dict(sorted(counts.items()))}")
    if options.report:
        options.report.write_text("\n".join(report) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
