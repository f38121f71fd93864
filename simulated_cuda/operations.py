"""Sets of PyTorch's primitive operations, grouped by their device check, for `rules.py`.

Names omit the trailing underscore of in-place operations.
"""

from __future__ import annotations

from .operator_lists import ELEMENTWISE as _ELEMENTWISE
from .operator_lists import STRUCTURED as _STRUCTURED

# These accept tensors from several devices; the result is on the first tensor's device.
_MULTI_DEVICE = """
_copy_from _foreach_copy _has_compatible_shallow_copy_type _to_copy copy
is_same_size is_set_to resize_as as_strided_scatter diagonal_scatter select_scatter
slice_scatter set slice_inverse
"""

# Composed of element-wise operations, the first of which checks the devices.
_ELEMENTWISE_COMPOSITES = "allclose isclose ldexp soft_margin_loss"

# Only the in-place form of these is element-wise, and it takes no other tensor.
_ELEMENTWISE_IN_PLACE = {"normal"}

# Element-wise operations: TensorIterator checks their arguments, and accepts CPU scalars.
ELEMENTWISE = frozenset((_ELEMENTWISE + _ELEMENTWISE_COMPOSITES).split()) - _ELEMENTWISE_IN_PLACE
# Operations with a structured kernel. Their wrappers have other names in error messages.
STRUCTURED = frozenset(_STRUCTURED.split())
MULTI_DEVICE = frozenset(_MULTI_DEVICE.split())

# Element-wise operations that do not accept CPU scalars.
NO_CPU_SCALARS = frozenset({"binary_cross_entropy", "smooth_l1_loss"})
