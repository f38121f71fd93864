"""Lists of PyTorch's primitive operations by how they check devices, for `rules.py`.

From torchgen's `native_functions.yaml` (torch 2.14): `ITERATED` are those marked
`device_check: NoCheck # TensorIterator`; `STRUCTURED` have a structured kernel, which changes the
name of their generated wrapper. Names are without the trailing underscore of the in-place form.
"""

from __future__ import annotations

_ITERATED = """
__ilshift_ __irshift_ __lshift_ __rshift_ _foreach_add _foreach_addcdiv _foreach_addcmul
_foreach_clamp_max _foreach_clamp_min _foreach_div _foreach_lerp _foreach_maximum _foreach_minimum
_foreach_mm _foreach_mul _foreach_pow _foreach_sub abs acos add addcdiv addcmul all aminmax angle
any asin atan atan2 bernoulli binary_cross_entropy binary_cross_entropy_with_logits binomial
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp
clamp_max clamp_min copysign cos cosh cummax cummin cumprod cumsum digamma dist div elu eq erf erfc
erfinv exp expm1 fill floor floor_divide fmax fmin fmod frac ge gelu gt hardshrink hardsigmoid
hardswish hardtanh heaviside hypot index_fill le leaky_relu lerp lgamma log log10 log1p log2
log_sigmoid_forward logical_and logical_not logical_or logical_xor logsumexp lt max maximum mean
min minimum mse_loss mul ne neg norm polygamma pow prod reciprocal remainder renorm round rsqrt
rsub sigmoid sign sin sinh smooth_l1_loss softplus softshrink special_chebyshev_polynomial_t
special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w special_xlog1py special_zeta sqrt std sub sum tan tanh
threshold trunc var where xlogy
"""

_STRUCTURED = """
_addmm_activation _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _linalg_det
_linalg_eigh _linalg_slogdet _linalg_solve_ex _linalg_svd _log_softmax _log_softmax_backward_data
_softmax _softmax_backward_data _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward
_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward _upsample_nearest_exact1d
_upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward
_upsample_nearest_exact3d _upsample_nearest_exact3d_backward acosh adaptive_max_pool2d
adaptive_max_pool2d_backward adaptive_max_pool3d adaptive_max_pool3d_backward addmm addmv amax amin
argmax argmin asinh atanh avg_pool2d avg_pool2d_backward avg_pool3d avg_pool3d_backward baddbmm bmm
cat clamp clamp_max clamp_min elu_backward exp2 fractional_max_pool2d
fractional_max_pool2d_backward fractional_max_pool3d gather gcd gelu_backward glu
hardshrink_backward hardsigmoid_backward hash_tensor i0 igamma igammac index_add index_copy
index_reduce isin isneginf isposinf lcm leaky_relu_backward linalg_cholesky_ex linalg_cross
linalg_inv_ex linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor_ex linalg_lu_solve
linalg_polar linalg_qr linalg_vector_norm logaddexp logaddexp2 logit_backward lu_unpack
max_pool2d_with_indices max_pool2d_with_indices_backward mish mm nextafter nll_loss_backward
nll_loss_forward reflection_pad1d reflection_pad1d_backward reflection_pad3d
reflection_pad3d_backward replication_pad1d replication_pad1d_backward replication_pad2d
replication_pad3d scatter scatter_add scatter_reduce sgn sigmoid_backward signbit silu
silu_backward sinc slow_conv_transpose2d softplus_backward softshrink_backward sort special_airy_ai
special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx
special_i0e special_i1 special_i1e special_log_ndtr special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
tanh_backward threshold_backward topk triangular_solve tril triu upsample_bicubic2d
upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_linear1d
upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d
upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d
upsample_trilinear3d_backward
"""

# These read from one device and write to another; the result is on the first tensor's device.
_CROSSING = """
_copy_from _foreach_copy _has_compatible_shallow_copy_type _pack_padded_sequence _to_copy copy
is_same_size is_set_to resize_as as_strided_scatter diagonal_scatter select_scatter
slice_scatter set slice_inverse
"""

# Composed of element-wise operations; the first of those checks the devices.
_MADE_OF_ITERATED = "allclose isclose ldexp soft_margin_loss"

ITERATED = frozenset((_ITERATED + _MADE_OF_ITERATED).split())
STRUCTURED = frozenset(_STRUCTURED.split())
CROSSING = frozenset(_CROSSING.split())

# Element-wise operations that refuse even CPU scalars.
NO_CPU_SCALARS = frozenset({"binary_cross_entropy"})
