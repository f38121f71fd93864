"""Write the record without a GPU: run PyTorch's CUDA code on a stand-in CUDA runtime.

    python -m tools.record_stand_in

Needs Linux, a CUDA build of torch, gcc and nm. The device checks, error messages, caching
allocator and autograd engine are PyTorch's own compiled code; only the arithmetic runs on the CPU.
The entries are marked as unverified, because no GPU ran the cases.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from tests.simulated_cuda.record.record import COMPILED_CHECKS, Entry, run_case
from tools.record_cuda import record_cases

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


def build(folder: Path) -> dict[str, str]:
    """Compile the stand-in runtime and driver into `folder`; return the environment for them."""
    site = Path(torch.__file__).parents[1]
    libraries = [
        site / "torch" / "lib" / f"lib{name}.so"
        for name in ("c10_cuda", "torch_cuda", "torch_python", "torch_cuda_linalg")
    ]
    defined_names = set(
        re.findall(r"^[\w *]*?\b(\w+)\([^;]*?\{", _RUNTIME.read_text(), re.MULTILINE)
    )
    runtime = _undefined_symbols(libraries, r" ((?:__)?cuda[A-Za-z0-9_]*)") - defined_names
    driver = _undefined_symbols(
        [site / "torch" / "lib" / "libcaffe2_nvrtc.so"], r" (cu[A-Z][A-Za-z0-9_]*)"
    )
    for name, functions in (("rest", runtime), ("driver", driver)):
        lines = [f"int {function}() {{ return 0; }}\n" for function in sorted(functions)]
        (folder / f"{name}.c").write_text("".join(lines))
    headers = (
        site / "nvidia" / "cu13" / "include",
        site / "triton/backends/nvidia/include",
        Path("/usr/local/cuda/include"),
    )
    include = [f"-I{header}" for header in headers if header.is_dir()]
    compiler = ["gcc", "-w", "-shared", "-fPIC", "-O1", *include]
    runtime_library = folder / "libstandin.so"
    _run(
        [*compiler, str(_RUNTIME), str(folder / "rest.c"), "-o", str(runtime_library), "-lpthread"]
    )
    _run([*compiler, str(folder / "driver.c"), "-o", str(folder / "libcuda.so.1")])
    return {"LD_PRELOAD": str(runtime_library), "LD_LIBRARY_PATH": str(folder), _CHILD: "1"}


def _undefined_symbols(libraries: Sequence[Path], pattern: str) -> set[str]:
    names: set[str] = set()
    for library in libraries:
        completed = subprocess.run(
            ["nm", "-D", "--undefined-only", str(library)],
            check=True,
            capture_output=True,
            text=True,
        )
        names.update(re.findall(pattern, completed.stdout))
    return names


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor with the same memory: the stand-in's device memory is host memory."""
    if tensor.device.type != "cuda":
        return tensor
    if tensor.numel() == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype)
    storage = tensor.untyped_storage()
    buffer = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
    flat = torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
    empty = torch.empty(0, dtype=tensor.dtype)
    return empty.set_(flat, tensor.storage_offset(), tensor.size(), tensor.stride())


class ComputeOnCPU(TorchDispatchMode):
    """Runs every operation on the stand-in device, then fills in values from the CPU."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run one operation twice: on CUDA for its checks, on the CPU for its values."""
        leaves, spec = tree_flatten((args, kwargs or {}))
        device = (kwargs or {}).get("device")
        on_gpu = [x for x in leaves if isinstance(x, torch.Tensor) and x.device.type == "cuda"]
        if not on_gpu and (device is None or torch.device(device).type != "cuda"):
            return func(*args, **(kwargs or {}))
        name, mutable = func._schema.name, func._schema.is_mutable
        if name == "aten::_local_scalar_dense":
            return func(as_cpu(args[0]))
        is_view = not mutable and any(r.alias_info is not None for r in func._schema.returns)
        one_type = len({x.dtype for x in on_gpu}) <= 1
        if is_view or (name in _COPY_OPERATIONS and one_type):
            return func(*args, **(kwargs or {}))
        if name in ("aten::index.Tensor", "aten::index", "aten::index_put_", "aten::index_put"):
            leaves, spec = tree_flatten(_replace_masks_with_indices(args, kwargs or {}))
        cpu_leaves = [_to_cpu(leaf, mutable) for leaf in leaves]
        try:
            values = _call(func, cpu_leaves, spec)
        except Exception as error:
            # The operation is also invalid on the CPU, or it exists only on CUDA. Use the result of
            # the call on CUDA below.
            values = error
        devices = {x.device for x in leaves if isinstance(x, torch.Tensor) and x.dim()}
        has_dynamic_size = torch.Tag.dynamic_output_shape in func.tags and len(devices) == 1
        if has_dynamic_size and not isinstance(values, Exception):
            # On CUDA, a kernel computes the output size. With one device, no device check fails.
            result = _results_like(values, leaves, cpu_leaves, on_gpu[0].device)
            _fill(tree_leaves(result), tree_leaves(values))
            return result
        try:
            result = _call(func, leaves, spec)
        except RuntimeError as error:
            if isinstance(values, Exception) or len(devices) > 1:
                raise
            if not _NO_LIBRARY.search(str(error)):
                raise
            target = torch.device(device) if device is not None else on_gpu[0].device
            result = _results_like(values, leaves, cpu_leaves, target)
        if not isinstance(values, Exception):
            if mutable:
                _fill(leaves, cpu_leaves)
            _fill(tree_leaves(result), tree_leaves(values))
        return result


def _call(func, leaves, spec):
    args, kwargs = tree_unflatten(leaves, spec)
    return func(*args, **kwargs)


def _to_cpu(leaf: object, mutable: bool) -> object:
    if isinstance(leaf, torch.Tensor):
        return as_cpu(leaf).clone() if mutable or leaf.device.type == "cuda" else leaf
    if isinstance(leaf, torch.device):
        return torch.device("cpu")
    return None if isinstance(leaf, torch.Generator) else leaf


def _replace_masks_with_indices(args, kwargs):
    """Replace masks with indices, because counting mask elements on CUDA needs a kernel."""
    indices: list[object] = []
    for index in args[1]:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            indices += [
                positions.to(index.device) for positions in as_cpu(index).nonzero(as_tuple=True)
            ]
        else:
            indices.append(index)
    return (args[0], indices, *args[2:]), kwargs


def _results_like(values, leaves, cpu_leaves, device):
    """Return empty tensors on `device` with the shapes of the CPU's results.

    A result that is a modified argument is returned as that argument.
    """
    arguments = {id(cpu_leaf): leaf for leaf, cpu_leaf in zip(leaves, cpu_leaves, strict=True)}

    def empty(value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in arguments:
            return arguments[id(value)]
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)

    return tree_map(empty, values)


def _fill(targets, values) -> None:
    for target, value in zip(targets, values, strict=True):
        are_tensors = isinstance(target, torch.Tensor) and isinstance(value, torch.Tensor)
        if are_tensors and target.device.type == "cuda" and target.shape == value.shape:
            as_cpu(target).copy_(value)


def run_without_cudnn_if_needed(code: str, shows: str = "") -> Entry:
    """Run a case; if it needs cuDNN, run it again with PyTorch's own kernels."""
    entry = run_case(code, shows)
    if "CUDNN_STATUS" not in entry.text:
        return entry
    with torch.backends.cudnn.flags(enabled=False):
        return run_case(code, shows)


def main() -> int:
    """Restart with the stand-in runtime preloaded, then record all cases."""
    if _CHILD not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **build(Path(folder)), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "tools.record_stand_in", *sys.argv[1:]]
            return subprocess.run(command, env=environment, check=False).returncode
    # `flatten_parameters` packs weights for cuDNN; no recorded behavior depends on it.
    torch.nn.RNNBase.flatten_parameters = lambda self: None
    # Printing a tensor disables dispatch modes, so it would print values that were never computed.
    torch.utils._python_dispatch._disable_current_modes = contextlib.nullcontext
    with ComputeOnCPU():
        unexpected_results = record_cases(
            COMPILED_CHECKS, False, "none", run=run_without_cudnn_if_needed
        )
    for line in unexpected_results:
        print(line, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    # Autograd's device threads wait for a GPU that does not exist, so exit without joining them.
    os._exit(1 if unexpected_results else 0)


if __name__ == "__main__":
    sys.exit(main())
