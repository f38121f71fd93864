"""Records what the programs of an answer do, and finds mistakes that any kernel may have."""

from math import inf

import torch

from helpers import kernels
from helpers.checks.plain import PlainTensor, first, is_tensor, plain


def collect(call, case, answer):
    """Call an answer with the entries of the case before its device; record what programs do."""
    given = [*case.values()][: [*case].index("device")]
    arguments = [x.make() if isinstance(x, PlainTensor) else x for x in given]
    # Elements that a mask excludes are infinite, and `torch.empty` does not return zeros.
    with kernels.recording("reversed", case.get("fill", inf), 500) as launches:
        torch.set_deterministic_debug_mode("warn")
        facts = call(answer, *arguments)
    facts.arguments = plain(dict(zip(case, arguments, strict=False)))
    accesses = [access for launch in launches for access in launch.accesses]
    used = {True: set(), False: set()}  # addresses that were read, and those that were written
    for access in accesses:
        used[access.kind == "read"].update(access.addresses.tolist())
    if isinstance(result := facts.result, torch.Tensor):
        elements = range(result.data_ptr(), result.data_ptr() + result.nbytes)
        missing = result.numel() - sum(address in elements for address in used[False])
        version = max((x.versions.get(result.data_ptr(), 0) for x in launches), default=0)
        # If programs stored nothing at all, a store is missing.
        untouched = missing == result.numel() and (used[False] or not launches)
        facts.add(missing=missing, by_torch=result._version > version or untouched)
    facts.add(unread=len({x.data_ptr() for x in arguments if torch.is_tensor(x)} - used[True]))
    facts.add(moved=sum(x.bytes_read + x.bytes_written for x in launches))
    races = [race._asdict() for launch in launches for race in launch.races()]
    facts.add(races=[race | {"programs": str([*race["programs"]])[1:-1]} for race in races])
    facts.add(largest=max((access.elements.size for access in accesses), default=0))
    busy = (len({x.program for x in n.accesses if x.kind == "read"}) for n in launches)
    return facts.add(counts=[(n.programs, k) for n, k in zip(launches, busy, strict=True)])


def find_difference(f):
    place = tuple((~torch.isclose(f.value.values, f.right, 2e-3, 2e-5)).nonzero()[0].tolist())
    return {"place": place, "found": f.value.values[place].item(), "exact": f.right[place].item()}


rows = {
    "collect": collect,
    "tolerance": 2e-3,
    "returns": ("wrong-kind", lambda x, c: is_tensor(x) and x.dtype == first(c.values()).dtype),
    "questions": ["result-elsewhere", "input-changed"],
    "errors": {"outside": lambda f: f.error.values["error"].startswith("OutOfBounds")},
    "side_effects": {
        "torch-computes": lambda f: f.by_torch,
        "race": lambda f: f.races and f.races[0],
        "not-covered": lambda f: f.missing > 0,
        "undefined": lambda f: not f.value.values.abs().max() < (f.case.get("fill", inf) or 2**30),
    },
    "mistakes": {"wrong-result": find_difference},
    "costs": {
        "torch-computes": lambda f: f.unread,
        "one-program": lambda f: max(n for n, _ in f.counts) == 1,
        "idle-programs": lambda f: any(n > 2 * k > 0 for n, k in f.counts),
        "too-many-bytes": lambda f: f.moved > f.case.bytes,
    },
}
