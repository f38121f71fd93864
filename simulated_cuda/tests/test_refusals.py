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

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)


@pytest.mark.parametrize(
    ("product", "kernel"),
    [
        (lambda x: x @ x, "addmm_cuda"),
        (lambda x: torch.mm(x, x), "addmm_cuda"),
        (lambda x: F.linear(x, x), "addmm_cuda"),
        (lambda x: x @ x[0], "addmv_impl_cuda"),
        (lambda x: x[0] @ x[0], "dot"),
        (lambda x: torch.bmm(x[None], x[None]), "baddbmm_cuda"),
        (lambda x: x[None] @ x[None], "baddbmm_cuda"),
        (lambda x: torch.matmul(input=x, other=x), "addmm_cuda"),
        (lambda x: torch.inner(x, x), "addmm_cuda"),
        (lambda x: torch.linalg.multi_dot([x, x, x]), "addmm_cuda"),
        (lambda x: torch.linalg.matrix_power(x, 2), "addmm_cuda"),
        (lambda x: torch.einsum("ij,jk->ik", x, x), "baddbmm_cuda"),
    ],
)
def test_integer_matrix_product_is_refused(gpu, product, kernel):
    with pytest.raises(RuntimeError, match=f"^\"{kernel}\" not implemented for 'Long'"):
        product(torch.ones(2, 2, dtype=torch.long, device=gpu))
    assert product(torch.ones(2, 2, device=gpu)).is_cuda


def test_element_wise_einsum_of_integers_is_not_refused(gpu):
    x = torch.full((2, 2), 3, device=gpu)
    assert torch.einsum("ij,ij->ij", x, x).tolist() == [[9, 9], [9, 9]]
    assert torch.einsum("i,j->ij", x[0], x[0]).is_cuda


@pytest.mark.parametrize("dtype", INTEGERS)
def test_matrix_product_of_every_integer_dtype_is_refused(gpu, dtype):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        torch.ones(2, 2, dtype=dtype, device=gpu) @ torch.ones(2, 2, dtype=dtype, device=gpu)


@pytest.mark.parametrize(
    ("dtype", "error"),
    [
        (torch.int64, r"getCudnnDataTypeFromScalarType\(\) not supported for Long"),
        (torch.bool, r"getCudnnDataTypeFromScalarType\(\) not supported for Bool"),
        (torch.uint8, "GET was unable to find an engine to execute this computation"),
    ],
)
@pytest.mark.parametrize("convolution", [F.conv1d, F.conv2d, F.conv3d, F.conv_transpose2d])
def test_integer_convolution_is_refused(gpu, convolution, dtype, error):
    dims = 2 + int(convolution.__name__[-2])
    x = torch.ones((1, 1, 4, 4, 4)[:dims], dtype=dtype, device=gpu)
    with pytest.raises(RuntimeError, match=f"^{error}"):
        convolution(x, x)
    assert convolution(x.float(), x.float()).is_cuda


def test_kernels_without_cudnn_refuse_integer_convolutions(gpu):
    x = torch.ones(1, 2, 4, 4, 4, dtype=torch.long, device=gpu)
    flat = x[..., 0]
    with pytest.raises(NotImplementedError, match=r'^"conv_depthwise2d_forward_cuda" not impl'):
        F.conv2d(flat, flat.mT.reshape(2, 1, 4, 4), groups=2)
    with pytest.raises(NotImplementedError, match=r'^"conv_depthwise3d" not implemented'):
        F.conv3d(x, x.reshape(2, 1, 4, 4, 4), groups=2)
    refused = pytest.raises(NotImplementedError, match=r'^"slow_conv2d_cuda" not implemented')
    with torch.backends.cudnn.flags(enabled=False), refused:
        F.conv2d(flat, flat)


def test_message_about_different_dtypes_matches_cuda(gpu):
    image, net = torch.ones(1, 1, 4, 4, dtype=torch.uint8, device=gpu), nn.Conv2d(1, 1, 3).to(gpu)
    types = r"Input type \(torch.cuda.ByteTensor\) and weight type \(torch.cuda.FloatTensor\)"
    with pytest.raises(RuntimeError, match=f"^{types} should be the same"):
        F.conv2d(image, net.weight)
    with pytest.raises(RuntimeError, match=r"^Input type \(unsigned char\) and bias type \(float"):
        net(image)
    with pytest.raises(RuntimeError, match=r"^expected mat1 and mat2 to have the same dtype, but"):
        torch.ones(2, 2, device=gpu) @ torch.ones(2, 2, device=gpu).double()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (torch.cholesky_solve, "Expected b and A to be on the same device, but found b on cuda:0"),
        (torch.linalg.lstsq, "got b is on cpu, .* wrapper_CUDA_out_linalg_lstsq_out"),
        (
            lambda x, y: torch.ops.aten._unsafe_masked_index(x, y.bool(), [y.long()], 0),
            "expected self and mask to be on the same device",
        ),
        (
            lambda x, y: torch.ops.aten._unsafe_masked_index_put_accumulate(
                x, y[0].bool(), [y[0].long()], y[0]
            ),
            "expected device cuda:0 but got device cpu for value tensor",
        ),
    ],
)
def test_operator_with_its_own_device_check_refuses_mixed_devices(gpu, program, message):
    with pytest.raises(RuntimeError, match=message):
        program(torch.eye(2, device=gpu), torch.eye(2))


def test_masked_index_accepts_indices_on_the_cpu(gpu):
    x, index = torch.arange(4.0, device=gpu), torch.tensor([1, 2])
    mask = torch.tensor([True, False], device=gpu)
    selected = torch.ops.aten._unsafe_masked_index(x, mask, [index], 0)
    assert (selected.device, selected.tolist()) == (gpu, [1, 0])
    accumulated = torch.ops.aten._unsafe_masked_index_put_accumulate(x, mask, [index], selected)
    assert (accumulated.device, accumulated.tolist()) == (gpu, [0, 2, 2, 3])


def test_apply_runs_on_cpu_tensors_only(gpu):
    with pytest.raises(TypeError, match=r"^apply_ is only implemented on CPU tensors"):
        torch.ones(2, device=gpu).apply_(lambda value: value + 1)
    assert torch.ones(2).apply_(lambda value: value + 1).tolist() == [2, 2]


def test_binary_cross_entropy_is_refused_under_autocast(gpu):
    p = torch.rand(2, device=gpu)
    with torch.autocast("cuda"), pytest.raises(RuntimeError, match="are unsafe to autocast"):
        nn.BCELoss()(p, p)
    assert nn.BCELoss()(p, p).is_cuda


@pytest.mark.parametrize(
    "program",
    [
        lambda x, index: F.cross_entropy(x, index),
        lambda x, index: F.nll_loss(x, index),
        lambda x, index: F.embedding(index, x),
        lambda x, index: x[index],
        lambda x, index: x[index.cpu()],
        lambda x, index: x.gather(1, index[:, None]),
        lambda x, index: x.index_select(0, index),
        lambda x, index: x.scatter(1, index[:, None], 1.0),
        lambda x, index: torch.take(x, index * 100),
        lambda x, index: F.one_hot(index, 3),
    ],
)
def test_index_out_of_range_is_a_device_side_assertion(gpu, program):
    with pytest.raises(RuntimeError, match=r"^CUDA error: device-side assert triggered"):
        program(torch.rand(2, 3, device=gpu), torch.tensor([0, 7], device=gpu))


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


def test_python_index_out_of_range_is_an_index_error(gpu):
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        torch.rand(2, device=gpu)[5]
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.cross_entropy(torch.rand(1, 3), torch.tensor([7]))


def use_thread_started_before_enable():
    begin, errors = threading.Event(), []

    def work():
        begin.wait()
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    simulated_cuda.enable()
    begin.set()
    thread.join()
    raise errors[0]


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (lambda: torch.export.export(nn.Linear(1, 1), (torch.ones(1),)), "torch.export"),
        (lambda: torch.cuda.CUDAGraph(), "torch.cuda.CUDAGraph"),
        (lambda: torch.cuda.graphs.CUDAGraph(), "torch.cuda.CUDAGraph"),
        (lambda: torch.cuda.sparse.FloatTensor(), "torch.cuda.sparse.FloatTensor"),
        (lambda: torch.cuda.tunable.get_validators(), "torch.cuda.tunable.get_validators"),
        (lambda: torch.cuda.gds.GdsFile("file", 0), "torch.cuda.gds.GdsFile"),
        (lambda: torch.cuda.utilization(), "torch.cuda.utilization"),
        (lambda: torch.cuda.temperature(0), "torch.cuda.temperature"),
        (lambda: torch.cuda.cudart(), "torch.cuda.cudart"),
        (lambda: ForkingPickler.dumps(torch.ones(1, device="cuda")), "sharing GPU tensors"),
        (lambda: FakeTensorMode().from_tensor(torch.ones(1, device="cuda")), "FakeTensor"),
        (use_thread_started_before_enable, "the call at"),
    ],
)
def test_not_simulated_error_names_feature_and_advice(simulation_off, program, name):
    if program is not use_thread_started_before_enable:
        simulated_cuda.enable()
    with pytest.raises(NotSimulatedError, match=rf"^Not simulated: {name}.*\. [A-Z].*\.$"):
        program()


def test_plan_cache_can_be_cleared(gpu):
    torch.backends.cuda.cufft_plan_cache.clear()
    torch.backends.cuda.cufft_plan_cache[0].clear()


def test_no_graph_is_being_captured(gpu):
    assert not torch.cuda.is_current_stream_capturing()
    assert not torch.cuda.graphs.is_current_stream_capturing()


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


def test_recording_memory_history_is_refused(gpu):
    with pytest.raises(NotSimulatedError, match=r"memory\._record_memory_history"):
        torch.cuda.memory._record_memory_history()


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


@pytest.mark.parametrize("name", ["CUDAGraph", "graph", "MemPool"])
def test_refused_classes_are_still_classes(gpu, name):
    refused = getattr(torch.cuda, name)
    assert not isinstance(torch.ones(1), refused)
    with pytest.raises(NotSimulatedError, match=rf"^Not simulated: torch\.cuda\.{name}\. "):
        refused()


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lambda x: torch.normal(x, x.cpu()), "got std is on cpu"),
        (lambda x: F.smooth_l1_loss(x[0], x[0].cpu()), "at least two devices"),
        (lambda x: x.cpu().masked_fill(x.cpu() > 0, x[0]), "masked_fill_: Expected inputs"),
    ],
)
def test_operator_found_by_sweep_refuses_mixed_devices(gpu, operation, message):
    with pytest.raises(RuntimeError, match=message):
        operation(torch.ones(2, device=gpu))


SQUARE = "template <typename T> T square(T x) { return x * x; }"


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("aten::batch_norm_stats", lambda x: torch.batch_norm_stats(x, 1e-5)),
        ("torch.cuda.jiterator", lambda x: torch.cuda.jiterator._create_jit_fn(SQUARE)(x)),
        ("torch.cuda._compile_kernel", lambda x: torch.cuda._compile_kernel("", "f")),
    ],
)
def test_cuda_kernel_without_cpu_version_is_not_simulated(gpu, name, program):
    with pytest.raises(NotSimulatedError, match=f"^Not simulated: {name}. "):
        program(torch.ones(2, 2, device=gpu))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_lengths_of_packed_sequences_must_be_on_the_cpu(gpu, device):
    padded, lengths = torch.ones(3, 2, 1, device=device), torch.tensor([3, 2])
    packed = nn.utils.rnn.pack_padded_sequence(padded, lengths)
    assert packed.data.device.type == device
    assert packed.batch_sizes.device.type == "cpu"
    message = "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"
    for is_sorted in (True, False):
        with pytest.raises(RuntimeError, match=message):
            nn.utils.rnn.pack_padded_sequence(padded, lengths.to(gpu), enforce_sorted=is_sorted)


def test_gpu_tensors_are_always_shared(gpu):
    assert torch.ones(2, device=gpu).is_shared()
    assert not torch.ones(2).is_shared()


def test_operation_without_cuda_kernel_raises_cudas_error(gpu):
    with pytest.raises(NotImplementedError, match="from the 'CUDA' backend"):
        torch.mkldnn_max_pool2d(torch.ones(1, 1, 4, 4, device=gpu), 2)


def test_other_libraries_see_no_cuda_array_interface(gpu):
    x = torch.ones(2, device=gpu)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"^Not simulated: __cuda_array_interface__"):
        _ = x.__cuda_array_interface__


DYNAMIC = "torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(2, 2)))(x)"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("torch.histogram(x, 2)", "aten::histogram.bin_ct"),
        ("torch.histogramdd(x, 2)", "aten::_histogramdd_bin_edges"),
        ("x.to_mkldnn()", "aten::to_mkldnn"),
        (DYNAMIC, "quantized::linear_dynamic"),
        ("torch.linalg.lstsq(x, x, driver='gelsd')", "`driver` other than `gels` is not supported"),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")
def test_operation_for_cpus_only_is_refused(gpu, program, message):
    with pytest.raises(RuntimeError, match=message):
        eval(program, globals(), {"x": torch.tensor([[0.0, 1], [2, 3]], device=gpu)})
    x = torch.eye(2, device=gpu)
    assert torch.linalg.lstsq(x, x, driver="gels").solution.device == gpu


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
        y = eval(program, globals(), {"x": x, "i": torch.tensor([0], device=device)})
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
