"""Records what the programs of an answer do, and finds mistakes that any kernel may have."""

import torch

from helpers import kernels
from helpers.checks.plain import PlainTensor, first, is_tensor, plain


def collect(call, case, answer):
    """Call an answer with the entries of the case before its device; record what programs do."""
    given = [*case.values()][: [*case].index("device")]
    arguments = [x.make() if isinstance(x, PlainTensor) else x for x in given]
    # Elements that a mask excludes are infinite, and `torch.empty` does not return zeros.
    with kernels.recording("reversed", case.get("fill", float("inf")), 500) as launches:
        torch.set_deterministic_debug_mode("warn")
        facts = call(answer, *arguments)
    facts.arguments = plain(dict(zip(case, arguments, strict=False)))
    used = {True: set(), False: set()}  # addresses that were read, and those that were written
    accesses = [access for launch in launches for access in launch.accesses]
    for access in accesses:
        used[access.kind == "read"].update(access.addresses.tolist())
    if isinstance(result := facts.result, torch.Tensor):
        elements = range(result.data_ptr(), result.data_ptr() + result.nbytes)
        missing = result.numel() - sum(address in elements for address in used[False])
        version = max((x.versions.get(result.data_ptr(), 0) for x in launches), default=0)
        # If programs stored nothing at all, a store is missing.
        untouched = missing == result.numel() and (used[False] or not launches)
        facts.add(missing=missing, by_torch=result._version > version or untouched)
    tensors = filter(torch.is_tensor, arguments)
    facts.add(unread=[x for x in tensors if x.data_ptr() not in used[True]])
    facts.add(moved=sum(x.bytes_read + x.bytes_written for x in launches))
    facts.add(races=[race._asdict() for launch in launches for race in launch.races()])
    facts.add(largest=max((access.elements.size for access in accesses), default=0))
    busy = [len({x.program for x in n.accesses if x.kind == "read"}) for n in launches]
    return facts.add(programs=[n.programs for n in launches], busy=busy)


def find_difference(f):
    place = tuple((~torch.isclose(f.value.values, f.right, 2e-3, 2e-5)).nonzero()[0].tolist())
    return {"place": place, "found": f.value.values[place].item(), "exact": f.right[place].item()}


rows = {
    "collect": collect,
    "tolerance": 2e-3,
    "returns": (
        "wrong-kind",
        lambda x, c: is_tensor(x) and x.dtype == next(iter(c.values())).dtype,
    ),
    "questions": ["result-elsewhere", "input-changed"],
    "errors": {
        "outside": lambda f: f.error.values["error"].startswith("OutOfBounds"),
        "too-many-programs": lambda f: f.error.values["error"].startswith("TooManyPrograms"),
    },
    "side_effects": {
        "torch-computes": lambda f: f.by_torch,
        "race": lambda f: f.races and f.races[0],
        "not-covered": lambda f: f.missing > 0,
        "undefined": lambda f: not f.value.values.double().abs().max() < 2**30,
    },
    "mistakes": {"wrong-result": find_difference},
    "costs": {
        "torch-computes": lambda f: f.unread,
        "one-program": lambda f: max(f.programs) == 1,
        "idle-programs": lambda f: first(
            n > 2 * busy > 0 and {"programs": n, "idle": n - busy}
            for n, busy in zip(f.programs, f.busy, strict=True)
        ),
        "too-many-bytes": lambda f: f.moved > f.case.bytes,
    },
}
