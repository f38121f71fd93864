"""A context manager that measures peak memory."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class PeakMeter(TorchDispatchMode):
    """Counts the bytes of the tensors that a block creates: those that exist are `live`.

    `peak` is the maximum. Library workspaces do not count: they differ between machines.
    """

    def __init__(self, *excluded):
        super().__init__()
        self.live = self.peak = 0
        self._known = {tensor.untyped_storage().data_ptr() for tensor in excluded}

    @classmethod
    def _should_skip_dynamo(cls):
        # Otherwise PyTorch imports its compiler at the first operation, which takes seconds.
        return False

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        # Bypass the simulated GPU: it has already handled this operation, or, in a backward pass,
        # must not handle it.
        with torch._C.DisableTorchFunction():
            result = operation(*args, **(kwargs or {}))
            torch.utils._pytree.tree_map_only(torch.Tensor, self._count, result)
        return result

    def _count(self, tensor):
        storage = tensor.untyped_storage()
        address, nbytes = storage.data_ptr(), storage.nbytes()
        if nbytes and address not in self._known:
            self._known.add(address)
            self.live += nbytes
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self._forget, address, nbytes)

    def _forget(self, address, nbytes):
        self._known.discard(address)
        self.live -= nbytes
