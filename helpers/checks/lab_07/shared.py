"""A context manager that measures peak memory."""

import weakref

import torch

from simulated_cuda.device_tags import DispatchMode


class PeakMeter(DispatchMode):
    """Counts the bytes of the tensors that a block creates, and their peak, without workspaces."""

    def __init__(self, *excluded):
        super().__init__()
        self.bytes = {tensor.untyped_storage().data_ptr(): 0 for tensor in excluded}
        self.peak = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        # Bypass the simulated GPU: it has already handled this operation, or, in a backward pass,
        # must not handle it.
        with torch._C.DisableTorchFunction():
            result = operation(*args, **(kwargs or {}))
            torch.utils._pytree.tree_map_only(torch.Tensor, self._count, result)
        return result

    def _count(self, tensor):
        storage = tensor.untyped_storage()
        if (address := storage.data_ptr()) not in self.bytes:
            self.bytes[address] = storage.nbytes()
            self.peak = max(self.peak, sum(self.bytes.values()))
            weakref.finalize(storage, self.bytes.pop, address)
