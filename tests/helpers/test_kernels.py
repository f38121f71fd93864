"""Kernels run without a GPU; every access is checked, and recorded as it happened."""

import random
import sys

import pytest
import torch

import simulated_cuda
from helpers import kernels

triton = pytest.importorskip("triton", reason="Triton's packages are for Linux")
tl = pytest.importorskip("triton.language")
kernels.enable()


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, 2 * x, mask=offsets < n)


@triton.jit
def double(x):
    return 2 * x


@triton.jit
def reduce_kernel(x_ptr, out_ptr, row_stride, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * row_stride + column, mask=column < columns, other=0)
    tl.store(out_ptr + tl.program_id(0), double(x.sum(axis=0)) + tl.max(x, axis=0))


@triton.jit
def any_kernel(x_ptr, shift, limit, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + shift
    if KIND == "read":
        tl.load(x_ptr + offsets, mask=offsets < limit)
    elif KIND == "write":
        tl.store(x_ptr + offsets, 7, mask=offsets < limit)
    else:
        tl.atomic_add(x_ptr + offsets, 7, mask=offsets < limit)


@triton.jit
def count_kernel(x_ptr, counts_ptr, ATOMIC: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0))
    if ATOMIC:
        tl.atomic_add(counts_ptr + x, 1)
    else:
        tl.store(counts_ptr + x, tl.load(counts_ptr + x) + 1)


@triton.jit
def last_program_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, 4) // 2, tl.program_id(0))


@triton.jit
def misspelled_kernel(x_ptr):
    tl.store(x_ptr, undefined_name)  # noqa: F821


@pytest.mark.parametrize("order", ["forward", "reversed", 3])
def test_records_what_each_program_reads_and_writes(order):
    x = torch.arange(10.0)
    out = torch.zeros(10)
    with kernels.recording(order) as launches:
        scale_kernel[lambda meta: (triton.cdiv(10, meta["BLOCK"]),)](x, out, 10, BLOCK=4)
    (launch,) = launches
    assert torch.equal(out, 2 * x)
    assert (launch.kernel, launch.grid, launch.shapes["out_ptr"]) == (
        "scale_kernel",
        (3, 1, 1),
        (10,),
    )
    assert (launch.bytes_read, launch.bytes_written, launch.races()) == (40, 40, [])
    assert launch.elements("out_ptr", "write") == {0: [0, 1, 2, 3], 1: [4, 5, 6, 7], 2: [8, 9]}
    assert launch.elements("out_ptr", "read") == {0: [], 1: [], 2: []}


def test_the_order_of_the_programs_is_as_requested():
    results = {}
    for order in ("forward", "reversed"):
        out = torch.zeros(2, dtype=torch.int32)
        with kernels.recording(order):
            last_program_kernel[(5,)](out)
        results[order] = out.tolist()
    assert results == {"forward": [4, 4], "reversed": [0, 0]}


def check_wrong_mask(seed):
    """A random access that leaves its tensor is an error and changes nothing."""
    choose = random.Random(seed)
    n, block = choose.randint(1, 200), choose.choice([16, 32, 64])
    kind, dtype = choose.choice(kernels.KINDS), choose.choice([torch.float32, torch.int32])
    beyond = choose.choice([1, 5, 3000]) if choose.random() < 0.5 else 0
    shift = 0 if beyond else -choose.choice([1, 10, 10**6])
    arena = torch.zeros(n + 200, dtype=dtype)
    view = arena[100 : 100 + n]
    programs = triton.cdiv(n + beyond, block)
    with pytest.raises(kernels.OutOfBounds) as caught, kernels.recording(seed):
        any_kernel[(programs,)](view, shift, n + beyond, KIND=kind, BLOCK=block)
    error = caught.value
    assert (error.kind, error.tensor, error.shape) == (kind, "x_ptr", (n,))
    assert not 0 <= error.element < n
    assert "x_ptr + offsets" in error.line
    assert arena[:100].count_nonzero() == arena[100 + n :].count_nonzero() == 0


@pytest.mark.parametrize("seed", range(50))
def test_wrong_mask_is_an_error_and_changes_nothing_outside(seed):
    check_wrong_mask(seed)


@pytest.mark.slow
def test_a_thousand_wrong_masks_do_not_end_the_process():
    for seed in range(1000):
        check_wrong_mask(seed)


def test_wrong_stride_leaves_the_view():
    x = torch.zeros(4, 16)[:, :6]
    with pytest.raises(kernels.OutOfBounds, match="Is a stride wrong") as caught:
        reduce_kernel[(4,)](x, torch.zeros(4), 6, 6, BLOCK=8)
    assert (caught.value.program, caught.value.element) == ((1, 0, 0), 6)


def test_kernel_uses_library_and_other_kernels_and_leaves_modules_unchanged():
    def state():
        names = {"interpreter_semantic"}
        parts = (
            globals(),
            vars(tl),
            vars(tl.core),
            vars(tl.math),
            vars(tl.standard),
            vars(tl.tensor),
        )
        return [{n: v for n, v in part.items() if n not in names} for part in parts]

    x, out, before = torch.rand(4, 16)[:, :6], torch.zeros(4), state()
    reduce_kernel[(4,)](x, out, 16, 6, BLOCK=8)
    torch.testing.assert_close(out, 2 * x.sum(1) + x.amax(1))
    assert [a == b for a, b in zip(state(), before, strict=True)] == [True] * 6


@pytest.mark.parametrize(("atomic", "races"), [(True, 0), (False, 1)])
def test_race_is_an_element_that_two_programs_use_and_not_all_atomically(atomic, races):
    counts = torch.zeros(3, dtype=torch.int32)
    with kernels.recording() as launches:
        count_kernel[(3,)](torch.tensor([1, 1, 2]), counts, ATOMIC=atomic)
    assert counts.tolist() == [0, 2, 1]
    found = launches[0].races()
    assert [(race.element, race.programs) for race in found] == [(1, (0, 1))][:races]


def test_race_within_one_store():
    with kernels.recording() as launches:
        last_program_kernel[(1,)](torch.zeros(2))
    assert [race.programs for race in launches[0].races()] == [(0,), (0,)]


def test_errors_of_a_kernel_keep_their_type():
    with pytest.raises(NameError, match="undefined_name"):
        misspelled_kernel[(1,)](torch.zeros(1))


def test_bfloat16_is_refused():
    x = torch.zeros(4, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match="use float32 or float16"):
        scale_kernel[(1,)](x, x, 4, BLOCK=4)


def test_runs_on_a_simulated_gpu():
    simulated_cuda.enable()
    try:
        x = torch.ones(4, device="cuda")
        scale_kernel[(1,)](x, x, 4, BLOCK=4)
        assert x.tolist() == [2, 2, 2, 2]
    finally:
        simulated_cuda.disable()


def test_kernels_are_compiled_on_a_real_gpu_and_recorded_on_copies(monkeypatch):
    compiled = []
    monkeypatch.setattr(kernels, "_is_on_real_gpu", lambda value: True)
    monkeypatch.setattr(type(scale_kernel), "run_unguarded", lambda *a, **k: compiled.append(k))
    with kernels.recording() as launches:
        scale_kernel[(1,)](torch.ones(4), torch.ones(4), 4, BLOCK=4)
    scale_kernel[(1,)](torch.ones(4), torch.ones(4), 4, BLOCK=4)
    assert (len(launches), len(compiled)) == (1, 2)


def test_without_triton_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton.runtime", None)
    with pytest.raises(ImportError, match="use Colab"):
        kernels.enable()
