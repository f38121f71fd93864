"""Operations that only CUDA refuses, and features that are not simulated."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import simulated_cuda
from simulated_cuda import messages
from simulated_cuda.messages import NotSimulatedError

SETUP = """
x, y, half = torch.eye(2, device="cuda"), torch.eye(2), torch.full((2,), 0.5, device="cuda")
i, far = x.long(), torch.tensor([0, 7], device="cuda")
volume = torch.ones(1, 2, 4, 4, 4, dtype=torch.long, device="cuda")
image, byte = volume[..., 0], volume.byte()
net = nn.Conv2d(2, 1, 3, device="cuda")
without_cudnn = torch.backends.cudnn.flags(enabled=False)
square = "template <typename T> T square(T x) { return x * x; }"
"""
NO_CUDNN_TYPE = r"^getCudnnDataTypeFromScalarType\(\) not supported for"
BYTE_AND_FLOAT = r"\(torch.cuda.ByteTensor\) and weight type \(torch.cuda.FloatTensor\) should"
INPUT_AND_BIAS = r"^Input type \(unsigned char\) and bias type \(float"
TWO_DTYPES = r"^expected mat1 and mat2 to have the same dtype, but"
DYNAMIC = "torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)))(x)"
REFUSED = [
    # Kernels that do not exist for integers, or not for a mixture of dtypes.
    *((f"i.to(torch.{dtype}) @ i.to(torch.{dtype})", '^"addmm_cuda" not implemented for')
      for dtype in ("uint8", "int8", "int16", "int32", "int64", "bool")),
    *((code, '^"addmm_cuda" not implemented for \'Long\'') for code in (
        "F.linear(i, i)", "torch.matmul(input=i, other=i)", "torch.inner(i, i)",
        "torch.linalg.multi_dot([i, i, i])", "torch.linalg.matrix_power(i, 2)",
    )),
    ("i @ i[0]", '^"addmv_impl_cuda" not implemented'),
    ("i[0] @ i[0]", '^"dot" not implemented'),
    ("i[None] @ i[None]", '^"baddbmm_cuda" not implemented'),
    ("torch.einsum('ij,jk->ik', i, i)", '^"baddbmm_cuda" not implemented'),
    ("F.avg_pool2d(image, 2)", '^"avg_pool2d_out_cuda_frame" not implemented for .Long'),
    ("F.avg_pool3d(volume, 2)", '^"avg_pool3d_out_cuda" not implemented for .Long'),
    ("F.max_pool2d(image, 2)", '^"max_pool2d_with_indices_out_cuda_frame" not implemented'),
    ("F.max_pool3d(byte, 2)", '^"max_pool3d_with_indices_out_frame" not implemented for .Byte'),
    ("F.interpolate(image.byte(), 8, mode='bilinear')", '^"upsample_bilinear2d_out_frame" not'),
    ("torch.igamma(half.half(), half.half())", '^"igamma_cuda" not implemented for .Half'),
    ("torch.histc(half.bfloat16())", '^"histc" not implemented for .BFloat16'),
    ("i.to(torch.uint16).sort()", '^"sort" not implemented for .UInt16'),
    ("F.conv1d(i[None], i[None])", f"{NO_CUDNN_TYPE} Long"),
    ("F.conv2d(image, image)", f"{NO_CUDNN_TYPE} Long"),
    ("F.conv_transpose2d(image.bool(), image.bool())", f"{NO_CUDNN_TYPE} Bool"),
    ("F.conv3d(byte, byte)", "^GET was unable to find an engine to execute this computation"),
    ("F.conv2d(image, image.mT.reshape(2, 1, 4, 4), groups=2)", '^"conv_depthwise2d_forward_cuda'),
    ("F.conv3d(volume, volume.reshape(2, 1, 4, 4, 4), groups=2)", '^"conv_depthwise3d" not impl'),
    ("without_cudnn(F.conv2d)(image, image)", '^"slow_conv2d_cuda" not implemented'),
    ("F.conv2d(image.byte(), net.weight)", BYTE_AND_FLOAT),
    ("net(image.byte())", INPUT_AND_BIAS),
    *((code, TWO_DTYPES) for code in ("x @ x.double()", "x @ i", "i @ x")),
    ("torch.autocast('cuda')(nn.BCELoss())(half, half)", "are unsafe to autocast"),
    # Two devices, in operators with a check of their own.
    ("torch.cholesky_solve(x, y)", "Expected b and A to be on the same device, but found b on cu"),
    ("torch.linalg.lstsq(x, y)", "got b is on cpu, .* wrapper_CUDA_out_linalg_lstsq_out"),
    ("torch.normal(x, y)", "got std is on cpu"),
    ("F.smooth_l1_loss(x[0, 0], y[0, 0])", "at least two devices"),
    ("y.masked_fill(y > 0, x[0, 0])", "masked_fill_: Expected inputs"),
    *((f"nn.utils.rnn.pack_padded_sequence({x}, i[0] + 1, enforce_sorted={is_sorted})",
       "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor")
      for x in "xy" for is_sorted in (True, False)),
    # Indices.
    *((code, "^CUDA error: device-side assert triggered") for code in (
        "F.cross_entropy(x, far)", "F.nll_loss(x, far)", "F.embedding(far, x)", "x[far]",
        "x[far.cpu()]", "x.gather(1, far[:, None])", "x.index_select(0, far)",
        "x.scatter(1, far[:, None], 1.0)", "torch.take(x, far * 100)", "F.one_hot(far, 3)",
    )),
    ("x[5]", "index 5 is out of bounds"),
    ("F.cross_entropy(y, far.cpu())", "Target 7 is out of bounds"),
    # No kernel for CUDA, or none for the CPU.
    ("x.apply_(lambda value: value + 1)", r"^apply_ is only implemented on CPU tensors"),
    ("torch.mkldnn_max_pool2d(x[None, None], 2)", "from the 'CUDA' backend"),
    ("torch.histogram(x, 2)", "aten::histogram.bin_ct"),
    ("torch.histogramdd(x, 2)", "aten::_histogramdd_bin_edges"),
    ("x.to_mkldnn()", "aten::to_mkldnn"),
    (DYNAMIC, "quantized::linear_dynamic"),
    ("torch.linalg.lstsq(x, x, driver='gelsd')", "`driver` other than `gels` is not supported"),
    # Features without a simulation; each error ends in advice.
    *((code, f"^Not simulated: {name}.*\\. [A-Z].*\\.$") for code, name in (
        ("torch.batch_norm_stats(x, 1e-5)", "aten::batch_norm_stats"),
        ("torch.cuda.jiterator._create_jit_fn(square)(x)", "torch.cuda.jiterator"),
        ("torch.cuda._compile_kernel('', 'f')", "torch.cuda._compile_kernel"),
        ("torch.cuda.memory._record_memory_history()", "torch.cuda.memory._record_memory_history"),
        ("x.__cuda_array_interface__", "__cuda_array_interface__"),
        ("torch.export.export(nn.Linear(1, 1), (torch.ones(1),))", "torch.export"),
        ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph"),
        ("torch.cuda.graph()", "torch.cuda.graph"),
        ("torch.cuda.MemPool()", "torch.cuda.MemPool"),
        ("torch.cuda.sparse.FloatTensor()", "torch.cuda.sparse.FloatTensor"),
        ("torch.cuda.tunable.get_validators()", "torch.cuda.tunable.get_validators"),
        ("torch.cuda.gds.GdsFile('file', 0)", "torch.cuda.gds.GdsFile"),
        ("torch.cuda.utilization()", "torch.cuda.utilization"),
        ("torch.cuda.cudart()", "torch.cuda.cudart"),
        ("ForkingPickler.dumps(x)", "sharing GPU tensors"),
        ("FakeTensorMode().from_tensor(x)", "FakeTensor"),
    )),
]  # fmt: skip
# True on CUDA.
EXPECTED = [
    "torch.linalg.lstsq(x, x, driver='gels').solution.is_cuda",
    "nn.BCELoss()(half, half).is_cuda",
    "y.apply_(lambda value: value + 1).tolist() == [[2, 1], [1, 2]]",
    "not hasattr(x, '__cuda_array_interface__')",
    "x.is_shared() and not y.is_shared()",
    "torch.einsum('ij,ij->ij', i + 2, i + 2).tolist() == [[9, 4], [4, 9]]",
    "torch.einsum('i,j->ij', i[0], i[0]).is_cuda",
    "not torch.cuda.is_current_stream_capturing()",
    "not any(isinstance(x, cls) for cls in (torch.cuda.CUDAGraph, torch.cuda.MemPool))",
    "torch.backends.cuda.cufft_plan_cache.clear() is None",
]


def evaluate(code):
    names = {"torch": torch, "nn": nn, "F": F}
    names |= {"ForkingPickler": ForkingPickler, "FakeTensorMode": FakeTensorMode}
    exec(SETUP, names)
    return eval(code, names)


@pytest.mark.parametrize(("code", "message"), REFUSED)
@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")
def test_operation_is_refused_as_on_cuda(gpu, code, message):
    with pytest.raises((RuntimeError, IndexError, TypeError, AttributeError), match=message):
        evaluate(code)


@pytest.mark.parametrize("code", EXPECTED)
def test_operation_has_the_result_of_cuda(gpu, code):
    assert evaluate(code)


@pytest.mark.parametrize(
    ("version", "assertion_advice", "ordinal_advice"),
    [
        ((2, 12), ["Search", "CUDA kernel", "For debugging", "Compile"],
         ["GPU device", "CUDA kernel", "For debugging", "Compile"]),
        ((2, 13), ["Search", "CUDA kernel", "For debugging"], ["GPU device", "For more detailed"]),
        ((2, 14), ["Search", "CUDA kernel", "For debugging"], ["GPU device"]),
    ],
)  # fmt: skip
def test_advice_in_cuda_errors_matches_the_torch_version(
    monkeypatch, version, assertion_advice, ordinal_advice
):
    monkeypatch.setattr(messages, "_VERSION", version)
    for error, prefixes in (
        (messages.device_assertion(), assertion_advice),
        (messages.invalid_ordinal(), ordinal_advice),
    ):
        advice = str(error).splitlines()[1:]
        assert len(advice) == len(prefixes)
        assert all(line.startswith(prefix) for line, prefix in zip(advice, prefixes, strict=True))


@pytest.mark.parametrize(
    ("code", "dtype"),
    [
        ("torch.fft.rfft(half.half())", "complex32"),
        ("torch.fft.hfft(half.to(torch.complex32))", "float16"),
        ("half.to(torch.complex32).sin()", "complex32"),
        ("F.avg_pool3d(volume.half(), 2)", "float16"),
        ("F.multi_margin_loss(x.bfloat16(), i[0])", "bfloat16"),
        ("x.bool().abs()", "bool"),
        ("torch.histc(i.int(), 4, 0, 1)", "int32"),
        ("torch.histc(half, 4, 0, 1)", "float32"),
        ("F.max_pool2d(image.half(), 2)", "float16"),
    ],
)
def test_dtypes_without_a_kernel_for_the_cpu_work_if_cuda_has_one(gpu, code, dtype):
    result = evaluate(code)
    assert (result.device, result.dtype) == (gpu, getattr(torch, dtype))


def test_result_of_a_wider_dtype_has_a_gradient_and_the_right_value(gpu):
    x = torch.tensor([3.0, 4.0], device=gpu, dtype=torch.float16, requires_grad=True)
    total = torch.fft.rfft(x)[0].real
    total.backward()
    assert (total.item(), x.grad.dtype, x.grad.tolist()) == (7, torch.float16, [1, 1])


def test_thread_started_before_enable_has_no_device(simulation_off):
    begin, errors = threading.Event(), []

    def work():
        begin.wait()
        try:
            torch.ones(1, device="cuda")
        except NotSimulatedError as error:
            errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    simulated_cuda.enable()
    begin.set()
    thread.join()
    assert errors[0].startswith("Not simulated: the call at")


def test_raw_stream_is_the_current_stream(gpu):
    if not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        pytest.skip("this build of PyTorch has no CUDA")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch._C._cuda_getCurrentRawStream(0) == stream.cuda_stream


def test_fake_tensor_on_cuda_is_refused(gpu):
    with FakeTensorMode(), pytest.raises(NotSimulatedError, match="FakeTensor on CUDA"):
        torch.ones(2, device="cuda")
    with FakeTensorMode():
        assert torch.ones(2).device.type == "cpu"


def test_thread_pool_started_before_enable_uses_the_devices(simulation_off):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        simulated_cuda.enable()
        assert str(pool.submit(lambda: torch.ones(1, device="cuda").device).result()) == "cuda:0"


def test_missing_torch_attribute_is_an_error(simulation_off, monkeypatch):
    monkeypatch.delattr(torch._C._nn, "_parse_to")
    with pytest.raises(RuntimeError, match=r"has no attribute '_parse_to'.*does not support torch"):
        simulated_cuda.enable()
    assert not simulated_cuda.is_enabled()


def test_lists_of_tensors_must_match_at_each_position(gpu):
    mixed = [torch.ones(2, device=gpu), torch.ones(2)]
    results = torch._foreach_mul(mixed, 2.0)
    assert [result.device.type for result in results] == ["cuda", "cpu"]
    torch._foreach_add_(mixed, results)
    torch._foreach_mul_(mixed, torch.tensor(2.0))
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        torch._foreach_add_(mixed, mixed[::-1])
    with pytest.raises(RuntimeError, match=r"got min is on cpu.*wrapper_CUDA_clamp_min__Tensor"):
        torch._foreach_maximum_(mixed, mixed[::-1])


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


# With the names that PyTorch's compiled CUDA code has; None if it refuses nothing.
@pytest.mark.parametrize(
    ("shape", "program", "name"),
    [
        ((1, 4, 4, 4), "F.avg_pool3d(x, 2)", "avg_pool3d_backward_cuda"),
        ((1, 4, 4), "F.adaptive_avg_pool2d(x, 1)", None),
        ((1, 1, 4), "F.interpolate(x, 8, mode='linear')", "upsample_linear1d_backward_out_cuda"),
        ((1, 3, 1, 1), "F.cross_entropy(x, i[None, None])", "nll_loss2d_forward_out_cuda_template"),
        ((4, 2), "F.embedding_bag(i[None], x, mode='max')", "embedding_bag_backward_cuda_max"),
        ((4,), "x.put(i, x[:1], accumulate=True)", "put_"),
        ((4,), "torch.histc(x)", "_histc_cuda with floating point input"),
        ((1,), "x * torch.bincount(i, x.detach())[0]", "_bincount_cuda"),
        ((1,), "x * torch.bincount(i)[0]", None),
        ((4,), "x.median(0).values", "median CUDA with indices output"),
        ((4,), "x.scatter_reduce(0, i, x[:1], 'prod')", "scatter_reduce_cuda_prod_"),
        ((4,), "x.scatter_reduce(0, i, x[:1], 'sum')", None),
    ],
)
def test_operation_without_deterministic_kernel_is_refused(
    gpu, deterministic, shape, program, name
):
    def run(device):
        x = torch.ones(shape, device=device, requires_grad=True)
        y = eval(program, {"torch": torch, "F": F, "x": x, "i": torch.tensor([0], device=device)})
        if y.requires_grad:
            y.sum().backward()

    message = f"^{name} does not have a deterministic implementation, but you set 'torch.use_det"
    with contextlib.nullcontext() if name is None else pytest.raises(RuntimeError, match=message):
        run(gpu)
    torch.use_deterministic_algorithms(True, warn_only=True)
    with contextlib.nullcontext() if name is None else pytest.warns(UserWarning, match=message):
        run(gpu)
    torch.use_deterministic_algorithms(name != "put_")
    run("cpu")
