"""Run all cases and write the behavior of CUDA to `simulated_cuda/tests/record/record.json`.

    python -m tools.record_cuda               on a machine with a GPU
    python -m tools.record_cuda --stand-in    without a GPU

Needs torch 2.11 or newer with CUDA. With one GPU, the entries of cases that need two GPUs stay
unchanged. `--stand-in` runs PyTorch's CUDA code on a stand-in for the CUDA runtime, and also needs
Linux, gcc and nm. The device checks, error messages, caching allocator and autograd engine are then
PyTorch's own compiled code; only the arithmetic runs on the CPU. These entries are not verified.
"""

import argparse
import contextlib
import ctypes
import datetime
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from simulated_cuda.tests.recorded_cases import (
    RECORD,
    Case,
    Entry,
    Record,
    all_cases,
    load,
    minor_version,
    run_case,
    save,
)

REAL_GPU = "real GPU"
COMPILED_CHECKS = "PyTorch's own CUDA code, run without a GPU"
_RUNTIME = Path(__file__).with_name("record_stand_in_runtime.c")
_CHILD = "RECORD_STAND_IN"
# Errors of libraries that need a real driver. The CPU computes their results instead.
_NO_LIBRARY = re.compile(
    "CUBLAS_STATUS|CUDNN_STATUS|CUSOLVER_STATUS|CUSPARSE_STATUS|CUFFT_|MAGMA|nvrtc|driver"
)
# Operations that only inspect, copy or reshape tensors run on the stand-in runtime.
_COPY_OPERATIONS = {
    "aten::copy_", "aten::set_", "aten::resize_", "aten::record_stream", "aten::is_pinned",
    "aten::_pin_memory",
}  # fmt: skip


def record_cases(
    source: str, verified: bool, device: str, path: Path = RECORD,
    run: Callable[..., Entry] = run_case, cases: Sequence[Case] | None = None,
) -> list[str]:  # fmt: skip
    """Run the cases that this machine supports, and merge their entries into the record at `path`.

    Returns one line per case that did not behave as expected.
    """
    warnings.simplefilter("ignore")
    cases, version = cases or all_cases(), torch.__version__
    origin = {"source": source, "verified": verified, "device": device, "torch": version}
    origin["date"] = datetime.date.today().isoformat()
    entries: Record = {}
    unexpected = []
    for case in cases:
        if case.gpus > torch.cuda.device_count():
            continue
        result = run(case.code, case.result)
        entries[case.name] = {minor_version(version): replace(result, **origin)}
        if result.outcome != case.outcome:
            unexpected.append(f"{case.name}: {result.outcome}, not {case.outcome}: {result}")
        fixed = run(case.fixed_code) if case.fix else None
        if fixed is not None and fixed.outcome != "works":
            unexpected.append(f"{case.name}, fixed: {fixed.type}: {fixed.text}")
    save(merge(load(path) if path.exists() else {}, entries), path)
    print(f"{len(entries)} of {len(cases)} cases recorded: torch {version}, {device}", flush=True)
    return unexpected


def merge(old: Record, new: Record) -> Record:
    """Return `old` updated with `new`; only a verified entry replaces a verified one."""
    merged = {name: dict(old.get(name, {})) for name in {**old, **new}}
    for name, versions in new.items():
        for version, entry in versions.items():
            before = merged[name].get(version)
            if entry.verified or before is None or not before.verified:
                merged[name][version] = entry
    return merged


def build_stand_in(folder: Path) -> dict[str, str]:
    """Compile the stand-in runtime and driver into `folder`; return the environment for them."""
    site = Path(torch.__file__).parents[1]
    names = ("c10_cuda", "torch_cuda", "torch_python", "torch_cuda_linalg")
    defined = re.findall(r"^[\w *]*?\b(\w+)\([^;]*?\{", _RUNTIME.read_text(), re.MULTILINE)
    runtime = _undefined_symbols(site, names, r" ((?:__)?cuda[A-Za-z0-9_]*)") - set(defined)
    driver = _undefined_symbols(site, ["caffe2_nvrtc"], r" (cu[A-Z][A-Za-z0-9_]*)")
    headers = ("nvidia/cu13/include", "triton/backends/nvidia/include", "/usr/local/cuda/include")
    # gcc ignores folders that do not exist; an absolute path is not joined to `site`.
    compiler = ["gcc", "-w", "-shared", "-fPIC", "-O1", *(f"-I{site / path}" for path in headers)]
    libraries = {"libstandin.so": (runtime, [_RUNTIME]), "libcuda.so.1": (driver, [])}
    for library, (functions, sources) in libraries.items():
        rest = folder / f"{library}.c"
        rest.write_text("".join(f"int {name}() {{ return 0; }}\n" for name in sorted(functions)))
        command = [*compiler, *sources, rest, "-o", folder / library, "-lpthread"]
        subprocess.run(command, check=True)
    return {"LD_PRELOAD": f"{folder}/libstandin.so", "LD_LIBRARY_PATH": str(folder), _CHILD: "1"}


def _undefined_symbols(site: Path, libraries: Sequence[str], pattern: str) -> set[str]:
    paths = [site / "torch/lib" / f"lib{name}.so" for name in libraries]
    output = subprocess.check_output(["nm", "-D", "--undefined-only", *paths], text=True)
    return set(re.findall(pattern, output))


def as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor with the same memory: the stand-in's device memory is host memory."""
    if tensor.device.type != "cuda":
        return tensor
    if tensor.numel() == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    storage = tensor.untyped_storage()
    buffer = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
    flat = torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
    strides = tensor.storage_offset(), tensor.size(), tensor.stride()
    return torch.empty(0, dtype=tensor.dtype).set_(flat, *strides)


class ComputeOnCPU(TorchDispatchMode):
    """Runs every operation on the stand-in device, then fills in values from the CPU."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run one operation twice: on CUDA for its checks, on the CPU for its values."""
        kwargs = kwargs or {}
        leaves, spec = tree_flatten((args, kwargs))
        device = kwargs.get("device")
        on_gpu = [x for x in leaves if isinstance(x, torch.Tensor) and x.device.type == "cuda"]
        if not on_gpu and (device is None or torch.device(device).type != "cuda"):
            return func(*args, **kwargs)
        name, mutable = func._schema.name, func._schema.is_mutable
        if name == "aten::_local_scalar_dense":
            return func(as_cpu(args[0]))
        is_view = not mutable and any(r.alias_info is not None for r in func._schema.returns)
        if is_view or (name in _COPY_OPERATIONS and len({x.dtype for x in on_gpu}) <= 1):
            return func(*args, **kwargs)
        if name in ("aten::index", "aten::index_put_", "aten::index_put"):
            args = (args[0], _without_masks(args[1]), *args[2:])
            leaves, spec = tree_flatten((args, kwargs))
        cpu_leaves = [_to_cpu(leaf, mutable) for leaf in leaves]
        cpu_args, cpu_kwargs = tree_unflatten(cpu_leaves, spec)
        try:
            values = func(*cpu_args, **cpu_kwargs)
        except Exception as error:
            # The operation is also invalid on the CPU, or it exists only on CUDA. Use the result of
            # the call on CUDA below.
            values = error
        failed = isinstance(values, Exception)
        devices = {x.device for x in leaves if isinstance(x, torch.Tensor) and x.dim()}
        target = torch.device(device) if device is not None else on_gpu[0].device
        if torch.Tag.dynamic_output_shape in func.tags and len(devices) == 1 and not failed:
            # On CUDA, a kernel computes the output size. With one device, no device check fails.
            result = _results_like(values, leaves, cpu_leaves, target)
        else:
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                if failed or len(devices) > 1 or not _NO_LIBRARY.search(str(error)):
                    raise
                result = _results_like(values, leaves, cpu_leaves, target)
        if not failed:
            if mutable:
                _fill(leaves, cpu_leaves)
            _fill(tree_leaves(result), tree_leaves(values))
        return result


def _to_cpu(leaf: object, mutable: bool) -> object:
    if isinstance(leaf, torch.Tensor):
        return as_cpu(leaf).clone() if mutable or leaf.device.type == "cuda" else leaf
    if isinstance(leaf, torch.device):
        return torch.device("cpu")
    return None if isinstance(leaf, torch.Generator) else leaf


def _without_masks(indices):
    """Replace masks with indices, because counting mask elements on CUDA needs a kernel."""
    result: list[object] = []
    for index in indices:
        is_mask = isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
        parts = as_cpu(index).nonzero(as_tuple=True) if is_mask else ()
        result += [part.to(index.device) for part in parts] if is_mask else [index]
    return result


def _results_like(values, leaves, cpu_leaves, device):
    """Return empty tensors on `device` with the shapes of the CPU's results.

    A result that is a modified argument is returned as that argument.
    """
    arguments = {id(cpu_leaf): leaf for leaf, cpu_leaf in zip(leaves, cpu_leaves, strict=True)}

    def empty(value):
        if not isinstance(value, torch.Tensor) or id(value) in arguments:
            return arguments.get(id(value), value)
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)

    return tree_map(empty, values)


def _fill(targets, values) -> None:
    for target, value in zip(targets, values, strict=True):
        are_tensors = isinstance(target, torch.Tensor) and isinstance(value, torch.Tensor)
        if are_tensors and target.device.type == "cuda" and target.shape == value.shape:
            as_cpu(target).copy_(value)


def _run_on_stand_in(code: str, result: str = "") -> Entry:
    """Run a case; if it needs cuDNN, run it again with PyTorch's own kernels."""
    entry = run_case(code, result)
    if "CUDNN_STATUS" in entry.text:
        with torch.backends.cudnn.flags(enabled=False):
            return run_case(code, result)
    return entry


def main() -> int:
    """Run the command; the exit status is 1 if a case did not behave as expected."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=RECORD, help="the record file to update")
    parser.add_argument("--stand-in", action="store_true", help="record without a GPU")
    options = parser.parse_args()
    if options.stand_in and _CHILD not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **build_stand_in(Path(folder)), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "tools.record_cuda", *sys.argv[1:]]
            return subprocess.run(command, env=environment, check=False).returncode
    if not torch.cuda.is_available():
        sys.exit("No CUDA GPU found (torch.cuda.is_available() is False). Use a machine with one.")
    if options.stand_in:
        # `flatten_parameters` packs weights for cuDNN; no recorded behavior depends on it.
        torch.nn.RNNBase.flatten_parameters = lambda self: None
        # Printing a tensor disables dispatch modes, so it would print values never computed.
        torch.utils._python_dispatch._disable_current_modes = contextlib.nullcontext
        with ComputeOnCPU():
            unexpected = record_cases(COMPILED_CHECKS, False, "none", options.to, _run_on_stand_in)
    else:
        unexpected = record_cases(REAL_GPU, True, torch.cuda.get_device_name(0), options.to)
    print(*unexpected, sep="\n", file=sys.stderr, flush=True)
    # Autograd's device threads wait for a GPU that does not exist, so exit without joining them.
    os._exit(1 if unexpected else 0)


if __name__ == "__main__":
    sys.exit(main())
