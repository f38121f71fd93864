"""Records the launches of an answer: what its programs read and write, and what torch computes."""

from collections import Counter
from contextlib import ExitStack
from functools import partial

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from helpers import kernels
from helpers.checks.collecting import CallFailed
from helpers.checks.plain import PlainTensor, is_close, is_equal

# Torch operations that compute nothing. A launch itself uses `set_` and `copy_`.
FREE = ("empty", "new_", "zeros", "full", "fill_", "zero_", "set_", "copy_", "view", "as_strided")
FREE += ("permute", "transpose", "t", "slice", "select", "expand", "unsqueeze", "detach", "alias")


class Operations(TorchDispatchMode):
    """Records the names of the torch operations."""

    def __init__(self):
        super().__init__()
        self.names = set()

    @classmethod
    def _should_skip_dynamo(cls):
        # Otherwise PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.add(operation.overloadpacket.__name__)
        with torch._C.DisableTorchFunction():
            return operation(*args, **(kwargs or {}))


class Watch(ExitStack):
    """Records the launches and operations of a block, in which `torch.empty` gives no zeros.

    `fill`: what elements have that the mask of a load without `other=` excludes.
    """

    def __init__(self, fill):
        super().__init__()
        self.fill = fill

    def __enter__(self):
        before = torch.are_deterministic_algorithms_enabled()
        self.callback(torch.use_deterministic_algorithms, before)
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.enter_context(np.errstate(all="ignore"))
        self.launches = self.enter_context(kernels.recording("reversed", fill=self.fill))
        self.operations = self.enter_context(Operations())
        return self

    def count(self, tensor, *kinds):
        """Return how often each element of a tensor was accessed."""
        size = tensor.element_size()
        accesses = [access for launch in self.launches for access in launch.accesses]
        addresses = (a.addresses.tolist() for a in accesses if a.kind in kinds)
        counts = Counter(address for access in addresses for address in access)
        storage = torch.arange(tensor.untyped_storage().nbytes() // size) * size
        places = storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        start = tensor.untyped_storage().data_ptr()
        return torch.tensor([counts[start + place] for place in places.flatten().tolist()])


def launch(call, answer, make, *names):
    """Call an answer with the arguments that `make` returns; record what its programs do.

    `names` are those of the arguments, for the facts `reads`: how often one element is read, at
    most.
    """
