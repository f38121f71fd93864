"""Records what the programs of an answer do, and finds mistakes that any kernel may have."""

from collections import Counter

import numpy as np
import torch

from helpers import kernels
from helpers.checks.collecting import CallFailed
from helpers.checks.plain import PlainTensor, first, is_tensor, plain


def make(value, strides):
    """Return a new tensor, with these strides if they are given; a number stays as it is."""
    if strides is None:
        return value.make() if isinstance(value, PlainTensor) else value
    base = torch.zeros(999, device=value.device)
    return base.as_strided(value.shape, strides).copy_(value.values)


def count(tensor, launches, *kinds):
    """Return how often each element of a tensor is accessed, as a list."""
    counts, size, storage = Counter(), tensor.element_size(), tensor.untyped_storage()
    for access in (access for launch in launches for access in launch.accesses):
        counts.update(access.addresses.tolist() if access.kind in kinds else ())
    places = torch.arange(storage.nbytes() // size) * size + storage.data_ptr()
    places = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return [counts[place] for place in places.flatten().tolist()]


def collector(*names):
    """Return a collector that calls an answer with these entries of the case."""

    def collect(call, case, answer):
        arguments = {name: make(case[name], case.get(f"{name}_strides")) for name in names}
        # Elements that a mask excludes are infinite, and `torch.empty` does not return zeros.
        with np.errstate(all="ignore"), kernels.recording("reversed", float("inf")) as launches:
            torch.use_deterministic_algorithms(True, warn_only=True)
            try:
                facts = call(answer, *arguments.values())
            except CallFailed as failed:
                error = first(launch.error for launch in launches)
                failed.args[0].add(outside=error and vars(error))
                raise
            finally:
                torch.use_deterministic_algorithms(False)
        facts.arguments = plain(arguments)
        race = first(race for launch in launches for race in launch.races())
        facts.add(programs=[launch.programs for launch in launches], race=race and race._asdict())
        if isinstance(result := facts.result, torch.Tensor):
            facts.add(writes=count(result, launches, "write", "atomic"), changes=result._version)
        tensors = {name: x for name, x in arguments.items() if isinstance(x, torch.Tensor)}
        return facts.add(
            reads={name: max(count(x, launches, "read")) for name, x in tensors.items()}
        )

    return collect


def find_difference(f):
    """Return the first element that is wrong."""
    exact = f.right.double()
    wrong = ~torch.isclose(f.value.values.double(), exact, 1e-4, 1e-6)
    place = tuple(wrong.nonzero()[0].tolist())
    return {"place": place, "found": f.value.values[place].item(), "exact": exact[place].item()}


def reads_again(**most):
    """Return a row that finds a tensor whose elements are read more often than this."""
    return lambda f: first(
        f.reads[name] > exact and {"tensor": name, "times": f.reads[name], "exact": exact}
        for name, exact in most.items()
    )


rows = {
    "returns": ("not-a-tensor", lambda value, case: is_tensor(value)),
    "questions": ["result-elsewhere", "input-changed"],
    "errors": {"outside": lambda f: f.own.get("outside")},
    "side_effects": {
        "torch-computes": lambda f: f.changes or not (any(f.writes) and all(f.reads.values())),
        "race": lambda f: f.race,
        "wrong-kind": lambda f: (f.value.shape, f.value.dtype) != (f.right.shape, f.right.dtype),
    },
    "mistakes": {
        "not-covered": lambda f: not all(f.writes),
        "undefined": lambda f: not f.value.values.double().abs().max() < 2**30,
        "wrong-result": find_difference,
    },
    "costs": {"one-program": lambda f: max(f.programs) == 1},
}
